//! Complex numbers over any scalar.

use std::cmp::Ordering;

use super::{Number, Real};

/// A complex number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Complex<T> {
    /// Real part.
    pub re: T,
    /// Imaginary part.
    pub im: T,
}

impl<T> Complex<T> {
    /// The complex number with these parts.
    pub const fn new(re: T, im: T) -> Self {
        Complex { re, im }
    }

    /// Applies a function to both parts.
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> Complex<U> {
        Complex { re: f(self.re), im: f(self.im) }
    }
}

impl<T: Real> Complex<T> {
    /// Complex conjugate.
    #[must_use]
    pub fn conjugate(self) -> Self {
        Complex::new(self.re, self.im.negative())
    }

    /// Multiplies by a real number.
    #[must_use]
    pub fn scaled(self, factor: T) -> Self {
        self.map(|part| part.times(factor))
    }

    /// Whether `self` is greater, comparing real parts first.
    fn exceeds(self, other: Self) -> bool {
        match self.re.order(other.re) {
            Some(Ordering::Equal) => self.im.order(other.im) == Some(Ordering::Greater),
            order => order == Some(Ordering::Greater),
        }
    }
}

impl<T: Real> Number for Complex<T> {
    #[inline]
    fn one() -> Self {
        Complex::new(T::one(), T::default())
    }

    #[inline]
    fn plus(self, other: Self) -> Self {
        Complex::new(self.re.plus(other.re), self.im.plus(other.im))
    }

    #[inline]
    fn minus(self, other: Self) -> Self {
        Complex::new(self.re.minus(other.re), self.im.minus(other.im))
    }

    #[inline]
    fn times(self, other: Self) -> Self {
        Complex::new(
            self.re.times(other.re).minus(self.im.times(other.im)),
            self.re.times(other.im).plus(self.im.times(other.re)),
        )
    }

    #[inline]
    fn over(self, other: Self) -> Self {
        T::complex_quotient(self, other)
    }

    /// The specification defines no remainder of complex numbers; the verifier rejects it.
    #[inline]
    fn modulo(self, _: Self) -> Self {
        Self::default()
    }

    #[inline]
    fn larger(self, other: Self) -> Self {
        if self.exceeds(other) { self } else { other }
    }

    #[inline]
    fn smaller(self, other: Self) -> Self {
        if other.exceeds(self) { self } else { other }
    }

    #[inline]
    fn negative(self) -> Self {
        self.map(Number::negative)
    }

    #[inline]
    fn order(self, other: Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}
