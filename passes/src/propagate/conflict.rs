//! The data of a propagation conflict.

use shardc_ir::{AxisRef, OpId};

use super::subjects::Subject;

/// An axis that one tensor of an operation has along a factor and another lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The operation; `None` for a return from the function.
    pub op: Option<OpId>,
    /// The part of the axis that was lost.
    pub axis: AxisRef,
    /// The number of elements along the factor.
    pub size: i64,
    /// The tensor that has the axis, and its dimension.
    pub has: (Subject, u32),
    /// The tensor that lacks it, and its dimension.
    pub lacks: (Subject, u32),
    /// Why the tensor lacks it.
    pub reason: Reason,
    /// Additional bytes of the tensor on each device, compared to sharding along the axis.
    pub bytes: u64,
}

/// Why a tensor did not get an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The tensor uses the axis for this other dimension.
    Taken {
        /// That dimension.
        dim: u32,
        /// Why that dimension was first.
        winner: Winner,
    },
    /// The dimension is sharded along another axis.
    OtherAxis {
        /// That axis.
        axis: AxisRef,
        /// Why that axis was first.
        winner: Winner,
    },
    /// An annotation closed the dimension.
    Closed,
    /// An annotation says that the tensor is replicated along the axis.
    Replicated,
    /// The tensor is unreduced along the axis.
    Pending,
    /// The axis does not divide the rest of the dimension.
    DoesNotDivide,
    /// The rule of the operation blocks propagation along this factor.
    Blocked,
    /// A propagation barrier blocks this direction.
    Barrier,
    /// The tensors are on different meshes.
    OtherMesh,
    /// Tensors of the operation want different axes, and this one got none of them.
    NoAgreement,
}

/// Why one axis took precedence over another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Winner {
    /// The tensor's own annotation has it.
    Annotated,
    /// User priorities: the first number is lower.
    UserPriority(u32, u32),
    /// It was propagated by operations of a class that is scheduled earlier.
    OpPriority,
    /// In this operation it came from a larger tensor, or from an earlier one of the same size.
    LargerTensor,
    /// It arrived first.
    First,
}
