//! Powers by repeated multiplication: `x x x` is `x^3`, with the tangent `3 x^2 dx`.

use shardc_ir::{BinaryOp, Build, Module, OpKind, ValueId};

use super::At;
use crate::emit::{Arithmetic, Emit};

/// The maximum number of factors of a product that are visited.
const MANY: usize = 64;

/// Returns the tangent of a product of more than two equal factors. `None` for other products, or if a partial product has other users, so
/// that its tangent is computed anyway.
pub(super) fn of_product(at: &mut At<'_, '_>) -> Option<ValueId> {
    let product = at.result();
    let (base, exponent) = factors(at.linear.module, product)?;
    let [a, b] = [at.operand(0), at.operand(1)];
    if exponent <= 2 {
        return None;
    }
    let tangent = at.linear.tangent(base)?;
    // The tangent of `x^(n-1) * x` needs only `x^(n-1)`, which is already computed.
    let is_step = a == base || b == base;
    if !is_step && !is_read_by_itself(at, product, base) {
        return None;
    }
    let (count, less) = {
        let mut e = at.primal();
        (e.number(exponent as f64, base), one_less(&mut e, product, base)?)
    };
    let mut tape = at.tape();
    let change = tape.mul(tangent, less);
    Some(tape.mul(change, count))
}

/// Returns the tangent of `1 / product`, where `product` is `x^n`: the tangent of `1 / x^n` is `-n dx / x^(n+1)`. `None` for other
/// products, or if `product` or a partial product has other users.
pub(super) fn of_inverse(at: &mut At<'_, '_>, product: ValueId) -> Option<ValueId> {
    let (base, exponent) = factors(at.linear.module, product)?;
    let tangent = at.linear.tangent(base)?;
    if exponent < 2 || !is_read_by_itself(at, product, base) || !at.linear.is_read_only_by(product, &[at.op])
    {
        return None;
    }
    let (count, more) = {
        let mut e = at.primal();
        (e.number(-(exponent as f64), base), e.mul(product, base))
    };
    let mut tape = at.tape();
    let change = tape.div(tangent, more);
    Some(tape.mul(change, count))
}

/// Returns the base and the exponent if a product is a power. If several bases are possible, returns the one with the largest exponent.
fn factors(module: &Module, product: ValueId) -> Option<(ValueId, usize)> {
    // Candidates for the base: the product, one of its factors, a factor of that factor, and so on.
    let mut chain = vec![product];
    while let Some((a, _)) = chain.last().and_then(|&last| parts(module, last)).filter(|_| chain.len() < MANY)
    {
        chain.push(a);
    }
    let is_power = |&&base: &&ValueId| count(module, product, base, &mut MANY.clone()).is_some();
    let base = *chain.iter().rev().find(is_power)?;
    let exponent = count(module, product, base, &mut MANY.clone())?;
    Some((base, exponent))
}

/// Returns the number of times that `base` is a factor of `value`, if there are no other factors.
fn count(module: &Module, value: ValueId, base: ValueId, left: &mut usize) -> Option<usize> {
    if value == base {
        return Some(1);
    }
    *left = left.checked_sub(1)?;
    let (a, b) = parts(module, value)?;
    let of_a = count(module, a, base, left)?;
    Some(of_a + if a == b { of_a } else { count(module, b, base, left)? })
}

/// Whether each partial product in the chain of multiplications from `base` to `product` is used only within the chain.
fn is_read_by_itself(at: &mut At<'_, '_>, product: ValueId, base: ValueId) -> bool {
    let (mut todo, mut inner, mut by) = (vec![product], Vec::new(), Vec::new());
    while let Some(part) = todo.pop() {
        let Some((a, b)) = parts(at.linear.module, part) else { return false };
        by.extend(at.linear.module.def_op(part));
        for part in [a, b] {
            if part != base && !inner.contains(&part) {
                inner.push(part);
                todo.push(part);
            }
        }
    }
    inner.into_iter().all(|part| at.linear.is_read_only_by(part, &by))
}

fn parts(module: &Module, value: ValueId) -> Option<(ValueId, ValueId)> {
    let op = &module.ops[module.def_op(value)?];
    (op.kind == OpKind::Binary(BinaryOp::Multiply)).then(|| (op.operands[0], op.operands[1]))
}

/// Returns the product with one factor removed.
fn one_less(e: &mut Emit<'_>, product: ValueId, base: ValueId) -> Option<ValueId> {
    let (a, b) = parts(e.module(), product)?;
    if a == base {
        return Some(b);
    }
    if b == base {
        return Some(a);
    }
    let less = one_less(e, a, base)?;
    Some(e.mul(less, b))
}
