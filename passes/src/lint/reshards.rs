//! Data that moves between devices: what constraints force, and what the program does not ask for.

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

/// Constraints that data must be moved for, at the constraint itself or where the elementwise operations before it
/// begin to be sharded as it asks; one finding for each place in the user's program. What it takes to complete a
/// pending sum would be sent in any case, and does not count.
pub(super) fn by_constraints(subject: &Subject<'_>, _: &Plan) -> Vec<Diagnostic> {
    let module = subject.module;
    let mut planners: Vec<Planner<'_>> = module.meshes.values().map(Planner::new).collect();
    let runs = run_counts(module, subject.body);
    let mut seen: FxHashSet<OpId> = FxHashSet::default();
    let mut places: IndexMap<ReshardSite, Forced> = IndexMap::new();
    for op in program_ops(module, subject.body) {
        let (true, OpKind::Reshard(to)) = (subject.facts.asked.is_constraint(op), &module.ops[op].kind)
        else {
            continue;
        };
        for reshard in reshards_before(subject, op, *to, &mut seen) {
            let Some((from, target, ty)) = sides(subject, reshard) else { continue };
            let (mesh, planner) = (subject.mesh(from), &mut planners[from.mesh.as_u32() as usize]);
            let mut sent = |to: &TensorSharding| path_bytes(mesh, planner, from, to, ty);
            // What remains beyond completing the sum where it is: a constraint on a pending product is not to blame
            // for its all-reduce.
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

/// The constraint itself, or the reshards into its sharding that only elementwise operations separate from it; each
/// is given once in a program.
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
        // A bound on steps in place of a set of visited operations: chains of elementwise operations are short, and a
        // diamond costs a second look at most so often.
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
                && !subject.facts.asked.is_constraint(def)
                && data.results.first().is_some_and(|&v| {
                    module.shape(v) == shape
                        && module.shardings.sharding_of(v).is_some_and(|s| s.same_placement(wanted))
                })
        }));
    }
    found
}

/// What a reshard goes from and to, and the type of its value, where that costs anything.
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

/// Constraints that are told together.
#[derive(PartialEq, Eq, Hash)]
enum ReshardSite {
    User(String),
    Kind(TypeId, ShardingId),
}

struct Forced {
    /// The constraint.
    op: OpId,
    /// A reshard for it.
    reshard: OpId,
    /// How often it is done in one run of the program.
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
        warning = warning.note(Span::NONE, format!("the program does so {times} times: {bytes} in all"));
    }
    warning = warning.hint(format!(
        "write {} if that will do, or annotate what the value is computed from so that it is split like this already",
        from.completed().display(mesh)
    ));
    warning.user_loc = module.user_loc(forced.op);
    Some(warning.bytes(forced.bytes))
}

/// Values that the planner makes whole on every device though nobody asks for it ([`gathered`]), equal ones once.
pub(super) fn to_whole(subject: &Subject<'_>, plan: &Plan) -> Vec<Diagnostic> {
    let Subject { module, body, facts, options, .. } = *subject;
    let found = gathered(module, body, &facts.asked, plan);
    let told = merged(found.iter().map(|gather| &gather.warning)).into_iter().map(|told| told.warning);
    told.filter(|warning| warning.bytes.is_some_and(|bytes| bytes >= options.min_bytes)).collect()
}

/// What planning itself warns of, where it is large: one finding for each place in the user's program, or each kind of
/// operation.
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
            let more = count(times - 1, "gather");
            let text = format!("{more} more of this place or kind: {} in all", bytes_text(bytes));
            diagnostic = diagnostic.note(Span::NONE, text);
        }
        diagnostic.bytes(bytes)
    });
    found.collect()
}
