//! Light linear operations that a partial sum passes through, so that it is completed after them.
//!
//! The gradient of a weight is transposed, scaled by one over the number of micro-batches, cast to a wider type or reshaped
//! before it is added to others. Each of these gives the same when it is applied to the addends of every device.

use shardc_ir::{
    BinaryOp, Module, OpId, OpKind, ReductionKind, ShardingId, TensorSharding, TensorType, ValueId, Work,
};

use super::linear::{Passes, passes};
use super::reducer::is_identity;

/// How many operations a partial sum passes through at most.
const MAX_FORMS: usize = 8;

/// A completed sum, and the operations that its only user chain applies to it.
pub(crate) struct Chain {
    /// The operations in order, each with the operand that the sum comes in by.
    pub(crate) forms: Vec<(OpId, usize)>,
    /// The completed sum: a reshard of `source`.
    pub(crate) completed: ValueId,
    /// The partial sum.
    pub(crate) source: ValueId,
    /// How the partial sum is sharded.
    pub(crate) pending: TensorSharding,
}

/// Returns the partial sum that `value` is the reshard of, and its sharding.
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

/// Returns the completed sum that `value` is a form of, where nothing else uses it or a value between, as `is_used_once` says.
pub(crate) fn chain(
    module: &Module,
    value: ValueId,
    is_used_once: &dyn Fn(ValueId) -> bool,
) -> Option<Chain> {
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
    // A sum comes in by one operand; a scale may be the other one.
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

/// Whether an operation of one result is linear in operand `i` alone, and loses nothing that the complete sum would keep.
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
        // Rounding the addends, not the sum, would lose more.
        OpKind::Convert => bits(operand).zip(bits(result)).is_some_and(|(from, to)| from <= to),
        OpKind::ReducePrecision { .. } => false,
        _ => true,
    }
}

/// Returns how the addends lie in the result of `op`, which takes them as operand `i`; `None` if it cannot take them.
///
/// Where the sum was completed in place (an all-reduce), every form lies as before. Where it was completed by parts (a
/// reduce-scatter), the operation must not depend on where the parts are.
pub(crate) fn formed(
    module: &Module,
    op: OpId,
    i: usize,
    pending: &TensorSharding,
) -> Option<TensorSharding> {
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

/// Whether the other operand of a scaling has to be made anew for addends that lie so: it is split as the completed sum was.
pub(crate) fn needs_new_scale(
    module: &Module,
    op: OpId,
    i: usize,
    formed: &TensorSharding,
) -> Option<ValueId> {
    let data = &module.ops[op];
    let OpKind::Binary(_) = data.kind else { return None };
    let other = *data.operands.get(1 - i)?;
    let lies = module.shardings.sharding_of(other)?;
    (!lies.same_placement(&formed.completed())).then_some(other)
}

/// Returns the bytes of one element of a constant whose elements are all equal. Broadcasts are looked through.
pub(crate) fn uniform(module: &Module, value: ValueId) -> Option<Vec<u8>> {
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

/// The bytes of a tensor on all devices together.
pub(crate) fn bytes(module: &Module, value: ValueId) -> Option<i64> {
    module.stored(value).and_then(TensorType::num_bytes)
}
