//! One row per operation: inherent attributes and the pieces of the pretty form.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use shardc_ir::{BinaryOp, UnaryOp};

use super::AttrType::{self, *};

/// A piece of a pretty form. Reading and printing follow the same list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Literal text; blanks separate tokens and are printed as they stand.
    L(&'static str),
    /// The next operand.
    One,
    /// All operands that are left, separated by commas.
    All,
    /// The inherent attribute of this name.
    A(&'static str),
    /// Literal text and an attribute, both left out where the attribute is absent.
    Opt(&'static str, &'static str),
    /// A keyword attribute and a blank, left out where absent.
    Lead(&'static str),
    /// Discardable attributes.
    Dict,
    /// `T` where operands and results have that type, else `(T, U) -> V`.
    Same,
    /// `(T, U) -> V`.
    Functional,
    /// The type of the only result.
    Result,
    /// The one type of all operands; no results.
    Operand,
    /// The types of the operands; no results.
    Operands,
    /// `P, T`: predicate, then operands and result; else `(P, T, U) -> V`.
    Select,
    /// The complex result type; the operands have its element's type.
    Complex,
    /// `T, U -> V`, results in parentheses where there are several.
    Arrow,
    /// The result tuple's type; the operands have its items' types.
    Tuple,
    /// `[1:4, 0:8:2]` of a slice.
    Ranges,
    /// `batching_dims = [0] x [0], contracting_dims = [2] x [1]`.
    DotDims,
    /// `{stride = [1, 1], ...}` of a convolution.
    Window,
    /// `e8m7`.
    ExpMant,
}

use Piece::{
    A, All, Arrow, Complex, Dict, DotDims, ExpMant, Functional, L, Lead, One, Operand, Operands, Opt, Ranges,
    Result, Same, Select, Tuple, Window,
};

/// How an operation's pretty form is read and printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pretty {
    /// There is none: MLIR prints the generic form.
    None,
    /// Piece by piece.
    Pieces(&'static [Piece]),
    /// By code of its own.
    Own(Own),
}

/// Operations whose pretty form has code of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    Constant,
    Reduce,
    While,
    Call,
    Return,
    CustomCall,
    OptimizationBarrier,
    ManualComputation,
    NamedComputation,
}

/// An elementwise operation, whose kind its name alone tells.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Elementwise {
    Unary(UnaryOp),
    Binary(BinaryOp),
}

/// What is known about the syntax of one operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Full name, with dialect.
    pub(crate) name: &'static str,
    /// Inherent attributes.
    pub(crate) attrs: &'static [(&'static str, AttrType)],
    /// The pretty form.
    pub(crate) pretty: Pretty,
    /// The kind of an elementwise operation.
    pub(crate) elementwise: Option<Elementwise>,
    /// Names that MLIR derives value names of the results from.
    pub(crate) result_names: &'static [&'static str],
}

impl Row {
    /// The name and type of an inherent attribute.
    pub(crate) fn attr(&self, name: &str) -> Option<(&'static str, AttrType)> {
        self.attrs.iter().copied().find(|(n, _)| *n == name)
    }
}

const SAME_1: &[Piece] = &[L(" "), One, Dict, L(" : "), Same];
const SAME_2: &[Piece] = &[L(" "), One, L(", "), One, Dict, L(" : "), Same];
const FUNCTIONAL: &[Piece] = &[L(" "), All, Dict, L(" : "), Functional];
const ARROW: &[Piece] = &[L(" "), All, Dict, L(" : "), Arrow];

const TO_UNREDUCED: &[Piece] =
    &[L(" "), A("axes"), L(" "), One, L(" out_sharding="), A("out_sharding"), Dict, L(" : "), Same];

const COLLECTIVE: &[(&str, AttrType)] =
    &[("channel_handle", Channel), ("replica_groups", Groups), ("use_global_device_ids", Unit)];

const DIRECTIONS: &[&str] = &["NONE", "FORWARD", "BACKWARD", "BOTH"];
const REDUCTIONS: &[&str] = &["sum", "max", "min"];

type Spec = (&'static str, &'static [(&'static str, AttrType)], Pretty);

const fn pieces(pieces: &'static [Piece]) -> Pretty {
    Pretty::Pieces(pieces)
}

/// Every operation whose [`OpKind`](shardc_ir::OpKind) is not elementwise.
const SPECS: &[Spec] = &[
    (
        "stablehlo.compare",
        &[("comparison_direction", Word("comparison_direction")), ("compare_type", Word("comparison_type"))],
        pieces(&[
            L(" "),
            A("comparison_direction"),
            L(", "),
            One,
            L(", "),
            One,
            Opt(", ", "compare_type"),
            Dict,
            L(" : "),
            Functional,
        ]),
    ),
    ("stablehlo.select", &[], pieces(&[L(" "), All, Dict, L(" : "), Select])),
    ("stablehlo.clamp", &[], pieces(&[L(" "), All, Dict, L(" : "), Same])),
    ("stablehlo.convert", &[], pieces(SAME_1)),
    ("stablehlo.bitcast_convert", &[], pieces(FUNCTIONAL)),
    (
        "stablehlo.reduce_precision",
        &[("exponent_bits", I32), ("mantissa_bits", I32)],
        pieces(&[L(" "), One, L(", format = "), ExpMant, Dict, L(" : "), Same]),
    ),
    ("stablehlo.constant", &[("value", AttrType::Dense)], Pretty::Own(Own::Constant)),
    (
        "stablehlo.iota",
        &[("iota_dimension", I64)],
        pieces(&[L(" dim = "), A("iota_dimension"), Dict, L(" : "), Result]),
    ),
    (
        "stablehlo.broadcast_in_dim",
        &[("broadcast_dimensions", Ints)],
        pieces(&[L(" "), One, L(", dims = "), A("broadcast_dimensions"), Dict, L(" : "), Functional]),
    ),
    ("stablehlo.reshape", &[], pieces(FUNCTIONAL)),
    (
        "stablehlo.transpose",
        &[("permutation", Ints)],
        pieces(&[L(" "), One, L(", dims = "), A("permutation"), Dict, L(" : "), Functional]),
    ),
    (
        "stablehlo.reverse",
        &[("dimensions", Ints)],
        pieces(&[L(" "), One, L(", dims = "), A("dimensions"), Dict, L(" : "), Same]),
    ),
    (
        "stablehlo.slice",
        &[("limit_indices", Ints), ("start_indices", Ints), ("strides", Ints)],
        pieces(&[L(" "), One, L(" "), Ranges, Dict, L(" : "), Functional]),
    ),
    (
        "stablehlo.dynamic_slice",
        &[("slice_sizes", Ints)],
        pieces(&[L(" "), All, L(", sizes = "), A("slice_sizes"), Dict, L(" : "), Functional]),
    ),
    ("stablehlo.dynamic_update_slice", &[], pieces(FUNCTIONAL)),
    (
        "stablehlo.concatenate",
        &[("dimension", I64)],
        pieces(&[L(" "), All, L(", dim = "), A("dimension"), Dict, L(" : "), Functional]),
    ),
    (
        "stablehlo.pad",
        &[("edge_padding_high", Ints), ("edge_padding_low", Ints), ("interior_padding", Ints)],
        pieces(&[
            L(" "),
            One,
            L(", "),
            One,
            L(", low = "),
            A("edge_padding_low"),
            L(", high = "),
            A("edge_padding_high"),
            L(", interior = "),
            A("interior_padding"),
            Dict,
            L(" : "),
            Functional,
        ]),
    ),
    (
        "stablehlo.dot_general",
        &[("algorithm", Raw), ("dot_dimension_numbers", Dot), ("precision_config", Precisions)],
        pieces(&[L(" "), One, L(", "), One, L(", "), DotDims, Dict, L(" : "), Functional]),
    ),
    (
        "stablehlo.convolution",
        &[
            ("batch_group_count", I64),
            ("dimension_numbers", Conv),
            ("feature_group_count", I64),
            ("lhs_dilation", Ints),
            ("padding", Pairs),
            ("precision_config", Precisions),
            ("rhs_dilation", Ints),
            ("window_reversal", Bools),
            ("window_strides", Ints),
        ],
        pieces(&[
            L("("),
            All,
            L(") dim_numbers = "),
            A("dimension_numbers"),
            L(", window = "),
            Window,
            Dict,
            L(" : "),
            Functional,
        ]),
    ),
    ("stablehlo.reduce", &[("dimensions", Ints)], Pretty::Own(Own::Reduce)),
    (
        "stablehlo.reduce_window",
        &[
            ("base_dilations", Ints),
            ("padding", Pairs),
            ("window_dilations", Ints),
            ("window_dimensions", Ints),
            ("window_strides", Ints),
        ],
        Pretty::None,
    ),
    (
        "stablehlo.select_and_scatter",
        &[("padding", Pairs), ("window_dimensions", Ints), ("window_strides", Ints)],
        Pretty::None,
    ),
    ("stablehlo.sort", &[("dimension", I64), ("is_stable", Bool)], Pretty::None),
    (
        "stablehlo.gather",
        &[("dimension_numbers", Gather), ("indices_are_sorted", Bool), ("slice_sizes", Ints)],
        Pretty::None,
    ),
    (
        "stablehlo.scatter",
        &[("indices_are_sorted", Bool), ("scatter_dimension_numbers", Scatter), ("unique_indices", Bool)],
        Pretty::None,
    ),
    (
        "stablehlo.rng_bit_generator",
        &[("rng_algorithm", Word("rng_algorithm"))],
        pieces(&[L(" "), One, L(", algorithm = "), A("rng_algorithm"), Dict, L(" : "), Functional]),
    ),
    (
        "stablehlo.fft",
        &[("fft_length", Ints), ("fft_type", Word("fft_type"))],
        pieces(&[
            L(" "),
            One,
            L(", type = "),
            A("fft_type"),
            L(", length = "),
            A("fft_length"),
            Dict,
            L(" : "),
            Functional,
        ]),
    ),
    (
        "stablehlo.cholesky",
        &[("lower", Bool)],
        pieces(&[L(" "), One, Opt(", lower = ", "lower"), Dict, L(" : "), Same]),
    ),
    (
        "stablehlo.triangular_solve",
        &[("left_side", Bool), ("lower", Bool), ("transpose_a", Word("transpose")), ("unit_diagonal", Bool)],
        Pretty::None,
    ),
    ("stablehlo.while", &[], Pretty::Own(Own::While)),
    ("stablehlo.case", &[], Pretty::None),
    ("stablehlo.if", &[], Pretty::None),
    ("stablehlo.optimization_barrier", &[], Pretty::Own(Own::OptimizationBarrier)),
    ("func.call", &[("callee", Symbol)], Pretty::Own(Own::Call)),
    ("stablehlo.return", &[], Pretty::Own(Own::Return)),
    ("stablehlo.custom_call", &[("call_target_name", Str)], Pretty::Own(Own::CustomCall)),
    ("stablehlo.tuple", &[], pieces(&[L(" "), All, Dict, L(" : "), Tuple])),
    (
        "stablehlo.get_tuple_element",
        &[("index", I32)],
        pieces(&[L(" "), One, L("["), A("index"), L("]"), Dict, L(" : "), Functional]),
    ),
    ("stablehlo.after_all", &[], pieces(&[L(" "), All, Dict, L(" : "), Same])),
    ("stablehlo.all_reduce", COLLECTIVE, Pretty::None),
    (
        "stablehlo.all_gather",
        &[
            ("all_gather_dim", I64),
            ("channel_handle", Channel),
            ("replica_groups", Groups),
            ("use_global_device_ids", Unit),
        ],
        Pretty::None,
    ),
    (
        "stablehlo.reduce_scatter",
        &[
            ("channel_handle", Channel),
            ("replica_groups", Groups),
            ("scatter_dimension", I64),
            ("use_global_device_ids", Unit),
        ],
        Pretty::None,
    ),
    (
        "stablehlo.all_to_all",
        &[
            ("channel_handle", Channel),
            ("concat_dimension", I64),
            ("replica_groups", Groups),
            ("split_count", I64),
            ("split_dimension", I64),
        ],
        Pretty::None,
    ),
    (
        "stablehlo.collective_permute",
        &[("channel_handle", Channel), ("source_target_pairs", Groups)],
        Pretty::None,
    ),
    (
        "stablehlo.collective_broadcast",
        &[("channel_handle", Channel), ("replica_groups", Groups)],
        Pretty::None,
    ),
    ("stablehlo.partition_id", &[], pieces(&[Dict, L(" : "), Result])),
    ("stablehlo.replica_id", &[], pieces(&[Dict, L(" : "), Result])),
    (
        "sdy.sharding_constraint",
        &[("sharding", Sharding)],
        pieces(&[L(" "), One, L(" "), A("sharding"), Dict, L(" : "), Same]),
    ),
    (
        "sdy.reshard",
        &[("sharding", Sharding)],
        pieces(&[L(" "), One, L(" "), A("sharding"), Dict, L(" : "), Same]),
    ),
    (
        "sdy.all_gather",
        &[("gathering_axes", AxesPerDim), ("out_sharding", Sharding)],
        pieces(&[
            L(" "),
            A("gathering_axes"),
            L(" "),
            One,
            L(" out_sharding="),
            A("out_sharding"),
            Dict,
            L(" : "),
            Same,
        ]),
    ),
    (
        "sdy.all_slice",
        &[("out_sharding", Sharding), ("slicing_axes", AxesPerDim)],
        pieces(&[
            L(" "),
            A("slicing_axes"),
            L(" "),
            One,
            L(" out_sharding="),
            A("out_sharding"),
            Dict,
            L(" : "),
            Same,
        ]),
    ),
    (
        "sdy.all_to_all",
        &[("out_sharding", Sharding), ("params", AllToAll)],
        pieces(&[
            L(" "),
            A("params"),
            L(" "),
            One,
            L(" out_sharding="),
            A("out_sharding"),
            Dict,
            L(" : "),
            Same,
        ]),
    ),
    (
        "sdy.collective_permute",
        &[("out_sharding", Sharding)],
        pieces(&[L(" "), One, L(" out_sharding="), A("out_sharding"), Dict, L(" : "), Same]),
    ),
    (
        "sdy.all_reduce",
        &[("out_sharding", Sharding), ("reduction_axes", Axes), ("reduction_op", Number(REDUCTIONS))],
        pieces(&[
            L(" "),
            Lead("reduction_op"),
            A("reduction_axes"),
            L(" "),
            One,
            L(" out_sharding="),
            A("out_sharding"),
            Dict,
            L(" : "),
            Same,
        ]),
    ),
    (
        "sdy.reduce_scatter",
        &[
            ("out_sharding", Sharding),
            ("reduce_scatter_axes", AxesPerDim),
            ("reduction_op", Number(REDUCTIONS)),
        ],
        pieces(&[
            L(" "),
            Lead("reduction_op"),
            A("reduce_scatter_axes"),
            L(" "),
            One,
            L(" out_sharding="),
            A("out_sharding"),
            Dict,
            L(" : "),
            Same,
        ]),
    ),
    ("sdy.sharded_to_unreduced", &[("axes", AxesPerDim), ("out_sharding", Sharding)], pieces(TO_UNREDUCED)),
    ("sdy.replicated_to_unreduced", &[("axes", Axes), ("out_sharding", Sharding)], pieces(TO_UNREDUCED)),
    (
        "sdy.manual_computation",
        &[("in_shardings", Shardings), ("manual_axes", ManualAxes), ("out_shardings", Shardings)],
        Pretty::Own(Own::ManualComputation),
    ),
    (
        "sdy.propagation_barrier",
        &[("allowed_direction", Number(DIRECTIONS))],
        pieces(&[L(" "), One, L(" allowed_direction="), A("allowed_direction"), Dict, L(" : "), Same]),
    ),
    (
        "sdy.sharding_group",
        &[("group_id", I64)],
        pieces(&[L(" "), One, L(" group_id="), A("group_id"), Dict, L(" : "), Operand]),
    ),
];

const RANGE_OF_ULPS: &[(&str, AttrType)] = &[("max_ulp_difference", I64), ("min_ulp_difference", I64)];

/// Operations that have no kind of their own and are kept as [`OpKind::Opaque`](shardc_ir::OpKind::Opaque).
const OPAQUE: &[Spec] = &[
    (
        "chlo.top_k",
        &[("is_stable", Bool), ("k", I64)],
        pieces(&[
            L("("),
            One,
            L(", k = "),
            A("k"),
            Opt(", is_stable = ", "is_stable"),
            L(")"),
            Dict,
            L(" : "),
            Arrow,
        ]),
    ),
    ("stablehlo.dynamic_reshape", &[], pieces(FUNCTIONAL)),
    ("stablehlo.dynamic_pad", &[], pieces(FUNCTIONAL)),
    ("stablehlo.real_dynamic_slice", &[], pieces(FUNCTIONAL)),
    (
        "stablehlo.dynamic_iota",
        &[("iota_dimension", I64)],
        pieces(&[L(" "), One, L(", dim = "), A("iota_dimension"), Dict, L(" : "), Functional]),
    ),
    (
        "stablehlo.dynamic_broadcast_in_dim",
        &[("broadcast_dimensions", Ints)],
        pieces(&[
            L(" "),
            One,
            L(", "),
            One,
            L(", dims = "),
            A("broadcast_dimensions"),
            Dict,
            L(" : "),
            Functional,
        ]),
    ),
    (
        "stablehlo.broadcast",
        &[("broadcast_sizes", Ints)],
        pieces(&[L(" "), One, L(", sizes = "), A("broadcast_sizes"), Dict, L(" : "), Functional]),
    ),
    (
        "stablehlo.get_dimension_size",
        &[("dimension", I64)],
        pieces(&[L(" "), One, L(", dim = "), A("dimension"), Dict, L(" : "), Functional]),
    ),
    (
        "stablehlo.set_dimension_size",
        &[("dimension", I64)],
        pieces(&[L(" "), One, L(", "), One, L(", dim = "), A("dimension"), Dict, L(" : "), Functional]),
    ),
    (
        "stablehlo.rng",
        &[("rng_distribution", Word("rng_distribution"))],
        pieces(&[L(" "), All, L(", distribution = "), A("rng_distribution"), Dict, L(" : "), Functional]),
    ),
    ("stablehlo.uniform_quantize", &[], pieces(SAME_1)),
    ("stablehlo.uniform_dequantize", &[], pieces(SAME_1)),
    ("stablehlo.create_token", &[], pieces(&[Dict, L(" : "), Result])),
    (
        "stablehlo.einsum",
        &[("einsum_config", Str)],
        pieces(&[
            L(" "),
            One,
            L(", "),
            One,
            L(", config = "),
            A("einsum_config"),
            Dict,
            L(" : "),
            Functional,
        ]),
    ),
    (
        "stablehlo.unary_einsum",
        &[("einsum_config", Str)],
        pieces(&[L(" "), One, L(", config = "), A("einsum_config"), Dict, L(" : "), Functional]),
    ),
    (
        "stablehlo.composite",
        &[("composite_attributes", Raw), ("decomposition", Raw), ("name", Str), ("version", Raw)],
        pieces(&[L(" "), A("name"), L(" "), All, Dict, L(" : "), Functional]),
    ),
    (
        "sdy.data_flow_edge",
        &[("sharding", Stripped("#sdy.sharding"))],
        pieces(&[L(" "), One, Opt(" sharding=", "sharding"), Dict, L(" : "), Same]),
    ),
    ("sdy.func_data_flow_edge", &[], pieces(SAME_1)),
    (
        "sdy.named_computation",
        &[
            ("in_shardings", Stripped("#sdy.sharding_per_value")),
            ("name", Str),
            ("out_shardings", Stripped("#sdy.sharding_per_value")),
        ],
        Pretty::Own(Own::NamedComputation),
    ),
    ("check.expect_eq", &[], pieces(&[L(" "), All, Dict, L(" : "), Operand])),
    (
        "check.expect_almost_eq",
        &[("tolerance", Raw)],
        pieces(&[L(" "), All, Opt(", tolerance = ", "tolerance"), Dict, L(" : "), Operand]),
    ),
    ("check.expect_eq_const", &[("value", Raw)], pieces(&[L(" "), One, L(", "), A("value"), Dict])),
    (
        "check.expect_almost_eq_const",
        &[("tolerance", Raw), ("value", Raw)],
        pieces(&[L(" "), One, L(", "), A("value"), Opt(", tolerance = ", "tolerance"), Dict]),
    ),
    (
        "check.expect_close",
        RANGE_OF_ULPS,
        pieces(&[
            L(" "),
            All,
            L(", max_ulp_difference = "),
            A("max_ulp_difference"),
            Opt(", min_ulp_difference = ", "min_ulp_difference"),
            L(" :"),
            Dict,
            L(" "),
            Operands,
        ]),
    ),
    (
        "interpreter.probe",
        &[("probe_id", Str)],
        pieces(&[L(" "), One, L(", probe_id = "), A("probe_id"), Dict, L(" : "), Same]),
    ),
    ("interpreter.print", &[], pieces(&[L(" "), One, Dict, L(" : "), Operand])),
];

/// chlo's operations with implicit broadcasting, all kept as they are.
const BROADCASTING: &[&str] = &[
    "chlo.broadcast_add",
    "chlo.broadcast_and",
    "chlo.broadcast_atan2",
    "chlo.broadcast_compare",
    "chlo.broadcast_complex",
    "chlo.broadcast_divide",
    "chlo.broadcast_maximum",
    "chlo.broadcast_minimum",
    "chlo.broadcast_multiply",
    "chlo.broadcast_next_after",
    "chlo.broadcast_or",
    "chlo.broadcast_polygamma",
    "chlo.broadcast_power",
    "chlo.broadcast_remainder",
    "chlo.broadcast_select",
    "chlo.broadcast_shift_left",
    "chlo.broadcast_shift_right_arithmetic",
    "chlo.broadcast_shift_right_logical",
    "chlo.broadcast_subtract",
    "chlo.broadcast_xor",
    "chlo.broadcast_zeta",
];

const BROADCASTING_ATTRS: &[(&str, AttrType)] =
    &[("broadcast_dimensions", Raw), ("comparison_direction", Raw), ("compare_type", Raw)];

/// The attribute that remembers the name of an operation which is read as another one, so that it is printed under
/// that name. It never appears in text.
pub(crate) const SPELLING: &str = "shardc.spelling";

/// Names of operations that are read as others: constants, `dot` as `dot_general`.
pub(crate) const SPELLINGS: &[&str] = &["sdy.constant", "chlo.constant", "stablehlo.dot", "chlo.tan"];

const SPELT: &[Spec] = &[
    ("sdy.constant", &[("value", AttrType::Dense)], Pretty::Own(Own::Constant)),
    ("chlo.constant", &[("value", AttrType::Dense)], Pretty::Own(Own::Constant)),
    (
        "stablehlo.dot",
        &[("precision_config", Precisions)],
        pieces(&[
            L(" "),
            One,
            L(", "),
            One,
            Opt(", precision = ", "precision_config"),
            Dict,
            L(" : "),
            Functional,
        ]),
    ),
    ("chlo.tan", &[], pieces(ARROW)),
];

const RESULT_NAMES: &[(&str, &[&str])] = &[
    ("chlo.top_k", &["values", "indices"]),
    ("stablehlo.rng_bit_generator", &["output_state", "output"]),
    ("stablehlo.batch_norm_training", &["output", "batch_mean", "batch_var"]),
    ("stablehlo.batch_norm_grad", &["grad_operand", "grad_scale", "grad_offset"]),
];

static TABLE: LazyLock<FxHashMap<&'static str, Row>> = LazyLock::new(|| {
    let mut table = FxHashMap::default();
    let mut add = |name: &'static str, attrs, pretty, elementwise| {
        let result_names = RESULT_NAMES.iter().find(|(n, _)| *n == name).map_or(&[][..], |(_, names)| names);
        table.insert(name, Row { name, attrs, pretty, elementwise, result_names });
    };
    for &op in UnaryOp::ALL {
        let pretty = match op {
            UnaryOp::IsFinite => FUNCTIONAL,
            _ if op.name().starts_with("chlo.") => ARROW,
            _ => SAME_1,
        };
        add(op.name(), &[], Pretty::Pieces(pretty), Some(Elementwise::Unary(op)));
    }
    for &op in BinaryOp::ALL {
        let pretty = match op {
            BinaryOp::Complex => &[L(" "), All, Dict, L(" : "), Complex],
            _ if op.name().starts_with("chlo.") => ARROW,
            _ => SAME_2,
        };
        add(op.name(), &[], Pretty::Pieces(pretty), Some(Elementwise::Binary(op)));
    }
    for &name in BROADCASTING {
        add(name, BROADCASTING_ATTRS, Pretty::Pieces(FUNCTIONAL), None);
    }
    for &(name, attrs, pretty) in SPECS.iter().chain(OPAQUE).chain(SPELT) {
        add(name, attrs, pretty, None);
    }
    for &(name, result_names) in RESULT_NAMES {
        table.entry(name).or_insert(Row {
            name,
            attrs: &[],
            pretty: Pretty::None,
            elementwise: None,
            result_names,
        });
    }
    table
});

/// The row of the operation with this full name.
pub(crate) fn row(name: &str) -> Option<&'static Row> {
    TABLE.get(name)
}

/// Names of all operations in the table, in no particular order.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.keys().copied()
}
