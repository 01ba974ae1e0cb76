//! Reduction merging: adds and transposes unreduced values before they are all-reduced or reduce-scattered.
//!
//! * An addition of two reduced values becomes an addition of unreduced values followed by one reshard, if both have the same kind of
//!   reduction. The incoming gradient of a layer with several matmuls is such a sum, so a transformer's backward pass needs one
//!   all-reduce instead of three.
//! * Cheap linear operations may be between the reduction and the addition, such as a reshape, a scale or a conversion
//!   (`analysis/linear_forms.rs`). If both values are `bf16`, the sum is reduced in `bf16`.
//! * `(x + a) + b`, with unreduced `a` and `b`, becomes `x + (a + b)`. The order of a sum over devices is unspecified in any case.
//! * If one value is reduced over more axes than the other, it is first reduced over the additional axes. Then the sum of both values is
//!   reduced over the common axes. An example is a tied embedding, whose two gradients have different shardings within a node.
//! * A transpose of a reduced value moves before the reduction. The gradient of a weight is a transposed matmul, which back ends can fuse
//!   if there is no collective in between.
//!
//! Conditions: every reduced value has one user, and reduced values have the sharding of the result.
//!
//! ```mlir
//! %2 = sdy.reshard %0 <@mesh, [{"fsdp"}, {}]>        // %0 and %1 are unreduced over "node"
//! %3 = sdy.reshard %1 <@mesh, [{"fsdp"}, {}]>
//! %4 = stablehlo.add %2, %3
//! ```
//! becomes
//! ```mlir
//! %2 = stablehlo.add %0, %1
//! %3 = sdy.reshard %2 <@mesh, [{"fsdp"}, {}]>
//! ```

use rustc_hash::FxHashSet;
use shardc_ir::{
    BinaryOp, Build, DType, Module, OpId, OpKind, RegionId, Rewriter, ShardingId, TensorSharding, UseCounts,
    ValueId,
};

use crate::analysis::linear_forms;
use crate::analysis::regions::program_regions;

/// Merges reductions everywhere under `body` of a planned module. Reshards that are no longer needed remain as dead code.
pub fn merge_reductions(module: &mut Module, body: RegionId) {
    let mut readers = UseCounts::under(module, body);
    let mut rounded = FxHashSet::default();
    let mut rw = Rewriter::new(module);
    for region in program_regions(rw.module, body) {
        rw.enter(region);
        while let Some(op) = rw.next_op() {
            // `regroup` runs first: it may create the operand that `merge` then handles.
            regroup(&mut rw, op, &mut readers);
            level(&mut rw, op, &mut readers);
            rw.keep();
            match rw.module.ops[op].kind {
                OpKind::Transpose { .. } => transpose(&mut rw, op, &mut readers),
                _ => merge(&mut rw, op, &mut readers)
                    .or_else(|| merge_forms(&mut rw, op, &mut readers, &mut rounded)),
            };
        }
    }
}

/// A reduced value: the result of a reshard whose operand is unreduced.
#[derive(Clone, Copy)]
struct Completed {
    value: ValueId,
    /// The unreduced operand of the reshard, and its sharding.
    source: ValueId,
    pending: ShardingId,
}

/// Returns the operands of `op` if it adds two different values.
fn addends(module: &Module, op: OpId) -> Option<[ValueId; 2]> {
    let data = &module.ops[op];
    match (&data.kind, data.operands.as_slice()) {
        (OpKind::Binary(BinaryOp::Add), &[a, b]) if a != b => Some([a, b]),
        _ => None,
    }
}

/// Whether both values are results of the same reduction, from equal unreduced shardings to the sharding `wanted`.
fn complete_alike(module: &Module, one: Completed, other: Completed, wanted: ShardingId) -> bool {
    let same = |s: ShardingId, t: ShardingId| module.shardings.get(s).same_placement(module.shardings.get(t));
    let is_wanted = |v: ValueId| module.shardings.of(v).is_some_and(|s| same(s, wanted));
    same(one.pending, other.pending) && is_wanted(one.value) && is_wanted(other.value)
}

/// If `op` adds two values that are results of the same reduction, moves the reduction after `op`.
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

/// If both operands of the addition `op` are linear in results of reductions of the same kind and groups, replaces these reductions by
/// one reduction of the sum. `rounded` collects the inserted additions whose element type is narrower than the original one.
fn merge_forms(
    rw: &mut Rewriter<'_>,
    op: OpId,
    readers: &mut UseCounts,
    rounded: &mut FxHashSet<ValueId>,
) -> Option<()> {
    let module = &*rw.module;
    let values = addends(module, op)?;
    let result = module.ops[op].results[0];
    let wanted = module.shardings.of(result)?;
    let is_used_once = |value| is_read_once(value, readers);
    let [one, other] = values.map(|value| linear_forms::chain(module, value, &is_used_once));
    let chains = [one?, other?];
    let wide = module.tensor(result)?.dtype;
    let [narrow, same] = [0, 1].map(|i| module.tensor(chains[i].completed).map(|ty| ty.dtype));
    let narrow = narrow.filter(|&dtype| Some(dtype) == same && dtype.bits() < wide.bits());

    let mut lies = [chains[0].pending.clone(), chains[1].pending.clone()];
    let mut formed = Vec::new();
    for (chain, lies) in chains.iter().zip(&mut lies) {
        for &(form, i) in &chain.forms {
            *lies = linear_forms::formed(module, form, i, lies)?;
            // Merging does not compute a scale again with another sharding, so each scale must already have the sharding of the partial
            // sums.
            if linear_forms::needs_new_scale(module, form, i, lies).is_some() {
                return None;
            }
            formed.push((form, lies.clone()));
        }
    }
    let is_wanted = |value: ValueId| {
        let sharding = module.shardings.sharding_of(value);
        sharding.is_some_and(|sharding| sharding.same_placement(module.shardings.get(wanted)))
    };
    let sent = |value| linear_forms::bytes(module, value);
    let before = sent(chains[0].completed)?.checked_add(sent(chains[1].completed)?)?;
    // The sum is sent in the narrow type if both operands were.
    let bits = |dtype: DType| i64::from(dtype.bits());
    let after = sent(result)?.checked_mul(bits(narrow.unwrap_or(wide)))? / bits(wide);
    if !lies[0].same_placement(&lies[1]) || !values.into_iter().all(is_wanted) || after > before {
        return None;
    }

    for (form, lies) in formed {
        let lies = rw.module.shardings.intern(lies);
        let value = rw.module.ops[form].results[0];
        rw.module.shardings.set(value, Some(lies));
    }
    for (side, chain) in chains.iter().enumerate() {
        let (user, i) = chain.forms.first().copied().unwrap_or((op, side));
        // If an earlier merge converted a sum to the narrow type before its reduction, the sum before the conversion is added.
        let exact = rounded.contains(&chain.source).then(|| rw.module.def_op(chain.source)).flatten();
        match (exact, chain.forms.as_slice()) {
            (Some(round), &[(widen, _)]) if matches!(rw.module.ops[widen].kind, OpKind::Convert) => {
                rw.module.ops[op].operands[side] = rw.module.ops[round].operands[0];
            }
            _ => rw.module.ops[user].operands[i] = chain.source,
        }
    }
    let [pending, _] = lies;
    let pending = rw.module.shardings.intern(pending);
    let Some(narrow) = narrow else {
        complete_after(rw, op, pending, wanted, readers);
        return Some(());
    };
    let result = rw.module.renew_result(op, 0);
    let sum = rw.module.ops[op].results[0];
    rw.module.shardings.set(sum, Some(pending));
    let shape = rw.module.shape(sum).to_vec();
    let ty = rw.module.types.tensor(&shape, narrow);
    let addends = rw.op1(OpKind::Convert, &[sum], ty);
    rw.module.shardings.set(addends, Some(pending));
    let complete = rw.op1(OpKind::Reshard(wanted), &[addends], ty);
    rw.module.shardings.set(complete, Some(wanted));
    let widen = rw.op(OpKind::Convert, &[complete], &[], &[]);
    rw.module.give_result(widen, result);
    readers.add(&[sum, addends, complete]);
    rounded.insert(addends);
    Some(())
}

/// If one operand of an addition is reduced over more axes than the other, splits its reduction in two: the second reduction can then be
/// merged with that of the other operand.
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

/// Whether the unreduced operand of the reshard is already sharded as `wanted`, so that the reshard needs only an all-reduce.
fn leaves(module: &Module, side: Completed, wanted: ShardingId) -> bool {
    let pending = module.shardings.get(side.pending);
    pending.completed().same_placement(module.shardings.get(wanted))
}

/// If `op` transposes a reduced value, moves the reduction after `op`.
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

/// Gives the result of `op` the unreduced sharding `pending`, inserts the reshard that reduces it to `wanted`, and replaces its uses.
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

/// Rewrites `(x + a) + b`, with reduced `a` and `b`, to `x + (a + b)`, replacing the outer addition. The inner sum and its reshard are
/// inserted before `op`. The other addition remains as dead code.
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

/// Returns `value` if it is the reshard of an unreduced value and has one user: a second user would need the reduction anyway.
fn completed(module: &Module, value: ValueId, readers: &UseCounts) -> Option<Completed> {
    if !is_read_once(value, readers) {
        return None;
    }
    let (source, pending) = linear_forms::pending_source(module, value)?;
    Some(Completed { value, source, pending })
}
