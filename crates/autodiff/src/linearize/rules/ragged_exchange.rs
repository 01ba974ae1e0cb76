//! `ragged_all_to_all`, which is linear in the rows that it sends and in the initial result.

use shardc_ir::ValueId;

use super::{on_tape, written_out};
use crate::linearize::At;

/// Returns the tangent of the result: the same exchange, applied to the tangents of the rows and of the initial result. `None` if neither
/// has a tangent.
pub(super) fn ragged_all_to_all(at: &mut At<'_, '_>) -> Option<ValueId> {
    if at.tangent(0).is_none() && at.tangent(1).is_none() {
        return None;
    }
    let mut operands = vec![written_out(at, 0), written_out(at, 1)];
    operands.extend((2..at.num_operands()).map(|i| at.operand(i)));
    Some(on_tape(at, &operands))
}
