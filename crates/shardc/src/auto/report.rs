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

/// The partition spec of an argument or result that is open in all dimensions.
pub(super) const OPEN: &str = "-,...";

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
    /// The strategy in the words of `--fsdp`, which reproduces all shardings if `placed` is empty; `as annotated` if the annotations of the
    /// program are kept without a strategy for the rest.
    pub strategy: String,
    /// The given shardings, which the search keeps.
    pub kept: KeptReport,
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
    /// Whether all shardings along whole axes of the mesh were evaluated, of the arguments and results without a given sharding.
    pub is_exhaustive: bool,
    /// The choices, each with the best alternative.
    pub choices: Vec<ChoiceReport>,
    /// The shardings of all groups of arguments and results, those with the most bytes first.
    pub arguments: Vec<ArgumentReport>,
    /// The candidate that was chosen, and the best others, best first. Others with equal estimates on a mesh are left out.
    pub tried: Vec<TriedReport>,
}

/// The number of given shardings, which a search keeps. Scalars are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeptReport {
    /// Arguments with a given sharding.
    pub arguments: usize,
    /// All arguments.
    pub all_arguments: usize,
    /// Results with a given sharding.
    pub results: usize,
    /// All results.
    pub all_results: usize,
    /// Whether values within the program have given shardings.
    pub is_within: bool,
    /// Whether some are annotations of the program, so that [`AutoOptions::ignores_shardings`] changes the result.
    pub is_annotated: bool,
}

impl KeptReport {
    /// Whether there is a given sharding.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.is_within || self.arguments + self.results > 0
    }

    /// Whether all arguments and results have a given sharding.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.arguments == self.all_arguments && self.results == self.all_results
    }
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
    /// The axes that are not used as their names indicate: `model as data`. The second one is a purpose.
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

/// The report about the candidate `best`, according to which `module` is annotated. It has no choices.
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
        kept: KeptReport {
            arguments: problem.given.arguments.0,
            all_arguments: problem.given.arguments.1,
            results: problem.given.results.0,
            all_results: problem.given.results.1,
            is_within: problem.given.is_within,
            is_annotated: problem.is_annotated,
        },
        batch_first: best.batch_first,
        is_replicated: !best.as_annotated && is_replicated(module),
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
        choices: Vec::new(),
        tried: tried(problem, search, best),
        arguments,
    }
}

/// The mesh of a candidate, with the user's names if the user fixed it.
pub(super) fn mesh_of(problem: &Problem, candidate: &Candidate) -> Mesh {
    problem.mesh.map_or_else(|| candidate.mesh(), |own| problem.module.meshes[own].clone())
}

pub(super) fn mesh_text(problem: &Problem, candidate: &Candidate) -> String {
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
                || OPEN.to_owned(),
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

/// The candidates that are listed. The program as it is annotated is always one.
fn tried(problem: &Problem, search: &Search<'_>, best: &Candidate) -> Vec<TriedReport> {
    let annotated = problem.as_annotated();
    let ranked: Vec<_> = search.ranked().into_iter().enumerate().collect();
    let is =
        |wanted: Option<&Candidate>| ranked.iter().find(|(_, (candidate, _))| Some(*candidate) == wanted);
    let others = ranked
        .iter()
        .filter(|(_, (candidate, _))| *candidate != best && Some(*candidate) != annotated.as_ref());
    let first = is(annotated.as_ref()).filter(|(_, (candidate, _))| *candidate != best);
    let mut rows: Vec<(usize, TriedReport)> = Vec::new();
    for &(rank, (candidate, score)) in is(Some(best)).into_iter().chain(first).chain(others) {
        let mesh = mesh_text(problem, candidate);
        let score = ScoreReport::from(score);
        let is_new = || !rows.iter().any(|(_, row)| row.mesh == mesh && row.score == score);
        if rows.len() < LISTED && (Some(candidate) == annotated.as_ref() || is_new()) {
            let row = TriedReport {
                mesh,
                uses: other_uses(problem, candidate),
                strategy: candidate.words(),
                is_chosen: candidate == best,
                batch_first: candidate.batch_first,
                placed: placed_texts(problem, candidate),
                score,
            };
            rows.push((rank, row));
        }
    }
    rows.sort_by_key(|(rank, row)| (!row.is_chosen, *rank));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// The axes of a given mesh that are not used as their names indicate.
fn other_uses(problem: &Problem, candidate: &Candidate) -> Vec<String> {
    if problem.mesh.is_none() {
        return Vec::new();
    }
    let own = mesh_of(problem, candidate).axes;
    let axes = own.keys().zip(&candidate.axes);
    let others = axes.filter(|(name, (purpose, _))| Purpose::of_name(name) != *purpose);
    others.map(|(name, axis)| use_text(name, axis.0)).collect()
}

/// An axis of a given mesh, with its purpose if that is not the one of its name: `model as data`.
pub(super) fn use_text(name: &str, purpose: Purpose) -> String {
    if Purpose::of_name(name) == purpose { name.to_owned() } else { format!("{name} as {}", purpose.word()) }
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
pub(super) fn first_name(problem: &Problem, group: &Group) -> String {
    let names = names(problem, group);
    let folded = fold(names.iter().map(String::as_str));
    folded.first().map_or_else(String::new, |folded| folded.text.clone())
}

/// A sharding along axes of the mesh as a partition spec.
pub(super) fn placement_text(problem: &Problem, candidate: &Candidate, dims: &Dims) -> String {
    let dims: Vec<Vec<AxisRef>> =
        dims.iter().map(|axes| axes.iter().map(|&axis| AxisRef::whole(axis)).collect()).collect();
    dims_text(dims.iter().map(Vec::as_slice), &mesh_of(problem, candidate))
}
