//! Operations: one variant of [`OpKind`] for each, with the attributes that passes read.
//!
//! Semantics and constraints: StableHLO specification, section "Ops"; Shardy's `sdy` dialect documentation.
//! Matches over [`OpKind`] in passes are exhaustive: a new operation does not compile until each pass has said
//! what it does with it. Large payloads are boxed so that an [`OpKind`] stays small.

use smallvec::SmallVec;

pub use crate::opname::{BinaryOp, UnaryOp};
use crate::{AttrDict, AxisList, AxisMove, DType, Dense, MeshId, ShardingId};

/// Dimension numbers.
pub type DimList = SmallVec<[u32; 4]>;

/// Sizes or positions in elements.
pub type SizeList = SmallVec<[i64; 4]>;

/// What an operation computes.
#[derive(Clone, Debug, PartialEq)]
pub enum OpKind {
    /// Elementwise on one operand; `abs`, `exponential`, `chlo.square`, ...
    Unary(UnaryOp),
    /// Elementwise on two operands of one shape; `add`, `multiply`, ...
    Binary(BinaryOp),
    /// Elementwise comparison.
    Compare(CompareDirection, Option<CompareType>),
    /// `select(pred, on_true, on_false)`; the predicate may be a scalar.
    Select,
    /// `clamp(min, operand, max)`; the bounds may be scalars.
    Clamp,
    /// Elementwise change of element type.
    Convert,
    /// Reinterprets the bits; a last dimension appears or vanishes where the widths differ.
    BitcastConvert,
    /// Rounds to a format with this many exponent and mantissa bits.
    ReducePrecision {
        /// Exponent bits.
        exponent_bits: u32,
        /// Mantissa bits.
        mantissa_bits: u32,
    },
    /// A constant.
    Constant(Dense),
    /// Counts along dimension `dim`.
    Iota {
        /// The dimension that counts.
        dim: u32,
    },
    /// Operand dimension `i` becomes result dimension `dims[i]`; others, and operand dimensions of size one, repeat.
    BroadcastInDim {
        /// Result dimension of each operand dimension.
        dims: DimList,
    },
    /// The same elements, row-major, in another shape.
    Reshape,
    /// Result dimension `i` is operand dimension `permutation[i]`.
    Transpose {
        /// Operand dimension of each result dimension.
        permutation: DimList,
    },
    /// Reverses the order along dimensions.
    Reverse {
        /// The dimensions.
        dims: DimList,
    },
    /// A box with static bounds.
    Slice(Box<SliceSpec>),
    /// A box of static sizes at dynamic scalar starts (operands 1..).
    DynamicSlice {
        /// Size of the box in each dimension.
        sizes: SizeList,
    },
    /// Operand 0 with operand 1 written at dynamic scalar starts (operands 2..).
    DynamicUpdateSlice,
    /// Operands side by side along dimension `dim`.
    Concatenate {
        /// The dimension.
        dim: u32,
    },
    /// Operand 0 padded with the scalar operand 1.
    Pad(Box<PadSpec>),
    /// Generalised matrix product.
    DotGeneral(Box<DotSpec>),
    /// Generalised convolution.
    Convolution(Box<ConvSpec>),
    /// `n` inputs, then `n` scalar initial values; region 0 combines.
    Reduce {
        /// Dimensions that vanish.
        dims: DimList,
    },
    /// `n` inputs, then `n` scalar initial values; region 0 combines the elements of each window.
    ReduceWindow(Box<WindowSpec>),
    /// Operand, source, initial value; region 0 selects, region 1 scatters.
    SelectAndScatter(Box<WindowSpec>),
    /// Sorts all operands together along `dim`; region 0 compares.
    Sort {
        /// The dimension.
        dim: i64,
        /// Whether equal elements keep their order.
        stable: bool,
    },
    /// Slices of operand 0 at the start indices in operand 1.
    Gather(Box<GatherSpec>),
    /// `n` inputs, the scatter indices, `n` updates; region 0 combines.
    Scatter(Box<ScatterSpec>),
    /// State in, new state and random bits out.
    RngBitGenerator {
        /// `DEFAULT`, `THREE_FRY` or `PHILOX`.
        algorithm: Box<str>,
    },
    /// Discrete Fourier transform over the last dimensions.
    Fft {
        /// `FFT`, `IFFT`, `RFFT` or `IRFFT`.
        kind: Box<str>,
        /// Sizes of the transformed dimensions.
        length: SizeList,
    },
    /// Cholesky factor of the last two dimensions.
    Cholesky {
        /// Lower or upper triangle.
        lower: bool,
    },
    /// Solves triangular systems in the last two dimensions.
    TriangularSolve(Box<TriangularSpec>),
    /// Loop: region 0 is the condition, region 1 the body; both take the loop-carried values.
    While,
    /// Region `i` runs, where `i` is operand 0 (the last one if out of range).
    Case,
    /// Region 0 runs if operand 0 is true, else region 1.
    If,
    /// Keeps its operands from being moved across.
    OptimizationBarrier,
    /// Calls a function of the module.
    Call {
        /// Name of the function, without `@`.
        callee: Box<str>,
    },
    /// Ends a region. Printed as `return`, `stablehlo.return` or `sdy.return`, as its parent demands.
    Return,
    /// Calls something that the back end knows.
    CustomCall(Box<CustomCallSpec>),
    /// Builds a tuple.
    Tuple,
    /// Takes one item of a tuple.
    GetTupleElement {
        /// Which item.
        index: u32,
    },
    /// Joins tokens.
    AfterAll,
    /// Reduction over devices; region 0 combines.
    AllReduce(Box<CollectiveSpec>),
    /// Concatenation over devices along `dim`.
    AllGather {
        /// The dimension that grows.
        dim: u32,
        /// Groups and channel.
        spec: Box<CollectiveSpec>,
    },
    /// Reduction over devices, each keeps one block along `dim`; region 0 combines.
    ReduceScatter {
        /// The dimension that shrinks.
        dim: u32,
        /// Groups and channel.
        spec: Box<CollectiveSpec>,
    },
    /// Splits along one dimension, exchanges, concatenates along another.
    AllToAll {
        /// Dimension that is split.
        split_dim: u32,
        /// Dimension that is concatenated.
        concat_dim: u32,
        /// Number of parts, the size of each group.
        split_count: u32,
        /// Groups and channel.
        spec: Box<CollectiveSpec>,
    },
    /// Sends from device to device; `spec.groups` are (source, target) pairs.
    CollectivePermute(Box<CollectiveSpec>),
    /// The first device of each group sends to all.
    CollectiveBroadcast(Box<CollectiveSpec>),
    /// This device's index among the partitions, a `ui32` scalar.
    PartitionId,
    /// This device's index among the replicas, a `ui32` scalar.
    ReplicaId,
    /// `sdy.sharding_constraint`: the value must be sharded so.
    ShardingConstraint(ShardingId),
    /// `sdy.reshard`: the value changes to this sharding.
    Reshard(ShardingId),
    /// A collective on a global value, made when a reshard is lowered; the value's global shape stays.
    MeshCollective(Box<MeshCollective>),
    /// `sdy.manual_computation`: region 0 is written for local shapes.
    ManualComputation(Box<ManualSpec>),
    /// `sdy.propagation_barrier`: shardings pass only in the given direction.
    PropagationBarrier {
        /// `NONE`, `FORWARD`, `BACKWARD`.
        direction: Box<str>,
    },
    /// `sdy.sharding_group`: all values of one group share a sharding.
    ShardingGroup {
        /// The group.
        id: i64,
    },
    /// An operation that shardc does not know: kept whole.
    Opaque(Box<OpaqueSpec>),
}

/// Direction of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the specification's")]
pub enum CompareDirection {
    EQ,
    NE,
    GE,
    GT,
    LE,
    LT,
}

/// How a comparison reads its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the specification's")]
pub enum CompareType {
    Float,
    TotalOrder,
    Signed,
    Unsigned,
}

/// Bounds of a slice, per dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceSpec {
    /// First element.
    pub start: SizeList,
    /// One past the last element.
    pub limit: SizeList,
    /// Step.
    pub stride: SizeList,
}

/// Padding, per dimension; negative low and high padding removes elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PadSpec {
    /// Before the first element.
    pub low: SizeList,
    /// After the last element.
    pub high: SizeList,
    /// Between elements.
    pub interior: SizeList,
}

/// Precision of a product, as the specification spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// `DEFAULT`.
    Default,
    /// `HIGH`.
    High,
    /// `HIGHEST`.
    Highest,
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

/// Roles of the dimensions of one tensor of a convolution.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ConvDims {
    /// Batch of the input and output; input feature of the kernel.
    pub a: u32,
    /// Feature of the input and output; output feature of the kernel.
    pub b: u32,
    /// Spatial dimensions in order.
    pub spatial: DimList,
}

/// Dimensions and window of `convolution`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ConvSpec {
    /// Input: `a` = batch, `b` = feature.
    pub input: ConvDims,
    /// Kernel: `a` = input feature, `b` = output feature.
    pub kernel: ConvDims,
    /// Output: `a` = batch, `b` = feature.
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

/// A window over all dimensions (`reduce_window`, `select_and_scatter`); lists are empty where not written.
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
    /// Result dimensions that index into a slice.
    pub offset_dims: DimList,
    /// Operand dimensions of slice size one that do not appear in the result.
    pub collapsed_slice_dims: DimList,
    /// Operand dimensions that go along with `start_indices_batching_dims`.
    pub operand_batching_dims: DimList,
    /// Index dimensions that go along with `operand_batching_dims`.
    pub start_indices_batching_dims: DimList,
    /// Operand dimension of each component of an index.
    pub start_index_map: DimList,
    /// The dimension of the indices that holds the components; their rank for scalars.
    pub index_vector_dim: u32,
    /// Size of a slice per operand dimension.
    pub slice_sizes: SizeList,
    /// A promise of the user's.
    pub indices_are_sorted: bool,
}

/// Dimensions of `scatter`; see the specification for the exact meaning of each list.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ScatterSpec {
    /// Update dimensions that index into a window.
    pub update_window_dims: DimList,
    /// Input dimensions of window size one that do not appear in the updates.
    pub inserted_window_dims: DimList,
    /// Input dimensions that go along with `scatter_indices_batching_dims`.
    pub input_batching_dims: DimList,
    /// Index dimensions that go along with `input_batching_dims`.
    pub scatter_indices_batching_dims: DimList,
    /// Input dimension of each component of an index.
    pub scatter_dims_to_operand_dims: DimList,
    /// The dimension of the indices that holds the components; their rank for scalars.
    pub index_vector_dim: u32,
    /// A promise of the user's.
    pub indices_are_sorted: bool,
    /// A promise of the user's.
    pub unique_indices: bool,
}

/// Options of `triangular_solve`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriangularSpec {
    /// Solve `a x = b` rather than `x a = b`.
    pub left_side: bool,
    /// Which triangle of `a` is read.
    pub lower: bool,
    /// The diagonal is one.
    pub unit_diagonal: bool,
    /// `NO_TRANSPOSE`, `TRANSPOSE` or `ADJOINT`.
    pub transpose_a: Box<str>,
}

/// Target and options of `custom_call`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CustomCallSpec {
    /// Name that the back end looks up.
    pub target: Box<str>,
    /// All other attributes of the call (`backend_config`, `api_version`, layouts, aliases, ...).
    pub props: AttrDict,
}

/// Who takes part in a collective of the partitioned program.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CollectiveSpec {
    /// Groups of device ids, or pairs for a permute; each group has the same size. `-1` fills ragged input.
    pub groups: Vec<Vec<i64>>,
    /// Channel id; `None` for cross-replica collectives.
    pub channel: Option<i64>,
    /// Whether the groups name global device ids (replica * partitions + partition).
    pub use_global_device_ids: bool,
}

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

/// A collective between two shardings of one global value (Shardy's `sdy.all_gather`, ...).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshCollective {
    /// The mesh that the axes belong to.
    pub mesh: MeshId,
    /// What is exchanged.
    pub kind: MeshCollectiveKind,
    /// Sharding of the result.
    pub out: ShardingId,
}

/// What a [`MeshCollective`] does; lists have one entry per dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeshCollectiveKind {
    /// Gathers minor axes of each dimension.
    AllGather(Vec<AxisList>),
    /// Keeps a part along more axes of each dimension; no communication.
    AllSlice(Vec<AxisList>),
    /// Moves axes from the end of one dimension to the end of another; no dimension takes part in two moves.
    AllToAll(Vec<AxisMove>),
    /// Device to device: the local shape stays.
    CollectivePermute,
    /// Completes a reduction over `axes`.
    AllReduce(AxisList, ReductionKind),
    /// Completes a reduction over the axes and splits each dimension along its entry.
    ReduceScatter(Vec<AxisList>, ReductionKind),
    /// Each device's part along the axes becomes its addend of the whole: what an all-reduce completes, where an
    /// all-gather would have put the parts together.
    ShardedToUnreduced(Vec<AxisList>),
    /// What devices hold alike along the axes becomes pending.
    ReplicatedToUnreduced(AxisList),
}

/// Shardings and manual axes of a `manual_computation`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManualSpec {
    /// Sharding of each operand.
    pub in_shardings: Vec<ShardingId>,
    /// Sharding of each result.
    pub out_shardings: Vec<ShardingId>,
    /// Axes that the body sees as devices.
    pub manual_axes: AxisList,
}

/// An unknown operation.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OpaqueSpec {
    /// Full name, with dialect.
    pub name: Box<str>,
    /// Inherent attributes (`<{...}>`), verbatim.
    pub props: AttrDict,
}

impl OpKind {
    /// Full name, with dialect. A [`OpKind::Return`] is named for a StableHLO region.
    #[must_use]
    pub fn name(&self) -> &str {
        use OpKind as K;
        match self {
            K::Unary(op) => op.name(),
            K::Binary(op) => op.name(),
            K::Compare(..) => "stablehlo.compare",
            K::Select => "stablehlo.select",
            K::Clamp => "stablehlo.clamp",
            K::Convert => "stablehlo.convert",
            K::BitcastConvert => "stablehlo.bitcast_convert",
            K::ReducePrecision { .. } => "stablehlo.reduce_precision",
            K::Constant(_) => "stablehlo.constant",
            K::Iota { .. } => "stablehlo.iota",
            K::BroadcastInDim { .. } => "stablehlo.broadcast_in_dim",
            K::Reshape => "stablehlo.reshape",
            K::Transpose { .. } => "stablehlo.transpose",
            K::Reverse { .. } => "stablehlo.reverse",
            K::Slice(_) => "stablehlo.slice",
            K::DynamicSlice { .. } => "stablehlo.dynamic_slice",
            K::DynamicUpdateSlice => "stablehlo.dynamic_update_slice",
            K::Concatenate { .. } => "stablehlo.concatenate",
            K::Pad(_) => "stablehlo.pad",
            K::DotGeneral(_) => "stablehlo.dot_general",
            K::Convolution(_) => "stablehlo.convolution",
            K::Reduce { .. } => "stablehlo.reduce",
            K::ReduceWindow(_) => "stablehlo.reduce_window",
            K::SelectAndScatter(_) => "stablehlo.select_and_scatter",
            K::Sort { .. } => "stablehlo.sort",
            K::Gather(_) => "stablehlo.gather",
            K::Scatter(_) => "stablehlo.scatter",
            K::RngBitGenerator { .. } => "stablehlo.rng_bit_generator",
            K::Fft { .. } => "stablehlo.fft",
            K::Cholesky { .. } => "stablehlo.cholesky",
            K::TriangularSolve(_) => "stablehlo.triangular_solve",
            K::While => "stablehlo.while",
            K::Case => "stablehlo.case",
            K::If => "stablehlo.if",
            K::OptimizationBarrier => "stablehlo.optimization_barrier",
            K::Call { .. } => "func.call",
            K::Return => "stablehlo.return",
            K::CustomCall(_) => "stablehlo.custom_call",
            K::Tuple => "stablehlo.tuple",
            K::GetTupleElement { .. } => "stablehlo.get_tuple_element",
            K::AfterAll => "stablehlo.after_all",
            K::AllReduce(_) => "stablehlo.all_reduce",
            K::AllGather { .. } => "stablehlo.all_gather",
            K::ReduceScatter { .. } => "stablehlo.reduce_scatter",
            K::AllToAll { .. } => "stablehlo.all_to_all",
            K::CollectivePermute(_) => "stablehlo.collective_permute",
            K::CollectiveBroadcast(_) => "stablehlo.collective_broadcast",
            K::PartitionId => "stablehlo.partition_id",
            K::ReplicaId => "stablehlo.replica_id",
            K::ShardingConstraint(_) => "sdy.sharding_constraint",
            K::Reshard(_) => "sdy.reshard",
            K::MeshCollective(c) => c.kind.name(),
            K::ManualComputation(_) => "sdy.manual_computation",
            K::PropagationBarrier { .. } => "sdy.propagation_barrier",
            K::ShardingGroup { .. } => "sdy.sharding_group",
            K::Opaque(op) => &op.name,
        }
    }

    /// The groups of a collective of the partitioned program.
    #[must_use]
    pub fn collective(&self) -> Option<&CollectiveSpec> {
        match self {
            OpKind::AllReduce(spec) | OpKind::CollectivePermute(spec) | OpKind::CollectiveBroadcast(spec) => {
                Some(spec)
            }
            OpKind::AllGather { spec, .. }
            | OpKind::ReduceScatter { spec, .. }
            | OpKind::AllToAll { spec, .. } => Some(spec),
            _ => None,
        }
    }

    /// The same, to change it.
    pub fn collective_mut(&mut self) -> Option<&mut CollectiveSpec> {
        match self {
            OpKind::AllReduce(spec) | OpKind::CollectivePermute(spec) | OpKind::CollectiveBroadcast(spec) => {
                Some(spec)
            }
            OpKind::AllGather { spec, .. }
            | OpKind::ReduceScatter { spec, .. }
            | OpKind::AllToAll { spec, .. } => Some(spec),
            _ => None,
        }
    }

    /// An all-reduce or reduce-scatter sums or otherwise combines in region 0, the element type given.
    #[must_use]
    pub fn combines(&self) -> bool {
        matches!(self, OpKind::AllReduce(_) | OpKind::ReduceScatter { .. })
    }
}

impl MeshCollectiveKind {
    /// Full name, with dialect.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            MeshCollectiveKind::AllGather(_) => "sdy.all_gather",
            MeshCollectiveKind::AllSlice(_) => "sdy.all_slice",
            MeshCollectiveKind::AllToAll(_) => "sdy.all_to_all",
            MeshCollectiveKind::CollectivePermute => "sdy.collective_permute",
            MeshCollectiveKind::AllReduce(..) => "sdy.all_reduce",
            MeshCollectiveKind::ReduceScatter(..) => "sdy.reduce_scatter",
            MeshCollectiveKind::ShardedToUnreduced(_) => "sdy.sharded_to_unreduced",
            MeshCollectiveKind::ReplicatedToUnreduced(_) => "sdy.replicated_to_unreduced",
        }
    }
}

impl CompareDirection {
    /// The specification's spelling.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EQ => "EQ",
            Self::NE => "NE",
            Self::GE => "GE",
            Self::GT => "GT",
            Self::LE => "LE",
            Self::LT => "LT",
        }
    }

    /// The direction spelt `text`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::EQ, Self::NE, Self::GE, Self::GT, Self::LE, Self::LT].into_iter().find(|d| d.as_str() == text)
    }
}

impl CompareType {
    /// The specification's spelling.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Float => "FLOAT",
            Self::TotalOrder => "TOTALORDER",
            Self::Signed => "SIGNED",
            Self::Unsigned => "UNSIGNED",
        }
    }

    /// The type spelt `text`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Float, Self::TotalOrder, Self::Signed, Self::Unsigned].into_iter().find(|t| t.as_str() == text)
    }

    /// What a comparison of this element type means where nothing is written.
    #[must_use]
    pub fn default_for(dtype: DType) -> Self {
        match dtype.class() {
            crate::DTypeClass::Float | crate::DTypeClass::Complex => Self::Float,
            crate::DTypeClass::Unsigned | crate::DTypeClass::Bool => Self::Unsigned,
            crate::DTypeClass::Signed => Self::Signed,
        }
    }
}

impl Precision {
    /// The specification's spelling.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Precision::Default => "DEFAULT",
            Precision::High => "HIGH",
            Precision::Highest => "HIGHEST",
        }
    }

    /// The precision spelt `text`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Default, Self::High, Self::Highest].into_iter().find(|p| p.as_str() == text)
    }
}
