//! The operations of VHLO: one row per versioned name, for all versions of the dialect from 0.9.0 on.
//!
//! The name of an operation is the name of the StableHLO operation and a version: `vhlo.all_reduce_v2`. Most rows are derived from the
//! operation table ([`OpDef::vhlo`]); the others are here. A row lists the attributes in the order of the bytecode, and how each is
//! converted to StableHLO. VHLO has no optional attributes: an attribute that is absent in StableHLO is written with its default value. The
//! conversion removes such attributes.
//!
//! Source: `stablehlo/dialect/VhloOps.td` and `VhloLegalizeToStablehlo.cpp` of StableHLO.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
pub(in crate::bytecode) use shardc_ir::Absent;
use shardc_ir::{AttrDef, AttrType, OpDef, Presence};

/// The newest version of the dialect whose operations, attributes and types are all supported.
pub(in crate::bytecode) const NEWEST: [u64; 3] = [1, 20, 0];

/// How an attribute is converted to StableHLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::bytecode) enum Form {
    /// The attribute stays the same.
    Same,
    /// A tensor of `i64` becomes `array<i64: ...>`.
    Ints,
    /// A tensor of `i1` becomes `array<i1: ...>`.
    Bools,
    /// The channel id becomes `channel_handle = #stablehlo.channel_handle<handle = N, type = 0>`.
    Channel,
    /// `true` becomes a unit attribute; `false` is removed.
    Flag,
    /// A string becomes `@name`.
    Symbol,
    /// An array of strings becomes an array of `@name`.
    Symbols,
    /// Replica groups: a tensor, or axes of a mesh.
    Groups,
    /// A member of a StableHLO attribute such as dimension numbers; [`join`](super::join) combines the members.
    Part,
    /// An attribute without effect that only older versions of the operation have; it is removed.
    Gone,
}

/// An attribute of a VHLO operation: its name, how it is converted, and the VHLO value for which StableHLO omits it.
pub(in crate::bytecode) type Prop = (&'static str, Form, Absent);

/// How a VHLO operation is converted to a StableHLO operation.
#[derive(Clone, Debug)]
pub(in crate::bytecode) struct Row {
    /// The full name of the StableHLO operation. A `return` in a function becomes `func.return`.
    pub(in crate::bytecode) target: Box<str>,
    /// The attributes in the order of the bytecode: sorted by name.
    pub(in crate::bytecode) props: Box<[Prop]>,
    /// The names of the attributes, separated by spaces.
    pub(in crate::bytecode) names: Box<str>,
}

use Absent::{All, AllFalse, AllText, Empty, False, Never, Text};
use Form::{Bools, Channel, Flag, Gone, Groups, Ints, Part, Same, Symbol, Symbols};

/// Returns an attribute that is the same in StableHLO and always present.
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

const PRECISION: Prop = ("precision_config", Same, AllText("#stablehlo<precision DEFAULT>"));
const SORTED: Prop = ("indices_are_sorted", Same, False);
const PADDING: Prop = ("padding", Same, All(0));
const HOST: Prop = ("is_host_transfer", Same, False);

/// Returns the conversion of an attribute of the operation table.
fn regular(attr: &AttrDef) -> Prop {
    let absent = match attr.presence {
        Presence::Required => Never,
        Presence::Optional(absent) => absent,
    };
    match attr.ty {
        AttrType::Ints => (attr.name, Ints, absent),
        AttrType::Channel => ("channel_id", Channel, absent),
        AttrType::Groups => (attr.name, Groups, absent),
        AttrType::Unit => (attr.name, Flag, absent),
        AttrType::Symbol => (attr.name, Symbol, absent),
        _ => (attr.name, Same, absent),
    }
}

/// Returns the versions of an operation with a regular form: their names, without `vhlo.`, and attributes.
fn versions(def: &'static OpDef) -> impl Iterator<Item = (String, Vec<Prop>)> {
    let base = def.name.strip_prefix("stablehlo.").unwrap_or(def.name);
    (1..=def.vhlo).map(move |version| {
        let attrs = def.attrs.iter().filter(|attr| attr.since <= version);
        (format!("{base}_v{version}"), attrs.map(regular).collect())
    })
}

/// Operations whose VHLO form differs from the operation table: structured attributes are separate attributes, and older versions have
/// different attributes.
const IRREGULAR: &[(&str, &[Prop])] = &[
    ("call_v1", &[("callee", Symbol, Never)]),
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
            // The padding is an operand in StableHLO, so the attribute is removed.
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
    ("recv_v1", &[part("channel_id"), part("channel_type"), HOST]),
    ("recv_v2", &[part("channel_id"), part("channel_type"), HOST, ("source_target_pairs", Same, Empty)]),
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
    ("send_v1", &[part("channel_id"), part("channel_type"), HOST]),
    ("send_v2", &[part("channel_id"), part("channel_type"), HOST, ("source_target_pairs", Same, Empty)]),
];

static TABLE: LazyLock<FxHashMap<String, Row>> = LazyLock::new(|| {
    let irregular = IRREGULAR.iter().map(|&(name, props)| (name.to_owned(), props.to_vec()));
    let all = OpDef::all().flat_map(versions).chain(irregular);
    let names = |props: &[Prop]| props.iter().map(|prop| prop.0).collect::<Vec<_>>().join(" ").into();
    all.map(|(name, props)| {
        let row = Row { target: target(&name), names: names(&props), props: props.into() };
        (name, row)
    })
    .collect()
});

/// The first version of StableHLO that has each operation, except those of 0.9.0.
const SINCE: &[(&str, [u64; 2])] = &[
    ("all_gather_v2", [1, 5]),
    ("all_reduce_v2", [1, 5]),
    ("all_to_all_v2", [1, 5]),
    ("async_done_v1", [1, 15]),
    ("async_start_v1", [1, 15]),
    ("cbrt_v2", [1, 10]),
    ("collective_broadcast_v1", [0, 16]),
    ("collective_broadcast_v2", [1, 20]),
    ("collective_reduce_v1", [1, 19]),
    ("composite_v1", [0, 19]),
    ("composite_v2", [1, 14]),
    ("cosine_v2", [1, 10]),
    ("custom_call_v2", [1, 18]),
    ("dot_general_v2", [1, 6]),
    ("dynamic_conv_v2", [0, 20]),
    ("dynamic_gather_v2", [1, 1]),
    ("exponential_minus_one_v2", [1, 10]),
    ("exponential_v2", [1, 9]),
    ("gather_v2", [1, 1]),
    ("log_plus_one_v2", [1, 10]),
    ("log_v2", [1, 10]),
    ("logistic_v2", [1, 10]),
    ("recv_v2", [1, 12]),
    ("rsqrt_v2", [1, 10]),
    ("scatter_v2", [1, 1]),
    ("send_v2", [1, 12]),
    ("sine_v2", [1, 10]),
    ("sqrt_v2", [1, 10]),
    ("tan_v1", [1, 4]),
    ("tan_v2", [1, 10]),
    ("tanh_v2", [1, 10]),
];

/// Returns the first version of StableHLO, major and minor, that has the operation `name`.
pub(in crate::bytecode) fn since(name: &str) -> [u64; 2] {
    match SINCE.binary_search_by_key(&name, |(name, _)| name) {
        Ok(at) => SINCE.get(at).map_or(OLDEST, |(_, since)| *since),
        Err(_) => OLDEST,
    }
}

/// The oldest version of StableHLO that has portable artifacts: major and minor.
const OLDEST: [u64; 2] = [0, 9];

/// Returns the name of the StableHLO operation, which has no version.
fn target(name: &str) -> Box<str> {
    let base = name.rsplit_once("_v").map_or(name, |(base, _)| base);
    let dialect = if matches!(base, "func" | "call") { "func" } else { "stablehlo" };
    format!("{dialect}.{base}").into()
}

/// Returns the row of the operation with the versioned name `name`, without `vhlo.`.
pub(in crate::bytecode) fn row(name: &str) -> Option<&'static Row> {
    TABLE.get(name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn operations_are_unique_with_sorted_attributes() {
        let regular: usize = OpDef::all().map(|def| usize::from(def.vhlo)).sum();
        assert_eq!(TABLE.len(), regular + IRREGULAR.len());
        TABLE.iter().for_each(|(name, row)| assert!(row.props.is_sorted_by(|a, b| a.0 < b.0), "{name}"));
    }

    #[test]
    fn first_versions_are_of_known_operations() {
        assert!(SINCE.is_sorted_by(|a, b| a.0 < b.0));
        SINCE.iter().for_each(|(name, _)| assert!(row(name).is_some(), "{name}"));
        let newer = TABLE.keys().filter(|name| !name.ends_with("_v1"));
        newer.for_each(|name| assert!(since(name) > OLDEST, "{name}"));
    }

    #[test]
    fn targets_are_known_operations() {
        // The syntax table does not contain functions, which have their own parser.
        let elsewhere = ["func.func"];
        // Operations that are printed only in generic form.
        let kept = ["stablehlo.infeed", "stablehlo.map", "stablehlo.torch_index_select"];
        let known = |target: &&str| crate::syntax::row(target).is_some();
        let targets = TABLE.values().map(|row| &*row.target);
        let unknown: BTreeSet<&str> =
            targets.filter(|t| !known(t) && !elsewhere.contains(t) && !kept.contains(t)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn parts_are_in_operations_that_join_them() {
        TABLE.iter().for_each(|(name, row)| {
            let parts = row.props.iter().any(|prop| prop.1 == Part);
            let joined = ["conv", "dot_general", "gather", "recv_", "scatter_v", "send_"];
            let joins = joined.iter().any(|part| name.contains(part)) && !name.contains("convert");
            let joins =
                joins && !["all_gather", "reduce_scatter", "select_and"].iter().any(|n| name.contains(n));
            assert_eq!(parts, joins, "{name}");
        });
    }
}
