//! The result of a search as data: its JSON form, and the input of its text.
//!
//! Bytes and seconds are those of one device in one execution of the program.

use serde::Serialize;
use shardc_ir::{AxisRef, Mesh, Module};
use shardc_passes::annotations::spec::MeshSpec;
use shardc_strategy::Role;

use super::AutoOptions;
use super::bound::bound;
use super::candidate::{Candidate, Dims, Purpose};
use super::groups::Group;
use super::problem::{Problem, Score};
use super::search::Search;
use crate::folding::fold;
use crate::spec_text::{dims_text, spec_text};

/// The number of candidates that are listed.
const LISTED: usize = 8;

/// The result of a search, in version 1 of the format.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AutoReport {
    /// Version of this format: 1.
    pub version: u32,
    /// The name of the program's file.
    pub source: String,
    /// The target, such as `v5p:4x4x4`.
    pub target: String,
    /// The number of devices.
    pub devices: usize,
    /// The mesh that was chosen or given: `fsdp=8,tensor=2`.
    pub mesh: String,
    /// The strategy in the words of `--fsdp`, which reproduces all shardings if `placed` is empty.
    pub strategy: String,
    /// Whether the annotations of the batch are propagated before those of parameters, as in the strategy; otherwise all are propagated together.
    pub batch_first: bool,
    /// Whether each device computes the whole program.
    pub is_replicated: bool,
    /// Groups of arguments and results whose sharding is not that of the strategy.
    pub placed: Vec<ArgumentReport>,
    /// Whether the upper end of the memory estimate is within the limit.
    pub fits: bool,
    /// Bytes: the upper end of the memory estimate.
    pub memory: u64,
    /// Bytes that a program can use; 0 if unknown.
    pub limit: u64,
    /// Seconds of one execution.
    pub seconds: f64,
    /// Seconds of collectives, overlapped or not.
    pub communication: f64,
    /// A lower bound on the seconds, for all meshes and shardings; `None` if none is known.
    pub bound: Option<f64>,
    /// The cost that the bound consists of.
    pub bound_reason: String,
    /// `seconds` divided by `bound`; 1 if the bound is reached.
    pub gap: Option<f64>,
    /// The number of candidates that were evaluated.
    pub evaluated: usize,
    /// Whether all shardings of arguments along whole axes of the mesh were evaluated.
    pub is_exhaustive: bool,
    /// The choices, each with the best alternative.
    pub choices: Vec<ChoiceReport>,
    /// The shardings of all groups of arguments and results, those with the most bytes first.
    pub arguments: Vec<ArgumentReport>,
    /// The candidate that was chosen, and the best others, best first. Others with equal estimates on a mesh are left out.
    pub tried: Vec<TriedReport>,
}

/// The estimates for a candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ScoreReport {
    /// Seconds of one execution.
    pub seconds: f64,
    /// Seconds of collectives, overlapped or not.
    pub communication: f64,
    /// Bytes: the upper end of the memory estimate.
    pub memory: u64,
    /// Whether the memory is within the limit.
    pub fits: bool,
}

/// A choice, and the best alternative that was evaluated.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChoiceReport {
    /// The subject: `mesh`, `strategy`, or the arguments.
    pub what: String,
    /// The choice.
    pub chosen: String,
    /// The alternative.
    pub next_best: String,
    /// The estimates for the alternative.
    pub score: ScoreReport,
}

/// The sharding of a group of arguments or results.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ArgumentReport {
    /// The names of the arguments or results, folded.
    pub arguments: Vec<String>,
    /// The number of arguments or results.
    pub count: usize,
    /// The role, such as `parameter`, or `result`.
    pub role: String,
    /// The global shape.
    pub shape: Vec<i64>,
    /// The partition spec, as `--spec` accepts it: `fsdp,tensor`.
    pub spec: String,
    /// Whether the program or the options fix it.
    pub is_fixed: bool,
}

/// A candidate that was evaluated.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TriedReport {
    /// The mesh.
    pub mesh: String,
    /// The axes that are not used as their names indicate: `model as data`.
    pub uses: Vec<String>,
    /// The strategy in the words of `--fsdp`.
    pub strategy: String,
    /// Whether this candidate was chosen.
    pub is_chosen: bool,
    /// Whether the annotations of the batch are propagated first, as in [`AutoReport::batch_first`].
    pub batch_first: bool,
    /// The groups whose sharding is not that of the strategy: `w as -,tensor`.
    pub placed: Vec<String>,
    /// The estimates.
    pub score: ScoreReport,
}

impl From<Score> for ScoreReport {
    fn from(score: Score) -> ScoreReport {
        let Score { seconds, communication, memory, fits, .. } = score;
        ScoreReport { seconds, communication, memory, fits }
    }
}

/// The report about the candidate `best`, according to which `module` is annotated.
pub(super) fn report(
    problem: &Problem,
    search: &Search<'_>,
    best: &Candidate,
    module: &Module,
    options: &AutoOptions,
) -> AutoReport {
    let score = search.score(best);
    let seconds = score.map_or(0.0, |score| score.seconds);
    let bound = bound(problem, search.fastest_seconds());
    let arguments = arguments(problem, module);
    let placed = best.placed.keys().filter_map(|&group| arguments.get(group).cloned());
    AutoReport {
        version: 1,
        source: options.source.clone(),
        target: problem.target.to_string(),
        devices: problem.target.num_devices(),
        mesh: mesh_text(problem, best),
        strategy: best.words(),
        batch_first: best.batch_first,
        is_replicated: is_replicated(module),
        placed: placed.collect(),
        fits: score.is_some_and(|score| score.fits),
        memory: score.map_or(0, |score| score.memory),
        limit: problem.limit,
        seconds,
        communication: score.map_or(0.0, |score| score.communication),
        bound: bound.map(|bound| bound.seconds),
        bound_reason: bound.map_or("", |bound| bound.reason).to_owned(),
        gap: bound.map(|bound| seconds / bound.seconds),
        evaluated: search.evaluated(),
        is_exhaustive: search.is_exhaustive(best),
        choices: choices(problem, search, best),
        tried: tried(problem, search, best),
        arguments,
    }
}

/// The mesh of a candidate, with the user's names if the user fixed it.
fn mesh_of(problem: &Problem, candidate: &Candidate) -> Mesh {
    problem.mesh.map_or_else(|| candidate.mesh(), |own| problem.module.meshes[own].clone())
}

fn mesh_text(problem: &Problem, candidate: &Candidate) -> String {
    MeshSpec::from(&mesh_of(problem, candidate)).to_string()
}

/// The shardings of the groups of arguments in an annotated program.
fn arguments(problem: &Problem, module: &Module) -> Vec<ArgumentReport> {
    let groups = problem.groups.iter().map(|group| {
        let names = names(problem, group);
        let sharding = problem.sharding_of(module, group);
        ArgumentReport {
            arguments: fold(names.iter().map(String::as_str)).into_iter().map(|folded| folded.text).collect(),
            count: group.members.len(),
            role: role_text(problem, group.role),
            shape: group.shape.clone(),
            spec: sharding.map_or_else(
                || "-,...".to_owned(),
                |sharding| spec_text(sharding, &module.meshes[sharding.mesh]),
            ),
            is_fixed: group.is_fixed,
        }
    });
    groups.collect()
}

/// The role of the members of a group. In a program that does not train, parameters are not called frozen.
fn role_text(problem: &Problem, role: Option<Role>) -> String {
    match role {
        None => "result".to_owned(),
        Some(Role::FrozenParameter) if !problem.trains() => Role::Parameter.to_string(),
        Some(role) => role.to_string(),
    }
}

/// The names of the members of a group.
fn names(problem: &Problem, group: &Group) -> Vec<String> {
    let (module, func) = (&problem.module, &problem.module.funcs[problem.func]);
    let name = |&i: &usize| match group.role {
        Some(_) => func.shown_argument(&module.locs, i),
        None => func.result_name(i).unwrap_or_else(|| format!("res{i}")),
    };
    group.members.iter().map(name).collect()
}

/// Whether no argument and no result of the entry function is sharded.
fn is_replicated(module: &Module) -> bool {
    let Some((func, body)) = module.entry().and_then(|func| Some((func, module.funcs[func].body?))) else {
        return true;
    };
    let args = module.regions[body].args.iter().filter_map(|&arg| module.shardings.of(arg));
    let results = module.funcs[func].res_shardings.iter().filter_map(|sharding| sharding.expand());
    let is_sharded = |id| module.shardings.get(id).dims.iter().any(|dim| !dim.axes.is_empty());
    !args.chain(results).any(is_sharded)
}

/// The candidates that are listed.
fn tried(problem: &Problem, search: &Search<'_>, best: &Candidate) -> Vec<TriedReport> {
    let chosen = search.score(best).map(|score| (best, score));
    let others = search.ranked().into_iter().filter(|(candidate, _)| *candidate != best);
    let mut rows: Vec<TriedReport> = Vec::new();
    for (candidate, score) in chosen.into_iter().chain(others) {
        let mesh = mesh_text(problem, candidate);
        let score = ScoreReport::from(score);
        if rows.len() < LISTED && !rows.iter().any(|row| row.mesh == mesh && row.score == score) {
            rows.push(TriedReport {
                mesh,
                uses: other_uses(problem, candidate),
                strategy: candidate.words(),
                is_chosen: candidate == best,
                batch_first: candidate.batch_first,
                placed: placed_texts(problem, candidate),
                score,
            });
        }
    }
    rows
}

/// The axes of a given mesh that are not used as their names indicate.
fn other_uses(problem: &Problem, candidate: &Candidate) -> Vec<String> {
    let own = mesh_of(problem, candidate).axes;
    let purposes = candidate.mesh().axes;
    let axes = own.keys().zip(purposes.keys()).zip(&candidate.axes);
    let others = axes.filter(|((name, _), (purpose, _))| Purpose::of_name(name) != *purpose);
    others
        .filter(|_| problem.mesh.is_some())
        .map(|((name, purpose), _)| format!("{name} as {purpose}"))
        .collect()
}

/// The groups whose sharding is not that of the strategy, with their shardings.
fn placed_texts(problem: &Problem, candidate: &Candidate) -> Vec<String> {
    let groups = candidate.placed.iter().filter_map(|(&at, dims)| {
        let name = first_name(problem, problem.groups.get(at)?);
        Some(format!("{name} as {}", placement_text(problem, candidate, dims)))
    });
    groups.collect()
}

/// The name of the first member of a group, folded with those that differ only in numbers.
fn first_name(problem: &Problem, group: &Group) -> String {
    let names = names(problem, group);
    let folded = fold(names.iter().map(String::as_str));
    folded.first().map_or_else(String::new, |folded| folded.text.clone())
}

/// A sharding along axes of the mesh as a partition spec.
fn placement_text(problem: &Problem, candidate: &Candidate, dims: &Dims) -> String {
    let dims: Vec<Vec<AxisRef>> =
        dims.iter().map(|axes| axes.iter().map(|&axis| AxisRef::whole(axis)).collect()).collect();
    dims_text(dims.iter().map(Vec::as_slice), &mesh_of(problem, candidate))
}

/// The choices, each with the best evaluated candidate that differs in it.
fn choices(problem: &Problem, search: &Search<'_>, best: &Candidate) -> Vec<ChoiceReport> {
    let ranked = search.ranked();
    let mut choices = Vec::new();
    let mut choice =
        |what: &str, differs: &dyn Fn(&Candidate) -> bool, text: &dyn Fn(&Candidate) -> String| {
            if let Some((other, score)) = ranked.iter().find(|(other, _)| differs(other)) {
                choices.push(ChoiceReport {
                    what: what.to_owned(),
                    chosen: text(best),
                    next_best: text(other),
                    score: (*score).into(),
                });
            }
        };
    let purposes = |candidate: &Candidate| match problem.mesh {
        Some(_) => {
            let axes = candidate.mesh().axes;
            let own = mesh_of(problem, candidate).axes;
            let pairs = own.keys().zip(axes.keys()).map(|(name, purpose)| match name == purpose {
                true => name.to_string(),
                false => format!("{name} as {purpose}"),
            });
            pairs.collect::<Vec<_>>().join(", ")
        }
        None => mesh_text(problem, candidate),
    };
    let what = if problem.mesh.is_some() { "use of the axes" } else { "mesh" };
    choice(what, &|other| other.axes != best.axes, &purposes);
    choice("strategy", &|other| other.axes == best.axes && other.words() != best.words(), &Candidate::words);
    let axes_text = |group: usize, candidate: &Candidate| {
        let own = candidate.placed.get(&group);
        own.map_or_else(|| "as in the strategy".to_owned(), |dims| placement_text(problem, candidate, dims))
    };
    for (i, group) in problem.groups.iter().enumerate() {
        let name = first_name(problem, group);
        let differs = |other: &Candidate| {
            other.axes == best.axes
                && other.words() == best.words()
                && other.placed.get(&i) != best.placed.get(&i)
                && problem
                    .groups
                    .iter()
                    .enumerate()
                    .all(|(j, _)| j == i || other.placed.get(&j) == best.placed.get(&j))
        };
        choice(&name, &differs, &|candidate| axes_text(i, candidate));
    }
    choices
}
