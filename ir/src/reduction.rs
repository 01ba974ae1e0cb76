//! How several values become one.

use crate::opname::BinaryOp;

/// How pending values are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReductionKind {
    /// Sum.
    #[default]
    Add,
    /// Product.
    Mul,
    /// Largest.
    Max,
    /// Smallest.
    Min,
    /// Logical or bitwise and.
    And,
    /// Logical or bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

impl ReductionKind {
    /// The elementwise operation that combines two values.
    #[must_use]
    pub fn op(self) -> BinaryOp {
        match self {
            ReductionKind::Add => BinaryOp::Add,
            ReductionKind::Mul => BinaryOp::Multiply,
            ReductionKind::Max => BinaryOp::Maximum,
            ReductionKind::Min => BinaryOp::Minimum,
            ReductionKind::And => BinaryOp::And,
            ReductionKind::Or => BinaryOp::Or,
            ReductionKind::Xor => BinaryOp::Xor,
        }
    }

    /// The reduction that combines with `op`, if it is one that devices can do among themselves.
    #[must_use]
    pub fn from_op(op: BinaryOp) -> Option<Self> {
        [Self::Add, Self::Mul, Self::Max, Self::Min, Self::And, Self::Or, Self::Xor]
            .into_iter()
            .find(|kind| kind.op() == op)
    }
}
