//! `max(a, b) + log1p(exp(-|a - b|))`, which is `log(exp(a) + exp(b))`: each operand has the share of its exponential.

use shardc_ir::{BinaryOp, CompareDirection, Module, OpKind, TensorBuild, UnaryOp, ValueId};

use super::elementwise::{compare, is_constant};
use super::sum;
use crate::emit::Arithmetic;
use crate::linearize::At;

/// The operands, and `a - b`.
struct Parts {
    operands: [ValueId; 2],
    apart: ValueId,
}

/// The tangent of such a sum; `None` where the sum at hand is none.
pub(super) fn of_sum(at: &mut At<'_, '_>) -> Option<ValueId> {
    let parts = parts(at.linear.module, at.result())?;
    // Two that are infinite alike are not apart by a number: another value is selected in place of the sum, often, and what is
    // written for it must not be infinite.
    tangent(at, &parts, 0.0)
}

/// The tangent of such a sum, or of `a + b` where the two are not apart by a number; `None` where the selection at hand is none.
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
    // What is no number beside a constant is none itself.
    let is_number = parts.operands.into_iter().any(|v| is_constant(at.linear.module, v));
    let mut changes = [None, None];
    for (i, operand) in parts.operands.into_iter().enumerate() {
        let Some(tangent) = at.linear.tangent(operand) else { continue };
        let share = {
            let mut e = at.primal();
            let more = if i == 0 { apart } else { e.neg(apart) };
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
    let operands = binary(value, BinaryOp::Add)?;
    let (larger, power) = operands
        .iter()
        .enumerate()
        .find_map(|(i, &v)| Some((operands[1 - i], unary(v, UnaryOp::LogPlusOne)?)))?;
    let apart = unary(unary(unary(power, UnaryOp::Exponential)?, UnaryOp::Negate)?, UnaryOp::Abs)?;
    let operands = binary(apart, BinaryOp::Subtract)?;
    is_pair(module, binary(larger, BinaryOp::Maximum)?, operands).then_some(Parts { operands, apart })
}

/// Whether two pairs are the same, in either order.
fn is_pair(module: &Module, [a, b]: [ValueId; 2], [c, d]: [ValueId; 2]) -> bool {
    is_same(module, a, c) && is_same(module, b, d) || is_same(module, a, d) && is_same(module, b, c)
}

/// Whether two values are one, or one constant that is repeated alike.
fn is_same(module: &Module, a: ValueId, b: ValueId) -> bool {
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
