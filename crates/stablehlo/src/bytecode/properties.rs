//! How dialects encode the inherent attributes of their operations, from version 5 of the format on: in the order of
//! the names, without the names. MLIR generates this from the definitions of the operations; the table says the same.
//!
//! An operation that its writer did not know has a dictionary instead, which needs no table.

use std::borrow::Cow;

use shardc_ir::Diagnostic;

use super::attr::{AttrRef, BAttr, BType, Sign, Store, TypeRef};
use super::ir::NamedAttr;
use super::reader::ByteCursor;
use super::vhlo;
use crate::codes;
use crate::lexer::Res;
use crate::syntax::row;

/// From this version on numbers of operands and results of each group stand at the end, packed.
const PACKED_SEGMENTS: u64 = 6;

/// Names separated by blanks. `?` says that an attribute may be absent; names in `...SegmentSizes` are the numbers
/// of operands or results of each group. Where older versions of a dialect have fewer, those stand behind a `|`.
const TABLE: &[(&str, &str)] = &[
    ("arith.addf", "fastmath?|fastmath? roundingmode?"),
    ("arith.addi", "overflowFlags?"),
    ("arith.cmpf", "fastmath? predicate"),
    ("arith.cmpi", "predicate"),
    ("arith.constant", "value"),
    ("arith.divf", "fastmath?|fastmath? roundingmode?"),
    ("arith.divsi", "isExact?"),
    ("arith.divui", "isExact?"),
    ("arith.extf", "fastmath?"),
    ("arith.maximumf", "fastmath?|fastmath? roundingmode?"),
    ("arith.maxnumf", "fastmath?|fastmath? roundingmode?"),
    ("arith.minimumf", "fastmath?|fastmath? roundingmode?"),
    ("arith.minnumf", "fastmath?|fastmath? roundingmode?"),
    ("arith.mulf", "fastmath?|fastmath? roundingmode?"),
    ("arith.muli", "overflowFlags?"),
    ("arith.negf", "fastmath?|fastmath? roundingmode?"),
    ("arith.remf", "fastmath?|fastmath? roundingmode?"),
    ("arith.scaling_extf", "fastmath?|fastmath? roundingmode?"),
    ("arith.scaling_truncf", "fastmath? roundingmode?"),
    ("arith.shli", "overflowFlags?"),
    ("arith.shrsi", "isExact?"),
    ("arith.shrui", "isExact?"),
    ("arith.subf", "fastmath?|fastmath? roundingmode?"),
    ("arith.subi", "overflowFlags?"),
    ("arith.truncf", "fastmath? roundingmode?"),
    ("arith.trunci", "overflowFlags?"),
    ("builtin.module", "sym_name? sym_visibility?"),
    ("cf.assert", "msg"),
    ("cf.cond_br", "branch_weights? operandSegmentSizes"),
    ("cf.switch", "case_operand_segments case_values? operandSegmentSizes"),
    ("check.expect_almost_eq", "tolerance?"),
    ("check.expect_almost_eq_const", "tolerance? value"),
    ("check.expect_close", "max_ulp_difference? min_ulp_difference?"),
    ("check.expect_eq_const", "value"),
    ("check.expect_serialized_eq", "iteration? probe_id"),
    ("chlo.broadcast_compare", "broadcast_dimensions? compare_type? comparison_direction"),
    ("chlo.constant", "value"),
    ("chlo.constant_like", "value"),
    ("chlo.ragged_dot", "precision_config? ragged_dot_dimension_numbers"),
    (
        "chlo.scan",
        "dimension is_associative? is_reverse? operandSegmentSizes resultSegmentSizes scan_dim_size?",
    ),
    ("chlo.top_k", "is_stable? k|k"),
    ("func.call", "arg_attrs? callee no_inline? res_attrs?"),
    ("func.call_indirect", "arg_attrs? res_attrs?"),
    ("func.constant", "value"),
    ("func.func", "arg_attrs? function_type no_inline? res_attrs? sym_name sym_visibility?"),
    ("interpreter.probe", "probe_id"),
    ("interpreter.run_parallel", "infeed? programs"),
    ("scf.execute_region", "no_inline?"),
    ("scf.for", "unsignedCmp?"),
    ("scf.forall", "mapping? operandSegmentSizes staticLowerBound staticStep staticUpperBound"),
    ("scf.index_switch", "cases"),
    ("scf.parallel", "operandSegmentSizes"),
    ("sdy.all_gather", "gathering_axes out_sharding"),
    ("sdy.all_reduce", "out_sharding reduction_axes reduction_op?"),
    ("sdy.all_slice", "out_sharding slicing_axes"),
    ("sdy.all_to_all", "out_sharding params"),
    ("sdy.collective_permute", "out_sharding"),
    ("sdy.constant", "value"),
    ("sdy.data_flow_edge", "sharding?"),
    ("sdy.manual_computation", "in_shardings manual_axes out_shardings"),
    ("sdy.mesh", "mesh sym_name"),
    ("sdy.named_computation", "in_shardings? name out_shardings?"),
    ("sdy.propagation_barrier", "allowed_direction"),
    ("sdy.reduce_scatter", "out_sharding reduce_scatter_axes reduction_op?"),
    ("sdy.replicated_to_unreduced", "axes out_sharding"),
    ("sdy.reshard", "sharding"),
    ("sdy.sharded_to_unreduced", "axes out_sharding"),
    ("sdy.sharding_constraint", "sharding"),
    ("sdy.sharding_group", "group_id"),
    ("shape.broadcast", "error?"),
    ("shape.const_shape", "shape"),
    ("shape.const_size", "value"),
    ("shape.const_witness", "passing"),
    ("shape.cstr_require", "msg"),
    ("shape.func", "arg_attrs? function_type res_attrs? sym_name sym_visibility?"),
    ("shape.function_library", "mapping sym_name sym_visibility?"),
    ("shape.meet", "error?"),
    ("stablehlo.all_gather", "all_gather_dim channel_handle? replica_groups use_global_device_ids?"),
    ("stablehlo.all_reduce", "channel_handle? replica_groups use_global_device_ids?"),
    ("stablehlo.all_to_all", "channel_handle? concat_dimension replica_groups split_count split_dimension"),
    ("stablehlo.batch_norm_grad", "epsilon feature_index"),
    ("stablehlo.batch_norm_inference", "epsilon feature_index"),
    ("stablehlo.batch_norm_training", "epsilon feature_index"),
    ("stablehlo.broadcast", "broadcast_sizes"),
    ("stablehlo.broadcast_in_dim", "broadcast_dimensions"),
    ("stablehlo.cbrt", "result_accuracy?"),
    ("stablehlo.cholesky", "lower?"),
    (
        "stablehlo.collective_broadcast",
        "channel_handle? has_dynamic_root? replica_groups|channel_handle? replica_groups",
    ),
    ("stablehlo.collective_permute", "channel_handle? source_target_pairs"),
    (
        "stablehlo.collective_reduce",
        "channel_handle? has_dynamic_root? replica_groups use_global_device_ids?",
    ),
    ("stablehlo.compare", "compare_type? comparison_direction"),
    ("stablehlo.composite", "composite_attributes? decomposition name version?"),
    ("stablehlo.concatenate", "dimension"),
    ("stablehlo.constant", "value"),
    (
        "stablehlo.convolution",
        "batch_group_count dimension_numbers feature_group_count lhs_dilation? padding? precision_config? rhs_dilation? window_reversal? window_strides?",
    ),
    ("stablehlo.cosine", "result_accuracy?"),
    ("stablehlo.cross-replica-sum", "replica_groups"),
    (
        "stablehlo.custom_call",
        "api_version? backend_config? call_target_name called_computations? has_side_effect? operand_layouts? output_operand_aliases? result_layouts? result_tilings?",
    ),
    ("stablehlo.dot", "precision_config?"),
    ("stablehlo.dot_general", "algorithm? dot_dimension_numbers precision_config?"),
    (
        "stablehlo.dynamic_broadcast_in_dim",
        "broadcast_dimensions known_expanding_dimensions? known_nonexpanding_dimensions?",
    ),
    (
        "stablehlo.dynamic_conv",
        "batch_group_count dimension_numbers feature_group_count lhs_dilation? precision_config? rhs_dilation? window_reversal? window_strides?",
    ),
    ("stablehlo.dynamic_gather", "dimension_numbers indices_are_sorted?"),
    ("stablehlo.dynamic_iota", "iota_dimension"),
    ("stablehlo.dynamic_slice", "slice_sizes"),
    ("stablehlo.einsum", "einsum_config"),
    ("stablehlo.exponential", "result_accuracy?"),
    ("stablehlo.exponential_minus_one", "result_accuracy?"),
    ("stablehlo.fft", "fft_length fft_type"),
    ("stablehlo.gather", "dimension_numbers indices_are_sorted? slice_sizes"),
    ("stablehlo.get_dimension_size", "dimension"),
    ("stablehlo.get_tuple_element", "index"),
    ("stablehlo.infeed", "infeed_config? layout?"),
    ("stablehlo.iota", "iota_dimension"),
    ("stablehlo.log", "result_accuracy?"),
    ("stablehlo.log_plus_one", "result_accuracy?"),
    ("stablehlo.logistic", "result_accuracy?"),
    ("stablehlo.map", "dimensions"),
    ("stablehlo.outfeed", "outfeed_config?"),
    ("stablehlo.pad", "edge_padding_high edge_padding_low interior_padding"),
    ("stablehlo.recv", "channel_handle is_host_transfer? source_target_pairs?"),
    ("stablehlo.reduce", "dimensions"),
    ("stablehlo.reduce_precision", "exponent_bits mantissa_bits"),
    ("stablehlo.reduce_scatter", "channel_handle? replica_groups scatter_dimension use_global_device_ids?"),
    (
        "stablehlo.reduce_window",
        "base_dilations? padding? window_dilations? window_dimensions window_strides?",
    ),
    ("stablehlo.reverse", "dimensions"),
    ("stablehlo.rng", "rng_distribution"),
    ("stablehlo.rng_bit_generator", "rng_algorithm"),
    ("stablehlo.rsqrt", "result_accuracy?"),
    ("stablehlo.scatter", "indices_are_sorted? scatter_dimension_numbers unique_indices?"),
    ("stablehlo.select_and_scatter", "padding? window_dimensions? window_strides?"),
    ("stablehlo.send", "channel_handle is_host_transfer? source_target_pairs?"),
    ("stablehlo.set_dimension_size", "dimension"),
    ("stablehlo.sine", "result_accuracy?"),
    ("stablehlo.slice", "limit_indices start_indices strides"),
    ("stablehlo.sort", "dimension? is_stable?"),
    ("stablehlo.sqrt", "result_accuracy?"),
    ("stablehlo.tan", "result_accuracy?"),
    ("stablehlo.tanh", "result_accuracy?"),
    ("stablehlo.torch_index_select", "batch_dims dim"),
    ("stablehlo.transpose", "permutation"),
    ("stablehlo.triangular_solve", "left_side lower transpose_a unit_diagonal"),
    ("stablehlo.unary_einsum", "einsum_config"),
    ("tensor.collapse_shape", "reassociation"),
    ("tensor.concat", "dim"),
    ("tensor.expand_shape", "reassociation static_output_shape"),
    ("tensor.extract_slice", "operandSegmentSizes static_offsets static_sizes static_strides"),
    ("tensor.gather", "gather_dims unique?"),
    ("tensor.insert_slice", "operandSegmentSizes static_offsets static_sizes static_strides"),
    ("tensor.pad", "nofold? operandSegmentSizes static_high static_low"),
    ("tensor.parallel_insert_slice", "operandSegmentSizes static_offsets static_sizes static_strides"),
    ("tensor.scatter", "scatter_dims unique?"),
];

/// Operations of `chlo` that all have the same attribute.
const BROADCASTING: &str = "broadcast_dimensions?";

fn names_of(op: &str) -> Option<&'static str> {
    if let Some(name) = op.strip_prefix("vhlo.") {
        return vhlo::properties(name);
    }
    match TABLE.binary_search_by_key(&op, |(name, _)| name) {
        Ok(at) => TABLE.get(at).map(|(_, names)| *names),
        Err(_) if op.starts_with("chlo.broadcast_") => Some(BROADCASTING),
        Err(_) if op.starts_with("math.") => Some("fastmath?"),
        Err(_) => None,
    }
}

/// Dialects whose operations are known for certain to have been known to the writer of a file.
const COMMON: &[&str] = &[
    "arith",
    "builtin",
    "cf",
    "check",
    "chlo",
    "func",
    "math",
    "scf",
    "sdy",
    "shape",
    "stablehlo",
    "tensor",
];

/// Whether operations called `op` have an inherent attribute of this name, in a file too old to say.
pub(super) fn is_inherent(op: &str, name: &str) -> bool {
    if row(op).is_some_and(|row| row.attr(name).is_some()) {
        return true;
    }
    let common = op.split_once('.').is_some_and(|(dialect, _)| COMMON.contains(&dialect));
    let names = if common { names_of(op) } else { None };
    let mut names = names.unwrap_or("").split([' ', '|']).map(|name| name.trim_end_matches('?'));
    names.any(|inherent| inherent == name)
}

/// Reads the inherent attributes of an operation called `op`.
pub(super) fn read<'b>(
    store: &mut Store<'b>,
    op: &str,
    c: ByteCursor<'b>,
    version: u64,
) -> Res<Vec<NamedAttr<'b>>> {
    let Some(names) = names_of(op) else {
        let message = format!(
            "the inherent attributes of {op} are encoded in a way that shardc does not know, at byte {}",
            c.offset()
        );
        let hint = "write the module with version 4 of the format, or as text";
        return Err(Diagnostic::unsupported(codes::ENCODING, message).hint(hint).into());
    };
    let mut first = None;
    for names in names.split('|') {
        match layout(store, op, c, version, names) {
            Ok(props) => return Ok(props),
            Err(failure) => drop(first.get_or_insert(failure)),
        }
    }
    match first {
        Some(failure) => Err(failure),
        None => Ok(Vec::new()),
    }
}

fn layout<'b>(
    store: &mut Store<'b>,
    op: &str,
    mut c: ByteCursor<'b>,
    version: u64,
    names: &'static str,
) -> Res<Vec<NamedAttr<'b>>> {
    let mut out = Vec::new();
    let mut segments = Vec::new();
    for name in names.split(' ').filter(|name| !name.is_empty()) {
        if name.ends_with("SegmentSizes") && version >= PACKED_SEGMENTS {
            segments.push(name);
            continue;
        }
        let limit = store.attrs.len();
        match name.strip_suffix('?') {
            None => out.push((Cow::Borrowed(name), AttrRef(c.index(limit, "an attribute")?))),
            // An older writer may not know the last ones.
            Some(_) if c.at_end() => {}
            Some(name) => {
                let place = c;
                let (at, present) = c.flagged()?;
                if present {
                    let at = place.indexed(at, limit, "an attribute")?;
                    out.push((Cow::Borrowed(name), AttrRef(at)));
                }
            }
        }
    }
    for name in segments {
        let sizes = packed(&mut c)?;
        out.push((Cow::Borrowed(name), i32_array(store, &sizes)));
    }
    c.end(&format!("the inherent attributes of {op}"))?;
    Ok(out)
}

/// Largest number of groups of operands that any operation has.
const MAX_SEGMENTS: usize = 256;

/// An array of numbers, the zeros left out where there are many.
fn packed(c: &mut ByteCursor<'_>) -> Res<Vec<u64>> {
    let (count, sparse) = c.flagged_count("groups")?;
    if !sparse {
        return (0..count).map(|_| c.varint()).collect();
    }
    let mut sizes = Vec::new();
    if count == 0 {
        return Ok(sizes);
    }
    let place = *c;
    let bits = c.varint()?;
    if bits > 8 {
        return Err(place.malformed(format!("expected at most 8 bits of an index, found {bits}")));
    }
    for _ in 0..count {
        let pair = c.varint()?;
        let at = (pair & ((1 << bits) - 1)) as usize;
        if at >= sizes.len() && at < MAX_SEGMENTS {
            sizes.resize(at + 1, 0);
        }
        if let Some(size) = sizes.get_mut(at) {
            *size = pair >> bits;
        }
    }
    Ok(sizes)
}

fn i32_array<'b>(store: &mut Store<'b>, values: &[u64]) -> AttrRef {
    let i32_type = BType::Int { width: 32, sign: Sign::Signless };
    let last = store.types.len().checked_sub(1).filter(|&at| store.types.get(at) == Some(&i32_type));
    let element = match last.map(u32::try_from) {
        Some(Ok(at)) => TypeRef(at),
        _ => store.add_type(i32_type),
    };
    let bytes: Vec<u8> = values.iter().flat_map(|&v| (v as u32).to_le_bytes()).collect();
    store.add_attr(BAttr::DenseArray { element, count: values.len() as u64, bytes: bytes.into() })
}
