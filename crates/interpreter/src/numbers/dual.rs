//! Dual numbers over the field: a value of exact arithmetic and its derivative along a direction.
//!
//! The value of a function is that of [`Field`], a random function, and its tangent follows from the derivative by its definition: the
//! exponential is its own derivative, that of a tangent `y` is `1 + y^2`, and that of a sine is the random function of the cosine. A
//! tangent is *unknown* if a function without such a formula is applied to an argument whose tangent is not zero.
//!
//! Comparisons, integers and bits depend only on values, because they are piecewise constant. At a tie, an extremum has the mean of the
//! two tangents.

use std::cmp::Ordering;
use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LOG2_E, PI};

use shardc_ir::{BinaryOp, DType, UnaryOp};

use super::{Complex, Field, Number, Real};

/// A value and its tangent. If `WIDE`, constants of derivatives have the precision of `f64`, and otherwise that of `f32`.
#[derive(Clone, Copy, Debug, Default)]
pub struct DualField<const WIDE: bool> {
    /// The value.
    pub value: Field,
    /// The derivative along the direction.
    pub tangent: Field,
    /// Whether the derivative is not known.
    pub is_unknown: bool,
}

impl<const WIDE: bool> DualField<WIDE> {
    fn constant(value: Field) -> Self {
        DualField { value, ..DualField::default() }
    }

    fn is_constant(self) -> bool {
        !self.is_unknown && self.tangent == Field::default()
    }

    /// A number that is rounded to the precision of a program.
    fn number(value: f64) -> Field {
        Field::from_f64(if WIDE { value } else { f64::from(value as f32) })
    }

    /// The dual number with this value, whose derivative with respect to `self` is `slope`.
    fn with(self, value: Field, slope: Option<Field>) -> Self {
        match slope {
            _ if self.is_constant() => Self::constant(value),
            Some(slope) => {
                DualField { value, tangent: slope.times(self.tangent), is_unknown: self.is_unknown }
            }
            None => DualField { value, is_unknown: true, ..DualField::default() },
        }
    }

    /// A result of two operands with this value and tangent. The tangent is unknown if the tangent of an operand is unknown.
    fn joined(self, other: Self, value: Field, tangent: Field) -> Self {
        DualField { value, tangent, is_unknown: self.is_unknown || other.is_unknown }
    }

    fn selected(self, other: Self, is_own: bool) -> Self {
        if self.value == other.value {
            let half = Field::from_f64(0.5);
            return self.joined(other, self.value, self.tangent.plus(other.tangent).times(half));
        }
        if is_own { self } else { other }
    }

    /// The dual number with the other precision of constants.
    pub(crate) fn converted<const OTHER: bool>(self) -> DualField<OTHER> {
        DualField { value: self.value, tangent: self.tangent, is_unknown: self.is_unknown }
    }
}

// Tangents are not compared, so that equal numbers compare as equal.
impl<const WIDE: bool> PartialEq for DualField<WIDE> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<const WIDE: bool> Number for DualField<WIDE> {
    fn one() -> Self {
        Self::constant(Field::one())
    }

    fn plus(self, other: Self) -> Self {
        self.joined(other, self.value.plus(other.value), self.tangent.plus(other.tangent))
    }

    fn minus(self, other: Self) -> Self {
        self.joined(other, self.value.minus(other.value), self.tangent.minus(other.tangent))
    }

    fn times(self, other: Self) -> Self {
        let tangent = self.tangent.times(other.value).plus(self.value.times(other.tangent));
        self.joined(other, self.value.times(other.value), tangent)
    }

    fn over(self, other: Self) -> Self {
        let quotient = self.value.over(other.value);
        let tangent = self.tangent.minus(quotient.times(other.tangent)).over(other.value);
        self.joined(other, quotient, tangent)
    }

    fn modulo(self, other: Self) -> Self {
        let value = self.value.modulo(other.value);
        match other.is_constant() {
            true => self.with(value, Some(Field::one())),
            false => self.joined(DualField { is_unknown: true, ..other }, value, Field::default()),
        }
    }

    fn larger(self, other: Self) -> Self {
        self.selected(other, self.value.larger(other.value) == self.value)
    }

    fn smaller(self, other: Self) -> Self {
        self.selected(other, self.value.smaller(other.value) == self.value)
    }

    fn negative(self) -> Self {
        DualField { value: self.value.negative(), tangent: self.tangent.negative(), ..self }
    }

    fn order(self, other: Self) -> Option<Ordering> {
        self.value.order(other.value)
    }
}

/// The derivative of `y = op(x)` at `x`; `None` if there is no formula.
fn slope<const WIDE: bool>(op: UnaryOp, x: Field, y: Field, key: u64) -> Option<Field> {
    use UnaryOp as U;
    let number = DualField::<WIDE>::number;
    let (zero, one) = (Field::default(), Field::one());
    let apply = |op, x| Field::unary(op, &[x], key)?.first().copied();
    let square = x.times(x);
    Some(match op {
        U::Negate => one.negative(),
        U::Copy | U::Real | U::Conj => one,
        U::Imag | U::Sign | U::Ceil | U::Floor | U::RoundNearestAfz | U::RoundNearestEven => zero,
        U::Square => x.plus(x),
        U::Abs => match x.order(zero) {
            Some(Ordering::Less) => one.negative(),
            _ => one,
        },
        U::Exponential => y,
        U::Exp2 => y.times(number(LN_2)),
        U::ExponentialMinusOne => y.plus(one),
        U::Log => one.over(x),
        U::Log2 => number(LOG2_E).over(x),
        U::LogPlusOne => one.over(one.plus(x)),
        U::Logistic => y.times(one.minus(y)),
        U::Tanh => one.minus(y.times(y)),
        U::Tan => one.plus(y.times(y)),
        U::Sqrt => one.over(y.plus(y)),
        U::Rsqrt => y.over(x.plus(x)).negative(),
        U::Cbrt => one.over(y.times(y).times(number(3.0))),
        U::Sine => apply(U::Cosine, x)?,
        U::Cosine => apply(U::Sine, x)?.negative(),
        U::Sinh => apply(U::Cosh, x)?,
        U::Cosh => apply(U::Sinh, x)?,
        U::Asin => apply(U::Rsqrt, one.minus(square))?,
        U::Acos => apply(U::Rsqrt, one.minus(square))?.negative(),
        U::Atan => one.over(one.plus(square)),
        U::Asinh => apply(U::Rsqrt, one.plus(square))?,
        U::Acosh => apply(U::Rsqrt, square.minus(one))?,
        U::Atanh => one.over(one.minus(square)),
        U::Erf => number(FRAC_2_SQRT_PI).times(apply(U::Exponential, square.negative())?),
        U::Erfc => number(-FRAC_2_SQRT_PI).times(apply(U::Exponential, square.negative())?),
        U::ErfInv => number(PI.sqrt() / 2.0).times(apply(U::Exponential, y.times(y))?),
        U::Lgamma => apply(U::Digamma, x)?,
        U::Digamma => Field::binary(BinaryOp::Polygamma, one, x, key)?,
        _ => return None,
    })
}

impl<const WIDE: bool> Real for DualField<WIDE> {
    fn from_f64(value: f64) -> Self {
        Self::constant(Field::from_f64(value))
    }

    fn to_f64(self) -> f64 {
        self.value.to_f64()
    }

    fn from_bits(dtype: DType, bits: u64) -> Self {
        Self::constant(Field::from_bits(dtype, bits))
    }

    fn to_bits(self, dtype: DType) -> u64 {
        self.value.to_bits(dtype)
    }

    fn from_integer(value: i128) -> Self {
        Self::constant(Field::from_integer(value))
    }

    fn to_integer(self) -> i128 {
        self.value.to_integer()
    }

    fn fit(_: DType, _: &mut [Self]) {}

    fn reduce_precision(_: &mut [Self], _: u32, _: u32) {}

    fn is_finite(self) -> bool {
        Real::is_finite(self.value)
    }

    fn is_infinity(self, negative: bool) -> bool {
        self.value.is_infinity(negative)
    }

    fn unary(op: UnaryOp, values: &[Self], key: u64) -> Option<Vec<Self>> {
        let plain: Vec<Field> = values.iter().map(|x| x.value).collect();
        let results = Field::unary(op, &plain, key)?;
        let one = |(&x, y): (&Self, Field)| match x.is_constant() {
            true => Self::constant(y),
            false => x.with(y, slope::<WIDE>(op, x.value, y, key)),
        };
        Some(values.iter().zip(results).map(one).collect())
    }

    fn binary(op: BinaryOp, a: Self, b: Self, key: u64) -> Option<Self> {
        let value = Field::binary(op, a.value, b.value, key)?;
        if a.is_constant() && b.is_constant() {
            return Some(Self::constant(value));
        }
        let slopes = match op {
            BinaryOp::Power => {
                let less = Field::binary(op, a.value, b.value.minus(Field::one()), key)?;
                let log = Field::unary(UnaryOp::Log, &[a.value], key)?.first().copied()?;
                Some([b.value.times(less), log.times(value)])
            }
            BinaryOp::Atan2 => {
                let under = a.value.times(a.value).plus(b.value.times(b.value));
                Some([b.value.over(under), a.value.over(under).negative()])
            }
            _ => None,
        };
        let [from_a, from_b] = match slopes {
            Some([da, db]) => [a.with(value, Some(da)), b.with(value, Some(db))],
            None => [a.with(value, None), b.with(value, None)],
        };
        Some(from_a.joined(from_b, value, from_a.tangent.plus(from_b.tangent)))
    }

    fn complex_unary(op: UnaryOp, values: &[Complex<Self>], key: u64) -> Option<Vec<Complex<Self>>> {
        let plain: Vec<Complex<Field>> = values.iter().map(|z| z.map(|part| part.value)).collect();
        let results = Field::complex_unary(op, &plain, key)?;
        let one = |(&z, y): (&Complex<Self>, Complex<Field>)| -> Option<Complex<Self>> {
            let slope = match op {
                _ if z.re.is_constant() && z.im.is_constant() => return Some(y.map(Self::constant)),
                UnaryOp::Negate => return Some(z.negative()),
                UnaryOp::Conj => return Some(z.conjugate()),
                UnaryOp::Square => return Some(z.times(z)),
                UnaryOp::Copy => return Some(z),
                UnaryOp::Exponential => y,
                UnaryOp::Log => Complex::<Field>::one().over(z.map(|part| part.value)),
                UnaryOp::Tanh => Complex::one().minus(y.times(y)),
                UnaryOp::Sqrt => Complex::<Field>::one().over(y.plus(y)),
                UnaryOp::Sine | UnaryOp::Cosine => {
                    let is_sine = op == UnaryOp::Sine;
                    let other = if is_sine { UnaryOp::Cosine } else { UnaryOp::Sine };
                    let of = Field::complex_unary(other, &[z.map(|part| part.value)], key)?;
                    let of = of.first().copied()?;
                    if is_sine { of } else { of.negative() }
                }
                _ => return Some(y.map(|value| DualField { value, is_unknown: true, ..Self::default() })),
            };
            let tangent = slope.times(z.map(|part| part.tangent));
            let is_unknown = z.re.is_unknown || z.im.is_unknown;
            Some(Complex::new(
                DualField { value: y.re, tangent: tangent.re, is_unknown },
                DualField { value: y.im, tangent: tangent.im, is_unknown },
            ))
        };
        values.iter().zip(results).map(one).collect()
    }

    fn complex_binary(op: BinaryOp, a: Complex<Self>, b: Complex<Self>, key: u64) -> Option<Complex<Self>> {
        let plain = |z: Complex<Self>| z.map(|part| part.value);
        let is_constant = [a.re, a.im, b.re, b.im].into_iter().all(Self::is_constant);
        let value = Field::complex_binary(op, plain(a), plain(b), key)?;
        Some(value.map(|value| DualField { value, is_unknown: !is_constant, ..Self::default() }))
    }

    fn complex_quotient(a: Complex<Self>, b: Complex<Self>) -> Complex<Self> {
        let norm = b.re.times(b.re).plus(b.im.times(b.im));
        a.times(b.conjugate()).scaled(Self::one().over(norm))
    }

    fn modulus(value: Complex<Self>, key: u64) -> Self {
        let norm = Field::modulus(value.map(|part| part.value), key);
        let slope = value.re.value.times(value.re.tangent).plus(value.im.value.times(value.im.tangent));
        value.re.joined(value.im, norm, slope.over(norm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Dual = DualField<true>;

    fn dual(value: f64, tangent: f64) -> Dual {
        DualField { value: Field::from_f64(value), tangent: Field::from_f64(tangent), is_unknown: false }
    }

    fn unary(op: UnaryOp, x: Dual) -> Dual {
        Dual::unary(op, &[x], 3).unwrap()[0]
    }

    #[test]
    fn tangents_follow_the_rules_of_derivatives() {
        let (x, y) = (dual(3.0, 2.0), dual(5.0, -1.0));
        let tangent = |z: Dual| z.tangent;
        assert_eq!(tangent(x.plus(y)), Field::from_f64(1.0));
        assert_eq!(tangent(x.times(y)), Field::from_f64(7.0));
        assert_eq!(
            tangent(x.over(y)),
            Field::from_f64(2.0)
                .over(Field::from_f64(5.0))
                .plus(Field::from_f64(3.0).over(Field::from_f64(25.0)))
        );
        assert_eq!(tangent(x.larger(y)), Field::from_f64(-1.0));
        assert_eq!(tangent(x.smaller(y)), Field::from_f64(2.0));
        assert_eq!(
            tangent(Dual::binary(BinaryOp::Power, x, Dual::from_f64(3.0), 3).unwrap()),
            Field::from_f64(54.0)
        );
    }

    /// `f(g(x))` of a function and its inverse, and other identities that hold for tangents as for values.
    #[test]
    fn functions_have_their_derivatives() {
        let x = dual(0.25, 2.0);
        let exp = unary(UnaryOp::Exponential, x);
        assert_eq!(exp.tangent, exp.value.plus(exp.value));
        let tanh = unary(UnaryOp::Tanh, x);
        let slope = Field::one().minus(tanh.value.times(tanh.value));
        assert_eq!(tanh.tangent, slope.plus(slope));
        let sine = unary(UnaryOp::Sine, x);
        assert_eq!(sine.tangent, unary(UnaryOp::Cosine, x).value.times(Field::from_f64(2.0)));
        assert_eq!(unary(UnaryOp::Floor, x).tangent, Field::default());
    }

    #[test]
    fn functions_without_a_formula_have_unknown_tangents() {
        assert!(unary(UnaryOp::BesselI1e, dual(0.5, 1.0)).is_unknown);
        assert!(!unary(UnaryOp::BesselI1e, dual(0.5, 0.0)).is_unknown);
        assert!(unary(UnaryOp::BesselI1e, dual(0.5, 1.0)).times(dual(0.0, 0.0)).is_unknown);
        assert!(dual(3.0, 1.0).modulo(dual(2.0, 1.0)).is_unknown);
        assert!(!dual(3.0, 1.0).modulo(dual(2.0, 0.0)).is_unknown);
    }
}
