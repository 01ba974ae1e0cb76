//! Payloads of operations with several attributes.

use smallvec::SmallVec;

use super::{BroadcastOp, CompareDirection, CompareType, DimList, Precision, SizeList, Transposition};
use crate::{Attr, AttrDict};

/// Bounds of a slice, per dimension.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SliceSpec {
    /// The first element of the range, in each dimension.
    pub start: SizeList,
    /// One past the last element of the range, in each dimension.
    pub limit: SizeList,
    /// The step between elements, in each dimension.
    pub stride: SizeList,
}

impl SliceSpec {
    /// A slice of a tensor of this shape that takes a range along one dimension, and the other dimensions in full.
    #[must_use]
    pub fn range(shape: &[i64], dim: usize, start: i64, limit: i64) -> SliceSpec {
        let mut spec = SliceSpec {
            start: shape.iter().map(|_| 0).collect(),
            limit: shape.iter().copied().collect(),
            stride: shape.iter().map(|_| 1).collect(),
        };
        if let (Some(first), Some(end)) = (spec.start.get_mut(dim), spec.limit.get_mut(dim)) {
            (*first, *end) = (start, limit);
        }
        spec
    }

    /// Returns the only sliced dimension of a tensor with the shape `shape`; `None` if no dimension or several dimensions are sliced.
    #[must_use]
    pub fn cut_dim(&self, shape: &[i64]) -> Option<usize> {
        let is_whole = |&d: &usize| self.start[d] == 0 && self.limit[d] == shape[d] && self.stride[d] == 1;
        let mut cut = (0..shape.len()).filter(|d| !is_whole(d));
        cut.next().filter(|&d| cut.next().is_none() && self.stride[d] == 1)
    }
}

/// Padding, per dimension; negative low and high padding removes elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PadSpec {
    /// The padding before the first element, in each dimension.
    pub low: SizeList,
    /// The padding after the last element, in each dimension.
    pub high: SizeList,
    /// The padding between adjacent elements, in each dimension.
    pub interior: SizeList,
}

/// A concatenation of ranges of the operands; each operand may have several ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpliceSpec {
    /// The concatenated dimension.
    pub dim: u32,
    /// The ranges that are concatenated, in order.
    pub pieces: SmallVec<[SplicePiece; 2]>,
}

/// A range of an operand along the dimension of a splice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplicePiece {
    /// The index of the operand.
    pub operand: u32,
    /// The first element of the range.
    pub start: i64,
    /// One past the last element of the range.
    pub limit: i64,
}

/// Dimensions of `dot_general`. Result dimensions: batching, then left free, then right free.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct DotSpec {
    /// Batching dimensions of the left operand.
    pub lhs_batch: DimList,
    /// Batching dimensions of the right operand, in the same order.
    pub rhs_batch: DimList,
    /// Contracting dimensions of the left operand.
    pub lhs_contract: DimList,
    /// Contracting dimensions of the right operand, in the same order.
    pub rhs_contract: DimList,
    /// Precision per operand; empty where not written.
    pub precision: SmallVec<[Precision; 2]>,
    /// The `algorithm` attribute, verbatim.
    pub algorithm: Option<Box<str>>,
}

/// Roles of the dimensions of a convolution's input or output.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ConvDims {
    /// The batch dimension.
    pub batch: u32,
    /// The feature dimension.
    pub feature: u32,
    /// The spatial dimensions, in order.
    pub spatial: DimList,
}

/// Roles of the dimensions of a convolution's kernel.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct KernelDims {
    /// The dimension of input features; with feature groups, it contains the features of one group.
    pub input_feature: u32,
    /// The dimension of output features.
    pub output_feature: u32,
    /// The spatial dimensions, in order.
    pub spatial: DimList,
}

/// Dimensions and window of `convolution`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ConvSpec {
    /// Dimensions of the input.
    pub input: ConvDims,
    /// Dimensions of the kernel.
    pub kernel: KernelDims,
    /// Dimensions of the output.
    pub output: ConvDims,
    /// Stride per spatial dimension; empty where not written (all one).
    pub strides: SizeList,
    /// Low and high padding per spatial dimension; empty where not written (all zero).
    pub padding: SmallVec<[(i64, i64); 2]>,
    /// Dilation of the input; empty where not written.
    pub lhs_dilation: SizeList,
    /// Dilation of the kernel; empty where not written.
    pub rhs_dilation: SizeList,
    /// Whether the kernel is reversed, per spatial dimension; empty where not written.
    pub reversal: SmallVec<[bool; 2]>,
    /// Number of feature groups.
    pub feature_group_count: i64,
    /// Number of batch groups.
    pub batch_group_count: i64,
    /// Precision per operand; empty where not written.
    pub precision: SmallVec<[Precision; 2]>,
}

/// A window that spans all dimensions (`reduce_window`, `select_and_scatter`); lists are empty where the text has none.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct WindowSpec {
    /// Size per dimension.
    pub dimensions: SizeList,
    /// Stride per dimension.
    pub strides: SizeList,
    /// Dilation of the input per dimension.
    pub base_dilations: SizeList,
    /// Dilation of the window per dimension.
    pub window_dilations: SizeList,
    /// Low and high padding per dimension.
    pub padding: SmallVec<[(i64, i64); 4]>,
}

/// Dimensions of `gather`; see the specification for the exact meaning of each list.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct GatherSpec {
    /// Result dimensions that are offsets into a slice.
    pub offset_dims: DimList,
    /// Operand dimensions of slice size 1 that the result drops.
    pub collapsed_slice_dims: DimList,
    /// Operand dimensions that correspond to `start_indices_batching_dims`.
    pub operand_batching_dims: DimList,
    /// Index dimensions that correspond to `operand_batching_dims`.
    pub start_indices_batching_dims: DimList,
    /// Operand dimension of each component of an index.
    pub start_index_map: DimList,
    /// The dimension of the indices that contains the components of an index; the rank of the indices if each index is a scalar.
    pub index_vector_dim: u32,
    /// Size of a slice per operand dimension.
    pub slice_sizes: SizeList,
    /// Whether the indices are guaranteed to be sorted; `None` if not specified (no).
    pub indices_are_sorted: Option<bool>,
}

/// Dimensions of `scatter`; see the specification for the exact meaning of each list.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ScatterSpec {
    /// Update dimensions that are offsets into a window.
    pub update_window_dims: DimList,
    /// Input dimensions of window size 1 that the updates drop.
    pub inserted_window_dims: DimList,
    /// Input dimensions that correspond to `scatter_indices_batching_dims`.
    pub input_batching_dims: DimList,
    /// Index dimensions that correspond to `input_batching_dims`.
    pub scatter_indices_batching_dims: DimList,
    /// Input dimension of each component of an index.
    pub scatter_dims_to_operand_dims: DimList,
    /// The dimension of the indices that contains the components of an index; the rank of the indices if each index is a scalar.
    pub index_vector_dim: u32,
    /// Whether the indices are guaranteed to be sorted; `None` if not specified (no).
    pub indices_are_sorted: Option<bool>,
    /// Whether the indices are guaranteed to be unique; `None` if not specified (no).
    pub unique_indices: Option<bool>,
}

/// Options of `triangular_solve`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriangularSpec {
    /// Whether to solve `a x = b`, instead of `x a = b`.
    pub left_side: bool,
    /// Whether the lower triangle of `a` is read, instead of the upper.
    pub lower: bool,
    /// Whether the diagonal is assumed to be one.
    pub unit_diagonal: bool,
    /// The transposition of `a`.
    pub transpose_a: Transposition,
}

/// Target and options of `custom_call`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CustomCallSpec {
    /// Name that the back end looks up.
    pub target: Box<str>,
    /// All other attributes of the call (`backend_config`, `api_version`, layouts, aliases, ...).
    pub props: AttrDict,
}

impl CustomCallSpec {
    /// The prefix of the target of a custom call that stands for the call of a separately partitioned function. The rest of the target is
    /// the function's name or another key.
    pub const KEPT: &str = "shardc.call.";

    /// Returns the rest of the target after [`CustomCallSpec::KEPT`], if the custom call stands for the call of a function.
    #[must_use]
    pub fn kept_callee(&self) -> Option<&str> {
        self.target.strip_prefix(Self::KEPT)
    }
}

/// An unknown operation.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OpaqueSpec {
    /// Full name, with dialect.
    pub name: Box<str>,
    /// Inherent attributes (`<{...}>`), verbatim.
    pub props: AttrDict,
}

/// The kind of batch normalization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BatchNormKind {
    /// Operand, scale, offset; returns the output, and mean and variance of the batch.
    Training,
    /// Operand, scale, offset, mean, variance.
    Inference,
    /// Operand, scale, mean, variance, gradient of the output; returns the gradients of operand, scale and offset.
    Grad,
}

/// Attributes of the batch normalizations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchNormSpec {
    /// The constant that is added to the variance.
    pub epsilon: f32,
    /// The feature dimension.
    pub feature_index: u32,
}

/// Operations in which operands replace attributes.
#[derive(Clone, Debug, PartialEq)]
pub enum DynamicOp {
    /// Operand 1 is the shape of the result.
    Reshape,
    /// Operand 1 is the shape of the result.
    BroadcastInDim(Box<DynamicBroadcastSpec>),
    /// Operand 0 is the shape of the result, an iota along `dim`.
    Iota {
        /// The dimension along which values increase.
        dim: u32,
    },
    /// Operands 2 to 4 are low, high and interior padding.
    Pad,
    /// Operands 1 to 3 are starts, limits and strides (deprecated).
    RealSlice,
    /// Operand 2 contains the slice sizes; [`GatherSpec::slice_sizes`] is empty.
    Gather(Box<GatherSpec>),
    /// Operand 2 contains the padding; [`ConvSpec::padding`] is empty.
    Convolution(Box<ConvSpec>),
}

/// Dimensions of `dynamic_broadcast_in_dim`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct DynamicBroadcastSpec {
    /// Result dimension of each operand dimension.
    pub dims: DimList,
    /// Operand dimensions of size 1 that are known to be repeated.
    pub known_expanding: Option<DimList>,
    /// Operand dimensions that are known not to be repeated.
    pub known_nonexpanding: Option<DimList>,
}

/// Name and decomposition of a `composite`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CompositeSpec {
    /// The name of the composite.
    pub name: Box<str>,
    /// Attributes of the composite; `None` if not specified (there are none).
    pub attributes: Option<AttrDict>,
    /// The function that decomposes it.
    pub decomposition: Box<str>,
    /// The version; `None` if not specified (zero).
    pub version: Option<i32>,
}

/// Attributes of `infeed`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct InfeedSpec {
    /// Configuration for the back end.
    pub config: Box<str>,
    /// Minor-to-major layouts of the results.
    pub layout: Option<Attr>,
}

/// A CHLO operation whose operands may have different shapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BroadcastingSpec {
    /// The element-wise operation.
    pub op: BroadcastingOp,
    /// For each dimension of the lower-rank operand, the dimension of the other operand. `None` means aligned at the last dimension.
    pub dims: Option<DimList>,
}

/// The element-wise operation of a [`BroadcastingSpec`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BroadcastingOp {
    /// An operation on two operands.
    Binary(BroadcastOp),
    /// A comparison.
    Compare(CompareDirection, Option<CompareType>),
    /// Predicate, then the values for true and for false.
    Select,
}

/// Dimensions of `ragged_dot`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RaggedDotSpec {
    /// Batching dimensions of the left operand.
    pub lhs_batch: DimList,
    /// Batching dimensions of the right operand, in the same order.
    pub rhs_batch: DimList,
    /// Contracting dimensions of the left operand.
    pub lhs_contract: DimList,
    /// Contracting dimensions of the right operand, in the same order.
    pub rhs_contract: DimList,
    /// The ragged dimension of the left operand.
    pub lhs_ragged: DimList,
    /// The group dimension of the right operand.
    pub rhs_group: DimList,
    /// Precision per operand; empty where not written.
    pub precision: SmallVec<[Precision; 2]>,
}

/// Attributes of `scan`. Operands: inputs, then initial values of carries; results: outputs, then final values of carries.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ScanSpec {
    /// The number of operands that are inputs.
    pub inputs: u32,
    /// The number of carried values: the remaining operands and results.
    pub carries: u32,
    /// The number of results that are outputs.
    pub outputs: u32,
    /// The dimension along which the scan takes slices.
    pub dim: u32,
    /// The size of the scanned dimension, if there is no input.
    pub dim_size: Option<i64>,
    /// Whether the scan runs from the last slice to the first; `None` if not specified (no).
    pub reverse: Option<bool>,
    /// Whether the slices may be combined in any order.
    pub associative: Option<bool>,
}
