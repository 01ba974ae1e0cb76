//! Element-wise operations on arrays of equal shapes.

use std::cmp::Ordering;

use shardc_ir::{BinaryOp, CompareDirection, CompareType, DType, UnaryOp};

use crate::array::{Array, Data, Dims, both, zip};
use crate::error::Fault;
use crate::numbers::{Complex, Domain, Integer, Number, Real};

/// The error for an operation that is not defined on an element type.
fn undefined<T>(name: &str, dtype: DType) -> Result<T, Fault> {
    Fault::unsupported(format!("{name} of {dtype}"))
}

fn same_shape<D: Domain>(a: &Array<D>, b: &Array<D>) -> Result<(), Fault> {
    if a.dims() == b.dims() {
        return Ok(());
    }
    Fault::invalid(format!("operands have the shapes {:?} and {:?}", a.dims(), b.dims()))
}

fn collect<T: Copy, U>(values: &[T], f: impl Fn(T) -> U) -> Vec<U> {
    values.iter().map(|&x| f(x)).collect()
}

fn combine<T: Copy, U>(a: &[T], b: &[T], f: impl Fn(T, T) -> U) -> Vec<U> {
    a.iter().zip(b).map(|(&x, &y)| f(x, y)).collect()
}

/// Evaluates an operation with one operand.
pub(crate) fn unary<D: Domain>(op: UnaryOp, a: &Array<D>, key: u64) -> Result<Array<D>, Fault> {
    use UnaryOp as U;
    let (dtype, dims) = (a.dtype(), Dims::from_slice(a.dims()));
    if let (U::Real | U::Imag | U::Abs, Data::C64(_) | Data::C128(_)) = (op, a.data()) {
        return part(op, a, key);
    }
    if let U::IsFinite | U::IsInf | U::IsPosInf | U::IsNegInf = op {
        return Array::new(dims, DType::I1, Data::Bool(classified(op, a)?));
    }
    let bits = dtype.bits();
    let data = match a.data() {
        Data::Bool(v) => match op {
            U::Not => Data::Bool(collect(v, |x| !x)),
            U::Copy | U::Abs => Data::Bool(v.clone()),
            _ => return undefined(op.name(), dtype),
        },
        Data::I8(v) => Data::I8(integer_unary(op, v, bits)?),
        Data::I16(v) => Data::I16(integer_unary(op, v, bits)?),
        Data::I32(v) => Data::I32(integer_unary(op, v, bits)?),
        Data::I64(v) => Data::I64(integer_unary(op, v, bits)?),
        Data::U8(v) => Data::U8(integer_unary(op, v, bits)?),
        Data::U16(v) => Data::U16(integer_unary(op, v, bits)?),
        Data::U32(v) => Data::U32(integer_unary(op, v, bits)?),
        Data::U64(v) => Data::U64(integer_unary(op, v, bits)?),
        Data::F32(v) => match D::Single::unary(op, v, key) {
            Some(values) => Data::F32(values),
            None => return undefined(op.name(), dtype),
        },
        Data::F64(v) => match D::Double::unary(op, v, key) {
            Some(values) => Data::F64(values),
            None => return undefined(op.name(), dtype),
        },
        Data::C64(v) => match D::Single::complex_unary(op, v, key) {
            Some(values) => Data::C64(values),
            None => return undefined(op.name(), dtype),
        },
        Data::C128(v) => match D::Double::complex_unary(op, v, key) {
            Some(values) => Data::C128(values),
            None => return undefined(op.name(), dtype),
        },
    };
    Array::fitted(dims, dtype, data)
}

/// Real part, imaginary part and absolute value of complex numbers.
fn part<D: Domain>(op: UnaryOp, a: &Array<D>, key: u64) -> Result<Array<D>, Fault> {
    fn parts<T: Real>(op: UnaryOp, values: &[Complex<T>], key: u64) -> Vec<T> {
        match op {
            UnaryOp::Real => collect(values, |z| z.re),
            UnaryOp::Imag => collect(values, |z| z.im),
            _ => collect(values, |z| T::modulus(z, key)),
        }
    }
    let dims = Dims::from_slice(a.dims());
    match a.data() {
        Data::C64(v) => Array::new(dims, DType::F32, Data::F32(parts(op, v, key))),
        Data::C128(v) => Array::new(dims, DType::F64, Data::F64(parts(op, v, key))),
        _ => undefined(op.name(), a.dtype()),
    }
}

fn classified<D: Domain>(op: UnaryOp, a: &Array<D>) -> Result<Vec<bool>, Fault> {
    fn class<T: Real>(op: UnaryOp, values: &[T]) -> Vec<bool> {
        match op {
            UnaryOp::IsFinite => collect(values, T::is_finite),
            UnaryOp::IsPosInf => collect(values, |x| x.is_infinity(false)),
            UnaryOp::IsNegInf => collect(values, |x| x.is_infinity(true)),
            _ => collect(values, |x| x.is_infinity(false) || x.is_infinity(true)),
        }
    }
    match a.data() {
        Data::F32(v) => Ok(class(op, v)),
        Data::F64(v) => Ok(class(op, v)),
        _ => undefined(op.name(), a.dtype()),
    }
}

fn integer_unary<T: Integer>(op: UnaryOp, values: &[T], bits: u32) -> Result<Vec<T>, Fault> {
    use UnaryOp as U;
    // The bits of the type, without the sign extension of the storage.
    let low = |x: T| x.extend() as u64 & (u64::MAX >> (64 - bits.clamp(1, 64)));
    let number = |n: u32| T::truncate(i128::from(n));
    Ok(match op {
        U::Negate => collect(values, T::negative),
        U::Abs => collect(values, |x| if T::SIGNED && x.extend() < 0 { x.negative() } else { x }),
        U::Not => collect(values, |x| T::truncate(!x.extend())),
        U::Popcnt => collect(values, |x| number(low(x).count_ones())),
        U::CountLeadingZeros => collect(values, |x| number(low(x).leading_zeros() + bits - 64)),
        U::Sign => collect(values, |x| T::truncate(x.extend().signum())),
        U::Square => collect(values, |x| x.times(x)),
        U::Copy => values.to_vec(),
        _ => return Fault::unsupported(format!("{} of integers", op.name())),
    })
}

/// Evaluates an operation with two operands.
pub(crate) fn binary<D: Domain>(
    op: BinaryOp,
    a: &Array<D>,
    b: &Array<D>,
    key: u64,
) -> Result<Array<D>, Fault> {
    use BinaryOp as B;
    same_shape(a, b)?;
    let (dtype, dims) = (a.dtype(), Dims::from_slice(a.dims()));
    let data = match op {
        B::Add => zip!(a.data(), b.data(), (x, y) => combine(x, y, Number::plus)),
        B::Subtract => zip!(a.data(), b.data(), (x, y) => combine(x, y, Number::minus)),
        B::Multiply => zip!(a.data(), b.data(), (x, y) => combine(x, y, Number::times)),
        B::Divide => zip!(a.data(), b.data(), (x, y) => combine(x, y, Number::over)),
        B::Maximum => zip!(a.data(), b.data(), (x, y) => combine(x, y, Number::larger)),
        B::Minimum => zip!(a.data(), b.data(), (x, y) => combine(x, y, Number::smaller)),
        B::Remainder => match (a.data(), b.data()) {
            (Data::C64(_) | Data::C128(_) | Data::Bool(_), _) => return undefined(op.name(), dtype),
            (x, y) => zip!(x, y, (x, y) => combine(x, y, Number::modulo)),
        },
        B::Complex => return complex(a, b),
        _ => match (a.data(), b.data()) {
            (Data::F32(x), Data::F32(y)) => {
                Data::F32(all(op, x, y, |x, y| D::Single::binary(op, x, y, key))?)
            }
            (Data::F64(x), Data::F64(y)) => {
                Data::F64(all(op, x, y, |x, y| D::Double::binary(op, x, y, key))?)
            }
            (Data::C64(x), Data::C64(y)) => {
                Data::C64(all(op, x, y, |x, y| D::Single::complex_binary(op, x, y, key))?)
            }
            (Data::C128(x), Data::C128(y)) => {
                Data::C128(all(op, x, y, |x, y| D::Double::complex_binary(op, x, y, key))?)
            }
            (x, y) => integer_binary(op, x, y, dtype)?,
        },
    };
    Array::fitted(dims, dtype, data)
}

/// Applies a function that is not defined on all operations.
fn all<T: Copy>(op: BinaryOp, a: &[T], b: &[T], f: impl Fn(T, T) -> Option<T>) -> Result<Vec<T>, Fault> {
    let values: Option<Vec<T>> = a.iter().zip(b).map(|(&x, &y)| f(x, y)).collect();
    values.ok_or_else(|| Fault::Unsupported(format!("{} of floats", op.name())))
}

fn complex<D: Domain>(a: &Array<D>, b: &Array<D>) -> Result<Array<D>, Fault> {
    let dims = Dims::from_slice(a.dims());
    match (a.data(), b.data()) {
        (Data::F32(x), Data::F32(y)) => Array::new(dims, DType::C64, Data::C64(combine(x, y, Complex::new))),
        (Data::F64(x), Data::F64(y)) => {
            Array::new(dims, DType::C128, Data::C128(combine(x, y, Complex::new)))
        }
        _ => undefined("stablehlo.complex", a.dtype()),
    }
}

fn integer_binary<D: Domain>(op: BinaryOp, a: &Data<D>, b: &Data<D>, dtype: DType) -> Result<Data<D>, Fault> {
    let bits = dtype.bits();
    Ok(match (a, b) {
        (Data::Bool(x), Data::Bool(y)) => Data::Bool(match op {
            BinaryOp::And => combine(x, y, |x, y| x & y),
            BinaryOp::Or => combine(x, y, |x, y| x | y),
            BinaryOp::Xor => combine(x, y, |x, y| x ^ y),
            _ => return undefined(op.name(), dtype),
        }),
        (Data::I8(x), Data::I8(y)) => Data::I8(integers(op, x, y, bits)?),
        (Data::I16(x), Data::I16(y)) => Data::I16(integers(op, x, y, bits)?),
        (Data::I32(x), Data::I32(y)) => Data::I32(integers(op, x, y, bits)?),
        (Data::I64(x), Data::I64(y)) => Data::I64(integers(op, x, y, bits)?),
        (Data::U8(x), Data::U8(y)) => Data::U8(integers(op, x, y, bits)?),
        (Data::U16(x), Data::U16(y)) => Data::U16(integers(op, x, y, bits)?),
        (Data::U32(x), Data::U32(y)) => Data::U32(integers(op, x, y, bits)?),
        (Data::U64(x), Data::U64(y)) => Data::U64(integers(op, x, y, bits)?),
        _ => return undefined(op.name(), dtype),
    })
}

fn integers<T: Integer>(op: BinaryOp, a: &[T], b: &[T], bits: u32) -> Result<Vec<T>, Fault> {
    use BinaryOp as B;
    let mask = u64::MAX >> (64 - bits.clamp(1, 64));
    let low = |x: T| x.extend() as u64 & mask;
    // A shift by the width or more, as an unsigned number, moves all bits out.
    let amount = |y: T| low(y).min(u64::from(bits)) as u32;
    Ok(match op {
        B::And => combine(a, b, |x, y| T::truncate(x.extend() & y.extend())),
        B::Or => combine(a, b, |x, y| T::truncate(x.extend() | y.extend())),
        B::Xor => combine(a, b, |x, y| T::truncate(x.extend() ^ y.extend())),
        B::ShiftLeft => combine(a, b, |x, y| T::truncate(x.extend() << amount(y))),
        B::ShiftRightArithmetic => combine(a, b, |x, y| {
            // The sign bit of an unsigned integer is its highest bit.
            let signed = (i128::from(low(x)) << (128 - bits)) >> (128 - bits);
            T::truncate(signed >> amount(y))
        }),
        B::ShiftRightLogical => combine(a, b, |x, y| T::truncate(i128::from(low(x)) >> amount(y))),
        B::Mulhi => combine(a, b, |x, y| {
            let (x, y) = (x.extend(), y.extend());
            T::truncate(if T::SIGNED { (x * y) >> bits } else { ((x as u128 * y as u128) >> bits) as i128 })
        }),
        B::Power => combine(a, b, power),
        _ => return Fault::unsupported(format!("{} of integers", op.name())),
    })
}

/// Integer power; a negative exponent gives zero, unless the base is 1 or -1.
fn power<T: Integer>(base: T, exponent: T) -> T {
    let negative = T::SIGNED && exponent.extend() < 0;
    if negative && base.extend().abs() != 1 {
        return T::default();
    }
    let mut left = exponent.extend().unsigned_abs();
    let (mut base, mut result) = (base, T::one());
    while left > 0 {
        if left & 1 == 1 {
            result = result.times(base);
        }
        base = base.times(base);
        left >>= 1;
    }
    result
}

/// Compares elements.
pub(crate) fn compare<D: Domain>(
    direction: CompareDirection,
    how: Option<CompareType>,
    a: &Array<D>,
    b: &Array<D>,
) -> Result<Array<D>, Fault> {
    same_shape(a, b)?;
    let values = if how == Some(CompareType::TotalOrder) {
        match (a.data(), b.data()) {
            (Data::F32(x), Data::F32(y)) => {
                combine(x, y, |x, y| holds(direction, Some(x.total_order(y)), true))
            }
            (Data::F64(x), Data::F64(y)) => {
                combine(x, y, |x, y| holds(direction, Some(x.total_order(y)), true))
            }
            _ => compared(direction, a.data(), b.data())?,
        }
    } else {
        compared(direction, a.data(), b.data())?
    };
    Array::new(Dims::from_slice(a.dims()), DType::I1, Data::Bool(values))
}

fn compared<D: Domain>(direction: CompareDirection, a: &Data<D>, b: &Data<D>) -> Result<Vec<bool>, Fault> {
    use CompareDirection as C;
    fn run<T: Number>(direction: CompareDirection, a: &[T], b: &[T]) -> Vec<bool> {
        match direction {
            C::EQ => combine(a, b, |x, y| x == y),
            C::NE => combine(a, b, |x, y| x != y),
            _ => combine(a, b, |x, y| holds(direction, x.order(y), false)),
        }
    }
    Ok(both!(a, b, (x, y) => run(direction, x, y)))
}

/// Whether a comparison holds; NaN is only not equal.
fn holds(direction: CompareDirection, order: Option<Ordering>, total: bool) -> bool {
    use CompareDirection as C;
    let Some(order) = order else { return !total && direction == C::NE };
    match direction {
        C::EQ => order.is_eq(),
        C::NE => order.is_ne(),
        C::GE => order.is_ge(),
        C::GT => order.is_gt(),
        C::LE => order.is_le(),
        C::LT => order.is_lt(),
    }
}

/// Repeats the only element of an array to a shape; other arrays are returned unchanged.
pub(crate) fn spread<D: Domain>(a: &Array<D>, dims: &[usize]) -> Result<Array<D>, Fault> {
    if a.dims() == dims || a.rank() > 0 {
        return Ok(a.clone());
    }
    let dims = Dims::from_slice(dims);
    let data = a.data().repeated(crate::array::count(&dims)?)?;
    Array::new(dims, a.dtype(), data)
}

/// Selects elements of `on_true` or `on_false`; the predicate may be a scalar.
pub(crate) fn select<D: Domain>(
    pred: &Array<D>,
    on_true: &Array<D>,
    on_false: &Array<D>,
) -> Result<Array<D>, Fault> {
    same_shape(on_true, on_false)?;
    let Data::Bool(mask) = pred.data() else { return Fault::invalid("a predicate that is not i1") };
    if let (0, &[chosen]) = (pred.rank(), mask.as_slice()) {
        return Ok(if chosen { on_true.clone() } else { on_false.clone() });
    }
    same_shape(pred, on_true)?;
    let data = zip!(on_true.data(), on_false.data(), (x, y) => {
        mask.iter().zip(x.iter().zip(y)).map(|(&chosen, (&x, &y))| if chosen { x } else { y }).collect()
    });
    Array::new(Dims::from_slice(on_true.dims()), on_true.dtype(), data)
}

/// Clamps elements between bounds, which may be scalars.
pub(crate) fn clamp<D: Domain>(
    least: &Array<D>,
    operand: &Array<D>,
    greatest: &Array<D>,
) -> Result<Array<D>, Fault> {
    let (least, greatest) = (spread(least, operand.dims())?, spread(greatest, operand.dims())?);
    let raised = binary(BinaryOp::Maximum, operand, &least, 0)?;
    binary(BinaryOp::Minimum, &raised, &greatest, 0)
}

/// Rounds floats to a format.
pub(crate) fn reduce_precision<D: Domain>(
    a: &Array<D>,
    exponent_bits: u32,
    mantissa_bits: u32,
) -> Result<Array<D>, Fault> {
    let (dtype, dims) = (a.dtype(), Dims::from_slice(a.dims()));
    let mut data = a.data().clone();
    match &mut data {
        Data::F32(v) => D::Single::reduce_precision(v, exponent_bits, mantissa_bits),
        Data::F64(v) => D::Double::reduce_precision(v, exponent_bits, mantissa_bits),
        _ => return undefined("stablehlo.reduce_precision", dtype),
    }
    Array::fitted(dims, dtype, data)
}
