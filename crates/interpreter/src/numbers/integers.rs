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

            fn extend(self) -> i128 {
                i128::from(self)
            }

            fn truncate(value: i128) -> Self {
                value as $ty
            }
        }

        impl Number for $ty {
            fn one() -> Self {
                1
            }

            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            fn over(self, other: Self) -> Self {
                if other == 0 { !0 } else { self.wrapping_div(other) }
            }

            fn modulo(self, other: Self) -> Self {
                if other == 0 { self } else { self.wrapping_rem(other) }
            }

            fn larger(self, other: Self) -> Self {
                self.max(other)
            }

            fn smaller(self, other: Self) -> Self {
                self.min(other)
            }

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

    fn extend(self) -> i128 {
        i128::from(self)
    }

    fn truncate(value: i128) -> Self {
        value != 0
    }
}

impl Number for bool {
    fn one() -> Self {
        true
    }

    fn plus(self, other: Self) -> Self {
        self | other
    }

    fn minus(self, other: Self) -> Self {
        self ^ other
    }

    fn times(self, other: Self) -> Self {
        self & other
    }

    fn over(self, _: Self) -> Self {
        self
    }

    fn modulo(self, _: Self) -> Self {
        false
    }

    fn larger(self, other: Self) -> Self {
        self | other
    }

    fn smaller(self, other: Self) -> Self {
        self & other
    }

    fn order(self, other: Self) -> Option<Ordering> {
        Some(self.cmp(&other))
    }
}
