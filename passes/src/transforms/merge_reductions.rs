//! Merges reductions: adds and transposes pending sums before they are completed.
//!
//! The sum of two values that are each completed by the same reduction is completed once: where an addition
//! reads two reshards from the same pending sharding, and nothing else reads them, it adds the pending values
//! and the reshard comes after it. The gradient that flows into a layer through several products is such a
//! sum, so a transformer's backward pass needs one all-reduce where it would take three.
//!
//! Where such sums are added to something else one after the other, `(x + a) + b`, they are added to each other first,
//! `x + (a + b)`: devices add their parts in no particular order either.
//!
//! Where one of them is summed over more axes, as of a tied embedding whose two gradients are split over the devices of a node in
//! different ways, it is summed over the others first: across nodes both are then summed as one.
//!
//! The transpose of a completed sum that nothing else reads is completed after it. The gradient of a weight is a product
//! that is transposed, which back ends make one product of, as long as no collective stands between.

use shardc_ir::{
    BinaryOp, Build, Module, OpId, OpKind, ReductionKind, RegionId, Rewriter, ShardingId, TensorSharding,
    UseCounts, ValueId,
};

use crate::analysis::regions::program_regions;

/// Merges reductions everywhere under `body` of a planned module. The reshards that are no longer needed stay, unused.
pub fn merge_reductions(module: &mut Module, body: RegionId) {
    let mut readers = UseCounts::under(module, body);
    let mut rw = Rewriter::new(module);
    for region in program_regions(rw.module, body) {
        rw.enter(region);
        while let Some(op) = rw.next_op() {
            // Regrouping first: it may make the operand that `merge` then looks at.
            regroup(&mut rw, op, &mut readers);
            level(&mut rw, op, &mut readers);
            rw.keep();
            match rw.module.ops[op].kind {
                OpKind::Transpose { .. } => transpose(&mut rw, op, &mut readers),
                _ => merge(&mut rw, op, &mut readers),
            };
        }
    }
}

/// A value that completes a pending sum.
#[derive(Clone, Copy)]
struct Completed {
    value: ValueId,
    /// The pending sum, and its sharding.
    source: ValueId,
    pending: ShardingId,
}

/// Returns the operands of an addition of two values.
fn addends(module: &Module, op: OpId) -> Option<[ValueId; 2]> {
    let data = &module.ops[op];
    match (&data.kind, data.operands.as_slice()) {
        (OpKind::Binary(BinaryOp::Add), &[a, b]) if a != b => Some([a, b]),
        _ => None,
    }
}

/// Whether one reduction completes both sums as `wanted`.
fn complete_alike(module: &Module, one: Completed, other: Completed, wanted: ShardingId) -> bool {
    let same = |s: ShardingId, t: ShardingId| module.shardings.get(s).same_placement(module.shardings.get(t));
    let is_wanted = |v: ValueId| module.shardings.of(v).is_some_and(|s| same(s, wanted));
    same(one.pending, other.pending) && is_wanted(one.value) && is_wanted(other.value)
}

/// Inserts the reshard that completes the sum which `op` now makes, if it is an addition of two sums that are completed alike.
fn merge(rw: &mut Rewriter<'_>, op: OpId, readers: &mut UseCounts) -> Option<()> {
    let module = &mut *rw.module;
    let [a, b] = addends(module, op)?;
    let (one, other) = (completed(module, a, readers)?, completed(module, b, readers)?);
    let result = module.ops[op].results[0];
    let wanted = module.shardings.of(result)?;
    if !complete_alike(module, one, other, wanted) {
        return None;
    }
    module.ops[op].operands = [one.source, other.source].into_iter().collect();
    complete_after(rw, op, one.pending, wanted, readers);
    Some(())
}

/// Completes an operand of an addition in two steps, where it is summed over more axes than the other one: the second step is then
/// what completes the other one, too.
fn level(rw: &mut Rewriter<'_>, op: OpId, readers: &mut UseCounts) -> Option<()> {
    let module = &*rw.module;
    let [a, b] = addends(module, op)?;
    let (one, other) = (completed(module, a, readers)?, completed(module, b, readers)?);
    let wanted = module.shardings.of(module.ops[op].results[0])?;
    let (less, more) = match (leaves(module, one, wanted), leaves(module, other, wanted)) {
        (true, false) => (one, other),
        (false, true) => (other, one),
        (true, true) | (false, false) => return None,
    };
    let [rest, all] = [less, more].map(|side| &module.shardings.get(side.pending).unreduced);
    let is_completed = |side: Completed| {
        let sharding = module.shardings.sharding_of(side.value);
        sharding.is_some_and(|sharding| sharding.same_placement(module.shardings.get(wanted)))
    };
    if !rest.iter().all(|axis| all.contains(axis)) || !is_completed(less) || !is_completed(more) {
        return None;
    }
    let ty = module.values[more.source].ty;
    let first = rw.op1(OpKind::Reshard(less.pending), &[more.source], ty);
    let second = rw.op1(OpKind::Reshard(wanted), &[first], ty);
    rw.module.shardings.set(first, Some(less.pending));
    rw.module.shardings.set(second, Some(wanted));
    rw.module.ops[op].operands = [less.value, second].into_iter().collect();
    readers.add(&[first, second]);
    Some(())
}

/// Whether a sum is split as `wanted` before it is completed: only its addends are left to add.
fn leaves(module: &Module, side: Completed, wanted: ShardingId) -> bool {
    let pending = module.shardings.get(side.pending);
    pending.completed().same_placement(module.shardings.get(wanted))
}

/// Inserts the reshard that completes the sum which `op` now makes, if it transposes a sum that is completed.
fn transpose(rw: &mut Rewriter<'_>, op: OpId, readers: &mut UseCounts) -> Option<()> {
    let module = &mut *rw.module;
    let data = &module.ops[op];
    let (OpKind::Transpose { permutation }, &[operand]) = (&data.kind, data.operands.as_slice()) else {
        return None;
    };
    let before = completed(module, operand, readers)?;
    let [pending, whole] = [before.pending, module.shardings.of(operand)?].map(|sharding| {
        let sharding = module.shardings.get(sharding);
        let dims = permutation.iter().map(|&dim| sharding.dims[dim as usize].clone()).collect();
        TensorSharding { dims, ..sharding.clone() }
    });
    let wanted = module.shardings.of(module.ops[op].results[0])?;
    if !module.shardings.get(wanted).same_placement(&whole) {
        return None;
    }
    let pending = module.shardings.intern(pending);
    module.ops[op].operands[0] = before.source;
    complete_after(rw, op, pending, wanted, readers);
    Some(())
}

/// Inserts the reshard that completes the `pending` result of `op` as `wanted`, and is read in its stead.
fn complete_after(
    rw: &mut Rewriter<'_>,
    op: OpId,
    pending: ShardingId,
    wanted: ShardingId,
    readers: &mut UseCounts,
) {
    let result = rw.module.renew_result(op, 0);
    let sum = rw.module.ops[op].results[0];
    rw.module.shardings.set(sum, Some(pending));
    let reshard = rw.op(OpKind::Reshard(wanted), &[sum], &[], &[]);
    rw.module.give_result(reshard, result);
    readers.add(&[sum]);
}

/// Rewrites `(x + a) + b`, of completed sums `a` and `b`, to `x + (a + b)`, in place of the outer addition: the inner sum and
/// the reshard that completes it come before `op`. The other addition stays, unused.
fn regroup(rw: &mut Rewriter<'_>, op: OpId, readers: &mut UseCounts) -> Option<()> {
    let module = &*rw.module;
    let [a, b] = addends(module, op)?;
    let result = module.ops[op].results[0];
    let wanted = module.shardings.of(result)?;
    let found = [(a, b), (b, a)].into_iter().find_map(|(before, now)| {
        let now = completed(module, now, readers)?;
        let inner = module.def_op(before).filter(|_| is_read_once(before, readers))?;
        let [x, y] = addends(module, inner)?;
        let (rest, earlier) = match (completed(module, x, readers), completed(module, y, readers)) {
            (Some(earlier), None) => (y, earlier),
            (None, Some(earlier)) => (x, earlier),
            (Some(_), Some(_)) | (None, None) => return None,
        };
        complete_alike(module, earlier, now, wanted).then_some((rest, earlier, now))
    });
    let (rest, earlier, now) = found?;
    let ty = module.values[result].ty;
    let sum = rw.op1(OpKind::Binary(BinaryOp::Add), &[earlier.source, now.source], ty);
    let whole = rw.op1(OpKind::Reshard(wanted), &[sum], ty);
    rw.module.shardings.set(sum, Some(earlier.pending));
    rw.module.shardings.set(whole, Some(wanted));
    rw.module.ops[op].operands = [rest, whole].into_iter().collect();
    readers.add(&[sum, whole]);
    Some(())
}

fn is_read_once(value: ValueId, readers: &UseCounts) -> bool {
    readers.get(value) == 1
}

/// Returns `value`, if it is the reshard of a pending sum and read once: with a second reader it has to be completed anyway.
fn completed(module: &Module, value: ValueId, readers: &UseCounts) -> Option<Completed> {
    if !is_read_once(value, readers) {
        return None;
    }
    let (source, pending) = pending_source(module, value)?;
    Some(Completed { value, source, pending })
}

/// Returns the pending sum that `value` is the reshard of, and its sharding.
pub(crate) fn pending_source(module: &Module, value: ValueId) -> Option<(ValueId, ShardingId)> {
    let op = &module.ops[module.def_op(value)?];
    let source = *op.operands.first()?;
    let pending = module.shardings.of(source)?;
    let TensorSharding { unreduced, reduction, .. } = module.shardings.get(pending);
    // A sum of largest values is not the largest of the sums.
    let is_pending =
        matches!(op.kind, OpKind::Reshard(_)) && !unreduced.is_empty() && *reduction == ReductionKind::Add;
    is_pending.then_some((source, pending))
}
