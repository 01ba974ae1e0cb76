//! Operations that return their operands: barriers, and annotations of sharding or placement.

use shardc_ir::{Build, Diagnostic, OpKind, RAGGED_ALL_TO_ALL, ShardingId, UnaryOp, ValueId};
use smallvec::smallvec;

use super::{elementwise, lapack, on_tape, ragged_exchange, sorting};
use crate::linearize::{At, Rule, Tangents};

/// Passes tangents through unchanged.
pub(super) fn handed_on(at: &mut At<'_, '_>) -> Tangents {
    (0..at.num_operands()).map(|i| at.tangent(i)).collect()
}

/// Emits a separate barrier for the tangent: otherwise a back end could move the tangent to a point where it may not move the value.
pub(super) fn barrier(at: &mut At<'_, '_>) -> Tangents {
    let count = at.num_operands();
    let held = |i: usize| {
        let tangent = at.tangent(i)?;
        let ty = at.linear.module.values[tangent].ty;
        Some(at.tape().op1(OpKind::OptimizationBarrier, &[tangent], ty))
    };
    (0..count).map(held).collect()
}

/// Constrains the tangent to the sharding of the value, unless the request leaves the shardings of derivatives free.
pub(super) fn constraint(at: &mut At<'_, '_>, sharding: ShardingId) -> Option<ValueId> {
    let tangent = at.tangent(0)?;
    if at.linear.free_shardings {
        return Some(tangent);
    }
    let tangent = on_tape(at, &[tangent]);
    at.linear.module.shardings.set(tangent, Some(sharding));
    Some(tangent)
}

/// Linearizes known custom calls; returns `None` for others.
///
/// # Errors
/// Returns the errors of the equivalent operation.
pub(super) fn known_call(at: &mut At<'_, '_>, target: &str) -> Result<Option<Rule>, Box<Diagnostic>> {
    if let Some(rule) = lapack::call(at, target)? {
        return Ok(Some(rule));
    }
    let is_unary = at.num_operands() == 1;
    Ok(match target {
        // The tangent gets the same sharding, by a separate call.
        "Sharding" if is_unary && !at.linear.free_shardings => {
            at.tangent(0).map(|tangent| Rule::one(on_tape(at, &[tangent])))
        }
        "Sharding" | "annotate_device_placement" | "LayoutConstraint" | "MoveToDevice" | "MoveToHost"
            if is_unary =>
        {
            Some(Rule::Tangents(handed_on(at)))
        }
        RAGGED_ALL_TO_ALL => Some(Rule::Tangents(smallvec![ragged_exchange::ragged_all_to_all(at)])),
        "mhlo.topk" if is_unary => Some(Rule::Tangents(sorting::top_k(at)?)),
        // A CHLO operation that a front end emitted as a custom call, for consumers that do not have the CHLO dialect.
        _ => match target.strip_prefix("mhlo.").and_then(|name| UnaryOp::parse(&format!("chlo.{name}"))) {
            Some(op) if is_unary => Some(Rule::Tangents(smallvec![elementwise::unary(at, op)?])),
            _ => None,
        },
    })
}
