//! Rules of operations that read or write elements at indices.

use shardc_ir::ValueId;

use super::{on_tape, written_out};
use crate::linearize::At;

/// Linearizes `dynamic_slice`: takes the same slice of the tangent.
pub(super) fn dynamic_slice(at: &mut At<'_, '_>) -> Option<ValueId> {
    let mut operands = at.linear.module.ops[at.op].operands.clone();
    operands[0] = at.tangent(0)?;
    Some(on_tape(at, &operands))
}

/// Linearizes `dynamic_update_slice`: writes the tangent of the update into the tangent of the operand.
pub(super) fn dynamic_update_slice(at: &mut At<'_, '_>) -> Option<ValueId> {
    let mut operands = at.linear.module.ops[at.op].operands.clone();
    (operands[0], operands[1]) = (written_out(at, 0), written_out(at, 1));
    Some(on_tape(at, &operands))
}

/// Linearizes `gather`: gathers the same slices of the tangent.
pub(super) fn gather(at: &mut At<'_, '_>) -> Option<ValueId> {
    let (tangent, indices) = (at.tangent(0)?, at.operand(1));
    Some(on_tape(at, &[tangent, indices]))
}
