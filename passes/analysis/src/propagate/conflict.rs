//! The data types that describe a propagation conflict.

use shardc_ir::{AxisRef, OpId};

use super::subjects::Subject;

/// A disagreement within an operation: along some factor, one tensor is sharded along an axis and another tensor, which also has the
/// factor, is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The operation whose tensors disagree; `None` for a returned value and its function result.
    pub op: Option<OpId>,
    /// The axis or sub-axis on which the tensors disagree.
    pub axis: AxisRef,
    /// The number of elements along the factor.
    pub size: i64,
    /// The tensor that is sharded along the axis, and the dimension that the axis shards.
    pub has: (Subject, u32),
    /// The tensor that is not sharded along the axis, and its dimension that has the factor.
    pub lacks: (Subject, u32),
    /// The reason why `lacks` is not sharded along the axis.
    pub reason: Reason,
}

/// Why a tensor did not get an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The tensor uses the axis for another dimension.
    Taken {
        /// The dimension of the tensor that uses the axis.
        dim: u32,
        /// The reason why the other dimension got the axis first.
        winner: Winner,
    },
    /// The dimension is sharded along another axis.
    OtherAxis {
        /// The axis that shards the dimension.
        axis: AxisRef,
        /// The reason why the other axis got the dimension first.
        winner: Winner,
    },
    /// An annotation closed the dimension.
    Closed,
    /// An annotation specifies that the tensor is replicated along the axis.
    Replicated,
    /// The tensor is unreduced along the axis.
    Pending,
    /// The remaining size of the dimension is not divisible by the axis size.
    DoesNotDivide,
    /// The rule of the operation blocks propagation along this factor.
    Blocked,
    /// A propagation barrier blocks propagation from the tensor that has the axis to this tensor.
    Barrier,
    /// The shardings of the tensors refer to different meshes.
    OtherMesh,
    /// Tensors of the operation are sharded along different axes, and this tensor got none of these axes.
    NoAgreement,
}

/// Why one axis took precedence over another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Winner {
    /// The tensor's own annotation has the axis.
    Annotated,
    /// The annotation of the axis has a lower user priority number (the first field) than that of the other axis (the second field), so it
    /// propagated first.
    UserPriority(u32, u32),
    /// The axis was propagated by operations of a class that is scheduled earlier.
    OpPriority,
    /// In this operation, the axis came from a larger tensor, or from an earlier tensor of the same size.
    LargerTensor,
    /// The axis reached the tensor first.
    First,
}
