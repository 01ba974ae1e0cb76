//! Changes that make a program fit or make it faster, each measured on a partition of its own.

use std::cmp::Ordering::Equal;
use std::collections::HashSet;

use indexmap::{IndexMap, IndexSet};
use shardc_ir::{Module, ValueId};
use shardc_passes::annotations::spec::Annotation;
use shardc_passes::cost::memory::InMemory;
use shardc_passes::report::byte_size::bytes_text;

use super::classes::is_collective;
use super::rematerialize::rematerialize;
use super::report::{ChangeReport, TogetherReport};
use super::{Measured, PlanOptions};
use crate::folding::with_wildcards;
use crate::parallel;
use crate::spec_text::axes_text;
use crate::{Compiler, InterfaceTensor, Output};

/// The number of changes in a report.
const SHOWN: usize = 5;

/// The number of changes that are measured.
const MEASURED: usize = 8;

/// The limit on the operations of all partitions that are made to measure changes. It bounds the time without a clock.
const WORK: usize = 60_000;

/// Savings below this fraction of the whole are not reported.
const NEGLIGIBLE: f64 = 0.002;

/// A change that can be measured.
struct Candidate {
    what: String,
    how: String,
    apply: Apply,
}

/// The changes of a report, and their effect together.
#[derive(Default)]
pub(super) struct Found {
    /// The number of changes that were measured.
    pub(super) tried: usize,
    pub(super) changes: Vec<ChangeReport>,
    pub(super) together: Option<TogetherReport>,
}

enum Apply {
    /// Adds annotations for the group of arguments with this name.
    Annotate(String, Vec<Annotation>),
    CombineBytes(u64),
    MemoryBytes(u64),
    OrderDevices,
    /// Replaces the partitioned program.
    Replace(Box<Module>),
}

/// Finds changes; the best are first. If the program does not fit, those that save the most memory are.
pub(super) fn find(
    compiler: &Compiler,
    module: &Module,
    (output, measured): (&Output, &Measured),
    at_peak: &[InMemory],
    options: &PlanOptions,
) -> Found {
    let mut candidates: Vec<Candidate> = gathered_again(measured, options).into_iter().collect();
    candidates.extend(ordered(compiler, output));
    candidates.extend(combined(compiler, measured));
    candidates.extend(resharded(output));
    let affordable = WORK / output.module.ops.len().max(1);
    candidates.truncate(MEASURED.min(affordable));
    candidates.extend(rematerialized(output, at_peak));
    let mut changes = measure_all(compiler, (module, output), &candidates, measured, options);
    let tried = candidates.len();
    let limit = options.limit();
    let is_short_of_memory = limit > 0 && measured.memory.high > limit;
    let worth = |change: &ChangeReport| {
        let (time, memory) = (measured.time.total.seconds.max(1e-12), measured.memory.high.max(1) as f64);
        let (time, memory) = (change.seconds / time, change.bytes as f64 / memory);
        if is_short_of_memory { memory + 0.1 * time } else { time + 0.1 * memory }
    };
    // A change that needs more memory than there is does not help.
    let would_fit =
        |change: &ChangeReport| limit == 0 || signed(measured.memory.high) - change.bytes <= signed(limit);
    changes.retain(|change| worth(change) > NEGLIGIBLE && (is_short_of_memory || would_fit(change)));
    if is_short_of_memory {
        changes.sort_by(|a, b| (b.bytes, b.seconds).partial_cmp(&(a.bytes, a.seconds)).unwrap_or(Equal));
    } else {
        changes.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then(b.bytes.cmp(&a.bytes)));
    }
    changes.dedup_by(|a, b| a.what == b.what);
    changes.truncate(SHOWN);
    let together = is_short_of_memory
        .then(|| together(compiler, module, &candidates, (&changes, measured), options))
        .flatten();
    Found { tried, changes, together }
}

/// Measures changes that can be made together, if there are several: all except rematerialization, and the first for each argument.
fn together(
    compiler: &Compiler,
    module: &Module,
    candidates: &[Candidate],
    (changes, before): (&[ChangeReport], &Measured),
    options: &PlanOptions,
) -> Option<TogetherReport> {
    let (mut changed, mut numbers, mut targets) = (compiler.clone(), Vec::new(), HashSet::new());
    for (number, change) in (1..).zip(changes) {
        let Some(candidate) = candidates.iter().find(|candidate| candidate.what == change.what) else {
            continue;
        };
        if let Apply::Annotate(target, _) = &candidate.apply
            && !targets.insert(target)
        {
            continue;
        }
        if let Some(next) = candidate.applied(&changed) {
            changed = next;
            numbers.push(number);
        }
    }
    if numbers.len() < 2 {
        return None;
    }
    let output = changed.partition_module(module.clone()).ok()?;
    let after = Measured::of(&output, output.module.entry()?, &options.target);
    Some(TogetherReport {
        changes: numbers,
        seconds: before.time.total.seconds - after.time.total.seconds,
        bytes: signed(before.memory.high) - signed(after.memory.high),
        high: after.memory.high,
        fits: after.memory.high <= options.limit(),
    })
}

impl Candidate {
    /// The compiler with the change; `None` if the change is one of the partitioned program.
    fn applied(&self, compiler: &Compiler) -> Option<Compiler> {
        let mut changed = compiler.clone();
        match &self.apply {
            Apply::Annotate(_, annotations) => {
                changed = annotations.iter().cloned().fold(changed, Compiler::annotation);
            }
            Apply::CombineBytes(bytes) => changed.options.clean.combine_bytes = *bytes,
            Apply::MemoryBytes(bytes) => changed.options.clean.memory_bytes = Some(*bytes),
            Apply::OrderDevices => changed = changed.best_device_order(true),
            Apply::Replace(_) => return None,
        }
        Some(changed)
    }
}

/// Measures changes on all processors; the reports are in the order of the candidates.
fn measure_all(
    compiler: &Compiler,
    program: (&Module, &Output),
    candidates: &[Candidate],
    before: &Measured,
    options: &PlanOptions,
) -> Vec<ChangeReport> {
    let measured = parallel::map(candidates, parallel::processors(), |candidate| {
        measure(compiler, program, candidate, before, options)
    });
    measured.into_iter().flatten().collect()
}

/// Partitions the program with a change, and compares the estimates. `unchanged` is its partition without the change.
fn measure(
    compiler: &Compiler,
    (module, unchanged): (&Module, &Output),
    candidate: &Candidate,
    before: &Measured,
    options: &PlanOptions,
) -> Option<ChangeReport> {
    let output = match &candidate.apply {
        Apply::Replace(module) => Output { module: (**module).clone(), ..unchanged.clone() },
        _ => candidate.applied(compiler)?.partition_module(module.clone()).ok()?,
    };
    let after = Measured::of(&output, output.module.entry()?, &options.target);
    Some(ChangeReport {
        what: candidate.what.clone(),
        how: candidate.how.clone(),
        seconds: before.time.total.seconds - after.time.total.seconds,
        bytes: signed(before.memory.high) - signed(after.memory.high),
    })
}

/// A number of bytes as options accept it, in the largest unit of which it is a multiple: `16128MiB`.
fn exact(bytes: u64) -> String {
    let unit = [(30, "GiB"), (20, "MiB"), (10, "KiB")]
        .into_iter()
        .find(|&(bits, _)| bytes.is_multiple_of(1 << bits));
    unit.map_or_else(|| bytes.to_string(), |(bits, unit)| format!("{}{unit}", bytes >> bits))
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Arguments that differ only in the numbers in their names, such as the weights of repeated layers.
struct Alike<'a> {
    /// The selector of annotations: `arg3`, or a name with `*` for numbers.
    target: String,
    /// The selectors of the results to which the arguments are donated. They need the same shardings, because they are the arguments of the next
    /// execution.
    results: IndexSet<String>,
    count: u64,
    first: &'a InterfaceTensor,
}

/// Groups the arguments; the groups with the most bytes on a device are first.
fn alike(output: &Output) -> Vec<Alike<'_>> {
    let mut groups: IndexMap<String, Alike<'_>> = IndexMap::new();
    for (number, input) in output.interface.inputs.iter().enumerate() {
        if input.is_token || input.mesh.is_some() {
            continue;
        }
        let selector = |tensor: &InterfaceTensor, position: String| {
            tensor.name.as_ref().map_or(position, |name| with_wildcards(name))
        };
        let target = selector(input, format!("arg{number}"));
        let result = input.donated_to.and_then(|i| Some((i, output.interface.outputs.get(i)?)));
        let key = format!("{target} {:?} {:?}", input.local_shape, input.sharding);
        let new = Alike { target, results: IndexSet::new(), count: 0, first: input };
        let group = groups.entry(key).or_insert(new);
        group.count += 1;
        group.results.extend(result.map(|(i, result)| selector(result, format!("res{i}"))));
    }
    let mut groups: Vec<Alike<'_>> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.bytes()));
    groups
}

impl Alike<'_> {
    /// Bytes on a device.
    fn bytes(&self) -> u64 {
        let elements: i64 = self.first.local_shape.iter().product();
        let bits = elements.unsigned_abs().saturating_mul(u64::from(self.first.global.dtype.bits()));
        (bits / 8).saturating_mul(self.count)
    }

    /// The options and annotations that shard the arguments and their results along other axes, which `axes_of` returns for each dimension. `None`
    /// if they would be too many.
    fn annotated(&self, axes_of: impl Fn(usize) -> Vec<String>) -> Option<(String, Vec<Annotation>)> {
        const MOST: usize = 4;
        let dims = (0..self.first.sharding.dims.len()).map(|dim| axes_text(&axes_of(dim)));
        let spec = dims.collect::<Vec<_>>().join(",");
        let targets = [&self.target].into_iter().chain(&self.results);
        let specs: Vec<String> = targets.map(|target| format!("{target}={spec}")).collect();
        let options: Vec<String> = specs.iter().map(|spec| format!("--spec \"{spec}\"")).collect();
        let annotations: Option<Vec<Annotation>> = specs.iter().map(|spec| spec.parse().ok()).collect();
        Some((options.join(" "), annotations?)).filter(|_| specs.len() <= MOST)
    }
}

/// Shards the largest arguments along one more axis, or along one axis less.
fn resharded(output: &Output) -> Vec<Candidate> {
    let mesh = &output.interface.mesh;
    let mut candidates = Vec::new();
    for group in alike(output).into_iter().take(MEASURED / 2) {
        let sharding = &group.first.sharding;
        let of = |dim: usize| -> Vec<String> {
            sharding.dims[dim].axes.iter().map(|&axis| mesh.axis_text(axis)).collect()
        };
        let used: Vec<u16> = sharding.split_axes().map(|axis| axis.axis).collect();
        for (i, (axis, &size)) in mesh.axes.iter().enumerate().filter(|(_, (_, size))| **size > 1) {
            let divides = |n: &i64| *n >= size && n % size == 0;
            let (what, made) = if used.contains(&(i as u16)) {
                let made = group.annotated(|dim| of(dim).into_iter().filter(|own| own != &**axis).collect());
                (format!("do not shard {} by {axis:?}", group.target), made)
            } else if let Some(at) = group.first.local_shape.iter().position(divides) {
                let made = group.annotated(|dim| {
                    of(dim).into_iter().chain((dim == at).then(|| axis.to_string())).collect()
                });
                (format!("shard {} also by {axis:?}", group.target), made)
            } else {
                continue;
            };
            candidates.extend(made.map(|(how, annotations)| Candidate {
                what,
                how,
                apply: Apply::Annotate(group.target.clone(), annotations),
            }));
        }
    }
    candidates
}

/// Orders the devices of the target, if the mesh has several axes.
fn ordered(compiler: &Compiler, output: &Output) -> Option<Candidate> {
    let axes = output.interface.mesh.axes.values().filter(|&&size| size > 1).count();
    (axes > 1 && !compiler.orders_devices).then(|| Candidate {
        what: "put axes along which much is sent on fast links".to_owned(),
        how: "--device-order auto".to_owned(),
        apply: Apply::OrderDevices,
    })
}

/// Combines more collectives, if the device waits for many.
fn combined(compiler: &Compiler, measured: &Measured) -> Option<Candidate> {
    const LARGER: u64 = 64 << 20;
    let waits = measured.time.spans.iter().filter(|span| span.exposed > 0.0).count();
    (waits > 1 && compiler.options.clean.combine_bytes < LARGER).then(|| Candidate {
        what: "combine small collectives up to a larger size".to_owned(),
        how: format!("--combine-bytes {}", bytes_text(LARGER).replace(' ', "")),
        apply: Apply::CombineBytes(LARGER),
    })
}

/// All-gathers parameters again in the backward pass, if the program does not fit.
fn gathered_again(measured: &Measured, options: &PlanOptions) -> Option<Candidate> {
    let limit = options.limit();
    (limit > 0 && measured.memory.high > limit).then(|| Candidate {
        what: "all-gather parameters again in the backward pass instead of keeping them".to_owned(),
        how: format!("--memory {}", exact(limit)),
        apply: Apply::MemoryBytes(limit),
    })
}

/// Rematerializes the largest values at the peak that no collective or argument produces.
fn rematerialized(output: &Output, at_peak: &[InMemory]) -> Vec<Candidate> {
    let live: HashSet<ValueId> = at_peak.iter().flat_map(|group| group.values.iter().copied()).collect();
    let largest = at_peak.iter().filter(|group| group.count > 1 && !is_collective(&group.made_by));
    let candidates = largest.take(2).filter_map(|group| {
        let place = group.made_at.as_ref().map(|place| format!(" at {place}")).unwrap_or_default();
        Some(Candidate {
            what: format!(
                "rematerialize only {} results {} of {}{place} in the backward pass",
                group.count, group.ty, group.made_by
            ),
            how: "jax.checkpoint around the layer, with a policy that saves all other values".to_owned(),
            apply: Apply::Replace(Box::new(rematerialize(&output.module, &group.values, &live)?)),
        })
    });
    candidates.collect()
}
