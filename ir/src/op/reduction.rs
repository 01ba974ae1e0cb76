//! Converts between reductions and the element-wise operations that combine two values.

use super::BinaryOp;
use crate::ReductionKind;

impl ReductionKind {
    /// The element-wise operation with which this reduction combines two values.
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

    /// Returns the reduction that combines with `op`, if collectives support it.
    #[must_use]
    pub fn from_op(op: BinaryOp) -> Option<Self> {
        [Self::Add, Self::Mul, Self::Max, Self::Min, Self::And, Self::Or, Self::Xor]
            .into_iter()
            .find(|kind| kind.op() == op)
    }
}
