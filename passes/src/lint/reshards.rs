//! Lints about communication: forced by constraints, or not requested by any annotation.

use std::borrow::Cow;

use indexmap::IndexMap;
use rustc_hash::FxHashSet;
use shardc_ir::{Class, Diagnostic, OpId, OpKind, ShardingId, Span, TensorSharding, TensorType, TypeId};

use super::subject::{Subject, count};
use crate::analysis::elementwise::is_elementwise;
use crate::analysis::regions::program_ops;
use crate::analysis::trip_count::run_counts;
use crate::plan::{Gather, Plan, gathered};
use crate::report::byte_size::bytes_text;
use crate::report::warnings::merged;
use crate::reshard::{Planner, path_bytes};

/// Reports constraints that cause communication, with one finding for each source location. The reshard may be the constraint itself, or
/// precede it, before element-wise operations. The all-reduce of an unreduced value does not count, since it is needed in any case.
pub(super) fn by_constraints(subject: &Subject<'_>, _: &Plan) -> Vec<Diagnostic> {
    let module = subject.module;
    let mut planners: Vec<Planner<'_>> =
        module.meshes.values().map(|mesh| Planner::new(mesh, &subject.options.costs)).collect();
    let runs = run_counts(module, subject.body);
    let mut seen: FxHashSet<OpId> = FxHashSet::default();
    let mut places: IndexMap<ReshardSite, Forced> = IndexMap::new();
    for op in program_ops(module, subject.body) {
        let (true, OpKind::Reshard(to)) = (subject.facts.requested.is_constraint(op), &module.ops[op].kind)
        else {
            continue;
        };
        for reshard in reshards_before(subject, op, *to, &mut seen) {
            let Some((from, target, ty)) = sides(subject, reshard) else { continue };
            let (mesh, planner) = (subject.mesh(from), &mut planners[from.mesh.as_u32() as usize]);
            let mut sent = |to: &TensorSharding| path_bytes(mesh, planner, from, to, ty);
            // Only the bytes in addition to those of an all-reduce count: a constraint on an unreduced value does not cause the
            // all-reduce itself.
            let bytes = sent(target).saturating_sub(sent(&from.completed()));
            let Some(&operand) = module.ops[op].operands.first().filter(|_| bytes > 0) else { continue };
            let place = match module.user_loc(op) {
                Some(loc) => ReshardSite::User(loc),
                None => ReshardSite::Kind(module.values[operand].ty, *to),
            };
            let forced =
                places.entry(place).or_insert(Forced { op, reshard, times: 0, bytes: 0, each: bytes });
            forced.times = forced.times.saturating_add(runs[reshard]);
            forced.bytes = forced.bytes.saturating_add(bytes.saturating_mul(runs[reshard]));
        }
    }
    let large = places.into_values().filter(|forced| forced.bytes >= subject.options.min_bytes);
    large.filter_map(|forced| constraint(subject, &forced)).collect()
}

/// Returns the reshards that a constraint causes: the constraint itself, or the reshards to its sharding that precede it, separated from it
/// only by element-wise operations. Each reshard is returned only once per program (`seen`).
fn reshards_before(
    subject: &Subject<'_>,
    constraint: OpId,
    to: ShardingId,
    seen: &mut FxHashSet<OpId>,
) -> Vec<OpId> {
    const MAX_STEPS: usize = 32;
    let module = subject.module;
    let wanted = module.shardings.get(to);
    let shape = module.ops[constraint].results.first().map_or(&[][..], |&v| module.shape(v));
    let (mut found, mut todo) = (Vec::new(), vec![constraint]);
    for _ in 0..MAX_STEPS {
        // A limit on steps is cheaper than a set of visited operations: chains of element-wise operations are short, and an operation that
        // two paths reach is only visited twice.
        let Some(op) = todo.pop() else { break };
        let data = &module.ops[op];
        if let OpKind::Reshard(_) = data.kind {
            let differs = sides(subject, op).is_some_and(|(from, to, _)| !from.same_placement(to));
            if differs {
                if seen.insert(op) {
                    found.push(op);
                }
                continue;
            }
        }
        let operands = data.operands.iter().filter(|&&v| !subject.is_constant(v));
        todo.extend(operands.filter_map(|&v| module.def_op(v)).filter(|&def| {
            let data = &module.ops[def];
            is_elementwise(module, def)
                && !subject.facts.requested.is_constraint(def)
                && data.results.first().is_some_and(|&v| {
                    module.shape(v) == shape
                        && module.shardings.sharding_of(v).is_some_and(|s| s.same_placement(wanted))
                })
        }));
    }
    found
}

/// If a reshard communicates, returns the shardings before and after it, and the type of its value.
fn sides<'a>(
    subject: &Subject<'a>,
    op: OpId,
) -> Option<(&'a TensorSharding, &'a TensorSharding, &'a TensorType)> {
    let module = subject.module;
    let (OpKind::Reshard(to), &[operand]) = (&module.ops[op].kind, &*module.ops[op].operands) else {
        return None;
    };
    let (from, to) = (module.shardings.sharding_of(operand)?, module.shardings.get(*to));
    (from.mesh == to.mesh && !subject.is_constant(operand)).then_some((from, to, module.stored(operand)?))
}

/// The key by which constraints are grouped into one finding: the source location or, without one, the type and the sharding.
#[derive(PartialEq, Eq, Hash)]
enum ReshardSite {
    User(String),
    Kind(TypeId, ShardingId),
}

struct Forced {
    /// The constraint that causes the reshard.
    op: OpId,
    /// A reshard that the constraint causes.
    reshard: OpId,
    /// The number of executions of the reshard in one execution of the program.
    times: u64,
    bytes: u64,
    each: u64,
}

fn constraint(subject: &Subject<'_>, forced: &Forced) -> Option<Diagnostic> {
    let module = subject.module;
    let data = &module.ops[forced.op];
    let (from, to, ty) = sides(subject, forced.reshard)?;
    let mesh = subject.mesh(from);
    let message = format!(
        "the constraint {} forces a reshard of {ty} from {}: each device sends {}",
        to.display(mesh),
        from.display(mesh),
        bytes_text(forced.each)
    );
    let mut warning = Diagnostic::warning(Class::InvalidInput, "", message).at(data.span);
    if forced.times > 1 {
        let (times, bytes) = (forced.times, bytes_text(forced.bytes));
        warning =
            warning.note(Span::NONE, format!("the reshard runs {times} times and sends {bytes} in total"));
    }
    warning = warning.hint(format!(
        "write {} if that sharding is sufficient, or annotate the operands so that the value already has the required sharding",
        from.completed().display(mesh)
    ));
    warning.user_loc = module.user_loc(forced.op);
    Some(warning.bytes(forced.bytes))
}

/// Reports all-gathers that no annotation requests ([`gathered`]); equal warnings are merged into one.
pub(super) fn to_whole(subject: &Subject<'_>, plan: &Plan) -> Vec<Diagnostic> {
    let Subject { module, body, facts, options, .. } = *subject;
    let found = gathered(module, body, &facts.requested, plan);
    let reported =
        merged(found.iter().map(|gather| &gather.warning)).into_iter().map(|reported| reported.warning);
    reported.filter(|warning| warning.bytes.is_some_and(|bytes| bytes >= options.min_bytes)).collect()
}

/// Reports the all-gathers that planning warns about, if they have at least the minimum number of bytes: one finding for each source
/// location or, without one, for each kind of operation.
pub(super) fn for_operations(subject: &Subject<'_>, plan: &Plan) -> Vec<Diagnostic> {
    let bytes_of = |gather: &Gather| gather.warning.bytes.unwrap_or(0);
    let mut places: IndexMap<Cow<'_, str>, (&Gather, usize, u64)> = IndexMap::new();
    for gather in plan.gathers.iter().filter(|gather| bytes_of(gather) >= subject.options.min_bytes) {
        let kind = || subject.module.ops[gather.op].kind.title();
        let place = gather.warning.user_loc.as_deref().map_or_else(kind, Cow::Borrowed);
        let (largest, times, bytes) = places.entry(place).or_insert((gather, 0, 0));
        if bytes_of(gather) > bytes_of(largest) {
            *largest = gather;
        }
        *times += 1;
        *bytes = bytes.saturating_add(bytes_of(gather));
    }
    let found = places.into_values().map(|(largest, times, bytes)| {
        let mut diagnostic = largest.warning.clone();
        if times > 1 {
            let more = count(times - 1, "more all-gather");
            let text = format!("{more} at this location or of this kind: {} in total", bytes_text(bytes));
            diagnostic = diagnostic.note(Span::NONE, text);
        }
        diagnostic.bytes(bytes)
    });
    found.collect()
}
