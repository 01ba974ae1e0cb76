//! Values that are cheaper to make again than to move: constants of equal elements, counts, and broadcasts
//! of scalars.

use shardc_ir::{Dense, Module, OpId, OpKind, Rewriter, ShardingId, TensorSharding, ValueId};

use crate::analysis::reducer::{is_idempotent, is_identity};

/// Whether `value` can be had in any sharding without communication.
pub(crate) fn is_free(module: &Module, value: ValueId) -> bool {
    let Some(op) = module.def_op(value) else { return false };
    let op = &module.ops[op];
    match &op.kind {
        OpKind::Constant(Dense::Splat(_)) | OpKind::Iota { .. } => true,
        OpKind::BroadcastInDim { .. } => module.rank(op.operands[0]) == 0,
        _ => false,
    }
}

/// Whether `value` can be had in `sharding`: of a pending sum only what adds nothing is an addend on every device.
pub(super) fn is_free_in(module: &Module, value: ValueId, sharding: Option<&TensorSharding>) -> bool {
    let is_splat = module.def_op(value).is_some_and(|op| matches!(module.ops[op].kind, OpKind::Constant(_)));
    let fits = |s: &TensorSharding| {
        s.unreduced.is_empty()
            || is_identity(module, value, s.reduction)
            || is_idempotent(s.reduction) && is_splat
    };
    is_free(module, value) && sharding.is_none_or(fits)
}

/// Computes `value` once more in the sharding `to`, if it [is free](is_free).
pub(super) fn recompute(rw: &mut Rewriter<'_>, value: ValueId, to: ShardingId) -> Option<ValueId> {
    let module = &*rw.module;
    if !is_free_in(module, value, Some(module.shardings.get(to))) {
        return None;
    }
    let op = module.def_op(value)?;
    let operands = module.ops[op].operands.clone();
    let sharding = module.shardings.get(to).clone();
    Some(repeat(rw, op, &operands, sharding))
}

/// Repeats `op`, which has one result, on these operands; its result has this sharding.
pub(super) fn repeat(
    rw: &mut Rewriter<'_>,
    op: OpId,
    operands: &[ValueId],
    sharding: TensorSharding,
) -> ValueId {
    let kind = rw.module.ops[op].kind.clone();
    let ty = rw.module.values[rw.module.ops[op].results[0]].ty;
    let copy = rw.op1_like(op, kind, operands, ty);
    let sharding = rw.module.shardings.intern(sharding);
    rw.module.shardings.set(copy, Some(sharding));
    copy
}
