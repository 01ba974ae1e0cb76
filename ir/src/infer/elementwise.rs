//! Inference of element-wise operations: accepted and resulting element types.

use smallvec::smallvec;

use super::{Ctx, Fail, Res, Ty, Types, ensure, known, same, shape_fits, shape_text, tensor};
use crate::{BinaryOp, DType, DTypeClass, Shape, TensorType, UnaryOp};

/// Returns the element type of the real and imaginary parts; for a real type, the type itself.
fn part(dtype: DType) -> DType {
    match dtype {
        DType::C64 => DType::F32,
        DType::C128 => DType::F64,
        other => other,
    }
}

const BOOL: u8 = 1;
const SIGNED: u8 = 2;
const UNSIGNED: u8 = 4;
const FLOAT: u8 = 8;
const COMPLEX: u8 = 16;
const INT: u8 = SIGNED | UNSIGNED;
const REAL: u8 = FLOAT | COMPLEX;
const ANY: u8 = BOOL | INT | REAL;

fn bit(class: DTypeClass) -> u8 {
    match class {
        DTypeClass::Bool => BOOL,
        DTypeClass::Signed => SIGNED,
        DTypeClass::Unsigned => UNSIGNED,
        DTypeClass::Float => FLOAT,
        DTypeClass::Complex => COMPLEX,
    }
}

fn class_names(classes: u8) -> String {
    let names: Vec<&str> = [
        (BOOL, "booleans"),
        (SIGNED, "signed integers"),
        (UNSIGNED, "unsigned integers"),
        (FLOAT, "floats"),
        (COMPLEX, "complex numbers"),
    ]
    .into_iter()
    .filter(|(bit, _)| classes & bit != 0)
    .map(|(_, name)| name)
    .collect();
    names.join(", ")
}

fn accepts(cx: &Ctx<'_>, dtype: DType, classes: u8) -> Res<()> {
    ensure!(bit(dtype.class()) & classes != 0, "{} expects {}, got {dtype}", cx.name(), class_names(classes));
    Ok(())
}

pub(crate) fn unary(cx: &Ctx<'_>, op: UnaryOp) -> Res<Types> {
    use UnaryOp as U;
    let operand = cx.tensor(0)?;
    let dtype = operand.dtype;
    let classes = match op {
        U::Abs | U::Sign => SIGNED | REAL,
        U::Negate | U::Square => INT | REAL,
        U::Not => BOOL | INT,
        U::Popcnt | U::CountLeadingZeros => INT,
        U::Ceil | U::Floor | U::RoundNearestAfz | U::RoundNearestEven | U::IsFinite => FLOAT,
        U::Cbrt
        | U::Cosine
        | U::Exp2
        | U::Exponential
        | U::ExponentialMinusOne
        | U::Imag
        | U::Log
        | U::Log2
        | U::LogPlusOne
        | U::Logistic
        | U::Real
        | U::Rsqrt
        | U::Sine
        | U::Sqrt
        | U::Tan
        | U::Tanh => REAL,
        U::Acos | U::Acosh | U::Asin | U::Asinh | U::Atan | U::Atanh | U::Cosh | U::Sinh => REAL,
        U::BesselI1e | U::Digamma | U::Erf | U::ErfInv | U::Erfc | U::Lgamma => FLOAT,
        U::IsInf | U::IsNegInf | U::IsPosInf => FLOAT,
        U::Conj | U::Copy => ANY,
        U::AsinAcosKernel => COMPLEX,
    };
    accepts(cx, dtype, classes)?;
    let out = match op {
        U::Abs | U::Real | U::Imag => part(dtype),
        U::IsFinite | U::IsInf | U::IsNegInf | U::IsPosInf => DType::I1,
        _ => return same(cx, 0),
    };
    if out == dtype { same(cx, 0) } else { Ok(tensor(&operand.shape, out)) }
}

pub(crate) fn binary(cx: &Ctx<'_>, op: BinaryOp) -> Res<Types> {
    use BinaryOp as B;
    let lhs = cx.tensor(0)?;
    let dtype = lhs.dtype;
    check_binary(cx, op, dtype)?;
    if op == B::Complex {
        let out = complex_of(cx, dtype)?;
        return Ok(tensor(&joined(cx, &[0, 1])?, out));
    }
    joined_same(cx, &[0, 1])
}

/// Checks that a binary operation accepts elements of this type.
pub(crate) fn check_binary(cx: &Ctx<'_>, op: BinaryOp, dtype: DType) -> Res<()> {
    use BinaryOp as B;
    let classes = match op {
        B::Add | B::Maximum | B::Minimum | B::Multiply => ANY,
        B::And | B::Or | B::Xor => BOOL | INT,
        B::Subtract | B::Divide | B::Power | B::Remainder => INT | REAL,
        B::ShiftLeft | B::ShiftRightArithmetic | B::ShiftRightLogical | B::Mulhi => INT,
        B::Atan2 => REAL,
        B::Complex | B::NextAfter | B::Polygamma | B::Zeta => FLOAT,
    };
    accepts(cx, dtype, classes)
}

/// Returns the complex element type whose real and imaginary parts have the type `dtype`.
pub(crate) fn complex_of(cx: &Ctx<'_>, dtype: DType) -> Res<DType> {
    match dtype {
        DType::F32 => Ok(DType::C64),
        DType::F64 => Ok(DType::C128),
        other => Err(Fail::Wrong(format!("{} expects f32 or f64, got {other}", cx.name()))),
    }
}

pub(crate) fn compare(cx: &Ctx<'_>) -> Res<Types> {
    Ok(tensor(&joined(cx, &[0, 1])?, DType::I1))
}

pub(crate) fn select(cx: &Ctx<'_>) -> Res<Types> {
    let pred = cx.tensor(0)?;
    ensure!(pred.dtype == DType::I1, "the predicate of select must be i1, got {pred}");
    let out = joined_same(cx, &[1, 2])?;
    let on_true = cx.tensor(1)?;
    ensure!(
        pred.rank() == 0 || shape_fits(&pred.shape, &on_true.shape),
        "the predicate of select has shape {}, but the other operands have shape {}",
        shape_text(&pred.shape),
        shape_text(&on_true.shape)
    );
    Ok(out)
}

pub(crate) fn clamp(cx: &Ctx<'_>) -> Res<Types> {
    let operand = cx.tensor(1)?;
    for (i, what) in [(0, "lower"), (2, "upper")] {
        let bound = cx.tensor(i)?;
        ensure!(
            bound.dtype == operand.dtype && (bound.rank() == 0 || shape_fits(&bound.shape, &operand.shape)),
            "the {what} bound of clamp is {bound}, but the operand is {operand}"
        );
    }
    same(cx, 1)
}

/// Infers a result with the common type of these operands.
fn joined_same(cx: &Ctx<'_>, operands: &[usize; 2]) -> Res<Types> {
    let (a, b) = (cx.ty(operands[0])?, cx.ty(operands[1])?);
    // Types are interned, so equal types need no further comparison. This is the most common case.
    if a == b {
        return Ok(smallvec![Ty::Same(a)]);
    }
    let shape = joined(cx, operands)?;
    let (a, b) = (cx.tensor(operands[0])?, cx.tensor(operands[1])?);
    let encoding = super::bounds::joined(cx.name(), a, b, &shape)?;
    Ok(smallvec![Ty::Tensor(TensorType { shape, dtype: a.dtype, encoding })])
}

/// Returns the common shape of these operands: a size is static if it is static in either of them. Their element types must be equal.
fn joined(cx: &Ctx<'_>, operands: &[usize; 2]) -> Res<Shape> {
    let (a, b) = (cx.tensor(operands[0])?, cx.tensor(operands[1])?);
    ensure!(
        a.dtype == b.dtype && shape_fits(&a.shape, &b.shape),
        "operands of {} have different types: {a} and {b}",
        cx.name()
    );
    Ok(a.shape.iter().zip(&b.shape).map(|(&a, &b)| known(a, b)).collect())
}
