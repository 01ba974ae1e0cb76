//! `maximum` and `minimum` of two values, with JAX's conventions at ties.
//!
//! If the operands are equal, each contributes half of its tangent. `jax.nn.relu` and `jax.nn.relu6` are exceptions in JAX, where their
//! derivative at a bound is 0. StableHLO has no relu, so both are recognized by the form in which JAX writes them:
//!
//! ```mlir
//! %relu  = stablehlo.maximum %x, %zero      // 0 at a tie; the constant is the second operand
//! %relu6 = stablehlo.minimum %relu, %six    // 0 at a tie
//! ```
//!
//! `jnp.clip` and `jnp.maximum(0, x)` have the constant first. A maximum that is one term of a smooth sum is not a relu. Such a maximum is
//! recognized if:
//!
//! * a `minimum` of the same two operands exists (`celu`, `maximum(x, 0) + minimum(x, 0)`),
//! * or `exp(-|x|)` exists (cross-entropy with logits: `maximum(x, 0) - x z + log1p(exp(-|x|))`).

use shardc_ir::{BinaryOp, CompareDirection, OpKind, TensorBuild, UnaryOp, ValueId};

use super::compare::compare;
use super::log_add_exp::is_same;
use super::sum;
use crate::emit::Arithmetic;
use crate::linearize::At;
use crate::linearize::numbers::{is_constant, number};

/// The tangent of `maximum` or `minimum` of real numbers.
pub(super) fn extreme(at: &mut At<'_, '_>, op: BinaryOp) -> Option<ValueId> {
    let beyond = if op == BinaryOp::Maximum { CompareDirection::GT } else { CompareDirection::LT };
    let (a, b, y) = (at.operand(0), at.operand(1), at.result());
    let is_rectifier = is_rectifier(at, op, a, b);
    let mut changes = [None, None];
    for (i, (this, other)) in [(a, b), (b, a)].into_iter().enumerate() {
        let Some(tangent) = at.tangent(i) else { continue };
        let mut e = at.primal();
        let (zero, is_this) = (e.number(0.0, y), compare(&mut e, beyond, this, other));
        changes[i] = Some(if is_rectifier {
            at.tape().alike_to(OpKind::Select, &[is_this, tangent, zero], y)
        } else {
            let (half, one) = (e.number(0.5, y), e.number(1.0, y));
            let is_equal = compare(&mut e, CompareDirection::EQ, this, other);
            let share = e.alike_to(OpKind::Select, &[is_equal, half, zero], y);
            let share = e.alike_to(OpKind::Select, &[is_this, one, share], y);
            at.tape().mul(tangent, share)
        });
    }
    sum(at, &changes)
}

/// Whether the current operation is a relu, or the upper bound of a relu6.
fn is_rectifier(at: &mut At<'_, '_>, op: BinaryOp, a: ValueId, b: ValueId) -> bool {
    let module = &*at.linear.module;
    match op {
        BinaryOp::Maximum => number(module, b) == Some(0.0) && !has_partner(at, a, b),
        _ => {
            let relu = module.def_op(a).map(|op| &module.ops[op]);
            let relu = relu.filter(|data| data.kind == OpKind::Binary(BinaryOp::Maximum));
            number(module, b) == Some(6.0)
                && relu.is_some_and(|data| number(module, data.operands[1]) == Some(0.0))
        }
    }
}

/// Whether `minimum(x, zero)` or `exp(-c |x|)` is also computed.
fn has_partner(at: &mut At<'_, '_>, x: ValueId, zero: ValueId) -> bool {
    let mut sizes = Vec::new();
    for user in at.linear.users(x) {
        let module = &*at.linear.module;
        let data = &module.ops[user];
        match data.kind {
            OpKind::Binary(BinaryOp::Minimum) => {
                let [a, b] = [data.operands[0], data.operands[1]];
                if is_same(module, if a == x { b } else { a }, zero) {
                    return true;
                }
            }
            OpKind::Unary(UnaryOp::Abs) => sizes.push((data.results[0], 0)),
            _ => {}
        }
    }
    // A negation and a constant factor may be between the absolute value and the exponential.
    while let Some((value, steps)) = sizes.pop() {
        for user in at.linear.users(value) {
            let module = &*at.linear.module;
            let data = &module.ops[user];
            match data.kind {
                OpKind::Unary(UnaryOp::Exponential) => return true,
                OpKind::Unary(UnaryOp::Negate) if steps < 2 => sizes.push((data.results[0], steps + 1)),
                OpKind::Binary(BinaryOp::Multiply)
                    if steps < 2 && data.operands.iter().any(|&v| is_constant(module, v)) =>
                {
                    sizes.push((data.results[0], steps + 1));
                }
                _ => {}
            }
        }
    }
    false
}
