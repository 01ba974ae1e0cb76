//! Rules of contractions, which are linear in each operand.

use shardc_ir::{Diagnostic, RaggedDotSpec, ValueId};

use super::{on_tape, sum, unsupported};
use crate::linearize::At;

/// `d(a b) = da b + a db` for matmuls and convolutions.
pub(super) fn product(at: &mut At<'_, '_>) -> Option<ValueId> {
    let (a, b) = (at.operand(0), at.operand(1));
    let left = at.tangent(0).map(|da| on_tape(at, &[da, b]));
    let right = at.tangent(1).map(|db| on_tape(at, &[a, db]));
    sum(at, &[left, right])
}

/// Linearizes `ragged_dot`. The group sizes are integers and have no tangent.
pub(super) fn ragged_dot(
    at: &mut At<'_, '_>,
    spec: &RaggedDotSpec,
) -> Result<Option<ValueId>, Box<Diagnostic>> {
    let (a, b, groups) = (at.operand(0), at.operand(1), at.operand(2));
    // The group sizes may have a dimension for each contracting dimension before the ragged one. If the contracting dimensions are not
    // sorted, the gradient would need group sizes with these dimensions in a different order, which is not supported.
    let contracts_groups = spec.lhs_ragged.iter().any(|dim| spec.lhs_contract.contains(dim));
    let in_order = spec.lhs_contract.is_sorted() && spec.rhs_contract.is_sorted();
    if contracts_groups && !in_order && at.linear.module.shape(groups).len() > 1 {
        return Err(unsupported(at));
    }
    let left = at.tangent(0).map(|da| on_tape(at, &[da, b, groups]));
    let right = at.tangent(1).map(|db| on_tape(at, &[a, db, groups]));
    Ok(sum(at, &[left, right]))
}
