//! IEEE 754 arithmetic of `f32` and `f64`.
//!
//! Functions other than the basic operations are computed in `f64` by `libm`, so that results do not depend on the machine, and rounded.

use std::cmp::Ordering;

use shardc_ir::floats::encode;
use shardc_ir::{BinaryOp, DType, UnaryOp};

use super::{Complex, Number, Real, formats, special};

type C = Complex<f64>;

macro_rules! numbers {
    ($($ty:ty, $fmod:path;)*) => {$(
        impl Number for $ty {
            #[inline]
            fn one() -> Self {
                1.0
            }

            #[inline]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            #[inline]
            fn minus(self, other: Self) -> Self {
                self - other
            }

            #[inline]
            fn times(self, other: Self) -> Self {
                self * other
            }

            #[inline]
            fn over(self, other: Self) -> Self {
                self / other
            }

            #[inline]
            fn modulo(self, other: Self) -> Self {
                $fmod(self, other)
            }

            #[inline]
            fn larger(self, other: Self) -> Self {
                if self.is_nan() || self > other || (self == other && other.is_sign_negative()) {
                    self
                } else {
                    other
                }
            }

            #[inline]
            fn smaller(self, other: Self) -> Self {
                if self.is_nan() || self < other || (self == other && self.is_sign_negative()) {
                    self
                } else {
                    other
                }
            }

            #[inline]
            fn negative(self) -> Self {
                -self
            }

            #[inline]
            fn order(self, other: Self) -> Option<Ordering> {
                self.partial_cmp(&other)
            }

            #[inline]
            fn total_order(self, other: Self) -> Ordering {
                self.total_cmp(&other)
            }
        }
    )*};
}

numbers! {
    f32, libm::fmodf;
    f64, libm::fmod;
}

/// Operations whose result is exact, so that they need no conversion to `f64`.
macro_rules! exact_unary {
    ($op:expr, $values:expr) => {
        match $op {
            UnaryOp::Negate => Some($values.iter().map(|&x| -x).collect()),
            UnaryOp::Abs => Some($values.iter().map(|x| x.abs()).collect()),
            UnaryOp::Square => Some($values.iter().map(|x| x * x).collect()),
            UnaryOp::Copy | UnaryOp::Real | UnaryOp::Conj => Some($values.to_vec()),
            UnaryOp::Imag => Some(vec![0.0; $values.len()]),
            UnaryOp::Ceil => Some($values.iter().map(|x| x.ceil()).collect()),
            UnaryOp::Floor => Some($values.iter().map(|x| x.floor()).collect()),
            UnaryOp::RoundNearestAfz => Some($values.iter().map(|x| x.round()).collect()),
            UnaryOp::RoundNearestEven => Some($values.iter().map(|x| x.round_ties_even()).collect()),
            UnaryOp::Sqrt => Some($values.iter().map(|x| x.sqrt()).collect()),
            UnaryOp::Sign => {
                Some($values.iter().map(|&x| if x.is_nan() || x == 0.0 { x } else { x.signum() }).collect())
            }
            _ => None,
        }
    };
}

/// Integers beyond this magnitude are converted in 128 bits.
const WORD: f64 = 9.2e18;

impl Real for f32 {
    fn from_f64(value: f64) -> Self {
        value as f32
    }

    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn from_bits(dtype: DType, bits: u64) -> Self {
        match dtype {
            DType::F32 => f32::from_bits(bits as u32),
            _ => formats::decode(dtype, bits) as f32,
        }
    }

    fn to_bits(self, dtype: DType) -> u64 {
        match dtype {
            DType::F32 => u64::from(self.to_bits()),
            _ => encode(dtype, f64::from(self)).unwrap_or(0),
        }
    }

    fn from_integer(value: i128) -> Self {
        match i64::try_from(value) {
            Ok(word) => word as f32,
            Err(_) => value as f32,
        }
    }

    fn to_integer(self) -> i128 {
        Real::to_integer(f64::from(self))
    }

    fn fit(dtype: DType, values: &mut [Self]) {
        formats::fit(dtype, values);
    }

    fn reduce_precision(values: &mut [Self], exponent_bits: u32, mantissa_bits: u32) {
        for value in values {
            // The type itself limits a format that is wider than it.
            let (exponent_bits, mantissa_bits) = (exponent_bits, mantissa_bits.min(23));
            let exponent_bits = if exponent_bits >= 8 { 11 } else { exponent_bits };
            *value = formats::reduce_precision(f64::from(*value), exponent_bits, mantissa_bits) as f32;
        }
    }

    fn is_finite(self) -> bool {
        f32::is_finite(self)
    }

    fn is_infinity(self, negative: bool) -> bool {
        self.is_infinite() && self.is_sign_negative() == negative
    }

    fn unary(op: UnaryOp, values: &[Self], _: u64) -> Option<Vec<Self>> {
        exact_unary!(op, values).or_else(|| {
            let f = real_function(op)?;
            Some(values.iter().map(|&x| f(f64::from(x)) as f32).collect())
        })
    }

    fn binary(op: BinaryOp, a: Self, b: Self, key: u64) -> Option<Self> {
        match op {
            BinaryOp::NextAfter => Some(libm::nextafterf(a, b)),
            _ => f64::binary(op, f64::from(a), f64::from(b), key).map(|x| x as f32),
        }
    }

    fn complex_unary(op: UnaryOp, values: &[Complex<Self>], _: u64) -> Option<Vec<Complex<Self>>> {
        let f = complex_function(op)?;
        Some(values.iter().map(|z| f(z.map(f64::from)).map(|part| part as f32)).collect())
    }

    fn complex_binary(op: BinaryOp, a: Complex<f32>, b: Complex<f32>, key: u64) -> Option<Complex<f32>> {
        f64::complex_binary(op, a.map(f64::from), b.map(f64::from), key).map(|z| z.map(|part| part as f32))
    }

    fn complex_quotient(a: Complex<Self>, b: Complex<Self>) -> Complex<Self> {
        special::quotient(a.map(f64::from), b.map(f64::from)).map(|part| part as f32)
    }

    fn modulus(value: Complex<Self>, _: u64) -> Self {
        libm::hypot(f64::from(value.re), f64::from(value.im)) as f32
    }
}

impl Real for f64 {
    fn from_f64(value: f64) -> Self {
        value
    }

    fn to_f64(self) -> f64 {
        self
    }

    fn from_bits(_: DType, bits: u64) -> Self {
        f64::from_bits(bits)
    }

    fn to_bits(self, _: DType) -> u64 {
        self.to_bits()
    }

    fn from_integer(value: i128) -> Self {
        match i64::try_from(value) {
            Ok(word) => word as f64,
            Err(_) => value as f64,
        }
    }

    fn to_integer(self) -> i128 {
        if self.abs() < WORD { i128::from(self as i64) } else { self as i128 }
    }

    fn fit(_: DType, _: &mut [Self]) {}

    fn reduce_precision(values: &mut [Self], exponent_bits: u32, mantissa_bits: u32) {
        for value in values {
            *value = formats::reduce_precision(*value, exponent_bits, mantissa_bits);
        }
    }

    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }

    fn is_infinity(self, negative: bool) -> bool {
        self.is_infinite() && self.is_sign_negative() == negative
    }

    fn unary(op: UnaryOp, values: &[Self], _: u64) -> Option<Vec<Self>> {
        exact_unary!(op, values).or_else(|| {
            let f = real_function(op)?;
            Some(values.iter().map(|&x| f(x)).collect())
        })
    }

    fn binary(op: BinaryOp, a: Self, b: Self, _: u64) -> Option<Self> {
        match op {
            BinaryOp::Power => Some(libm::pow(a, b)),
            BinaryOp::Atan2 => Some(libm::atan2(a, b)),
            BinaryOp::NextAfter => Some(libm::nextafter(a, b)),
            BinaryOp::Polygamma => Some(special::polygamma(a, b)),
            BinaryOp::Zeta => Some(special::zeta(a, b)),
            _ => None,
        }
    }

    fn complex_unary(op: UnaryOp, values: &[C], _: u64) -> Option<Vec<C>> {
        let f = complex_function(op)?;
        Some(values.iter().map(|&z| f(z)).collect())
    }

    fn complex_binary(op: BinaryOp, a: C, b: C, _: u64) -> Option<C> {
        match op {
            BinaryOp::Power => Some(special::complex_power(a, b)),
            BinaryOp::Atan2 => Some(special::complex_atan2(a, b)),
            _ => None,
        }
    }

    fn complex_quotient(a: C, b: C) -> C {
        special::quotient(a, b)
    }

    fn modulus(value: C, _: u64) -> Self {
        libm::hypot(value.re, value.im)
    }
}

/// The function of an operation on real numbers.
fn real_function(op: UnaryOp) -> Option<fn(f64) -> f64> {
    use UnaryOp as U;
    Some(match op {
        U::Cbrt => libm::cbrt,
        U::Cosine => libm::cos,
        U::Exponential => libm::exp,
        U::ExponentialMinusOne => libm::expm1,
        U::Log => libm::log,
        U::LogPlusOne => libm::log1p,
        U::Logistic => |x| 1.0 / (1.0 + libm::exp(-x)),
        U::Rsqrt => |x| 1.0 / x.sqrt(),
        U::Sine => libm::sin,
        U::Tan => libm::tan,
        U::Tanh => libm::tanh,
        U::Acos => libm::acos,
        U::Acosh => libm::acosh,
        U::Asin => libm::asin,
        U::Asinh => libm::asinh,
        U::Atan => libm::atan,
        U::Atanh => libm::atanh,
        U::Cosh => libm::cosh,
        U::Sinh => libm::sinh,
        U::Erf => libm::erf,
        U::Erfc => libm::erfc,
        U::ErfInv => special::erf_inv,
        U::Lgamma => libm::lgamma,
        U::Digamma => special::digamma,
        U::BesselI1e => special::bessel_i1e,
        U::Exp2 => libm::exp2,
        U::Log2 => libm::log2,
        _ => return None,
    })
}

/// The function of an operation on complex numbers.
fn complex_function(op: UnaryOp) -> Option<fn(C) -> C> {
    use UnaryOp as U;
    Some(match op {
        U::Negate => Number::negative,
        U::Conj => Complex::conjugate,
        U::Copy => |z| z,
        U::Square => |z| Complex::new((z.re - z.im) * (z.re + z.im), 2.0 * z.re * z.im),
        U::Sign => special::complex_sign,
        U::Cbrt => special::complex_cbrt,
        U::Exponential => special::complex_exp,
        U::ExponentialMinusOne => special::complex_expm1,
        U::Log => special::complex_log,
        U::LogPlusOne => special::complex_log1p,
        U::Logistic => |z| Complex::one().over(Complex::one().plus(special::complex_exp(z.negative()))),
        U::Rsqrt => |z| Complex::one().over(special::complex_sqrt(z)),
        U::Sqrt => special::complex_sqrt,
        U::Sine => special::complex_sin,
        U::Cosine => special::complex_cos,
        U::Tan => special::complex_tan,
        U::Tanh => special::complex_tanh,
        U::Sinh => special::complex_sinh,
        U::Cosh => special::complex_cosh,
        U::Asin => special::complex_asin,
        U::Acos => special::complex_acos,
        U::Asinh => special::complex_asinh,
        U::Acosh => special::complex_acosh,
        U::Atan => special::complex_atan,
        U::Atanh => special::complex_atanh,
        _ => return None,
    })
}
