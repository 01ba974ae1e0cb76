//! Remedies: changes of annotations that remove a collective.
//!
//! The annotations from which the reasons of a collective come are candidates: without the axis, the argument is replicated over it, and so
//! is the optimizer state of a parameter. If no batch argument is sharded along the axis, sharding the batch is a candidate too. A
//! candidate becomes a remedy only if the program, partitioned with it, sends fewer bytes and is not estimated to take longer.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use shardc_ir::{Module, OpId, TensorSharding};
use shardc_passes::annotations::spec::Annotation;
use shardc_passes::cost::traffic;
use shardc_passes::propagate::{AnnotationSource, AxisRole as At, Subject};
use shardc_target::Target;

use super::Explainer;
use super::classes::{OperandClass, ProgramRoles};
use super::collectives::Served;
use super::fold::groups;
use super::report::{CollectiveReport, RemedyReport};
use crate::folding::fold;
use crate::parallel;
use crate::seconds_text::seconds_text;
use crate::spec_text::axes_text;
use crate::{Compiler, Output};

/// The maximum number of candidates for a group of collectives. Each is a partition of the program.
const CANDIDATES: usize = 2;

/// The least relative difference of times that matters.
const NOTICEABLE: f64 = 1e-3;

/// The maximum number of names of arguments in a remedy.
const NAMES: usize = 3;

/// The costs of a partitioned program.
#[derive(Clone, Copy, Debug)]
struct Measure {
    /// Seconds of one execution; `None` if no target has the number of devices.
    seconds: Option<f64>,
    /// Bytes that a device sends in one execution.
    sent: u64,
    /// Bytes of the memory peak.
    memory: u64,
    /// Floating-point operations of matrix products and convolutions of a device.
    operations: f64,
}

impl Measure {
    fn of(output: &Output, target: Option<&Target>) -> Measure {
        let func = output.module.entry();
        let collectives = traffic::collectives(&output.module);
        Measure {
            seconds: target.zip(func).map(|(target, func)| output.time(func, target).total.seconds),
            sent: collectives.iter().map(traffic::Collective::bytes_in_run).fold(0, u64::saturating_add),
            memory: output.memory().peak,
            operations: traffic::product_operations(&output.module),
        }
    }
}

/// Partitions of one program with changed annotations.
pub(super) struct Trials<'a> {
    compiler: &'a Compiler,
    /// The program as it was parsed.
    raw: &'a Module,
    roles: &'a ProgramRoles,
    target: Option<Arc<Target>>,
    /// The costs with each set of annotations, `None` if the program cannot be partitioned with them.
    known: HashMap<Vec<String>, Option<Measure>>,
}

impl<'a> Trials<'a> {
    pub(super) fn new(
        compiler: &'a Compiler,
        raw: &'a Module,
        roles: &'a ProgramRoles,
        devices: usize,
    ) -> Trials<'a> {
        let target = compiler.options.costs.target_with(devices);
        Trials { compiler, raw, roles, target, known: HashMap::new() }
    }

    /// Measures sets of annotations on all processors, and keeps the costs.
    fn measure(&mut self, candidates: &[Candidate]) {
        let mut new: Vec<&[String]> = Vec::new();
        for candidate in candidates {
            let specs = candidate.specs.as_slice();
            if !self.known.contains_key(specs) && !new.contains(&specs) {
                new.push(specs);
            }
        }
        let measured = parallel::map(&new, parallel::processors(), |specs| self.partitioned(specs));
        self.known.extend(new.iter().map(|specs| specs.to_vec()).zip(measured));
    }

    /// The costs with a set of annotations.
    fn partitioned(&self, specs: &[String]) -> Option<Measure> {
        let annotations: Option<Vec<Annotation>> = specs.iter().map(|spec| spec.parse().ok()).collect();
        let compiler = annotations?.into_iter().fold(self.compiler.clone(), Compiler::annotation);
        let output = compiler.partition_module(self.raw.clone()).ok()?;
        Some(Measure::of(&output, self.target.as_deref()))
    }
}

/// A change of annotations.
struct Candidate {
    what: String,
    specs: Vec<String>,
}

impl Explainer<'_> {
    /// Adds remedies to the `limit` largest groups of collectives.
    pub(super) fn add_remedies(
        &self,
        output: &Output,
        collectives: &mut [CollectiveReport],
        trials: &mut Trials<'_>,
        limit: usize,
    ) {
        let served = Served::new(self.module, self.body, output);
        let ops = traffic::collectives(&output.module);
        let before = Measure::of(output, trials.target.as_deref());
        let (mut tried, mut candidates) = (Vec::new(), Vec::new());
        for group in groups(collectives).iter().take(limit) {
            let Some(&first) = group.members.first() else { continue };
            // Collectives of called functions serve operations that the propagated program does not contain.
            let in_entry = group.members.iter().filter(|member| member.function.is_none());
            let needs: Vec<Vec<OpId>> = in_entry
                .filter_map(|member| ops.get(member.number))
                .map(|collective| served.by(&output.module, collective.op))
                .collect();
            let own = self.candidates(output, first, &needs, trials.roles);
            tried.push((first, group.bytes, candidates.len()..candidates.len() + own.len()));
            candidates.extend(own);
        }
        trials.measure(&candidates);
        let remedies = tried
            .into_iter()
            .map(|(first, bytes, own)| (first.number, best(&candidates[own], before, bytes, first, trials)));
        for (number, remedy) in remedies.collect::<Vec<_>>() {
            if let Some(report) = collectives.iter_mut().find(|report| report.number == number) {
                match remedy {
                    Ok(remedy) => report.remedy = Some(remedy),
                    Err(reason) => report.no_remedy = Some(reason),
                }
            }
        }
    }

    fn candidates(
        &self,
        output: &Output,
        collective: &CollectiveReport,
        needs: &[Vec<OpId>],
        roles: &ProgramRoles,
    ) -> Vec<Candidate> {
        let mut out = Vec::new();
        for axis in &collective.axes {
            // The sources of equal collectives correspond by position.
            let mut slots: IndexMap<usize, IndexSet<usize>> = IndexMap::new();
            for ops in needs {
                let sources = ops.iter().flat_map(|&op| self.sources(op, collective, axis));
                for (slot, argument) in sources.collect::<IndexSet<usize>>().into_iter().enumerate() {
                    slots.entry(slot).or_default().insert(argument);
                }
            }
            // Without the batch's own axis, every device would compute the whole batch.
            slots.retain(|_, arguments| arguments.iter().all(|&i| roles.class(i) != OperandClass::Batch));
            let all: IndexSet<usize> = slots.values().flatten().copied().collect();
            for arguments in [all].into_iter().chain(slots.into_values()) {
                let candidate = self.replicated_over(output, &arguments, axis, roles);
                out.extend(candidate.filter(|c| out.iter().all(|other: &Candidate| other.specs != c.specs)));
            }
            out.extend(self.batch_candidate(output, axis, roles));
        }
        out.truncate(CANDIDATES);
        out
    }

    /// The arguments whose annotations are the reason for a collective along an axis.
    fn sources(&self, op: OpId, collective: &CollectiveReport, axis: &str) -> Vec<usize> {
        let sides = if collective.reduces() {
            let sides = self.reduced(op).into_iter();
            sides.map(|(value, dim, axis)| (Subject::Value(value), dim, axis)).collect::<Vec<_>>()
        } else {
            let of_op = self.provenance.conflicts().iter().filter(|conflict| conflict.op == Some(op));
            of_op.map(|conflict| (conflict.has.0, conflict.has.1, conflict.axis)).collect()
        };
        let is_about = |subject: Subject, part| {
            self.sharding(subject).is_some_and(|s| self.module.meshes[s.mesh].axis_name(part) == axis)
        };
        let about = sides.into_iter().filter(|&(subject, _, part)| is_about(subject, part));
        let origins =
            about.flat_map(|(subject, dim, part)| self.provenance.origins(subject, At::Dim(dim), part));
        let arguments = origins.filter_map(|origin| match origin {
            AnnotationSource::Argument(i) => Some(i as usize),
            _ => None,
        });
        arguments.collect()
    }

    /// The candidate that removes an axis from arguments, and from the optimizer state and the next values of parameters among them.
    fn replicated_over(
        &self,
        output: &Output,
        arguments: &IndexSet<usize>,
        axis: &str,
        roles: &ProgramRoles,
    ) -> Option<Candidate> {
        let follows = |role: &super::classes::ArgumentRole| role.of.is_some_and(|of| arguments.contains(&of));
        let state =
            roles.arguments.iter().enumerate().filter(|(i, role)| follows(role) && !arguments.contains(i));
        let state: Vec<usize> = state.map(|(i, _)| i).collect();
        let mut specs = Vec::new();
        for &i in arguments.iter().chain(&state) {
            let argument = output.interface.inputs.get(i).filter(|tensor| tensor.mesh.is_none());
            specs.extend(
                self.spec_without(argument.and(self.argument(i)), axis).map(|spec| format!("arg{i}={spec}")),
            );
            let next = roles.arguments.get(i).and_then(|role| role.next);
            let result = next.and_then(|next| self.sharding(Subject::Result(next as u32)));
            let spec = self.spec_without(result, axis);
            specs.extend(next.zip(spec).map(|(next, spec)| format!("res{next}={spec}")));
        }
        let names = self.arguments_text(&arguments.iter().copied().collect::<Vec<_>>());
        let with_state = if state.is_empty() { "" } else { " and the optimizer state" };
        let what = format!("replicate {names}{with_state} over \"{axis}\"");
        (!specs.is_empty()).then_some(Candidate { what, specs })
    }

    /// The candidate that shards the batch along an axis that shards no batch argument.
    fn batch_candidate(&self, output: &Output, axis: &str, roles: &ProgramRoles) -> Option<Candidate> {
        let of_batch = roles.arguments.iter().enumerate().filter_map(|(i, role)| Some((i, role.batch_dim?)));
        let of_batch: Vec<(usize, usize)> = of_batch.collect();
        let size = *output.interface.mesh.axes.get(axis)?;
        let mut specs = Vec::new();
        for &(i, batch_dim) in &of_batch {
            let tensor = output.interface.inputs.get(i)?;
            let sharding = self.argument(i).filter(|_| tensor.mesh.is_none())?;
            let uses =
                sharding.split_axes().any(|part| self.module.meshes[sharding.mesh].axis_name(part) == axis);
            let local = *tensor.local_shape.get(batch_dim)?;
            if uses || size < 2 || local % size != 0 {
                return None;
            }
            specs.push(format!(
                "arg{i}={}",
                self.spec(sharding, |d, axes| {
                    if d == batch_dim {
                        axes.push(axis.to_owned());
                    }
                })
            ));
        }
        let names = self.arguments_text(&of_batch.iter().map(|&(i, _)| i).collect::<Vec<_>>());
        let what = format!("shard the batch of {names} by \"{axis}\"");
        (!specs.is_empty()).then_some(Candidate { what, specs })
    }

    fn argument(&self, i: usize) -> Option<&TensorSharding> {
        let value = *self.module.regions[self.body].args.get(i)?;
        self.sharding(Subject::Value(value))
    }

    /// Arguments as text: `argument 3 params['w']`, or the names of several, folded.
    fn arguments_text(&self, arguments: &[usize]) -> String {
        let value = |i: usize| self.module.regions[self.body].args.get(i).copied();
        let label = |i: usize| value(i).and_then(|value| self.label(Subject::Value(value)));
        if let &[i] = arguments {
            let name = label(i).or_else(|| value(i).map(|value| self.names.value(value)));
            return name.map_or_else(|| format!("argument {i}"), |name| format!("argument {i} {name}"));
        }
        let names: Vec<String> =
            arguments.iter().map(|&i| label(i).unwrap_or_else(|| format!("argument {i}"))).collect();
        let folded = fold(names.iter().map(String::as_str)).into_iter().map(|name| name.text);
        let mut folded: Vec<String> = folded.collect();
        let more = folded.len().saturating_sub(NAMES);
        folded.truncate(NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", folded.join(", "))
    }

    /// The partition spec of a sharding without an axis; `None` if the sharding does not use the axis.
    fn spec_without(&self, sharding: Option<&TensorSharding>, axis: &str) -> Option<String> {
        let sharding = sharding?;
        let is_axis = |text: &String| text.split(':').next() == Some(axis);
        let mut used = false;
        let spec = self.spec(sharding, |_, axes| {
            used |= axes.iter().any(is_axis);
            axes.retain(|text| !is_axis(text));
        });
        used.then_some(spec)
    }

    /// The partition spec of a sharding, with changes to the axes of each dimension.
    fn spec(&self, sharding: &TensorSharding, mut change: impl FnMut(usize, &mut Vec<String>)) -> String {
        let mesh = &self.module.meshes[sharding.mesh];
        let dims = sharding.dims.iter().enumerate().map(|(d, dim)| {
            let mut axes: Vec<String> = dim.axes.iter().map(|&axis| mesh.axis_text(axis)).collect();
            change(d, &mut axes);
            axes_text(&axes)
        });
        dims.collect::<Vec<_>>().join(",")
    }
}

/// The candidate with the least computation that sends less, or the reason why there is none. The saving must be at least a quarter of the
/// bytes of the collective; otherwise other collectives take its place.
fn best(
    candidates: &[Candidate],
    before: Measure,
    bytes: u64,
    collective: &CollectiveReport,
    trials: &Trials<'_>,
) -> Result<RemedyReport, String> {
    let mut found: Option<(Measure, &Candidate)> = None;
    let mut slower: Option<(f64, &Candidate)> = None;
    for candidate in candidates {
        let Some(&Some(after)) = trials.known.get(&candidate.specs) else { continue };
        let saves = after.sent < before.sent && (before.sent - after.sent) >= bytes / 4;
        let is_better =
            found.is_none_or(|(best, _)| (after.operations, after.sent) < (best.operations, best.sent));
        let lost = after.seconds.zip(before.seconds).map(|(after, before)| (after - before, before));
        if let Some((lost, before)) = lost.filter(|_| saves)
            && lost > NOTICEABLE * before
        {
            slower.get_or_insert((lost, candidate));
        } else if saves && is_better {
            found = Some((after, candidate));
        }
    }
    let Some((after, candidate)) = found else {
        return Err(without_remedy(candidates, slower, collective));
    };
    Ok(RemedyReport {
        what: candidate.what.clone(),
        specs: candidate.specs.clone(),
        sent: difference(before.sent, after.sent),
        memory: difference(before.memory, after.memory),
        seconds: after.seconds.zip(before.seconds).map(|(after, before)| after - before),
        operations: if before.operations > 0.0 { after.operations / before.operations } else { 1.0 },
    })
}

fn difference(before: u64, after: u64) -> i64 {
    i64::try_from(i128::from(after) - i128::from(before)).unwrap_or(i64::MAX)
}

/// The reason why a collective has no remedy.
fn without_remedy(
    candidates: &[Candidate],
    slower: Option<(f64, &Candidate)>,
    collective: &CollectiveReport,
) -> String {
    let purpose = match (collective.reduces(), collective.kind.as_str(), collective.class) {
        (true, _, Some(OperandClass::Gradient)) => {
            "it sums gradients over the shards of a contracted dimension"
        }
        (true, _, _) => "it sums over a sharded dimension",
        (false, "all_gather", Some(OperandClass::Weight)) => {
            "it gathers a weight that is sharded to save memory"
        }
        _ => "it changes the sharding of a value",
    };
    match (candidates, slower) {
        ([], _) => format!("{purpose}; only annotations of weights are tried, and none of them causes it"),
        (_, Some((lost, candidate))) => format!(
            "{purpose}; tried without success, because the program takes {} longer: {}",
            seconds_text(lost),
            candidate.what
        ),
        ([first, ..], None) => {
            format!("{purpose}; tried without success, because it does not send less: {}", first.what)
        }
    }
}
