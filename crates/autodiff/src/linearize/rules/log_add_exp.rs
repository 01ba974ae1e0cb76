//! The derivative of `logaddexp`: `max(a, b) + k log1p(exp(-c |a - b|))` with `k c = 1`, which is `k log(exp(c a) + exp(c b))`. Each
//! operand's derivative is its softmax weight. `c` is 1 in `logaddexp`, and `ln 2` in `logaddexp2`.

use shardc_ir::{BinaryOp, CompareDirection, Module, OpKind, TensorBuild, UnaryOp, ValueId};

use super::compare::compare;
use super::sum;
use crate::emit::Arithmetic;
use crate::linearize::At;
use crate::linearize::numbers::number;

/// The maximum deviation of `k c` from 1: bf16 constants have a precision of 8 bits.
const ROUNDING: f64 = 0.01;

/// The values of a `logaddexp`: the operands `a` and `b`, the difference `a - b`, and the factor `c`.
struct Parts {
    operands: [ValueId; 2],
    apart: ValueId,
    scale: f64,
}

/// Returns the tangent of an addition that computes `logaddexp`; `None` if the current addition has a different form.
pub(super) fn of_sum(at: &mut At<'_, '_>) -> Option<ValueId> {
    let parts = parts(at.linear.module, at.result())?;
    // If both operands are the same infinity, `a - b` is NaN. Programs often select a different value in this case. The tangent that is not
    // selected must be finite even then.
    tangent(at, &parts, 0.0)
}

/// Returns the tangent of a `select` between `logaddexp` and, if `a - b` is NaN, `a + b`; `None` if the current `select` has a different
/// form.
pub(super) fn of_select(at: &mut At<'_, '_>) -> Option<ValueId> {
    let module = &*at.linear.module;
    let made = |value: ValueId| module.def_op(value).map(|op| &module.ops[op]);
    let parts = parts(module, at.operand(2))?;
    let differs = made(at.operand(0))?;
    let is_no_number = matches!(differs.kind, OpKind::Compare(CompareDirection::NE, _))
        && differs.operands.as_slice() == [parts.apart; 2];
    let instead = made(at.operand(1)).filter(|data| data.kind == OpKind::Binary(BinaryOp::Add))?;
    let [a, b] = parts.operands;
    let is_sum = is_pair(module, [instead.operands[0], instead.operands[1]], [a, b]);
    if !is_no_number || !is_sum {
        return None;
    }
    tangent(at, &parts, 1.0)
}

fn tangent(at: &mut At<'_, '_>, parts: &Parts, otherwise: f64) -> Option<ValueId> {
    let apart = parts.apart;
    // If one operand is a finite constant, `a - b` is NaN only if the other operand is NaN.
    let is_finite = |value: ValueId| number(at.linear.module, value).is_some_and(f64::is_finite);
    let is_number = parts.operands.into_iter().any(is_finite);
    let mut changes = [None, None];
    for (i, operand) in parts.operands.into_iter().enumerate() {
        let Some(tangent) = at.linear.tangent(operand) else { continue };
        let share = {
            let mut e = at.primal();
            let more = if i == 0 { apart } else { e.neg(apart) };
            let more = if parts.scale == 1.0 {
                more
            } else {
                let scale = e.number(parts.scale, more);
                e.mul(more, scale)
            };
            let share = e.unary(UnaryOp::Logistic, more);
            if is_number {
                share
            } else {
                let otherwise = e.number(otherwise, apart);
                let is_none = compare(&mut e, CompareDirection::NE, apart, apart);
                e.alike_to(OpKind::Select, &[is_none, otherwise, share], apart)
            }
        };
        changes[i] = Some(at.tape().mul(tangent, share));
    }
    sum(at, &changes)
}

fn parts(module: &Module, value: ValueId) -> Option<Parts> {
    let made = |value: ValueId| module.def_op(value).map(|op| &module.ops[op]);
    let unary = |value: ValueId, op: UnaryOp| {
        made(value).filter(|data| data.kind == OpKind::Unary(op)).map(|data| data.operands[0])
    };
    let binary = |value: ValueId, op: BinaryOp| {
        made(value).filter(|data| data.kind == OpKind::Binary(op)).map(|d| [d.operands[0], d.operands[1]])
    };
    // Splits a value into a constant factor and another value.
    let factored = |value: ValueId| {
        binary(value, BinaryOp::Multiply)
            .and_then(|[a, b]| {
                let of_a = number(module, a).map(|factor| (factor, b));
                of_a.or_else(|| number(module, b).map(|factor| (factor, a)))
            })
            .unwrap_or((1.0, value))
    };
    let operands = binary(value, BinaryOp::Add)?;
    let (larger, outer, power) = operands.iter().enumerate().find_map(|(i, &v)| {
        let (outer, v) = factored(v);
        Some((operands[1 - i], outer, unary(v, UnaryOp::LogPlusOne)?))
    })?;
    // The constant may be outside or inside of the negation.
    let (first, exponent) = factored(unary(power, UnaryOp::Exponential)?);
    let (second, size) = factored(unary(exponent, UnaryOp::Negate)?);
    let scale = first * second;
    if (outer * scale - 1.0).abs() > ROUNDING {
        return None;
    }
    let apart = unary(size, UnaryOp::Abs)?;
    let operands = binary(apart, BinaryOp::Subtract)?;
    let is_it = is_pair(module, binary(larger, BinaryOp::Maximum)?, operands);
    is_it.then_some(Parts { operands, apart, scale })
}

/// Whether two pairs contain the same values, in either order.
fn is_pair(module: &Module, [a, b]: [ValueId; 2], [c, d]: [ValueId; 2]) -> bool {
    is_same(module, a, c) && is_same(module, b, d) || is_same(module, a, d) && is_same(module, b, c)
}

/// Whether two values are the same, or equal broadcasts of one constant.
pub(super) fn is_same(module: &Module, a: ValueId, b: ValueId) -> bool {
    if a == b {
        return true;
    }
    let (Some(of_a), Some(of_b)) = (module.def_op(a), module.def_op(b)) else { return false };
    let (of_a, of_b) = (&module.ops[of_a], &module.ops[of_b]);
    module.values[a].ty == module.values[b].ty
        && of_a.kind == of_b.kind
        && match of_a.kind {
            OpKind::Constant(_) => true,
            OpKind::BroadcastInDim { .. } => is_same(module, of_a.operands[0], of_b.operands[0]),
            _ => false,
        }
}
