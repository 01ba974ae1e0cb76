//! Values that are cheaper to make again than to move: constants of equal elements, counts, and broadcasts
//! of scalars.

use shardc_ir::{Build, Builder, Dense, Module, OpId, OpKind, ShardingId, TensorSharding, ValueId};

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

/// A copy of `value` in the sharding `to`, if it [is free](is_free).
pub(crate) fn recompute(
    module: &mut Module,
    value: ValueId,
    to: ShardingId,
    out: &mut Vec<OpId>,
) -> Option<ValueId> {
    if !is_free_in(module, value, Some(module.shardings.get(to))) {
        return None;
    }
    let op = module.def_op(value)?;
    let operands = module.ops[op].operands.clone();
    let sharding = module.shardings.get(to).clone();
    Some(again(module, op, &operands, sharding, out))
}

/// Another `op`, which has one result, of these operands; its result has this sharding.
pub(super) fn again(
    module: &mut Module,
    op: OpId,
    operands: &[ValueId],
    sharding: TensorSharding,
    out: &mut Vec<OpId>,
) -> ValueId {
    let kind = module.ops[op].kind.clone();
    let ty = module.values[module.ops[op].results[0]].ty;
    let mut b = Builder::new(module);
    b.from_op(op);
    let copy = b.op1(kind, operands, ty);
    out.extend(b.take());
    let sharding = module.shardings.intern(sharding);
    module.shardings.set(copy, Some(sharding));
    copy
}
