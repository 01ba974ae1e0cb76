//! The numbers that a program computes with: a [`Domain`] chooses the scalars that represent floats.

mod complex;
mod dual;
mod exact;
mod formats;
mod ieee;
mod integers;
mod mixer;
mod special;

use std::cmp::Ordering;
use std::fmt::Debug;

use shardc_ir::floats::encode;
use shardc_ir::{BinaryOp, DType, UnaryOp};

pub use self::complex::Complex;
pub use self::dual::DualField;
pub use self::exact::Field;
pub(crate) use self::formats::decode;
pub(crate) use self::integers::Integer;
pub use self::mixer::Mixer;

/// The representation of floats. Integers, booleans and indices are the same in every domain.
pub trait Domain: Copy + PartialEq + Debug + Send + Sync + 'static {
    /// Represents `f32` and narrower floats.
    type Single: Real;
    /// Represents `f64`.
    type Double: Real;

    /// Converts to `f64`.
    fn widen(value: Self::Single) -> Self::Double;
    /// Converts from `f64` to `f32` or a narrower type.
    fn narrow(value: Self::Double, dtype: DType) -> Self::Single;

    /// Element `index` of the results of a random function whose argument is `seed`; `None` if functions that are not known have no value.
    fn random(_seed: u64, _index: u64) -> Option<(Self::Single, Self::Double)> {
        None
    }
}

/// IEEE 754 arithmetic, as the StableHLO specification defines it. A float narrower than `f32` is computed in `f32` and rounded after each
/// operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ieee {}

impl Domain for Ieee {
    type Single = f32;
    type Double = f64;

    fn widen(value: f32) -> f64 {
        f64::from(value)
    }

    fn narrow(value: f64, dtype: DType) -> f32 {
        match encode(dtype, value) {
            // Rounding to f32 first would round twice.
            Some(bits) if dtype != DType::F32 => formats::decode(dtype, bits) as f32,
            _ => value as f32,
        }
    }
}

/// Exact arithmetic: every float is an element of a prime [`Field`]. Sums and products do not depend on the order of operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Exact {}

impl Domain for Exact {
    type Single = Field;
    type Double = Field;

    fn widen(value: Field) -> Field {
        value
    }

    fn narrow(value: Field, _: DType) -> Field {
        value
    }

    fn random(seed: u64, index: u64) -> Option<(Field, Field)> {
        let element = Field::random(seed, index);
        Some((element, element))
    }
}

/// Exact arithmetic with derivatives along a direction: every float is a [`DualField`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dual {}

impl Domain for Dual {
    type Single = DualField<false>;
    type Double = DualField<true>;

    fn widen(value: Self::Single) -> Self::Double {
        value.converted()
    }

    fn narrow(value: Self::Double, _: DType) -> Self::Single {
        value.converted()
    }
}

/// Elements with the arithmetic of sums, products and extrema: integers, booleans, floats, and complex numbers.
pub trait Number: Copy + Default + PartialEq + Debug + Send + Sync + 'static {
    /// One.
    fn one() -> Self;
    /// Sum; the disjunction of booleans.
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// Difference.
    #[must_use]
    fn minus(self, other: Self) -> Self;
    /// Product; the conjunction of booleans.
    #[must_use]
    fn times(self, other: Self) -> Self;
    /// Quotient; integers are rounded toward zero.
    #[must_use]
    fn over(self, other: Self) -> Self;
    /// Remainder with the sign of `self`.
    #[must_use]
    fn modulo(self, other: Self) -> Self;
    /// `self + a * b`.
    #[must_use]
    fn plus_product(self, a: Self, b: Self) -> Self {
        self.plus(a.times(b))
    }
    /// Maximum; NaN if either is NaN.
    #[must_use]
    fn larger(self, other: Self) -> Self;
    /// Minimum; NaN if either is NaN.
    #[must_use]
    fn smaller(self, other: Self) -> Self;
    /// Negative.
    #[must_use]
    fn negative(self) -> Self {
        Self::default().minus(self)
    }
    /// The order of two elements; `None` if a NaN is compared, and for different complex numbers.
    fn order(self, other: Self) -> Option<Ordering>;
    /// Total order of IEEE 754, for floats.
    fn total_order(self, other: Self) -> Ordering {
        self.order(other).unwrap_or(Ordering::Equal)
    }
}

/// The scalars that represent floats.
pub trait Real: Number {
    /// The element that represents a number.
    fn from_f64(value: f64) -> Self;
    /// The represented number; in the exact domain, an integer that stands for the element.
    fn to_f64(self) -> f64;
    /// The element with these bits of a float type.
    fn from_bits(dtype: DType, bits: u64) -> Self;
    /// The bits of the element in a float type.
    fn to_bits(self, dtype: DType) -> u64;
    /// The element nearest to an integer.
    fn from_integer(value: i128) -> Self;
    /// The element rounded toward zero; saturates, and NaN is zero.
    fn to_integer(self) -> i128;
    /// Rounds elements to a float type.
    fn fit(dtype: DType, values: &mut [Self]);
    /// Rounds elements to a float with this many exponent and mantissa bits.
    fn reduce_precision(values: &mut [Self], exponent_bits: u32, mantissa_bits: u32);
    /// Whether the element is neither an infinity nor NaN.
    fn is_finite(self) -> bool;
    /// Whether the element is the infinity with this sign.
    fn is_infinity(self, negative: bool) -> bool;
    /// Evaluates an operation; `None` if it is not defined on floats. `key` selects the random functions of the exact domain.
    fn unary(op: UnaryOp, values: &[Self], key: u64) -> Option<Vec<Self>>;
    /// Evaluates an operation that is not part of [`Number`].
    fn binary(op: BinaryOp, a: Self, b: Self, key: u64) -> Option<Self>;
    /// Evaluates an operation with a complex result.
    fn complex_unary(op: UnaryOp, values: &[Complex<Self>], key: u64) -> Option<Vec<Complex<Self>>>;
    /// Evaluates an operation on complex numbers that is not part of [`Number`].
    fn complex_binary(op: BinaryOp, a: Complex<Self>, b: Complex<Self>, key: u64) -> Option<Complex<Self>>;
    /// Quotient of complex numbers.
    fn complex_quotient(a: Complex<Self>, b: Complex<Self>) -> Complex<Self>;
    /// Absolute value of a complex number.
    fn modulus(value: Complex<Self>, key: u64) -> Self;
}
