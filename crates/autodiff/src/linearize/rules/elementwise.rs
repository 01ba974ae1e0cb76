//! Rules of element-wise operations.

use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LOG2_E, PI};

use shardc_ir::reducer::is_identity;
use shardc_ir::{
    BinaryOp, Build, CompareDirection, DType, Diagnostic, Module, OpKind, ReductionKind, TensorBuild,
    UnaryOp, ValueId,
};

use super::compare::compare;
use super::{extreme, log_add_exp, on_tape, sum, unsupported, written_out};
use crate::emit::Arithmetic;
use crate::linearize::numbers::number;
use crate::linearize::{At, bessel, powers};
use crate::ranges::{Range, range};

/// Linearizes unary operations: multiplies the derivative by the tangent.
pub(super) fn unary(at: &mut At<'_, '_>, op: UnaryOp) -> Result<Option<ValueId>, Box<Diagnostic>> {
    let Some(tangent) = at.tangent(0) else { return Ok(None) };
    let (x, y) = (at.operand(0), at.result());
    let is_complex = at.is_complex(x);
    let derivative = match op {
        // The real part of a float is the float itself.
        UnaryOp::Real | UnaryOp::Conj if !is_complex => return Ok(Some(tangent)),
        UnaryOp::Copy => return Ok(Some(tangent)),
        UnaryOp::Imag if !is_complex => return Ok(None),
        UnaryOp::Negate | UnaryOp::Real | UnaryOp::Imag | UnaryOp::Conj => {
            return Ok(Some(on_tape(at, &[tangent])));
        }
        // These operations are piecewise constant, so their derivative is zero.
        UnaryOp::Ceil
        | UnaryOp::Floor
        | UnaryOp::RoundNearestAfz
        | UnaryOp::RoundNearestEven
        | UnaryOp::CountLeadingZeros
        | UnaryOp::IsFinite
        | UnaryOp::IsInf
        | UnaryOp::IsNegInf
        | UnaryOp::IsPosInf
        | UnaryOp::Not
        | UnaryOp::Popcnt => return Ok(None),
        UnaryOp::Sign if !is_complex => return Ok(None),
        UnaryOp::Sign => return Ok(Some(complex_sign(at, tangent))),
        UnaryOp::Abs if is_complex => return Ok(Some(complex_abs(at, tangent))),
        UnaryOp::Log => return Ok(Some(log(at, tangent, is_complex))),
        // The constant factor is separate, so that it can be merged with other constant factors.
        UnaryOp::Sqrt => {
            let half = at.primal().number(0.5, x);
            let mut tape = at.tape();
            let halved = tape.mul(tangent, half);
            return Ok(Some(tape.div(halved, y)));
        }
        UnaryOp::Square => return Ok(Some(doubled(at, tangent, x))),
        UnaryOp::Atan => {
            let under = {
                let mut e = at.primal();
                let (one, square) = (e.number(1.0, x), e.mul(x, x));
                e.add(one, square)
            };
            return Ok(Some(at.tape().div(tangent, under)));
        }
        UnaryOp::Cbrt => {
            let under = {
                let mut e = at.primal();
                let (three, square) = (e.number(3.0, x), e.mul(y, y));
                e.mul(square, three)
            };
            return Ok(Some(at.tape().div(tangent, under)));
        }
        UnaryOp::LogPlusOne => {
            let one_more = {
                let mut e = at.primal();
                let one = e.number(1.0, x);
                e.add(x, one)
            };
            return Ok(Some(at.tape().div(tangent, one_more)));
        }
        _ => derivative(at, op, x, y)?,
    };
    Ok(Some(at.tape().mul(tangent, derivative)))
}

/// Emits `2 x dx`.
fn doubled(at: &mut At<'_, '_>, tangent: ValueId, x: ValueId) -> ValueId {
    let two = at.primal().number(2.0, x);
    let mut tape = at.tape();
    let product = tape.mul(tangent, x);
    tape.mul(product, two)
}

/// `log(x)` has the tangent `dx / x`, and so has `log(|x|)` of a real number. A division replaces a reciprocal and a multiplication, and
/// is more accurate.
fn log(at: &mut At<'_, '_>, tangent: ValueId, is_complex: bool) -> ValueId {
    let x = at.operand(0);
    let inner = at.linear.module.def_op(x).map(|op| &at.linear.module.ops[op]);
    let signed = match inner {
        Some(op) if !is_complex && op.kind == OpKind::Unary(UnaryOp::Abs) => op.operands.first().copied(),
        _ => None,
    };
    match signed.and_then(|signed| Some((signed, at.linear.tangent(signed)?))) {
        Some((signed, tangent)) => at.tape().div(tangent, signed),
        None => at.tape().div(tangent, x),
    }
}

/// The derivative of `y = op(x)` at `x`.
fn derivative(at: &mut At<'_, '_>, op: UnaryOp, x: ValueId, y: ValueId) -> Result<ValueId, Box<Diagnostic>> {
    let error = unsupported(at);
    let mut e = at.primal();
    let e = &mut e;
    // These closures emit `1 / sqrt(value)` and, if `b` is 1 or -1, `a + b x^2`.
    let squared = |e: &mut crate::emit::Emit<'_>, a: f64, b: f64| {
        let square = e.mul(x, x);
        let constant = e.number(a, x);
        if b < 0.0 { e.sub(constant, square) } else { e.add(constant, square) }
    };
    Ok(match op {
        UnaryOp::Abs => {
            // The slope at zero is 1, not `sign(0) = 0`: a second derivative multiplies two such slopes.
            let (zero, one, minus_one) = (e.number(0.0, x), e.number(1.0, x), e.number(-1.0, x));
            let is_positive = compare(e, CompareDirection::GE, x, zero);
            e.alike_to(OpKind::Select, &[is_positive, one, minus_one], x)
        }
        UnaryOp::Cosine => {
            let sine = e.unary(UnaryOp::Sine, x);
            e.neg(sine)
        }
        UnaryOp::Sine => e.unary(UnaryOp::Cosine, x),
        UnaryOp::Tan => {
            let one = e.number(1.0, x);
            let square = e.mul(y, y);
            e.add(one, square)
        }
        UnaryOp::Exponential => y,
        UnaryOp::Exp2 => {
            let ln_2 = e.number(LN_2, x);
            e.mul(y, ln_2)
        }
        UnaryOp::Log2 => {
            let factor = e.number(LOG2_E, x);
            e.div(factor, x)
        }
        UnaryOp::ExponentialMinusOne => {
            let one = e.number(1.0, x);
            e.add(y, one)
        }
        UnaryOp::Logistic => {
            let one = e.number(1.0, x);
            let rest = e.sub(one, y);
            e.mul(y, rest)
        }
        UnaryOp::Rsqrt => {
            let half = e.number(-0.5, x);
            let ratio = e.div(y, x);
            e.mul(half, ratio)
        }
        UnaryOp::Tanh => {
            let one = e.number(1.0, x);
            let square = e.mul(y, y);
            e.sub(one, square)
        }
        UnaryOp::Asin | UnaryOp::Acos => {
            let under = squared(e, 1.0, -1.0);
            let root = e.unary(UnaryOp::Rsqrt, under);
            if op == UnaryOp::Acos { e.neg(root) } else { root }
        }
        UnaryOp::Asinh => {
            let under = squared(e, 1.0, 1.0);
            e.unary(UnaryOp::Rsqrt, under)
        }
        UnaryOp::Acosh => {
            // The difference is computed as a product of two factors, since `x^2 - 1` suffers from cancellation near one.
            let one = e.number(1.0, x);
            let (below, above) = (e.sub(x, one), e.add(x, one));
            let under = e.mul(below, above);
            e.unary(UnaryOp::Rsqrt, under)
        }
        UnaryOp::Atanh => {
            let one = e.number(1.0, x);
            let (below, above) = (e.sub(one, x), e.add(one, x));
            let under = e.mul(below, above);
            e.div(one, under)
        }
        UnaryOp::Sinh => e.unary(UnaryOp::Cosh, x),
        UnaryOp::Cosh => e.unary(UnaryOp::Sinh, x),
        UnaryOp::Erf | UnaryOp::Erfc => {
            let sign = if op == UnaryOp::Erf { 1.0 } else { -1.0 };
            let factor = e.number(sign * FRAC_2_SQRT_PI, x);
            let square = e.mul(x, x);
            let negated = e.neg(square);
            let bell = e.unary(UnaryOp::Exponential, negated);
            e.mul(factor, bell)
        }
        UnaryOp::ErfInv => {
            let factor = e.number(PI.sqrt() / 2.0, x);
            let square = e.mul(y, y);
            let power = e.unary(UnaryOp::Exponential, square);
            e.mul(factor, power)
        }
        UnaryOp::Lgamma => e.unary(UnaryOp::Digamma, x),
        UnaryOp::Digamma => {
            let one = e.number(1.0, x);
            e.binary(BinaryOp::Polygamma, one, x)
        }
        UnaryOp::BesselI1e => bessel_slope(e, x, y),
        _ => return Err(error),
    })
}

/// The derivative of `y = i1e(x)`: `i0e(x) - i1e(x) (sign(x) + 1 / x)`, which is 1/2 at zero.
fn bessel_slope(e: &mut crate::emit::Emit<'_>, x: ValueId, y: ValueId) -> ValueId {
    let (zero, half, one) = (e.number(0.0, x), e.number(0.5, x), e.number(1.0, x));
    let is_zero = compare(e, CompareDirection::EQ, x, zero);
    let divisor = e.alike_to(OpKind::Select, &[is_zero, one, x], x);
    let (sign, inverse) = (e.unary(UnaryOp::Sign, x), e.div(one, divisor));
    let (i0e, factor) = (bessel::i0e(e, x), e.add(sign, inverse));
    let product = e.mul(y, factor);
    let slope = e.sub(i0e, product);
    e.alike_to(OpKind::Select, &[is_zero, half, slope], x)
}

/// `s = z / |z|` has the tangent `(dz - s Re(conj(s) dz)) / |z|`, and zero at zero.
fn complex_sign(at: &mut At<'_, '_>, tangent: ValueId) -> ValueId {
    let (z, s) = (at.operand(0), at.result());
    let (conj, divisor, zeros) = {
        let mut e = at.primal();
        let ty = e.type_of(z);
        let part = if ty.dtype == DType::C128 { DType::F64 } else { DType::F32 };
        let size = e.tensor(OpKind::Unary(UnaryOp::Abs), &[z], &ty.shape, part);
        let (zero, one) = (e.number(0.0, size), e.number(1.0, size));
        let is_zero = compare(&mut e, CompareDirection::EQ, size, zero);
        let divisor = e.alike_to(OpKind::Select, &[is_zero, one, size], size);
        let divisor = e.alike_to(OpKind::Binary(BinaryOp::Complex), &[divisor, zero], z);
        (e.unary(UnaryOp::Conj, s), divisor, zero)
    };
    let real = at.linear.module.values[zeros].ty;
    let mut tape = at.tape();
    let product = tape.mul(tangent, conj);
    let along = tape.op1(OpKind::Unary(UnaryOp::Real), &[product], real);
    let along = tape.alike_to(OpKind::Binary(BinaryOp::Complex), &[along, zeros], z);
    let along = tape.mul(along, s);
    let across = tape.sub(tangent, along);
    tape.div(across, divisor)
}

/// `|z|` has the tangent `Re(dz conj(z)) / |z|`, and zero at zero.
fn complex_abs(at: &mut At<'_, '_>, tangent: ValueId) -> ValueId {
    let (z, size) = (at.operand(0), at.result());
    let mut e = at.primal();
    let (zero, one) = (e.number(0.0, size), e.number(1.0, size));
    let is_zero = compare(&mut e, CompareDirection::EQ, size, zero);
    let divisor = e.alike_to(OpKind::Select, &[is_zero, one, size], size);
    let conj = e.unary(UnaryOp::Conj, z);
    let zeros = e.number(0.0, divisor);
    let divisor = e.alike_to(OpKind::Binary(BinaryOp::Complex), &[divisor, zeros], z);
    let direction = e.div(conj, divisor);
    let ty = at.linear.module.values[size].ty;
    let mut tape = at.tape();
    let product = tape.mul(tangent, direction);
    tape.op1(OpKind::Unary(UnaryOp::Real), &[product], ty)
}

/// Linearizes binary operations: adds the contributions of both operands.
pub(super) fn binary(at: &mut At<'_, '_>, op: BinaryOp) -> Result<Option<ValueId>, Box<Diagnostic>> {
    let (a, b, y) = (at.operand(0), at.operand(1), at.result());
    let (da, db) = (at.tangent(0), at.tangent(1));
    match op {
        BinaryOp::Add | BinaryOp::Subtract => {
            if let Some(tangent) = (op == BinaryOp::Add).then(|| log_add_exp::of_sum(at)).flatten() {
                return Ok(Some(tangent));
            }
            let db = match op {
                BinaryOp::Subtract if da.is_none() => db.map(|db| at.tape().neg(db)),
                _ => db,
            };
            return Ok(match (da, db) {
                (Some(da), Some(db)) => Some(at.tape().binary(op, da, db)),
                _ => da.or(db),
            });
        }
        BinaryOp::Complex => {
            let parts = [written_out(at, 0), written_out(at, 1)];
            return Ok(Some(on_tape(at, &parts)));
        }
        BinaryOp::Multiply => {
            if let (true, Some(tangent)) = (a == b, da) {
                if let Some(tangent) = powers::of_product(at) {
                    return Ok(Some(tangent));
                }
                return Ok(Some(doubled(at, tangent, a)));
            }
            if let Some(tangent) = (da.is_some() && db.is_some()).then(|| powers::of_product(at)).flatten() {
                return Ok(Some(tangent));
            }
            let left = da.map(|da| at.tape().mul(da, b));
            let right = db.map(|db| at.tape().mul(a, db));
            return Ok(sum(at, &[left, right]));
        }
        BinaryOp::Divide => return Ok(divide(at)),
        // StableHLO's maximum and minimum of complex numbers use an order that no comparison operation provides.
        BinaryOp::Maximum | BinaryOp::Minimum if at.is_complex(at.result()) => return Err(unsupported(at)),
        BinaryOp::Maximum | BinaryOp::Minimum => return Ok(extreme::extreme(at, op)),
        _ => {}
    }
    let mut changes = [None, None];
    for (i, tangent) in [da, db].into_iter().enumerate() {
        let Some(tangent) = tangent else { continue };
        let slope = slope(at, op, i, (a, b, y))?;
        changes[i] = match slope {
            Slope::Zero => None,
            Slope::One => Some(tangent),
            Slope::By(slope) => Some(at.tape().mul(tangent, slope)),
        };
    }
    Ok(sum(at, &changes))
}

/// `a / b = y` has the tangent `(da - y db) / b`, and `1 / b` has `-y y db`.
fn divide(at: &mut At<'_, '_>) -> Option<ValueId> {
    let (a, b, y) = (at.operand(0), at.operand(1), at.result());
    let (da, db) = (at.tangent(0), at.tangent(1));
    let is_one = is_identity(at.linear.module, a, ReductionKind::Mul);
    if let Some(exponent) = is_one.then(|| exponent_beside_one(at.linear.module, b)).flatten() {
        return logistic(at, exponent);
    }
    if let Some(tangent) = is_one.then(|| powers::of_inverse(at, b)).flatten() {
        return Some(tangent);
    }
    // If `b` is a broadcast, its inverse is computed before the broadcast, with fewer divisions.
    let inverse = spread_inverse(at, b);
    let scaled = db.map(|db| at.tape().mul(db, y));
    let change = match (da, scaled) {
        (Some(da), Some(scaled)) => at.tape().sub(da, scaled),
        (None, Some(scaled)) => at.tape().neg(scaled),
        _ => da?,
    };
    Some(match (is_one, inverse) {
        (true, _) => at.tape().mul(change, y),
        (false, Some(inverse)) => at.tape().mul(change, inverse),
        (false, None) => at.tape().div(change, b),
    })
}

/// Returns `1 / value` of floats, if the value is a broadcast of a tensor with fewer elements.
fn spread_inverse(at: &mut At<'_, '_>, value: ValueId) -> Option<ValueId> {
    let module = &*at.linear.module;
    if at.is_complex(value) {
        return None;
    }
    let (mut from, mut spread) = (value, Vec::new());
    while let Some(op) = module.def_op(from).map(|op| &module.ops[op]) {
        let (OpKind::BroadcastInDim { .. } | OpKind::Reshape) = op.kind else { break };
        spread.push((op.kind.clone(), module.values[from].ty));
        from = op.operands[0];
    }
    let elements = |value: ValueId| module.tensor(value).and_then(|ty| ty.num_elements());
    if elements(from) >= elements(value) {
        return None;
    }
    let mut e = at.primal();
    let one = e.number(1.0, from);
    let inverse = e.div(one, from);
    Some(spread.into_iter().rev().fold(inverse, |value, (kind, ty)| e.op1(kind, &[value], ty)))
}

/// Returns `u` if a value is `1 + exp(u)`.
fn exponent_beside_one(module: &Module, value: ValueId) -> Option<ValueId> {
    let sum = module.def_op(value).map(|op| &module.ops[op])?;
    if sum.kind != OpKind::Binary(BinaryOp::Add) {
        return None;
    }
    let (a, b) = (sum.operands[0], sum.operands[1]);
    [(a, b), (b, a)].into_iter().find_map(|(one, power)| {
        let power = module.def_op(power).map(|op| &module.ops[op])?;
        let is_it =
            is_identity(module, one, ReductionKind::Mul) && power.kind == OpKind::Unary(UnaryOp::Exponential);
        is_it.then(|| power.operands[0])
    })
}

/// `1 / (1 + exp(u)) = y` has the tangent `-y (1 - y) du`: only `y` is saved, and zero is never multiplied by infinity.
fn logistic(at: &mut At<'_, '_>, exponent: ValueId) -> Option<ValueId> {
    let y = at.result();
    let module = &*at.linear.module;
    let negated = module.def_op(exponent).map(|op| &module.ops[op]);
    let negated =
        negated.filter(|data| data.kind == OpKind::Unary(UnaryOp::Negate)).map(|data| data.operands[0]);
    let tangent = negated.and_then(|x| at.linear.tangent(x));
    let du = at.linear.tangent(exponent);
    let slope = {
        let mut e = at.primal();
        let one = e.number(1.0, y);
        let rest = e.sub(one, y);
        e.mul(y, rest)
    };
    match tangent {
        Some(dx) => Some(at.tape().mul(dx, slope)),
        None => {
            let product = at.tape().mul(du?, slope);
            Some(at.tape().neg(product))
        }
    }
}

/// Whether a value is a constant other than zero.
fn is_nonzero_constant(module: &Module, value: ValueId) -> bool {
    number(module, value).is_some_and(|number| number != 0.0)
}

/// The derivative of a result with respect to an operand.
enum Slope {
    Zero,
    One,
    By(ValueId),
}

/// The derivative of `y = op(a, b)` with respect to operand `i`.
fn slope(
    at: &mut At<'_, '_>,
    op: BinaryOp,
    i: usize,
    (a, b, y): (ValueId, ValueId, ValueId),
) -> Result<Slope, Box<Diagnostic>> {
    let error = unsupported(at);
    let mut e = at.primal();
    let e = &mut e;
    Ok(Slope::By(match (op, i) {
        (BinaryOp::Power, 0) => {
            // The derivative is `b a^(b-1)`. At `a = b = 0`, the base is replaced by 1, since `0 * 0^-1` is NaN.
            let one = e.number(1.0, b);
            let less = e.sub(b, one);
            let base = if is_nonzero_constant(e.module(), b) {
                a
            } else {
                let zero = e.number(0.0, b);
                let is_zero = compare(e, CompareDirection::EQ, b, zero);
                let is_zero_base = compare(e, CompareDirection::EQ, a, zero);
                let both = e.binary(BinaryOp::And, is_zero, is_zero_base);
                e.alike_to(OpKind::Select, &[both, one, a], a)
            };
            let power = e.binary(BinaryOp::Power, base, less);
            e.mul(b, power)
        }
        (BinaryOp::Power, _) => {
            // The derivative is `log(a) a^b`, and zero at `a = 0`, where the logarithm is infinite.
            let (zero, one) = (e.number(0.0, a), e.number(1.0, a));
            let is_zero = compare(e, CompareDirection::EQ, a, zero);
            let base = e.alike_to(OpKind::Select, &[is_zero, one, a], a);
            let log = e.unary(UnaryOp::Log, base);
            e.mul(log, y)
        }
        (BinaryOp::Remainder, 0) => return Ok(Slope::One),
        (BinaryOp::Remainder, _) => {
            let ratio = e.div(a, b);
            let zero = e.number(0.0, ratio);
            let (down, up) = (e.unary(UnaryOp::Floor, ratio), e.unary(UnaryOp::Ceil, ratio));
            let is_negative = compare(e, CompareDirection::LT, ratio, zero);
            let whole = e.alike_to(OpKind::Select, &[is_negative, up, down], ratio);
            e.neg(whole)
        }
        (BinaryOp::Atan2, _) => {
            let (aa, bb) = (e.mul(a, a), e.mul(b, b));
            let sum = e.add(aa, bb);
            if i == 0 {
                e.div(b, sum)
            } else {
                let ratio = e.div(a, sum);
                e.neg(ratio)
            }
        }
        (BinaryOp::Polygamma, 1) => {
            let one = e.number(1.0, a);
            let next = e.add(a, one);
            e.binary(BinaryOp::Polygamma, next, b)
        }
        (BinaryOp::Zeta, 1) => {
            let one = e.number(1.0, a);
            let next = e.add(a, one);
            let zeta = e.binary(BinaryOp::Zeta, next, b);
            let factor = e.neg(a);
            e.mul(factor, zeta)
        }
        (BinaryOp::NextAfter, 0) => return Ok(Slope::One),
        (BinaryOp::NextAfter, _) => return Ok(Slope::Zero),
        _ => return Err(error),
    }))
}

/// Selects between the tangents of both operands. If the predicate is known, as for a mask of indices in bounds, returns the selected
/// tangent.
pub(super) fn select(at: &mut At<'_, '_>) -> Option<ValueId> {
    let which = at.operand(0);
    match range(at.linear.module, which) {
        Some(Range { low: 1, .. }) => return at.tangent(1),
        Some(Range { high: 0, .. }) => return at.tangent(2),
        _ => {}
    }
    if let Some(tangent) = log_add_exp::of_select(at) {
        return Some(tangent);
    }
    if let Some(x) = bessel::argument_of_i0e(at.linear.module, at.result()) {
        return i0e(at, x);
    }
    let (yes, no) = (written_out(at, 1), written_out(at, 2));
    Some(on_tape(at, &[which, yes, no]))
}

/// `y = i0e(x)` has the tangent `(i1e(x) - sign(x) y) dx`.
fn i0e(at: &mut At<'_, '_>, x: ValueId) -> Option<ValueId> {
    let (y, tangent) = (at.result(), at.linear.tangent(x)?);
    let slope = {
        let mut e = at.primal();
        let (i1e, sign) = (e.unary(UnaryOp::BesselI1e, x), e.unary(UnaryOp::Sign, x));
        let signed = e.mul(sign, y);
        e.sub(i1e, signed)
    };
    Some(at.tape().mul(tangent, slope))
}

/// Linearizes `clamp`: strictly between the bounds, the result has the tangent of the operand; strictly beyond a bound, it has the
/// tangent of the bound. Bounds may be scalars.
///
/// A bound that is the operand itself has no effect: `clamp(x, x, high)` is `minimum(x, high)`, and `clamp(x, x, x)` is `x`.
pub(super) fn clamp(at: &mut At<'_, '_>) -> Option<ValueId> {
    let (low, x, high, y) = (at.operand(0), at.operand(1), at.operand(2), at.result());
    let shape = at.linear.module.shape(y).to_vec();
    let [low_source, source, high_source] = [low, x, high].map(|value| annotated(at.linear.module, value));
    let (bounds_below, bounds_above) = (low_source != source, high_source != source);
    let spread = |at: &mut At<'_, '_>, value: ValueId, on_tape: bool| {
        if at.linear.module.shape(value) == shape.as_slice() {
            return Some(value);
        }
        let none = shardc_ir::DimList::new();
        if on_tape { at.tape().spread(value, none, &shape) } else { at.primal().spread(value, none, &shape) }
    };
    let (low, high) = (spread(at, low, false)?, spread(at, high, false)?);
    let (is_above, is_below) = {
        let mut e = at.primal();
        (compare(&mut e, CompareDirection::GT, x, low), compare(&mut e, CompareDirection::LT, x, high))
    };
    let mut changes = [None; 3];
    for (i, change) in changes.iter_mut().enumerate() {
        let Some(tangent) = at.tangent(i) else { continue };
        let tangent = spread(at, tangent, true)?;
        match i {
            0 if !bounds_below => continue,
            1 if !bounds_below && !bounds_above => {
                *change = Some(tangent);
                continue;
            }
            2 if !bounds_above => continue,
            _ => {}
        }
        let (counts, zero) = {
            let mut e = at.primal();
            let counts = match i {
                // At a bound, neither the operand nor the bound contributes, as in JAX.
                0 => {
                    let is_above = compare(&mut e, CompareDirection::GT, low, x);
                    let is_below = compare(&mut e, CompareDirection::LT, low, high);
                    e.binary(BinaryOp::And, is_above, is_below)
                }
                1 if !bounds_below => is_below,
                1 if !bounds_above => is_above,
                1 => e.binary(BinaryOp::And, is_above, is_below),
                _ => compare(&mut e, CompareDirection::LT, high, x),
            };
            (counts, e.zeros_like(y))
        };
        *change = Some(at.tape().alike_to(OpKind::Select, &[counts, tangent, zero], y));
    }
    sum(at, &changes)
}

/// Returns the value to which sharding annotations were applied, or the value itself if it has none.
fn annotated(module: &Module, mut value: ValueId) -> ValueId {
    while let Some(op) = module.def_op(value) {
        let data = &module.ops[op];
        match (&data.kind, data.operands.as_slice()) {
            (OpKind::ShardingConstraint(_) | OpKind::Reshard(_), &[operand]) => value = operand,
            _ => break,
        }
    }
    value
}
