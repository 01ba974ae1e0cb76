//! Rules of operations that move elements.

use shardc_ir::ValueId;

use super::{on_tape, written_out};
use crate::linearize::At;

/// Linearizes linear operations with one operand.
pub(super) fn alike(at: &mut At<'_, '_>) -> Option<ValueId> {
    let tangent = at.tangent(0).filter(|_| at.can_change(at.result()))?;
    Some(on_tape(at, &[tangent]))
}

/// Linearizes jointly linear operations. An operand without a tangent contributes zeros.
pub(super) fn concatenate(at: &mut At<'_, '_>) -> Option<ValueId> {
    let tangents: Vec<ValueId> = (0..at.num_operands()).map(|i| written_out(at, i)).collect();
    Some(on_tape(at, &tangents))
}

/// `pad` is jointly linear in the tensor and the padding value.
pub(super) fn pad(at: &mut At<'_, '_>) -> Option<ValueId> {
    let tangents = [written_out(at, 0), written_out(at, 1)];
    Some(on_tape(at, &tangents))
}
