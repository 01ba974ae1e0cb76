//! Operations: one variant of [`OpKind`] for each, with the attributes that passes read.
//!
//! Semantics and constraints: StableHLO specification, section "Ops"; Shardy's `sdy` dialect documentation. Large payloads are boxed so
//! that an [`OpKind`] stays small.
//!
//! * this file: the list of operations;
//! * [`table`]: properties of each kind, one row per operation; [`elementwise`]: properties of element-wise operations; [`def`]: the
//!   columns;
//! * [`specs`]: payloads of computations; [`devices`]: payloads with devices and meshes;
//! * [`words`]: enumerations; [`names`]: the operations' names.

mod attr_type;
mod def;
mod devices;
mod elementwise;
mod integers;
mod names;
mod reduction;
mod specs;
mod table;
mod words;

use std::hash::{Hash, Hasher};
use std::mem::discriminant;

use smallvec::SmallVec;

pub use self::attr_type::AttrType;
pub use self::def::*;
pub use self::devices::*;
pub use self::elementwise::{BinaryOp, BroadcastOp, UnaryOp};
pub use self::specs::*;
pub use self::words::*;
use crate::{Attr, Dense, ShardingId};

/// The attribute with the original name of an operation that is parsed as a different operation (`stablehlo.dot` as
/// `stablehlo.dot_general`). The attribute is never printed.
pub const SPELLING_ATTR: &str = "shardc.spelling";

/// A list of dimension numbers.
pub type DimList = SmallVec<[u32; 4]>;

/// Sizes of tensors or positions of elements, one per dimension.
pub type SizeList = SmallVec<[i64; 4]>;

/// The kind of an operation, with its inherent attributes.
#[derive(Clone, Debug, PartialEq)]
pub enum OpKind {
    /// Element-wise on one operand; `abs`, `exponential`, `chlo.square`, ...
    Unary(UnaryOp),
    /// Element-wise on two operands of the same shape; `add`, `multiply`, ...
    Binary(BinaryOp),
    /// Compares elements at the same position of two operands.
    Compare(CompareDirection, Option<CompareType>),
    /// `select(pred, on_true, on_false)`; the predicate may be a scalar.
    Select,
    /// `clamp(min, operand, max)`; the bounds may be scalars.
    Clamp,
    /// Element-wise conversion of the element type.
    Convert,
    /// Reinterprets the bits of elements as another type; if the widths differ, a last dimension is added or removed.
    BitcastConvert,
    /// Rounds elements to a float format with this many exponent and mantissa bits; the element type does not change.
    ReducePrecision {
        /// Exponent bits.
        exponent_bits: u32,
        /// Mantissa bits.
        mantissa_bits: u32,
    },
    /// A constant.
    Constant(Dense),
    /// A tensor with the values 0, 1, 2, ... along dimension `dim`.
    Iota {
        /// The dimension along which values increase.
        dim: u32,
    },
    /// Operand dimension `i` becomes result dimension `dims[i]`; the operand is repeated along other dimensions, and along its dimensions
    /// of size 1.
    BroadcastInDim {
        /// Result dimension of each operand dimension.
        dims: DimList,
    },
    /// Reshapes the elements in row-major order.
    Reshape,
    /// Result dimension `i` is operand dimension `permutation[i]`.
    Transpose {
        /// Operand dimension of each result dimension.
        permutation: DimList,
    },
    /// Reverses the order along dimensions.
    Reverse {
        /// The dimensions along which the order of elements is reversed.
        dims: DimList,
    },
    /// A slice with static bounds.
    Slice(Box<SliceSpec>),
    /// A slice of static sizes at dynamic scalar start indices (operands 1..).
    DynamicSlice {
        /// Size of the slice in each dimension.
        sizes: SizeList,
    },
    /// Operand 0 with operand 1 written at dynamic scalar start indices (operands 2..).
    DynamicUpdateSlice,
    /// Concatenates the operands along dimension `dim`.
    Concatenate {
        /// The dimension along which operands are concatenated.
        dim: u32,
    },
    /// Concatenates ranges of the operands. An internal operation that localization replaces.
    Splice(Box<SpliceSpec>),
    /// Operand 0 padded with the scalar operand 1.
    Pad(Box<PadSpec>),
    /// A contraction of two operands over any dimensions: a generalized matmul.
    DotGeneral(Box<DotSpec>),
    /// A convolution with any dimension numbers, dilations and groups.
    Convolution(Box<ConvSpec>),
    /// Operands: `n` inputs, then `n` scalar initial values. Region 0 combines two elements.
    Reduce {
        /// The reduced dimensions.
        dims: DimList,
    },
    /// Operands: `n` inputs, then `n` scalar initial values. Region 0 combines the elements of each window.
    ReduceWindow(Box<WindowSpec>),
    /// Operands: operand, source, initial value. Region 0 selects an element of each window, and region 1 combines the source elements that
    /// are scattered to the same position.
    SelectAndScatter(Box<WindowSpec>),
    /// Sorts all operands together along a dimension; region 0 compares two elements of each operand.
    Sort {
        /// The dimension, counted from the last if negative; `None` if not specified (-1).
        dim: Option<i64>,
        /// Whether equal elements keep their order; `None` if not specified (no).
        stable: Option<bool>,
    },
    /// Takes slices of operand 0 at the start indices in operand 1.
    Gather(Box<GatherSpec>),
    /// Operands: `n` inputs, the scatter indices, `n` updates. Region 0 combines an element with an update.
    Scatter(Box<ScatterSpec>),
    /// Takes the state of the generator; returns the new state and random bits.
    RngBitGenerator {
        /// The random number generator.
        algorithm: RngAlgorithm,
    },
    /// Discrete Fourier transform over the last dimensions.
    Fft {
        /// The kind of transform.
        kind: FftKind,
        /// Sizes of the transformed dimensions.
        length: SizeList,
    },
    /// Cholesky factor of the last two dimensions.
    Cholesky {
        /// Whether the factor is a lower triangular matrix; otherwise upper.
        lower: bool,
    },
    /// Solves triangular systems in the last two dimensions.
    TriangularSolve(Box<TriangularSpec>),
    /// Loop: region 0 is the condition, region 1 the body; both take the loop-carried values.
    While,
    /// Region `i` runs, where `i` is operand 0; the last region runs if `i` is out of range.
    Case,
    /// Region 0 runs if operand 0 is true, else region 1.
    If,
    /// Blocks code motion of its operands.
    OptimizationBarrier,
    /// Calls a function of the module.
    Call {
        /// Name of the function, without `@`.
        callee: Box<str>,
    },
    /// Ends a region. Printed as `return`, `stablehlo.return` or `sdy.return`, as its parent requires.
    Return,
    /// Calls a target that the back end knows.
    CustomCall(Box<CustomCallSpec>),
    /// Builds a tuple.
    Tuple,
    /// Extracts an element of a tuple.
    GetTupleElement {
        /// The index of the element.
        index: u32,
    },
    /// Merges tokens into one token.
    AfterAll,
    /// An all-reduce over the devices of each group; region 0 combines two elements.
    AllReduce(Box<CollectiveSpec>),
    /// An all-gather: concatenates the operands of the devices of each group along `dim`.
    AllGather {
        /// The concatenated dimension.
        dim: u32,
        /// The replica groups and the channel.
        spec: Box<CollectiveSpec>,
    },
    /// A reduce-scatter: reduces over the devices of each group, of which each keeps one block of the result along `dim`. Region 0 combines
    /// two elements.
    ReduceScatter {
        /// The dimension along which the result is split into blocks.
        dim: u32,
        /// The replica groups and the channel.
        spec: Box<CollectiveSpec>,
    },
    /// An all-to-all: each device splits its operand along one dimension, sends one block to each device of its group, and concatenates the
    /// received blocks along another dimension.
    AllToAll {
        /// The dimension along which the operand is split.
        split_dim: u32,
        /// The dimension along which the received blocks are concatenated.
        concat_dim: u32,
        /// The number of blocks, which is the number of devices in each group.
        split_count: u32,
        /// The replica groups and the channel.
        spec: Box<CollectiveSpec>,
    },
    /// A permute: each source device sends its operand to a target device. `spec.groups` are (source, target) pairs.
    CollectivePermute(Box<CollectiveSpec>),
    /// A broadcast: the first device of each group sends its operand to all devices of the group.
    CollectiveBroadcast(Box<CollectiveSpec>),
    /// This device's index among the partitions, a `ui32` scalar.
    PartitionId,
    /// This device's index among the replicas, a `ui32` scalar.
    ReplicaId,
    /// Batch normalization over all dimensions except the feature dimension, or its gradient; `batch_norm_training`, ...
    BatchNorm(BatchNormKind, BatchNormSpec),
    /// Applies region 0 to the scalars of all operands; `dims` lists every dimension in order.
    Map {
        /// The numbers of all dimensions, in order.
        dims: DimList,
    },
    /// Random numbers from a generator without explicit state; operand 2 is the shape.
    Rng(RngDistribution),
    /// An operation with an operand (such as the shape of the result) in place of an attribute of its static form; `dynamic_reshape`, ...
    Dynamic(DynamicOp),
    /// The size of dimension `dim`, an `i32` scalar.
    GetDimensionSize {
        /// The dimension whose size is returned.
        dim: u32,
    },
    /// Operand 0 with the size of dimension `dim` set to the scalar operand 1, up to a bound.
    SetDimensionSize {
        /// The dimension whose size is set.
        dim: u32,
    },
    /// Repeats the operand along new leading dimensions (deprecated).
    Broadcast {
        /// Sizes of the new dimensions.
        sizes: SizeList,
    },
    /// A contraction in einsum notation (deprecated).
    Einsum {
        /// The equation in einsum notation: `ab,bc->ac`.
        config: Box<str>,
    },
    /// An einsum of one operand (deprecated).
    UnaryEinsum {
        /// The equation in einsum notation: `ab->a`.
        config: Box<str>,
    },
    /// Takes slices of operand 0 along `dim`, at the positions in operand 1 (deprecated).
    TorchIndexSelect {
        /// The dimension that is selected from.
        dim: i64,
        /// The number of leading dimensions that are batching dimensions of both operands.
        batch_dims: i64,
    },
    /// Converts floats to quantized numbers.
    UniformQuantize,
    /// Converts quantized numbers to floats.
    UniformDequantize,
    /// A composite operation; the function `decomposition` computes the same results with other operations.
    Composite(Box<CompositeSpec>),
    /// Starts the computation in region 0; the result is a future.
    AsyncStart,
    /// Waits for a future.
    AsyncDone,
    /// Creates a token.
    CreateToken,
    /// Receives data from the host.
    Infeed(Box<InfeedSpec>),
    /// Sends data to the host.
    Outfeed {
        /// Configuration for the back end.
        config: Box<str>,
    },
    /// Sends data to another device or the host.
    Send(Box<TransferSpec>),
    /// Receives data from another device or the host.
    Recv(Box<TransferSpec>),
    /// A reduction over the devices of each group, with the result on the first of them; region 0 combines two elements.
    CollectiveReduce(Box<CollectiveSpec>),
    /// Sum over replicas (deprecated).
    CrossReplicaSum(Box<CollectiveSpec>),
    /// An element-wise CHLO operation whose operands may have different shapes; `chlo.broadcast_add`, ...
    Broadcasting(Box<BroadcastingSpec>),
    /// `chlo.constant_like`: a splat of the operand's shape.
    ConstantLike(Box<Attr>),
    /// `chlo.top_k`: the largest values of the last dimension, and their indices.
    TopK {
        /// The number of values that are returned.
        k: i64,
        /// Whether equal values keep their order; `None` if not specified (they do).
        stable: Option<bool>,
    },
    /// `chlo.ragged_dot`: a matmul with its own right operand for each group of rows.
    RaggedDot(Box<RaggedDotSpec>),
    /// `chlo.scan`: applies region 0 to each slice along a dimension, with carried values.
    Scan(Box<ScanSpec>),
    /// `sdy.sharding_constraint`: the value must have this sharding.
    ShardingConstraint(ShardingId),
    /// `sdy.reshard`: the value changes to this sharding.
    Reshard(ShardingId),
    /// A collective on a global value, from the lowering of a reshard; the global shape of the value is unchanged.
    MeshCollective(Box<MeshCollective>),
    /// `sdy.manual_computation`: region 0 has local shapes.
    ManualComputation(Box<ManualSpec>),
    /// `sdy.propagation_barrier`: shardings propagate only in the given direction.
    PropagationBarrier {
        /// The direction in which shardings propagate; [`PropagationDirection::Both`] would block nothing.
        direction: PropagationDirection,
    },
    /// `sdy.sharding_group`: all values of a group have the same sharding.
    ShardingGroup {
        /// The id of the sharding group.
        id: i64,
    },
    /// `sdy.data_flow_edge`: stores the sharding of a value that flows into or out of the regions of an operation.
    DataFlowEdge(Option<ShardingId>),
    /// `sdy.func_data_flow_edge`: stores the sharding of a value that flows into or out of a function.
    FuncDataFlowEdge,
    /// `sdy.named_computation`: region 0 is an inlined function.
    NamedComputation(Box<NamedSpec>),
    /// An operation that shardc does not know: kept unchanged.
    Opaque(Box<OpaqueSpec>),
}

impl OpKind {
    /// Hashes the variant and those static attributes in which operations on the same operand usually differ, such as slice bounds: a value
    /// may have thousands of slices. Equal kinds have equal hashes; different kinds may collide.
    pub fn hash_places(&self, state: &mut impl Hasher) {
        discriminant(self).hash(state);
        match self {
            OpKind::Slice(spec) => spec.hash(state),
            OpKind::Pad(spec) => spec.hash(state),
            OpKind::GetTupleElement { index } => index.hash(state),
            OpKind::DynamicSlice { sizes } => sizes.hash(state),
            OpKind::BroadcastInDim { dims } | OpKind::Reduce { dims } | OpKind::Reverse { dims } => {
                dims.hash(state);
            }
            OpKind::Transpose { permutation } => permutation.hash(state),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use rustc_hash::FxHasher;

    use super::*;

    #[test]
    fn slices_at_different_places_hash_differently() {
        let slice = |start: i64| {
            let spec = SliceSpec {
                start: [start].into_iter().collect(),
                limit: [start + 4].into_iter().collect(),
                stride: [1].into_iter().collect(),
            };
            let mut hasher = FxHasher::default();
            OpKind::Slice(Box::new(spec)).hash_places(&mut hasher);
            hasher.finish()
        };
        let mut hashes: Vec<u64> = (0..1000).map(slice).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 1000);
        assert_eq!(slice(4), slice(4));
    }
}
