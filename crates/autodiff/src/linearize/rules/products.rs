//! Products: linear in either operand, with the other as it is.

use shardc_ir::ValueId;

use super::{on_tape, sum};
use crate::linearize::At;

/// `d(a b) = da b + a db` for matrix products and convolutions.
pub(super) fn product(at: &mut At<'_, '_>) -> Option<ValueId> {
    let (a, b) = (at.operand(0), at.operand(1));
    let left = at.tangent(0).map(|da| on_tape(at, &[da, b]));
    let right = at.tangent(1).map(|db| on_tape(at, &[a, db]));
    sum(at, &[left, right])
}
