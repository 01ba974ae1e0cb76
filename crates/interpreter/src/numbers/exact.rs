//! The prime field of integers modulo 2^61 - 1, which represents floats in the exact domain.
//!
//! * A float constant is mapped by its rational value: numerator times the inverse of the denominator. Sums, differences, products and
//!   quotients of constants are those of the rational numbers. Powers of two repeat after 61, so only constants whose exponents differ by a
//!   multiple of 61 may collide.
//! * Infinities and NaN are fixed elements.
//! * The order is that of the real numbers for integers below 2^36 and for fractions with at most 30 bits, half of them after the point: for
//!   thresholds and for the uniform numbers of a dropout. An element that is none of these has its place by its representative between
//!   -(2^60 - 1) and 2^60 - 1. Minus infinity is the least element, and plus infinity the greatest. The order is total, so maxima and minima
//!   are associative and commutative, and masks with infinities work.
//! * A transcendental function is a random function of its argument: a keyed hash. A power with a small integer exponent is a product.
//! * Rounding is the identity on integers of at most 2^53, and a random function of other elements.
//! * Conversions between float types are the identity. Integers become their residue; a float becomes the integer part of the real number of
//!   its place in the order. Bit casts of floats to integers are random functions.

use std::cmp::Ordering;

use shardc_ir::{BinaryOp, DType, UnaryOp};

use super::mixer::{mix, round};
use super::{Complex, Number, Real, formats};

/// The modulus.
const P: u64 = (1 << 61) - 1;
/// The element that represents plus infinity; its negative is minus infinity. Like NaN, it is no fraction with few bits.
const INFINITY: Field = Field(0x1357_9b62_c4d1_8e4f % P);
/// The element that represents NaN.
const NAN: Field = Field(0x0cab_1e0f_a11a_c1e5 % P);
/// The largest integer that rounding operations keep.
const ROUNDED: i64 = 1 << 53;
/// Representatives below this are integers, although some fractions have the same element.
const INTEGER: i64 = 1 << 36;
/// The greatest exponent of the denominator of a fraction that is ordered as a real number, and the number of bits of its numerator.
const FRACTION: u32 = 30;
/// The number of bits after the point of a place in the order.
const POINT: u32 = 60;
/// The largest exponent of a power that is computed as a product.
const LARGEST_POWER: i64 = 64;

/// An element of the field of integers modulo 2^61 - 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Field(u64);

impl Field {
    #[inline]
    fn reduce(value: u128) -> Field {
        let folded = (value & u128::from(P)) as u64 + ((value >> 61) & u128::from(P)) as u64;
        let folded = folded + (value >> 122) as u64;
        let folded = (folded & P) + (folded >> 61);
        Field(if folded >= P { folded - P } else { folded })
    }

    /// The representative of least magnitude.
    #[inline]
    fn balanced(self) -> i64 {
        if self.0 > P / 2 { self.0 as i64 - P as i64 } else { self.0 as i64 }
    }

    /// The element times a power of two with an exponent below 61: multiplication by two rotates the 61 bits.
    #[inline]
    fn shifted(self, exponent: u32) -> Field {
        Field(((self.0 << exponent) | (self.0 >> (61 - exponent))) & P)
    }

    /// The place of the element in the order: a real number with [`POINT`] bits after the point.
    #[inline]
    fn place(self) -> i128 {
        if self == INFINITY || self == INFINITY.negative() {
            return if self == INFINITY { i128::MAX } else { -i128::MAX };
        }
        let integer = self.balanced();
        let fraction = if integer.abs() < INTEGER { None } else { self.fraction() };
        fraction.unwrap_or(i128::from(integer) << POINT)
    }

    /// The fixed-point number of a fraction with a small numerator and denominator.
    fn fraction(self) -> Option<i128> {
        // The bits of such an element, or of its complement, have 31 zeros one after the other: those of the numerator are rotated.
        let has_run = |bits: u64| {
            let meet = |field: Field, exponent: u32| Field(field.0 & field.shifted(exponent).0);
            let run = [1, 2, 4, 8, 15].into_iter().fold(Field(bits), meet);
            run.0 != 0
        };
        if !has_run(self.0) && !has_run(!self.0 & P) {
            return None;
        }
        (1..=FRACTION).find_map(|exponent| {
            let numerator = self.shifted(exponent).balanced();
            (numerator.abs() < 1 << FRACTION).then(|| i128::from(numerator) << (POINT - exponent))
        })
    }

    fn power(self, mut exponent: u64) -> Field {
        let (mut base, mut result) = (self, Field(1));
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = result.times(base);
            }
            base = base.times(base);
            exponent >>= 1;
        }
        result
    }

    /// The multiplicative inverse; zero for zero.
    fn inverse(self) -> Field {
        self.power(P - 2)
    }

    fn from_number(value: f64) -> Field {
        if value.is_nan() {
            return NAN;
        }
        if value.is_infinite() {
            return if value < 0.0 { INFINITY.negative() } else { INFINITY };
        }
        let bits = value.abs().to_bits();
        let exponent = (bits >> 52) as i64;
        let mantissa = bits & ((1 << 52) - 1);
        let (mantissa, exponent) =
            if exponent == 0 { (mantissa, -1074) } else { (mantissa | (1 << 52), exponent - 1075) };
        // 2^61 is one, so that the exponent counts modulo 61.
        let shifted = u128::from(mantissa) << exponent.rem_euclid(61);
        let element = Field::reduce(shifted);
        if value < 0.0 { element.negative() } else { element }
    }
}

impl Number for Field {
    #[inline]
    fn one() -> Self {
        Field(1)
    }

    #[inline]
    fn plus(self, other: Self) -> Self {
        let sum = self.0 + other.0;
        Field(if sum >= P { sum - P } else { sum })
    }

    #[inline]
    fn minus(self, other: Self) -> Self {
        self.plus(other.negative())
    }

    #[inline]
    fn times(self, other: Self) -> Self {
        Field::reduce(u128::from(self.0) * u128::from(other.0))
    }

    #[inline]
    fn plus_product(self, a: Self, b: Self) -> Self {
        Field::reduce(u128::from(a.0) * u128::from(b.0) + u128::from(self.0))
    }

    #[inline]
    fn over(self, other: Self) -> Self {
        self.times(other.inverse())
    }

    #[inline]
    fn modulo(self, other: Self) -> Self {
        random(tag("remainder"), self, other, 0)
    }

    #[inline]
    fn larger(self, other: Self) -> Self {
        if self.place() >= other.place() { self } else { other }
    }

    #[inline]
    fn smaller(self, other: Self) -> Self {
        if self.place() <= other.place() { self } else { other }
    }

    #[inline]
    fn negative(self) -> Self {
        Field(if self.0 == 0 { 0 } else { P - self.0 })
    }

    #[inline]
    fn order(self, other: Self) -> Option<Ordering> {
        Some(self.place().cmp(&other.place()))
    }
}

impl Field {
    /// Element `index` of a sequence of uniform random elements.
    pub(crate) fn random(seed: u64, index: u64) -> Field {
        random(tag("argument"), Field(seed & P), Field(index & P), mix(seed))
    }
}

/// A number for each function name.
fn tag(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| mix(hash ^ u64::from(byte)))
}

fn hash(tag: u64, a: u64, b: u64, key: u64) -> u64 {
    round(round(round(mix(key), tag), a), b)
}

/// The value of the random function `tag` at `(a, b)`.
fn random(tag: u64, a: Field, b: Field, key: u64) -> Field {
    Field::reduce(u128::from(hash(tag, a.0, b.0, key)))
}

/// The value of an operation whose random function is `tag`; `None` if the operation is not defined on floats.
fn function(op: UnaryOp, tag: u64, x: Field, key: u64) -> Option<Field> {
    use UnaryOp as U;
    Some(match op {
        U::Negate => x.negative(),
        U::Square => x.times(x),
        U::Copy | U::Real | U::Conj => x,
        U::Imag => Field(0),
        U::Abs => x.larger(x.negative()),
        U::Sign => match x.place().signum() {
            -1 => Field(1).negative(),
            sign => Field(sign as u64),
        },
        U::Ceil | U::Floor | U::RoundNearestAfz | U::RoundNearestEven
            if x.balanced().abs() <= ROUNDED || !x.is_finite() =>
        {
            x
        }
        U::Not | U::Popcnt | U::CountLeadingZeros | U::IsFinite => return None,
        U::IsInf | U::IsNegInf | U::IsPosInf => return None,
        _ => random(tag, x, Field(0), key),
    })
}

impl Real for Field {
    fn from_f64(value: f64) -> Self {
        Field::from_number(value)
    }

    fn to_f64(self) -> f64 {
        match self {
            NAN => f64::NAN,
            INFINITY => f64::INFINITY,
            _ if self == INFINITY.negative() => f64::NEG_INFINITY,
            _ => self.place() as f64 / (POINT as f64).exp2(),
        }
    }

    fn from_bits(dtype: DType, bits: u64) -> Self {
        Field::from_number(formats::decode(dtype, bits))
    }

    fn to_bits(self, dtype: DType) -> u64 {
        let bits = hash(tag("bits"), self.0, u64::from(dtype.bits()), 0);
        bits >> (64 - dtype.bits().clamp(1, 64))
    }

    fn from_integer(value: i128) -> Self {
        let residue = Field::reduce(value.unsigned_abs());
        if value < 0 { residue.negative() } else { residue }
    }

    fn to_integer(self) -> i128 {
        self.place() / (1 << POINT)
    }

    fn fit(_: DType, _: &mut [Self]) {}

    fn reduce_precision(_: &mut [Self], _: u32, _: u32) {}

    fn is_finite(self) -> bool {
        self != NAN && !self.is_infinity(false) && !self.is_infinity(true)
    }

    fn is_infinity(self, negative: bool) -> bool {
        self == if negative { INFINITY.negative() } else { INFINITY }
    }

    fn unary(op: UnaryOp, values: &[Self], key: u64) -> Option<Vec<Self>> {
        let tag = tag(op.name());
        values.iter().map(|&x| function(op, tag, x, key)).collect()
    }

    fn binary(op: BinaryOp, a: Self, b: Self, key: u64) -> Option<Self> {
        match op {
            BinaryOp::Power if b.balanced().abs() <= LARGEST_POWER => {
                let power = a.power(b.balanced().unsigned_abs());
                Some(if b.balanced() < 0 { power.inverse() } else { power })
            }
            BinaryOp::Power
            | BinaryOp::Atan2
            | BinaryOp::NextAfter
            | BinaryOp::Polygamma
            | BinaryOp::Zeta => Some(random(tag(op.name()), a, b, key)),
            _ => None,
        }
    }

    fn complex_unary(op: UnaryOp, values: &[Complex<Self>], key: u64) -> Option<Vec<Complex<Self>>> {
        let tags = ["real", "imaginary"].map(|part| tag(op.name()) ^ tag(part));
        let one = |z: Complex<Field>| match op {
            UnaryOp::Negate => z.negative(),
            UnaryOp::Conj => z.conjugate(),
            UnaryOp::Square => z.times(z),
            UnaryOp::Copy => z,
            _ => Complex::new(random(tags[0], z.re, z.im, key), random(tags[1], z.re, z.im, key)),
        };
        Some(values.iter().map(|&z| one(z)).collect())
    }

    fn complex_binary(op: BinaryOp, a: Complex<Self>, b: Complex<Self>, key: u64) -> Option<Complex<Self>> {
        let part = |name| {
            let first = random(tag(op.name()) ^ tag(name), a.re, a.im, key);
            random(first.0, b.re, b.im, key)
        };
        Some(Complex::new(part("real"), part("imaginary")))
    }

    fn complex_quotient(a: Complex<Self>, b: Complex<Self>) -> Complex<Self> {
        let norm = b.re.times(b.re).plus(b.im.times(b.im));
        a.times(b.conjugate()).scaled(norm.inverse())
    }

    fn modulus(value: Complex<Self>, key: u64) -> Self {
        random(tag("modulus"), value.re, value.im, key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(value: f64) -> Field {
        Field::from_f64(value)
    }

    #[test]
    fn rational_arithmetic_is_exact() {
        assert_eq!(field(0.5).plus(field(0.5)), Field(1));
        assert_eq!(field(0.1).plus(field(0.2)).minus(field(0.2)), field(0.1));
        assert_eq!(field(3.0).over(field(-4.0)), field(-0.75));
        assert_eq!(field(-0.0), Field(0));
        assert_eq!(field(1e300).times(field(1e-300)).over(field(1e-300)), field(1e300));
        assert_eq!(Field::from_integer(-5), field(-5.0));
        assert_eq!(field(7.0).plus_product(field(2.5), field(4.0)), field(17.0));
    }

    #[test]
    fn infinities_are_extremes() {
        assert!([0.5, -0.5, 1.0, 1e30].into_iter().all(|x| Real::is_finite(field(x))));
        for x in [0.0, 0.5, -0.5, 1.0, -0.375, 1e20, f64::NAN] {
            assert_eq!(field(f64::NEG_INFINITY).larger(field(x)), field(x));
            assert_eq!(field(f64::INFINITY).smaller(field(x)), field(x));
        }
        assert_eq!(field(2.0).order(field(-3.0)), Some(Ordering::Greater));
    }

    #[test]
    fn small_fractions_are_ordered_as_real_numbers() {
        let numbers =
            [-1e9, -64.0, -0.75, -0.5, -1.0 / 8388608.0, 0.0, 0.25, 0.5, f64::from(0.9f32), 1.0, 3.125, 1e9];
        for pair in numbers.windows(2) {
            let (a, b) = (field(pair[0]), field(pair[1]));
            assert_eq!(a.order(b), Some(Ordering::Less), "{pair:?}");
            assert_eq!((a.larger(b), a.smaller(b)), (b, a), "{pair:?}");
        }
        for number in [-0.75, 0.9f32.into(), 2.5, 7.0] {
            assert_eq!(field(number).to_integer(), number as i128);
        }
        // Half of the uniform numbers are less than a half.
        let below = (0..1000)
            .filter(|i| field(f64::from(i * 8388) / 8388608.0).order(field(0.5)) == Some(Ordering::Less));
        assert_eq!(below.count(), 501);
    }

    #[test]
    fn the_order_is_total() {
        let mut all: Vec<Field> = (0..500).map(|i| Field::random(3, i)).collect();
        all.extend((0..500).map(|i| field(f64::from(i) / 16.0 - 9.0)));
        all.sort_by_key(|x| x.place());
        all.dedup();
        assert!(all.windows(2).all(|pair| pair[0].place() < pair[1].place()));
        assert!(all.iter().all(|x| x.negative().place() == -x.place()));
    }

    #[test]
    fn powers_with_integer_exponents_are_products() {
        let power = |a, b| Field::binary(BinaryOp::Power, field(a), field(b), 7);
        assert_eq!(power(3.0, 2.0), Some(field(9.0)));
        assert_eq!(power(2.0, -1.0), Some(field(0.5)));
        assert_ne!(power(2.0, 0.5), power(2.0, 0.25));
    }

    #[test]
    fn functions_depend_on_name_argument_and_key() {
        let value = |op, x, key| Field::unary(op, &[field(x)], key).unwrap()[0];
        let exp = value(UnaryOp::Exponential, 1.0, 1);
        assert_eq!(exp, value(UnaryOp::Exponential, 1.0, 1));
        assert_ne!(exp, value(UnaryOp::Exponential, 1.0, 2));
        assert_ne!(exp, value(UnaryOp::Exponential, 2.0, 1));
        assert_ne!(exp, value(UnaryOp::Log, 1.0, 1));
    }
}
