//! Arithmetic of integers and booleans.
//!
//! Overflow wraps. The specification leaves division by zero to the implementation; as in XLA, the quotient has all bits set and the
//! remainder is the dividend.

use std::cmp::Ordering;

use super::Number;

/// Integers and booleans.
pub(crate) trait Integer: Number {
    /// Whether the type has negative numbers.
    const SIGNED: bool;
    /// The integer, extended.
    fn extend(self) -> i128;
    /// The low bits of an integer.
    fn truncate(value: i128) -> Self;
}

macro_rules! integers {
    ($($ty:ty, $signed:literal;)*) => {$(
        impl Integer for $ty {
            const SIGNED: bool = $signed;

            #[inline]
            fn extend(self) -> i128 {
                i128::from(self)
            }

            #[inline]
            fn truncate(value: i128) -> Self {
                value as $ty
            }
        }

        impl Number for $ty {
            #[inline]
            fn one() -> Self {
                1
            }

            #[inline]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline]
            fn over(self, other: Self) -> Self {
                if other == 0 { !0 } else { self.wrapping_div(other) }
            }

            #[inline]
            fn modulo(self, other: Self) -> Self {
                if other == 0 { self } else { self.wrapping_rem(other) }
            }

            #[inline]
            fn larger(self, other: Self) -> Self {
                self.max(other)
            }

            #[inline]
            fn smaller(self, other: Self) -> Self {
                self.min(other)
            }

            #[inline]
            fn order(self, other: Self) -> Option<Ordering> {
                Some(self.cmp(&other))
            }
        }
    )*};
}

integers! {
    i8, true;
    i16, true;
    i32, true;
    i64, true;
    u8, false;
    u16, false;
    u32, false;
    u64, false;
}

impl Integer for bool {
    const SIGNED: bool = false;

    #[inline]
    fn extend(self) -> i128 {
        i128::from(self)
    }

    #[inline]
    fn truncate(value: i128) -> Self {
        value != 0
    }
}

impl Number for bool {
    #[inline]
    fn one() -> Self {
        true
    }

    #[inline]
    fn plus(self, other: Self) -> Self {
        self | other
    }

    #[inline]
    fn minus(self, other: Self) -> Self {
        self ^ other
    }

    #[inline]
    fn times(self, other: Self) -> Self {
        self & other
    }

    #[inline]
    fn over(self, _: Self) -> Self {
        self
    }

    #[inline]
    fn modulo(self, _: Self) -> Self {
        false
    }

    #[inline]
    fn larger(self, other: Self) -> Self {
        self | other
    }

    #[inline]
    fn smaller(self, other: Self) -> Self {
        self & other
    }

    #[inline]
    fn order(self, other: Self) -> Option<Ordering> {
        Some(self.cmp(&other))
    }
}
