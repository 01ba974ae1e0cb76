//! Values that are cheaper to make again than to move: constants of equal elements, counts, and broadcasts
//! of scalars.

use shardc_ir::{Builder, Dense, Module, OpId, OpKind, ShardingId, ValueId};

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

/// A copy of `value` in the sharding `to`, if it [is free](is_free).
pub(crate) fn recompute(
    module: &mut Module,
    value: ValueId,
    to: ShardingId,
    out: &mut Vec<OpId>,
) -> Option<ValueId> {
    if !is_free(module, value) {
        return None;
    }
    let op = module.def_op(value)?;
    let (kind, operands) = (module.ops[op].kind.clone(), module.ops[op].operands.clone());
    let ty = module.values[value].ty;
    let mut b = Builder::new(module);
    b.from_op(op);
    let copy = b.op1(kind, &operands, ty);
    out.extend(b.take());
    module.shardings.set(copy, Some(to));
    Some(copy)
}
