//! Evaluation of element-wise operations on integers.

use super::{BinaryOp, CompareDirection};

impl BinaryOp {
    /// Evaluates the operation on two integers. Quotients are rounded toward zero, and a remainder has the sign of the dividend
    /// (StableHLO specification, `divide` and `remainder`).
    ///
    /// `None` if the result overflows, the divisor is zero, or the operation is not evaluated on integers.
    #[must_use]
    pub fn on_integers(self, a: i64, b: i64) -> Option<i64> {
        match self {
            BinaryOp::Add => a.checked_add(b),
            BinaryOp::Subtract => a.checked_sub(b),
            BinaryOp::Multiply => a.checked_mul(b),
            BinaryOp::Divide => a.checked_div(b),
            BinaryOp::Remainder => a.checked_rem(b),
            BinaryOp::Maximum => Some(a.max(b)),
            BinaryOp::Minimum => Some(a.min(b)),
            BinaryOp::And => Some(a & b),
            BinaryOp::Or => Some(a | b),
            BinaryOp::Xor => Some(a ^ b),
            _ => None,
        }
    }
}

impl CompareDirection {
    /// Whether the comparison holds for two integers.
    #[must_use]
    pub fn holds(self, a: i64, b: i64) -> bool {
        match self {
            CompareDirection::EQ => a == b,
            CompareDirection::NE => a != b,
            CompareDirection::GE => a >= b,
            CompareDirection::GT => a > b,
            CompareDirection::LE => a <= b,
            CompareDirection::LT => a < b,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BinaryOp, CompareDirection};

    #[test]
    fn quotients_are_rounded_toward_zero() {
        assert_eq!(BinaryOp::Divide.on_integers(-7, 2), Some(-3));
        assert_eq!(BinaryOp::Remainder.on_integers(-7, 2), Some(-1));
    }

    #[test]
    fn results_that_do_not_exist_are_none() {
        assert_eq!(BinaryOp::Divide.on_integers(1, 0), None);
        assert_eq!(BinaryOp::Add.on_integers(i64::MAX, 1), None);
        assert_eq!(BinaryOp::Power.on_integers(2, 3), None);
    }

    #[test]
    fn comparisons_are_signed() {
        assert!(CompareDirection::LT.holds(-4, 0));
        assert!(!CompareDirection::GT.holds(0, 0));
    }
}
