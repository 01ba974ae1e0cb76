//! The operations of VHLO: one row per name, for all versions of the dialect from 0.9.0 on.
//!
//! An operation's name is that of the StableHLO operation and a version of its own: `vhlo.all_reduce_v2`. A row
//! lists the operation's attributes in the order in which bytecode has them, and how each becomes an attribute of
//! the StableHLO operation. VHLO has no optional attributes: one that is absent in StableHLO is written with its
//! default value, which is dropped again here.
//!
//! Source: `stablehlo/dialect/VhloOps.td` and `VhloLegalizeToStablehlo.cpp` of StableHLO.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// The newest version of the dialect whose operations, attributes and types are all known here.
pub(super) const NEWEST: [u64; 3] = [1, 20, 0];

/// How an attribute becomes one of the StableHLO operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// As it is.
    Same,
    /// A tensor of `i64` becomes `array<i64: ...>`.
    Ints,
    /// A tensor of `i1` becomes `array<i1: ...>`.
    Bools,
    /// The channel's number becomes `channel_handle = #stablehlo.channel_handle<handle = N, type = 0>`.
    Channel,
    /// `true` becomes a unit attribute; `false` vanishes.
    Flag,
    /// A string becomes `@name`.
    Symbol,
    /// An array of strings becomes an array of `@name`.
    Symbols,
    /// The devices of each group: a tensor, or axes of a mesh.
    Groups,
    /// A part of a structured attribute; [`join`](super::join) puts it together.
    Part,
    /// Of an older version of the operation, without effect.
    Gone,
}

/// The value that stands for an absent attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Absent {
    /// None: the attribute is always present.
    Never,
    /// This integer.
    Int(i64),
    /// `false`.
    False,
    /// An empty string, array, dictionary or tensor.
    Empty,
    /// A tensor, with elements, of this integer alone.
    All(i64),
    /// A tensor, with elements, of `false` alone.
    AllFalse,
    /// The attribute with this text.
    Text(&'static str),
    /// An array of the attribute with this text alone, or an empty one.
    AllText(&'static str),
    /// The default accuracy with no tolerances.
    Accuracy,
}

/// An attribute of an operation.
pub(super) type Prop = (&'static str, Form, Absent);

/// What is known about an operation.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The full name of the operation that it becomes. A `return` in a function becomes `func.return`.
    pub(super) target: Box<str>,
    /// Attributes in the order in which bytecode has them, which is that of their names.
    pub(super) props: &'static [Prop],
    /// The names of the attributes, separated by blanks.
    pub(super) names: Box<str>,
}

use Absent::{Accuracy, All, AllFalse, AllText, Empty, False, Int, Never, Text};
use Form::{Bools, Channel, Flag, Gone, Groups, Ints, Part, Same, Symbol, Symbols};

/// An attribute that is the same in StableHLO and never left out.
const fn same(name: &'static str) -> Prop {
    (name, Same, Never)
}

const fn ints(name: &'static str) -> Prop {
    (name, Ints, Never)
}

const fn part(name: &'static str) -> Prop {
    (name, Part, Never)
}

const fn ones(name: &'static str) -> Prop {
    (name, Ints, All(1))
}

const CHANNEL: Prop = ("channel_id", Channel, Int(0));
const GLOBAL_IDS: Prop = ("use_global_device_ids", Flag, False);
const DYNAMIC_ROOT: Prop = ("has_dynamic_root", Flag, False);
const GROUPS: Prop = ("replica_groups", Groups, Never);
const PAIRS: Prop = same("source_target_pairs");
const PRECISION: Prop = ("precision_config", Same, AllText("#stablehlo<precision DEFAULT>"));
const ACCURACY: &[Prop] = &[("result_accuracy", Same, Accuracy)];
const NORM: &[Prop] = &[same("epsilon"), same("feature_index")];
const EINSUM: &[Prop] = &[same("einsum_config")];
const SORTED: Prop = ("indices_are_sorted", Same, False);
const PADDING: Prop = ("padding", Same, All(0));
const HOST: Prop = ("is_host_transfer", Same, False);

const ALL_GATHER: &[Prop] = &[same("all_gather_dim"), CHANNEL, GROUPS, GLOBAL_IDS];
const ALL_REDUCE: &[Prop] = &[CHANNEL, GROUPS, GLOBAL_IDS];
const ALL_TO_ALL: &[Prop] =
    &[CHANNEL, same("concat_dimension"), GROUPS, same("split_count"), same("split_dimension")];
const COMPOSITE: &[Prop] = &[
    ("composite_attributes", Same, Empty),
    ("decomposition", Symbol, Never),
    same("name"),
    ("version", Same, Int(0)),
];

/// Operations without attributes.
const PLAIN: &[&str] = &[
    "abs_v1",
    "add_v1",
    "after_all_v1",
    "and_v1",
    "async_done_v1",
    "async_start_v1",
    "atan2_v1",
    "bitcast_convert_v1",
    "case_v1",
    "cbrt_v1",
    "ceil_v1",
    "clamp_v1",
    "complex_v1",
    "convert_v1",
    "cosine_v1",
    "count_leading_zeros_v1",
    "create_token_v1",
    "divide_v1",
    "dynamic_pad_v1",
    "dynamic_reshape_v1",
    "dynamic_update_slice_v1",
    "exponential_minus_one_v1",
    "exponential_v1",
    "floor_v1",
    "if_v1",
    "imag_v1",
    "is_finite_v1",
    "log_plus_one_v1",
    "log_v1",
    "logistic_v1",
    "maximum_v1",
    "minimum_v1",
    "multiply_v1",
    "negate_v1",
    "not_v1",
    "optimization_barrier_v1",
    "or_v1",
    "partition_id_v1",
    "popcnt_v1",
    "power_v1",
    "real_dynamic_slice_v1",
    "real_v1",
    "remainder_v1",
    "replica_id_v1",
    "reshape_v1",
    "return_v1",
    "round_nearest_afz_v1",
    "round_nearest_even_v1",
    "rsqrt_v1",
    "select_v1",
    "shift_left_v1",
    "shift_right_arithmetic_v1",
    "shift_right_logical_v1",
    "sign_v1",
    "sine_v1",
    "sqrt_v1",
    "subtract_v1",
    "tan_v1",
    "tanh_v1",
    "tuple_v1",
    "uniform_dequantize_v1",
    "uniform_quantize_v1",
    "while_v1",
    "xor_v1",
];

/// Operations with attributes.
const WITH_ATTRIBUTES: &[(&str, &[Prop])] = &[
    ("all_gather_v1", ALL_GATHER),
    ("all_gather_v2", ALL_GATHER),
    ("all_reduce_v1", ALL_REDUCE),
    ("all_reduce_v2", ALL_REDUCE),
    ("all_to_all_v1", ALL_TO_ALL),
    ("all_to_all_v2", ALL_TO_ALL),
    ("batch_norm_grad_v1", NORM),
    ("batch_norm_inference_v1", NORM),
    ("batch_norm_training_v1", NORM),
    ("broadcast_in_dim_v1", &[ints("broadcast_dimensions")]),
    ("broadcast_v1", &[ints("broadcast_sizes")]),
    ("call_v1", &[("callee", Symbol, Never)]),
    ("cbrt_v2", ACCURACY),
    ("cholesky_v1", &[("lower", Same, False)]),
    ("collective_broadcast_v1", &[CHANNEL, GROUPS]),
    ("collective_broadcast_v2", &[CHANNEL, DYNAMIC_ROOT, GROUPS]),
    ("collective_permute_v1", &[CHANNEL, PAIRS]),
    ("collective_reduce_v1", &[CHANNEL, DYNAMIC_ROOT, GROUPS, GLOBAL_IDS]),
    (
        "compare_v1",
        &[("compare_type", Same, Text("#stablehlo<comparison_type NOTYPE>")), same("comparison_direction")],
    ),
    ("composite_v1", COMPOSITE),
    ("composite_v2", COMPOSITE),
    ("concatenate_v1", &[same("dimension")]),
    ("constant_v1", &[same("value")]),
    (
        "convolution_v1",
        &[
            same("batch_group_count"),
            same("feature_group_count"),
            part("input_batch_dimension"),
            part("input_feature_dimension"),
            part("input_spatial_dimensions"),
            part("kernel_input_feature_dimension"),
            part("kernel_output_feature_dimension"),
            part("kernel_spatial_dimensions"),
            ones("lhs_dilation"),
            part("output_batch_dimension"),
            part("output_feature_dimension"),
            part("output_spatial_dimensions"),
            PADDING,
            PRECISION,
            ones("rhs_dilation"),
            ("window_reversal", Bools, AllFalse),
            ones("window_strides"),
        ],
    ),
    ("cosine_v2", ACCURACY),
    ("cross-replica-sum_v1", &[GROUPS]),
    (
        "custom_call_v1",
        &[
            ("api_version", Same, Text("1 : i32")),
            ("backend_config", Same, Empty),
            same("call_target_name"),
            ("called_computations", Symbols, Empty),
            ("has_side_effect", Same, False),
            same("operand_layouts"),
            ("output_operand_aliases", Same, Empty),
            same("result_layouts"),
        ],
    ),
    (
        "custom_call_v2",
        &[
            ("api_version", Same, Text("1 : i32")),
            ("backend_config", Same, Empty),
            same("call_target_name"),
            ("called_computations", Symbols, Empty),
            ("has_side_effect", Same, False),
            same("operand_layouts"),
            ("output_operand_aliases", Same, Empty),
            same("result_layouts"),
            ("result_tilings", Same, Empty),
        ],
    ),
    (
        "dot_general_v1",
        &[
            part("lhs_batching_dimensions"),
            part("lhs_contracting_dimensions"),
            PRECISION,
            part("rhs_batching_dimensions"),
            part("rhs_contracting_dimensions"),
        ],
    ),
    (
        "dot_general_v2",
        &[
            part("accumulation_type"),
            part("allow_imprecise_accumulation"),
            part("lhs_batching_dimensions"),
            part("lhs_component_count"),
            part("lhs_contracting_dimensions"),
            part("lhs_precision_type"),
            part("num_primitive_operations"),
            PRECISION,
            part("rhs_batching_dimensions"),
            part("rhs_component_count"),
            part("rhs_contracting_dimensions"),
            part("rhs_precision_type"),
        ],
    ),
    ("dot_v1", &[PRECISION]),
    (
        "dynamic_broadcast_in_dim_v1",
        &[
            ints("broadcast_dimensions"),
            ("known_expanding_dimensions", Ints, Empty),
            ("known_nonexpanding_dimensions", Ints, Empty),
        ],
    ),
    (
        "dynamic_conv_v1",
        &[
            same("batch_group_count"),
            same("feature_group_count"),
            part("input_batch_dimension"),
            part("input_feature_dimension"),
            part("input_spatial_dimensions"),
            part("kernel_input_feature_dimension"),
            part("kernel_output_feature_dimension"),
            part("kernel_spatial_dimensions"),
            ones("lhs_dilation"),
            part("output_batch_dimension"),
            part("output_feature_dimension"),
            part("output_spatial_dimensions"),
            // The operand of the same meaning alone counts.
            ("padding", Gone, Never),
            PRECISION,
            ones("rhs_dilation"),
            ("window_reversal", Bools, AllFalse),
            ones("window_strides"),
        ],
    ),
    (
        "dynamic_conv_v2",
        &[
            same("batch_group_count"),
            same("feature_group_count"),
            part("input_batch_dimension"),
            part("input_feature_dimension"),
            part("input_spatial_dimensions"),
            part("kernel_input_feature_dimension"),
            part("kernel_output_feature_dimension"),
            part("kernel_spatial_dimensions"),
            ones("lhs_dilation"),
            part("output_batch_dimension"),
            part("output_feature_dimension"),
            part("output_spatial_dimensions"),
            PRECISION,
            ones("rhs_dilation"),
            ("window_reversal", Bools, AllFalse),
            ones("window_strides"),
        ],
    ),
    (
        "dynamic_gather_v1",
        &[
            part("collapsed_slice_dims"),
            part("index_vector_dim"),
            SORTED,
            part("offset_dims"),
            part("start_index_map"),
        ],
    ),
    (
        "dynamic_gather_v2",
        &[
            part("collapsed_slice_dims"),
            part("index_vector_dim"),
            SORTED,
            part("offset_dims"),
            part("operand_batching_dims"),
            part("start_index_map"),
            part("start_indices_batching_dims"),
        ],
    ),
    ("dynamic_iota_v1", &[same("iota_dimension")]),
    ("dynamic_slice_v1", &[ints("slice_sizes")]),
    ("einsum_v1", EINSUM),
    ("exponential_minus_one_v2", ACCURACY),
    ("exponential_v2", ACCURACY),
    ("fft_v1", &[ints("fft_length"), same("fft_type")]),
    (
        "func_v1",
        &[
            ("arg_attrs", Same, Empty),
            same("function_type"),
            ("res_attrs", Same, Empty),
            same("sym_name"),
            ("sym_visibility", Same, Empty),
        ],
    ),
    (
        "gather_v1",
        &[
            part("collapsed_slice_dims"),
            part("index_vector_dim"),
            SORTED,
            part("offset_dims"),
            ints("slice_sizes"),
            part("start_index_map"),
        ],
    ),
    (
        "gather_v2",
        &[
            part("collapsed_slice_dims"),
            part("index_vector_dim"),
            SORTED,
            part("offset_dims"),
            part("operand_batching_dims"),
            ints("slice_sizes"),
            part("start_index_map"),
            part("start_indices_batching_dims"),
        ],
    ),
    ("get_dimension_size_v1", &[same("dimension")]),
    ("get_tuple_element_v1", &[same("index")]),
    ("infeed_v1", &[same("infeed_config"), ("layout", Same, Empty)]),
    ("iota_v1", &[same("iota_dimension")]),
    ("log_plus_one_v2", ACCURACY),
    ("log_v2", ACCURACY),
    ("logistic_v2", ACCURACY),
    ("map_v1", &[ints("dimensions")]),
    ("outfeed_v1", &[same("outfeed_config")]),
    ("pad_v1", &[ints("edge_padding_high"), ints("edge_padding_low"), ints("interior_padding")]),
    ("recv_v1", &[part("channel_id"), part("channel_type"), HOST]),
    ("recv_v2", &[part("channel_id"), part("channel_type"), HOST, ("source_target_pairs", Same, Empty)]),
    ("reduce_precision_v1", &[same("exponent_bits"), same("mantissa_bits")]),
    ("reduce_scatter_v1", &[CHANNEL, GROUPS, same("scatter_dimension"), GLOBAL_IDS]),
    ("reduce_v1", &[ints("dimensions")]),
    (
        "reduce_window_v1",
        &[
            ones("base_dilations"),
            PADDING,
            ones("window_dilations"),
            ints("window_dimensions"),
            ones("window_strides"),
        ],
    ),
    ("reverse_v1", &[ints("dimensions")]),
    ("rng_bit_generator_v1", &[same("rng_algorithm")]),
    ("rng_v1", &[same("rng_distribution")]),
    ("rsqrt_v2", ACCURACY),
    (
        "scatter_v1",
        &[
            part("index_vector_dim"),
            SORTED,
            part("inserted_window_dims"),
            part("scatter_dims_to_operand_dims"),
            ("unique_indices", Same, False),
            part("update_window_dims"),
        ],
    ),
    (
        "scatter_v2",
        &[
            part("index_vector_dim"),
            SORTED,
            part("input_batching_dims"),
            part("inserted_window_dims"),
            part("scatter_dims_to_operand_dims"),
            part("scatter_indices_batching_dims"),
            ("unique_indices", Same, False),
            part("update_window_dims"),
        ],
    ),
    ("select_and_scatter_v1", &[PADDING, ints("window_dimensions"), ones("window_strides")]),
    ("send_v1", &[part("channel_id"), part("channel_type"), HOST]),
    ("send_v2", &[part("channel_id"), part("channel_type"), HOST, ("source_target_pairs", Same, Empty)]),
    ("set_dimension_size_v1", &[same("dimension")]),
    ("sine_v2", ACCURACY),
    ("slice_v1", &[ints("limit_indices"), ints("start_indices"), ints("strides")]),
    ("sort_v1", &[("dimension", Same, Int(-1)), ("is_stable", Same, False)]),
    ("sqrt_v2", ACCURACY),
    ("tan_v2", ACCURACY),
    ("tanh_v2", ACCURACY),
    ("torch_index_select_v1", &[same("batch_dims"), same("dim")]),
    ("transpose_v1", &[ints("permutation")]),
    ("triangular_solve_v1", &[same("left_side"), same("lower"), same("transpose_a"), same("unit_diagonal")]),
    ("unary_einsum_v1", EINSUM),
];

static TABLE: LazyLock<FxHashMap<&'static str, Row>> = LazyLock::new(|| {
    let plain = PLAIN.iter().map(|&name| (name, &[][..]));
    let all = plain.chain(WITH_ATTRIBUTES.iter().copied());
    let names = |props: &[Prop]| props.iter().map(|prop| prop.0).collect::<Vec<_>>().join(" ").into();
    all.map(|(name, props)| (name, Row { target: target(name), props, names: names(props) })).collect()
});

/// The name of the StableHLO operation: the same without the version.
fn target(name: &str) -> Box<str> {
    let base = name.rsplit_once("_v").map_or(name, |(base, _)| base);
    let dialect = if matches!(base, "func" | "call") { "func" } else { "stablehlo" };
    format!("{dialect}.{base}").into()
}

/// The row of the operation with this name, without `vhlo.`.
pub(super) fn row(name: &str) -> Option<&'static Row> {
    TABLE.get(name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_operation_stands_once_with_its_attributes_in_order() {
        let names: BTreeSet<&str> =
            PLAIN.iter().copied().chain(WITH_ATTRIBUTES.iter().map(|row| row.0)).collect();
        assert_eq!(names.len(), PLAIN.len() + WITH_ATTRIBUTES.len());
        for (name, props) in WITH_ATTRIBUTES {
            assert!(props.is_sorted_by(|a, b| a.0 < b.0), "{name}");
        }
    }

    #[test]
    fn each_operation_becomes_one_that_is_known() {
        // Told apart from operations by where they stand.
        let elsewhere = ["func.func"];
        // Printed in generic form and kept as they are.
        let kept = ["stablehlo.infeed", "stablehlo.map", "stablehlo.torch_index_select"];
        let known = |target: &&str| crate::syntax::row(target).is_some();
        let targets = TABLE.values().map(|row| &*row.target);
        let unknown: BTreeSet<&str> =
            targets.filter(|t| !known(t) && !elsewhere.contains(t) && !kept.contains(t)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn parts_stand_in_operations_that_join_them() {
        for (name, props) in WITH_ATTRIBUTES {
            let parts = props.iter().any(|prop| prop.1 == Part);
            let joined = ["conv", "dot_general", "gather", "recv_", "scatter_v", "send_"];
            let joins = joined.iter().any(|part| name.contains(part)) && !name.starts_with("convert");
            let joins =
                joins && !["all_gather", "reduce_scatter", "select_and"].iter().any(|n| name.contains(n));
            assert_eq!(parts, joins, "{name}");
        }
    }
}
