//! Light linear operations through which the reduction of a partial sum can be deferred.
//!
//! The gradient of a weight is transposed, scaled by one over the number of micro-batches, cast to a wider type or
//! reshaped before it is accumulated. Each of these operations can be applied to the devices' partial sums instead.

use shardc_ir::{
    BinaryOp, Module, OpId, OpKind, ReductionKind, ShardingId, TensorSharding, TensorType, ValueId, Work,
};

use super::linear::{Passes, passes};
use super::reducer::is_identity;

/// The maximum number of operations past which a reduction is deferred.
const MAX_FORMS: usize = 8;

/// A reduced value, and a chain of linear operations: each operation is the only user of the previous value.
pub struct Chain {
    /// The operations in order, each with the index of the operand that is the reduced value or the result of the previous operation.
    pub forms: Vec<(OpId, usize)>,
    /// The reduced value, a reshard of `source`.
    pub completed: ValueId,
    /// The unreduced value.
    pub source: ValueId,
    /// The sharding of the unreduced value.
    pub pending: TensorSharding,
}

/// If `value` is a reshard that reduces partial sums, returns the unreduced operand and its sharding.
pub fn pending_source(module: &Module, value: ValueId) -> Option<(ValueId, ShardingId)> {
    let op = &module.ops[module.def_op(value)?];
    let source = *op.operands.first()?;
    let pending = module.shardings.of(source)?;
    let TensorSharding { unreduced, reduction, .. } = module.shardings.get(pending);
    // Only sums qualify: the maximum of sums is not the sum of maxima.
    let is_pending =
        matches!(op.kind, OpKind::Reshard(_)) && !unreduced.is_empty() && *reduction == ReductionKind::Add;
    is_pending.then_some((source, pending))
}

/// Returns the chain of linear operations that computes `value` from a reduced value. Each value before `value` must have one user
/// (`is_used_once`).
pub fn chain(module: &Module, value: ValueId, is_used_once: &dyn Fn(ValueId) -> bool) -> Option<Chain> {
    let mut forms = Vec::new();
    let (completed, source, pending) = search(module, value, is_used_once, &mut forms)?;
    forms.reverse();
    Some(Chain { forms, completed, source, pending })
}

fn search(
    module: &Module,
    value: ValueId,
    is_used_once: &dyn Fn(ValueId) -> bool,
    forms: &mut Vec<(OpId, usize)>,
) -> Option<(ValueId, ValueId, TensorSharding)> {
    if !is_used_once(value) {
        return None;
    }
    if let Some((source, pending)) = pending_source(module, value) {
        return Some((value, source, module.shardings.get(pending).clone()));
    }
    let op = module.def_op(value)?;
    if forms.len() == MAX_FORMS || module.ops[op].kind.def().work != Work::Light {
        return None;
    }
    // One operand is the previous value of the chain; the other one, if any, may be a scale factor.
    for (i, &operand) in module.ops[op].operands.iter().enumerate() {
        if is_linear(module, op, i) {
            forms.push((op, i));
            let found = search(module, operand, is_used_once, forms);
            if found.is_some() {
                return found;
            }
            forms.pop();
        }
    }
    None
}

/// Whether an operation with one result is linear in operand `i` alone, and applying it to partial sums loses no more precision than
/// applying it to the reduced sum.
fn is_linear(module: &Module, op: OpId, i: usize) -> bool {
    let data = &module.ops[op];
    let &[result] = data.results.as_slice() else { return false };
    let Some(&operand) = data.operands.get(i) else { return false };
    let takes = passes(module, op, ReductionKind::Add);
    let is_alone = || {
        data.operands.iter().enumerate().all(|(j, &other)| {
            j == i || !takes.takes(j) || takes == Passes::Either && other != operand || {
                takes != Passes::Either && is_identity(module, other, ReductionKind::Add)
            }
        })
    };
    if !takes.takes(i) || !is_alone() {
        return false;
    }
    let bits = |v: ValueId| module.tensor(v).map(|ty| ty.dtype.bits());
    match data.kind {
        // Rounding the partial sums instead of the sum would lose more precision.
        OpKind::Convert => bits(operand).zip(bits(result)).is_some_and(|(from, to)| from <= to),
        OpKind::ReducePrecision { .. } => false,
        _ => true,
    }
}

/// Returns the sharding that the result of `op` has if operand `i` is unreduced with the sharding `pending`. Returns `None` if `op` cannot
/// be applied to the partial sums.
///
/// If the reduction is an all-reduce, which does not change the placement, the result keeps its placement. If it is a reduce-scatter, which
/// also shards the value, `op` must be independent of the placement.
pub fn formed(module: &Module, op: OpId, i: usize, pending: &TensorSharding) -> Option<TensorSharding> {
    let data = &module.ops[op];
    let (operand, result) = (*data.operands.get(i)?, *data.results.first()?);
    let before = module.shardings.sharding_of(operand)?;
    let after = module.shardings.sharding_of(result)?;
    if pending.completed().same_placement(before) {
        let is_used = after.split_axes().any(|axis| pending.unreduced.iter().any(|u| u.axis == axis.axis));
        let unreduced = pending.unreduced.clone();
        let formed = TensorSharding { unreduced, reduction: pending.reduction, ..after.clone() };
        return (!is_used && after.unreduced.is_empty()).then_some(formed);
    }
    match &data.kind {
        OpKind::Transpose { permutation } => {
            let dims = permutation
                .iter()
                .map(|&dim| pending.dims.get(dim as usize).cloned())
                .collect::<Option<_>>()?;
            Some(TensorSharding { dims, ..pending.clone() })
        }
        OpKind::Convert | OpKind::Unary(_) => Some(pending.clone()),
        OpKind::Binary(BinaryOp::Multiply | BinaryOp::Divide) => {
            let other = *data.operands.get(1 - i)?;
            uniform(module, other).map(|_| pending.clone())
        }
        _ => None,
    }
}

/// Returns the scale operand of a multiplication or division if its sharding is that of the reduced sum. The scale must then be computed
/// again with the sharding `formed`, which the partial sums have.
pub fn needs_new_scale(module: &Module, op: OpId, i: usize, formed: &TensorSharding) -> Option<ValueId> {
    let data = &module.ops[op];
    let OpKind::Binary(_) = data.kind else { return None };
    let other = *data.operands.get(1 - i)?;
    let lies = module.shardings.sharding_of(other)?;
    (!lies.same_placement(&formed.completed())).then_some(other)
}

/// Returns the bytes of one element of `value`, if it is a splat constant, or a broadcast or reshape of one.
pub fn uniform(module: &Module, value: ValueId) -> Option<Vec<u8>> {
    let mut value = value;
    for _ in 0..MAX_FORMS {
        let data = &module.ops[module.def_op(value)?];
        match &data.kind {
            OpKind::Constant(shardc_ir::Dense::Splat(bytes)) => return Some(bytes.to_vec()),
            OpKind::BroadcastInDim { .. } | OpKind::Reshape => value = *data.operands.first()?,
            _ => return None,
        }
    }
    None
}

/// Returns the size in bytes of the unsharded tensor.
pub fn bytes(module: &Module, value: ValueId) -> Option<i64> {
    module.stored(value).and_then(TensorType::num_bytes)
}
