//! The operation table: one row for each operation, except element-wise operations, which have their own tables
//! ([`elementwise`](super::elementwise)).
//!
//! Format of a row:
//!
//! ```text
//! NAME: pattern => "dialect.name" (operands) (results) (regions) RegionKind, versions of VHLO, [attributes],
//!     Effect, Access, Work, Elements, Quantized, Linear, Parts, Lowering;
//! ```
//!
//! Here `n` is a number and `n+` that number or more. [`def`](super::def) explains the columns. A new variant of [`OpKind`] does not
//! compile until it has a row. If a variant represents several operations, `many` selects the row, and the rows have no pattern.

use OpKind as K;

use super::AttrType::{
    AllToAll, Any, Axes, AxesPerDim, Bool, Bools, Carried, Channel, ChloPrecisions, ChloWord, Conv, Dense,
    DevicePairs, Dot, F32, Gather, Groups, I32, I32s, I64, Ints, ManualAxes, Number, Pairs, Precisions,
    RaggedDot, Raw, Scatter, Sharding, Shardings, Str, Symbol, Unit, Word,
};
use super::def::Access::{Broadcasts, Other, Rearranges, SamePlace, SamePlaceIfSameShape, SlicesAtRunTime};
use super::def::Effect::{Collective, DeviceNumber, Draws, Ends, Holds, MayNotEnd, Pure, World};
use super::def::Elements::{Moved, Real, Stored};
use super::def::Lowering::{Nothing, Operand, Refused, Stays};
use super::def::Parts::{AlongPassThrough, Depends, Whole};
use super::def::Quantized::{PerAxis, PerTensor};
use super::def::RegionKind::{Body, Branches, Callee, Loop};
use super::def::Work::{Contraction, Heavy, Light};
use super::def::{Absent, Arity, AttrDef, Effect, Elements, Linear, OpDef, Presence, Quantized, RegionKind};
use super::{
    AttrType, BatchNormKind, BinaryOp, BroadcastOp, BroadcastingOp, DynamicOp, MeshCollectiveKind as Mesh,
    OpKind, UnaryOp,
};

/// Declares an attribute that is always present.
const fn need(name: &'static str, ty: AttrType) -> AttrDef {
    AttrDef { name, ty, presence: Presence::Required, since: 1 }
}

/// Declares an optional attribute; `absent` is the value in VHLO of an attribute that is absent.
const fn may(name: &'static str, ty: AttrType, absent: Absent) -> AttrDef {
    AttrDef { name, ty, presence: Presence::Optional(absent), since: 1 }
}

/// Declares an optional attribute that was added in the second version of the operation.
const fn later(name: &'static str, ty: AttrType, absent: Absent) -> AttrDef {
    AttrDef { since: 2, ..may(name, ty, absent) }
}

/// Declares an attribute with a number per dimension; if the attribute is absent, all numbers are 1.
const fn ones(name: &'static str) -> AttrDef {
    may(name, Ints, Absent::All(1))
}

const fn sharding(name: &'static str) -> AttrDef {
    need(name, Sharding)
}

const FALSE: Absent = Absent::False;
const EMPTY: Absent = Absent::Empty;
const NEVER: Absent = Absent::Never;

const CHANNEL: AttrDef = may("channel_handle", Channel, Absent::Int(0));
const GLOBAL_IDS: AttrDef = may("use_global_device_ids", Unit, FALSE);
const GROUPS: AttrDef = need("replica_groups", Groups);
const SORTED: AttrDef = may("indices_are_sorted", Bool, FALSE);
const PADDING: AttrDef = may("padding", Pairs, Absent::All(0));
const PRECISION: AttrDef =
    may("precision_config", Precisions, Absent::AllText("#stablehlo<precision DEFAULT>"));
const REVERSAL: AttrDef = may("window_reversal", Bools, Absent::AllFalse);
const COMPARE_TYPE: AttrDef =
    may("compare_type", Word("comparison_type"), Absent::Text("#stablehlo<comparison_type NOTYPE>"));
const OUT: AttrDef = sharding("out_sharding");
const REDUCTION: AttrDef = may("reduction_op", Number(REDUCTIONS), NEVER);

const NORM: [AttrDef; 2] = [need("epsilon", F32), need("feature_index", I64)];
const TRANSFER: [AttrDef; 3] =
    [need("channel_handle", Channel), may("is_host_transfer", Bool, FALSE), PAIRS_OF_TRANSFER];
const PAIRS_OF_TRANSFER: AttrDef = later("source_target_pairs", DevicePairs, EMPTY);

/// The propagation directions by their number in generic form.
const DIRECTIONS: &[&str] = &["NONE", "FORWARD", "BACKWARD", "BOTH"];

/// The reductions by their number in generic form. Shardy has only the first three.
const REDUCTIONS: &[&str] = &["sum", "max", "min", "mul", "and", "or", "xor"];

/// The operation moves the elements of all operands, and is linear in them.
const MOVES: Linear = Linear::Moves { from: 0, to: u8::MAX };
/// The operation is linear in the first operand, and moves its elements as the other operands specify.
const MOVES_FIRST: Linear = Linear::Moves { from: 0, to: 1 };
const NO: Linear = Linear::No;

macro_rules! arity {
    ($n:literal) => {
        Arity::Exactly($n)
    };
    ($n:literal +) => {
        Arity::AtLeast($n)
    };
}

macro_rules! table {
    (
        many { $($many:pat => $row:expr,)* }
        $($id:ident: $($kind:pat)? => $name:literal ($($operands:tt)+) ($($results:tt)+) ($($regions:tt)+)
            $region_kind:expr, $vhlo:literal, $attrs:expr,
            $effect:expr, $access:expr, $work:expr, $elements:expr, $quantized:expr, $linear:expr,
            $parts:expr, $lowering:expr;)*
    ) => {
        $(static $id: OpDef = OpDef {
            name: $name,
            attrs: &$attrs,
            operands: arity!($($operands)+),
            results: arity!($($results)+),
            regions: arity!($($regions)+),
            region_kind: $region_kind,
            vhlo: $vhlo,
            effect: $effect,
            access: $access,
            work: $work,
            elements: $elements,
            quantized: $quantized,
            linear: $linear,
            parts: $parts,
            lowering: $lowering,
            // Only element-wise operations are commutative.
            commutative: false,
        };)*

        /// The rows of operations that are not element-wise.
        static ROWS: &[&OpDef] = &[$(&$id,)*];

        impl OpKind {
            /// The properties of this kind of operation.
            #[must_use]
            pub fn def(&self) -> &'static OpDef {
                match self {
                    $($many => $row,)*
                    $($($kind => &$id,)?)*
                }
            }
        }
    };
}

impl Mesh {
    fn def(&self) -> &'static OpDef {
        match self {
            Mesh::AllGather(_) => &MESH_ALL_GATHER,
            Mesh::AllSlice(_) => &MESH_ALL_SLICE,
            Mesh::AllToAll(_) => &MESH_ALL_TO_ALL,
            Mesh::CollectivePermute => &MESH_COLLECTIVE_PERMUTE,
            Mesh::Exchange => &MESH_EXCHANGE,
            Mesh::AllReduce(..) => &MESH_ALL_REDUCE,
            Mesh::ReduceScatter(..) => &MESH_REDUCE_SCATTER,
            Mesh::ShardedToUnreduced(_) => &SHARDED_TO_UNREDUCED,
            Mesh::ReplicatedToUnreduced(_) => &REPLICATED_TO_UNREDUCED,
        }
    }

    /// Full name of the operation, with dialect.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.def().name
    }
}

impl OpDef {
    /// All rows of the table, in no particular order.
    pub fn all() -> impl Iterator<Item = &'static OpDef> {
        let elementwise = UnaryOp::ALL.iter().map(|op| op.def());
        let elementwise = elementwise.chain(BinaryOp::ALL.iter().map(|op| op.def()));
        let elementwise = elementwise.chain(BroadcastOp::ALL.iter().map(|op| op.def()));
        elementwise.chain(ROWS.iter().copied())
    }
}

/// The operation has no regions.
const NONE: RegionKind = RegionKind::None;
/// The regions combine single elements.
const ELEMENTS: RegionKind = RegionKind::Elements;
/// The operation accepts no quantized elements.
const NOT: Quantized = Quantized::No;

table! {
many {
    K::Unary(op) => op.def(),
    K::Binary(op) => op.def(),
    K::Broadcasting(spec) => match spec.op {
        BroadcastingOp::Binary(op) => op.def(),
        BroadcastingOp::Compare(..) => &BROADCAST_COMPARE,
        BroadcastingOp::Select => &BROADCAST_SELECT,
    },
    K::MeshCollective(collective) => collective.kind.def(),
}

// Element-wise operations with attributes or with more operands.
COMPARE: K::Compare(..) => "stablehlo.compare" (2) (1) (0) NONE, 1,
    [COMPARE_TYPE, need("comparison_direction", Word("comparison_direction"))],
    Pure, SamePlace, Light, Real, PerTensor, NO, AlongPassThrough, Stays;
SELECT: K::Select => "stablehlo.select" (3) (1) (0) NONE, 1, [],
    Pure, SamePlace, Light, Moved, PerTensor, Linear::Moves { from: 1, to: 3 }, AlongPassThrough, Stays;
CLAMP: K::Clamp => "stablehlo.clamp" (3) (1) (0) NONE, 1, [],
    Pure, SamePlace, Light, Real, PerTensor, NO, AlongPassThrough, Stays;
CONVERT: K::Convert => "stablehlo.convert" (1) (1) (0) NONE, 1, [],
    Pure, SamePlace, Light, Real, NOT, Linear::Depends, AlongPassThrough, Stays;
BITCAST_CONVERT: K::BitcastConvert => "stablehlo.bitcast_convert" (1) (1) (0) NONE, 1, [],
    Pure, SamePlaceIfSameShape, Light, Stored, PerAxis, NO, Depends, Stays;
REDUCE_PRECISION: K::ReducePrecision { .. } => "stablehlo.reduce_precision" (1) (1) (0) NONE, 1,
    [need("exponent_bits", I32), need("mantissa_bits", I32)],
    Pure, SamePlace, Light, Real, PerTensor, Linear::Depends, AlongPassThrough, Stays;
UNIFORM_QUANTIZE: K::UniformQuantize => "stablehlo.uniform_quantize" (1) (1) (0) NONE, 1, [],
    Pure, Other, Light, Real, PerAxis, NO, AlongPassThrough, Stays;
UNIFORM_DEQUANTIZE: K::UniformDequantize => "stablehlo.uniform_dequantize" (1) (1) (0) NONE, 1, [],
    Pure, Other, Light, Real, PerAxis, NO, AlongPassThrough, Stays;

// Constants, iota, random numbers, device numbers and sizes.
CONSTANT: K::Constant(_) => "stablehlo.constant" (0) (1) (0) NONE, 1, [need("value", Dense)],
    Pure, Other, Light, Stored, PerAxis, NO, Whole, Stays;
IOTA: K::Iota { .. } => "stablehlo.iota" (0) (1) (0) NONE, 1, [need("iota_dimension", I64)],
    Pure, Other, Light, Real, PerTensor, NO, Whole, Stays;
DYNAMIC_IOTA: K::Dynamic(DynamicOp::Iota { .. }) => "stablehlo.dynamic_iota" (1) (1) (0) NONE, 1,
    [need("iota_dimension", I64)],
    Pure, Other, Light, Moved, PerTensor, NO, Whole, Stays;
RNG_BIT_GENERATOR: K::RngBitGenerator { .. } => "stablehlo.rng_bit_generator" (1) (2) (0) NONE, 1,
    [need("rng_algorithm", Word("rng_algorithm"))],
    Pure, Other, Light, Real, NOT, NO, Whole, Stays;
RNG: K::Rng(_) => "stablehlo.rng" (3) (1) (0) NONE, 1, [need("rng_distribution", Word("rng_distribution"))],
    Draws, Other, Light, Real, NOT, NO, Whole, Stays;
PARTITION_ID: K::PartitionId => "stablehlo.partition_id" (0) (1) (0) NONE, 1, [],
    DeviceNumber, Other, Light, Stored, NOT, NO, Whole, Stays;
REPLICA_ID: K::ReplicaId => "stablehlo.replica_id" (0) (1) (0) NONE, 1, [],
    DeviceNumber, Other, Light, Stored, NOT, NO, Whole, Stays;
GET_DIMENSION_SIZE: K::GetDimensionSize { .. } => "stablehlo.get_dimension_size" (1) (1) (0) NONE, 1,
    [need("dimension", I64)],
    Pure, Other, Light, Stored, PerAxis, NO, Whole, Stays;

// Operations that move elements.
BROADCAST_IN_DIM: K::BroadcastInDim { .. } => "stablehlo.broadcast_in_dim" (1) (1) (0) NONE, 1,
    [need("broadcast_dimensions", Ints)],
    Pure, Broadcasts, Light, Moved, PerAxis, MOVES, AlongPassThrough, Stays;
DYNAMIC_BROADCAST_IN_DIM: K::Dynamic(DynamicOp::BroadcastInDim(_)) =>
    "stablehlo.dynamic_broadcast_in_dim" (2) (1) (0) NONE, 1,
    [need("broadcast_dimensions", Ints), may("known_expanding_dimensions", Ints, EMPTY),
        may("known_nonexpanding_dimensions", Ints, EMPTY)],
    Pure, Other, Light, Moved, PerAxis, NO, Whole, Stays;
BROADCAST: K::Broadcast { .. } => "stablehlo.broadcast" (1) (1) (0) NONE, 1,
    [need("broadcast_sizes", Ints)],
    Pure, Other, Light, Moved, PerAxis, MOVES, Whole, Stays;
RESHAPE: K::Reshape => "stablehlo.reshape" (1) (1) (0) NONE, 1, [],
    Pure, Rearranges, Light, Moved, PerAxis, MOVES, Depends, Stays;
DYNAMIC_RESHAPE: K::Dynamic(DynamicOp::Reshape) => "stablehlo.dynamic_reshape" (2) (1) (0) NONE, 1, [],
    Pure, Other, Light, Moved, PerAxis, NO, Whole, Stays;
TRANSPOSE: K::Transpose { .. } => "stablehlo.transpose" (1) (1) (0) NONE, 1, [need("permutation", Ints)],
    Pure, Rearranges, Light, Moved, PerAxis, MOVES, AlongPassThrough, Stays;
REVERSE: K::Reverse { .. } => "stablehlo.reverse" (1) (1) (0) NONE, 1, [need("dimensions", Ints)],
    Pure, Other, Light, Moved, PerTensor, MOVES, AlongPassThrough, Stays;
SLICE: K::Slice(_) => "stablehlo.slice" (1) (1) (0) NONE, 1,
    [need("limit_indices", Ints), need("start_indices", Ints), need("strides", Ints)],
    Pure, Other, Light, Moved, PerTensor, MOVES, Depends, Stays;
REAL_DYNAMIC_SLICE: K::Dynamic(DynamicOp::RealSlice) => "stablehlo.real_dynamic_slice" (4) (1) (0) NONE, 1, [],
    Pure, Other, Light, Moved, PerTensor, NO, Whole, Stays;
DYNAMIC_SLICE: K::DynamicSlice { .. } => "stablehlo.dynamic_slice" (1+) (1) (0) NONE, 1,
    [need("slice_sizes", Ints)],
    Pure, SlicesAtRunTime, Light, Moved, PerTensor, MOVES_FIRST, Depends, Stays;
DYNAMIC_UPDATE_SLICE: K::DynamicUpdateSlice => "stablehlo.dynamic_update_slice" (2+) (1) (0) NONE, 1, [],
    Pure, SlicesAtRunTime, Light, Moved, PerTensor, Linear::Moves { from: 0, to: 2 }, Depends, Stays;
CONCATENATE: K::Concatenate { .. } => "stablehlo.concatenate" (1+) (1) (0) NONE, 1,
    [need("dimension", I64)],
    Pure, Other, Light, Moved, PerTensor, MOVES, AlongPassThrough, Stays;
SPLICE: K::Splice(_) => "shardc.splice" (1+) (1) (0) NONE, 0,
    [need("dimension", I64), need("pieces", Ints)],
    Pure, Other, Light, Moved, PerTensor, MOVES, AlongPassThrough, Refused;
PAD: K::Pad(_) => "stablehlo.pad" (2) (1) (0) NONE, 1,
    [need("edge_padding_high", Ints), need("edge_padding_low", Ints), need("interior_padding", Ints)],
    Pure, Other, Light, Moved, PerTensor, MOVES, AlongPassThrough, Stays;
DYNAMIC_PAD: K::Dynamic(DynamicOp::Pad) => "stablehlo.dynamic_pad" (5) (1) (0) NONE, 1, [],
    Pure, Other, Light, Moved, PerTensor, NO, Whole, Stays;
GATHER: K::Gather(_) => "stablehlo.gather" (2) (1) (0) NONE, 0,
    [need("dimension_numbers", Gather), SORTED, need("slice_sizes", Ints)],
    Pure, Other, Light, Moved, PerTensor, MOVES_FIRST, Depends, Stays;
DYNAMIC_GATHER: K::Dynamic(DynamicOp::Gather(_)) => "stablehlo.dynamic_gather" (3) (1) (0) NONE, 0,
    [need("dimension_numbers", Gather), SORTED],
    Pure, Other, Light, Moved, PerTensor, NO, Whole, Stays;
TORCH_INDEX_SELECT: K::TorchIndexSelect { .. } => "stablehlo.torch_index_select" (2) (1) (0) NONE, 1,
    [need("batch_dims", I64), need("dim", I64)],
    Pure, Other, Light, Moved, PerTensor, MOVES_FIRST, Whole, Stays;
SET_DIMENSION_SIZE: K::SetDimensionSize { .. } => "stablehlo.set_dimension_size" (2) (1) (0) NONE, 1,
    [need("dimension", I64)],
    Pure, Other, Light, Stored, PerTensor, NO, Whole, Stays;

// Contractions and linear algebra.
DOT_GENERAL: K::DotGeneral(_) => "stablehlo.dot_general" (2) (1) (0) NONE, 0,
    [may("algorithm", Raw, NEVER), need("dot_dimension_numbers", Dot), PRECISION],
    Pure, Other, Contraction, Real, PerAxis, Linear::EitherSums, Depends, Stays;
EINSUM: K::Einsum { .. } => "stablehlo.einsum" (2) (1) (0) NONE, 1, [need("einsum_config", Str)],
    Pure, Other, Contraction, Real, PerTensor, NO, Whole, Stays;
UNARY_EINSUM: K::UnaryEinsum { .. } => "stablehlo.unary_einsum" (1) (1) (0) NONE, 1,
    [need("einsum_config", Str)],
    Pure, Other, Light, Real, PerTensor, NO, Whole, Stays;
CONVOLUTION: K::Convolution(_) => "stablehlo.convolution" (2) (1) (0) NONE, 0,
    [need("batch_group_count", I64), need("dimension_numbers", Conv), need("feature_group_count", I64),
        ones("lhs_dilation"), PADDING, PRECISION, ones("rhs_dilation"), REVERSAL, ones("window_strides")],
    Pure, Other, Contraction, Real, PerAxis, Linear::EitherSums, Depends, Stays;
DYNAMIC_CONV: K::Dynamic(DynamicOp::Convolution(_)) => "stablehlo.dynamic_conv" (3) (1) (0) NONE, 0,
    [need("batch_group_count", I64), need("dimension_numbers", Conv), need("feature_group_count", I64),
        ones("lhs_dilation"), PRECISION, ones("rhs_dilation"), REVERSAL, ones("window_strides")],
    Pure, Other, Contraction, Moved, PerAxis, NO, Whole, Stays;
FFT: K::Fft { .. } => "stablehlo.fft" (1) (1) (0) NONE, 1,
    [need("fft_length", Ints), need("fft_type", Word("fft_type"))],
    Pure, Other, Heavy, Real, NOT, Linear::Sums { from: 0, to: 1 }, AlongPassThrough, Stays;
CHOLESKY: K::Cholesky { .. } => "stablehlo.cholesky" (1) (1) (0) NONE, 1, [may("lower", Bool, FALSE)],
    Pure, Other, Heavy, Real, PerTensor, NO, AlongPassThrough, Stays;
TRIANGULAR_SOLVE: K::TriangularSolve(_) => "stablehlo.triangular_solve" (2) (1) (0) NONE, 1,
    [need("left_side", Bool), need("lower", Bool), need("transpose_a", Word("transpose")),
        need("unit_diagonal", Bool)],
    Pure, Other, Heavy, Real, NOT, Linear::Sums { from: 1, to: 2 }, AlongPassThrough, Stays;
BATCH_NORM_TRAINING: K::BatchNorm(BatchNormKind::Training, _) =>
    "stablehlo.batch_norm_training" (3) (3) (0) NONE, 1, NORM,
    Pure, Other, Light, Real, PerTensor, NO, AlongPassThrough, Stays;
BATCH_NORM_INFERENCE: K::BatchNorm(BatchNormKind::Inference, _) =>
    "stablehlo.batch_norm_inference" (5) (1) (0) NONE, 1, NORM,
    Pure, Other, Light, Real, PerTensor, NO, AlongPassThrough, Stays;
BATCH_NORM_GRAD: K::BatchNorm(BatchNormKind::Grad, _) => "stablehlo.batch_norm_grad" (5) (3) (0) NONE, 1, NORM,
    Pure, Other, Light, Real, PerTensor, NO, AlongPassThrough, Stays;

// Reductions, sorting, scatter and maps.
REDUCE: K::Reduce { .. } => "stablehlo.reduce" (2+) (1+) (1) ELEMENTS, 1, [need("dimensions", Ints)],
    Pure, Other, Light, Stored, PerTensor, Linear::Depends, Depends, Stays;
REDUCE_WINDOW: K::ReduceWindow(_) => "stablehlo.reduce_window" (2+) (1+) (1) ELEMENTS, 1,
    [ones("base_dilations"), PADDING, ones("window_dilations"), need("window_dimensions", Ints),
        ones("window_strides")],
    Pure, Other, Light, Stored, PerTensor, Linear::Depends, AlongPassThrough, Stays;
SELECT_AND_SCATTER: K::SelectAndScatter(_) => "stablehlo.select_and_scatter" (3) (1) (2) ELEMENTS, 1,
    [PADDING, may("window_dimensions", Ints, NEVER), ones("window_strides")],
    Pure, Other, Light, Stored, PerTensor, Linear::Depends, AlongPassThrough, Stays;
SORT: K::Sort { .. } => "stablehlo.sort" (1+) (1+) (1) ELEMENTS, 1,
    [may("dimension", I64, Absent::Int(-1)), may("is_stable", Bool, FALSE)],
    Pure, Other, Heavy, Stored, PerTensor, NO, Depends, Stays;
SCATTER: K::Scatter(_) => "stablehlo.scatter" (3+) (1+) (1) ELEMENTS, 0,
    [SORTED, need("scatter_dimension_numbers", Scatter), may("unique_indices", Bool, FALSE)],
    Pure, Other, Light, Stored, PerTensor, Linear::Depends, Depends, Stays;
MAP: K::Map { .. } => "stablehlo.map" (1+) (1) (1) ELEMENTS, 1, [need("dimensions", Ints)],
    Pure, Other, Light, Stored, PerTensor, NO, AlongPassThrough, Stays;

// Control flow, calls, barriers, tuples and tokens.
WHILE: K::While => "stablehlo.while" (0+) (0+) (2) Loop, 1, [],
    MayNotEnd, Other, Light, Stored, PerAxis, NO, Whole, Stays;
CASE: K::Case => "stablehlo.case" (1) (0+) (1+) Branches, 1, [],
    Pure, Other, Light, Stored, PerAxis, NO, Whole, Stays;
IF: K::If => "stablehlo.if" (1) (0+) (2) Branches, 1, [],
    Pure, Other, Light, Stored, PerAxis, NO, Whole, Stays;
RETURN: K::Return => "stablehlo.return" (0+) (0) (0) NONE, 1, [],
    Ends, Other, Light, Stored, PerAxis, NO, Whole, Stays;
CALL: K::Call { .. } => "func.call" (0+) (0+) (0) NONE, 0,
    [may("arg_attrs", Carried, NEVER), need("callee", Symbol), may("no_inline", Carried, NEVER),
        may("res_attrs", Carried, NEVER)],
    Effect::Unknown, Other, Light, Stored, PerAxis, NO, Whole, Stays;
CUSTOM_CALL: K::CustomCall(_) => "stablehlo.custom_call" (0+) (0+) (0) NONE, 0,
    [may("api_version", Carried, NEVER), may("backend_config", Carried, NEVER),
        need("call_target_name", Str), may("called_computations", Carried, NEVER),
        may("has_side_effect", Carried, NEVER), may("operand_layouts", Carried, NEVER),
        may("output_operand_aliases", Carried, NEVER), may("result_layouts", Carried, NEVER),
        may("result_tilings", Carried, NEVER)],
    Effect::Unknown, Other, Light, Elements::Unknown, PerAxis, NO, Depends, Stays;
COMPOSITE: K::Composite(_) => "stablehlo.composite" (0+) (0+) (0+) Callee, 2,
    [may("composite_attributes", Any, EMPTY), need("decomposition", Symbol), need("name", Str),
        may("version", I32, Absent::Int(0))],
    Effect::Unknown, Other, Light, Elements::Unknown, PerAxis, NO, Whole, Stays;
OPTIMIZATION_BARRIER: K::OptimizationBarrier => "stablehlo.optimization_barrier" (0+) (0+) (0) NONE, 1, [],
    Holds, Other, Light, Stored, PerTensor, MOVES, Whole, Stays;
TUPLE: K::Tuple => "stablehlo.tuple" (0+) (1) (0) NONE, 1, [],
    Pure, Other, Light, Stored, PerAxis, MOVES, Whole, Stays;
GET_TUPLE_ELEMENT: K::GetTupleElement { .. } => "stablehlo.get_tuple_element" (1) (1) (0) NONE, 1,
    [need("index", I32)],
    Pure, Other, Light, Stored, PerAxis, MOVES, Whole, Stays;
CREATE_TOKEN: K::CreateToken => "stablehlo.create_token" (0) (1) (0) NONE, 1, [],
    Pure, Other, Light, Stored, PerAxis, NO, Whole, Stays;
AFTER_ALL: K::AfterAll => "stablehlo.after_all" (0+) (1) (0) NONE, 1, [],
    Pure, Other, Light, Stored, PerAxis, NO, Whole, Stays;
ASYNC_START: K::AsyncStart => "stablehlo.async_start" (0+) (1) (1) Callee, 1, [],
    Effect::Unknown, Other, Light, Stored, PerAxis, NO, Whole, Stays;
ASYNC_DONE: K::AsyncDone => "stablehlo.async_done" (1) (0+) (0) NONE, 1, [],
    Effect::Unknown, Other, Light, Stored, PerAxis, NO, Whole, Stays;

// Communication with other devices and with the host.
ALL_REDUCE: K::AllReduce(_) => "stablehlo.all_reduce" (1+) (1+) (1) ELEMENTS, 2,
    [CHANNEL, GROUPS, GLOBAL_IDS],
    Collective, Other, Light, Stored, PerTensor, NO, AlongPassThrough, Stays;
ALL_GATHER: K::AllGather { .. } => "stablehlo.all_gather" (1+) (1+) (0) NONE, 2,
    [need("all_gather_dim", I64), CHANNEL, GROUPS, GLOBAL_IDS],
    Collective, Other, Light, Stored, PerTensor, NO, AlongPassThrough, Stays;
REDUCE_SCATTER: K::ReduceScatter { .. } => "stablehlo.reduce_scatter" (1) (1) (1) ELEMENTS, 1,
    [CHANNEL, GROUPS, need("scatter_dimension", I64), GLOBAL_IDS],
    Collective, Other, Light, Stored, PerTensor, NO, AlongPassThrough, Stays;
ALL_TO_ALL: K::AllToAll { .. } => "stablehlo.all_to_all" (1+) (1+) (0) NONE, 2,
    [CHANNEL, need("concat_dimension", I64), GROUPS, need("split_count", I64),
        need("split_dimension", I64)],
    Collective, Other, Light, Stored, PerTensor, NO, AlongPassThrough, Stays;
COLLECTIVE_PERMUTE: K::CollectivePermute(_) => "stablehlo.collective_permute" (1) (1) (0) NONE, 1,
    [CHANNEL, need("source_target_pairs", DevicePairs)],
    Collective, Other, Light, Stored, PerTensor, NO, AlongPassThrough, Stays;
COLLECTIVE_BROADCAST: K::CollectiveBroadcast(_) => "stablehlo.collective_broadcast" (1+) (1+) (0) NONE, 2,
    [CHANNEL, later("has_dynamic_root", Unit, FALSE), GROUPS],
    Collective, Other, Light, Stored, PerTensor, NO, AlongPassThrough, Stays;
COLLECTIVE_REDUCE: K::CollectiveReduce(_) => "stablehlo.collective_reduce" (1+) (1+) (1) ELEMENTS, 1,
    [CHANNEL, may("has_dynamic_root", Unit, FALSE), GROUPS, GLOBAL_IDS],
    Collective, Other, Light, Stored, PerTensor, NO, Whole, Stays;
CROSS_REPLICA_SUM: K::CrossReplicaSum(_) => "stablehlo.cross-replica-sum" (1) (1) (0) NONE, 1, [GROUPS],
    Collective, Other, Light, Real, PerTensor, NO, Whole, Stays;
INFEED: K::Infeed(_) => "stablehlo.infeed" (1) (0+) (0) NONE, 1,
    [may("infeed_config", Str, NEVER), may("layout", Any, EMPTY)],
    World, Other, Light, Stored, PerAxis, NO, Whole, Stays;
OUTFEED: K::Outfeed { .. } => "stablehlo.outfeed" (1+) (1) (0) NONE, 1, [may("outfeed_config", Str, NEVER)],
    World, Other, Light, Stored, PerAxis, NO, Whole, Stays;
SEND: K::Send(_) => "stablehlo.send" (1+) (1) (0) NONE, 0, TRANSFER,
    World, Other, Light, Stored, PerAxis, NO, Whole, Stays;
RECV: K::Recv(_) => "stablehlo.recv" (1) (0+) (0) NONE, 0, TRANSFER,
    World, Other, Light, Stored, PerAxis, NO, Whole, Stays;

// Operations of the CHLO dialect.
CONSTANT_LIKE: K::ConstantLike(_) => "chlo.constant_like" (1) (1) (0) NONE, 0, [need("value", Any)],
    Pure, Other, Light, Real, PerAxis, NO, AlongPassThrough, Stays;
TOP_K: K::TopK { .. } => "chlo.top_k" (1) (2) (0) NONE, 0,
    [later("is_stable", Bool, NEVER), need("k", I64)],
    Pure, Other, Heavy, Real, PerAxis, NO, Depends, Stays;
RAGGED_DOT: K::RaggedDot(_) => "chlo.ragged_dot" (3) (1) (0) NONE, 0,
    [may("precision_config", ChloPrecisions, NEVER), need("ragged_dot_dimension_numbers", RaggedDot)],
    Pure, Other, Contraction, Real, PerAxis, NO, Depends, Stays;
SCAN: K::Scan(_) => "chlo.scan" (0+) (0+) (1) Callee, 0,
    [need("dimension", I64), may("is_associative", Bool, NEVER), may("is_reverse", Bool, NEVER),
        need("operandSegmentSizes", I32s), need("resultSegmentSizes", I32s),
        may("scan_dim_size", I64, NEVER)],
    Pure, Other, Light, Stored, PerAxis, NO, Whole, Stays;

// Operations of the `sdy` dialect, which concern shardings.
SHARDING_CONSTRAINT: K::ShardingConstraint(_) => "sdy.sharding_constraint" (1) (1) (0) NONE, 0,
    [sharding("sharding")],
    Pure, SamePlace, Light, Stored, PerAxis, NO, Whole, Operand;
RESHARD: K::Reshard(_) => "sdy.reshard" (1) (1) (0) NONE, 0, [sharding("sharding")],
    Pure, SamePlace, Light, Stored, PerAxis, NO, Whole, Operand;
MANUAL_COMPUTATION: K::ManualComputation(_) => "sdy.manual_computation" (0+) (0+) (1) Body, 0,
    [need("in_shardings", Shardings), need("manual_axes", ManualAxes), need("out_shardings", Shardings)],
    Pure, Other, Light, Stored, PerAxis, NO, Whole, Refused;
NAMED_COMPUTATION: K::NamedComputation(_) => "sdy.named_computation" (0+) (0+) (1) Callee, 0,
    [may("in_shardings", Shardings, NEVER), need("name", Str), may("out_shardings", Shardings, NEVER)],
    Pure, Other, Light, Stored, PerAxis, NO, Whole, Stays;
PROPAGATION_BARRIER: K::PropagationBarrier { .. } => "sdy.propagation_barrier" (1) (1) (0) NONE, 0,
    [need("allowed_direction", Number(DIRECTIONS))],
    Holds, SamePlace, Light, Stored, PerAxis, MOVES, Whole, Operand;
SHARDING_GROUP: K::ShardingGroup { .. } => "sdy.sharding_group" (1) (0) (0) NONE, 0,
    [need("group_id", I64)],
    Holds, Other, Light, Stored, PerAxis, NO, Whole, Nothing;
DATA_FLOW_EDGE: K::DataFlowEdge(_) => "sdy.data_flow_edge" (1) (1) (0) NONE, 0,
    [may("sharding", Sharding, NEVER)],
    Holds, Other, Light, Stored, PerAxis, NO, Whole, Operand;
FUNC_DATA_FLOW_EDGE: K::FuncDataFlowEdge => "sdy.func_data_flow_edge" (1) (1) (0) NONE, 0, [],
    Holds, Other, Light, Stored, PerAxis, NO, Whole, Operand;
OPAQUE: K::Opaque(_) => "" (0+) (0+) (0+) Callee, 0, [],
    Effect::Unknown, Other, Light, Elements::Unknown, PerAxis, NO, Whole, Stays;

// Rows of variants that represent several operations.
MESH_ALL_GATHER: => "sdy.all_gather" (1) (1) (0) NONE, 0, [need("gathering_axes", AxesPerDim), OUT],
    Pure, Other, Light, Stored, PerAxis, NO, Whole, Refused;
MESH_ALL_SLICE: => "sdy.all_slice" (1) (1) (0) NONE, 0, [OUT, need("slicing_axes", AxesPerDim)],
    Pure, Other, Light, Stored, PerAxis, NO, Whole, Refused;
MESH_ALL_TO_ALL: => "sdy.all_to_all" (1) (1) (0) NONE, 0, [OUT, need("params", AllToAll)],
    Pure, Other, Light, Stored, PerAxis, NO, Whole, Refused;
MESH_COLLECTIVE_PERMUTE: => "sdy.collective_permute" (1) (1) (0) NONE, 0, [OUT],
    Pure, Other, Light, Stored, PerAxis, NO, Whole, Refused;
MESH_EXCHANGE: => "shardc.exchange" (1) (1) (0) NONE, 0, [OUT],
    Pure, Other, Light, Stored, PerAxis, NO, Whole, Refused;
MESH_ALL_REDUCE: => "sdy.all_reduce" (1) (1) (0) NONE, 0,
    [OUT, need("reduction_axes", Axes), REDUCTION],
    Pure, Other, Light, Stored, PerAxis, NO, Whole, Refused;
MESH_REDUCE_SCATTER: => "sdy.reduce_scatter" (1) (1) (0) NONE, 0,
    [OUT, need("reduce_scatter_axes", AxesPerDim), REDUCTION],
    Pure, Other, Light, Stored, PerAxis, NO, Whole, Refused;
SHARDED_TO_UNREDUCED: => "sdy.sharded_to_unreduced" (1) (1) (0) NONE, 0,
    [need("axes", AxesPerDim), OUT],
    Pure, Other, Light, Stored, PerAxis, NO, Whole, Refused;
REPLICATED_TO_UNREDUCED: => "sdy.replicated_to_unreduced" (1) (1) (0) NONE, 0,
    [need("axes", Axes), OUT],
    Pure, Other, Light, Stored, PerAxis, NO, Whole, Refused;
BROADCAST_COMPARE: => "chlo.broadcast_compare" (2) (1) (0) NONE, 0,
    [may("broadcast_dimensions", Ints, NEVER), may("compare_type", ChloWord("comparison_type"), NEVER),
        need("comparison_direction", ChloWord("comparison_direction"))],
    Pure, Other, Light, Real, PerAxis, NO, AlongPassThrough, Stays;
BROADCAST_SELECT: => "chlo.broadcast_select" (3) (1) (0) NONE, 0, [],
    Pure, Other, Light, Real, PerAxis, NO, AlongPassThrough, Stays;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn rows_agree_with_themselves() {
        let mut names = BTreeSet::new();
        for def in OpDef::all() {
            assert!(names.insert(def.name), "{} has two rows", def.name);
            assert!(def.attrs.is_sorted_by(|a, b| a.name < b.name), "{}", def.name);
            assert_eq!(def.regions == Arity::NONE, def.region_kind == RegionKind::None, "{}", def.name);
            assert!(def.vhlo == 0 || def.name.starts_with("stablehlo."), "{}", def.name);
            assert!(!def.commutative || def.operands == Arity::Exactly(2), "{}", def.name);
        }
    }

    #[test]
    fn elementwise_operations_are_found_by_name() {
        for &op in UnaryOp::ALL {
            assert_eq!((UnaryOp::parse(op.name()), OpKind::Unary(op).name()), (Some(op), op.name()));
        }
        for &op in BroadcastOp::ALL {
            assert_eq!(BroadcastOp::parse(op.name()), Some(op));
            assert_eq!(op.name().replace("broadcast_", ""), op.op().name().replace("stablehlo", "chlo"));
        }
    }
}
