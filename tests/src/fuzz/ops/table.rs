//! Maps each operation of the operation table to the function that generates it.

use shardc_ir::OpDef;

use super::piece::Drawer;
use super::{control, devices, elements, gathers, moves, sums, windows};

/// Operations by generator. Elementwise operations have their own tables.
const DRAWN: &[(&[&str], Drawer)] = &[
    (&["stablehlo.compare"], elements::compare),
    (&["stablehlo.select"], elements::select),
    (&["stablehlo.clamp"], elements::clamp),
    (&["stablehlo.convert"], elements::convert),
    (&["stablehlo.bitcast_convert"], elements::bitcast),
    (&["stablehlo.reduce_precision"], elements::reduce_precision),
    (&["chlo.broadcast_compare", "chlo.broadcast_select"], elements::broadcast_more),
    (&["chlo.constant_like"], elements::constant_like),
    (&["stablehlo.map"], elements::map),
    (&["stablehlo.constant", "stablehlo.iota", "stablehlo.dynamic_iota"], moves::from_nothing),
    (&["stablehlo.rng_bit_generator"], moves::rng_bits),
    (&["stablehlo.get_dimension_size"], moves::dimension_size),
    (&["stablehlo.broadcast_in_dim", "stablehlo.dynamic_broadcast_in_dim"], moves::broadcast_in_dim),
    (&["stablehlo.broadcast"], moves::broadcast),
    (&["stablehlo.reshape", "stablehlo.dynamic_reshape"], moves::reshape),
    (&["stablehlo.transpose"], moves::transpose),
    (&["stablehlo.reverse"], moves::reverse),
    (&["stablehlo.slice", "stablehlo.real_dynamic_slice"], moves::slice),
    (&["stablehlo.dynamic_slice"], moves::dynamic_slice),
    (&["stablehlo.dynamic_update_slice"], moves::dynamic_update_slice),
    (&["stablehlo.concatenate"], moves::concatenate),
    (&["stablehlo.pad", "stablehlo.dynamic_pad"], moves::pad),
    (&["stablehlo.gather", "stablehlo.dynamic_gather"], gathers::gather),
    (&["stablehlo.torch_index_select"], gathers::torch_index_select),
    (&["stablehlo.scatter"], gathers::scatter),
    (&["stablehlo.dot_general"], sums::dot_general),
    (&["stablehlo.einsum", "stablehlo.unary_einsum"], sums::einsum),
    (&["chlo.ragged_dot"], sums::ragged_dot),
    (&["stablehlo.fft"], sums::fft),
    (&["stablehlo.cholesky"], sums::cholesky),
    (&["stablehlo.triangular_solve"], sums::triangular_solve),
    (
        &["stablehlo.batch_norm_training", "stablehlo.batch_norm_inference", "stablehlo.batch_norm_grad"],
        sums::batch_norm,
    ),
    (&["stablehlo.reduce"], sums::reduce),
    (&["stablehlo.sort"], sums::sort),
    (&["chlo.top_k"], sums::top_k),
    (&["stablehlo.convolution", "stablehlo.dynamic_conv"], windows::convolution),
    (&["stablehlo.reduce_window"], windows::reduce_window),
    (&["stablehlo.select_and_scatter"], windows::select_and_scatter),
    (&["stablehlo.while"], control::while_loop),
    (&["stablehlo.case", "stablehlo.if"], control::branches),
    (&["func.call", "stablehlo.composite"], control::call),
    (&["chlo.scan"], control::scan),
    (&["stablehlo.optimization_barrier"], control::barrier),
    (&["stablehlo.tuple", "stablehlo.get_tuple_element"], control::tuple),
    (&["sdy.sharding_constraint", "sdy.reshard", "sdy.propagation_barrier"], control::constraint),
    (&["sdy.named_computation"], control::named),
    (&["sdy.sharding_group"], control::group),
    (
        &[
            "sdy.manual_computation",
            "stablehlo.all_reduce",
            "stablehlo.all_gather",
            "stablehlo.reduce_scatter",
            "stablehlo.all_to_all",
            "stablehlo.collective_permute",
            "stablehlo.collective_broadcast",
            "stablehlo.partition_id",
        ],
        devices::manual,
    ),
];

/// Operations that are not generated, and the reasons.
const NOT_DRAWN: &[(&str, &str)] = &[
    ("chlo._asin_acos_kernel", "no back end has it, and nothing decomposes it"),
    ("stablehlo.uniform_quantize", "XLA's CPU back end has no quantized elements"),
    ("stablehlo.uniform_dequantize", "XLA's CPU back end has no quantized elements"),
    ("stablehlo.rng", "gives other numbers on every run"),
    ("stablehlo.replica_id", "its number depends on how a back end counts devices, not on the program"),
    ("stablehlo.set_dimension_size", "sizes that are not known are refused"),
    ("shardc.splice", "the compiler's own, refused in programs of users"),
    ("stablehlo.return", "part of every region"),
    ("stablehlo.custom_call", "what it computes is known to the back end alone"),
    ("stablehlo.create_token", "tokens have no value to compare"),
    ("stablehlo.after_all", "tokens have no value to compare"),
    ("stablehlo.async_start", "XLA's CPU back end takes no asynchronous operations as StableHLO"),
    ("stablehlo.async_done", "XLA's CPU back end takes no asynchronous operations as StableHLO"),
    ("stablehlo.collective_reduce", "XLA's CPU back end does not have it"),
    (
        "stablehlo.cross-replica-sum",
        "only reads as an older form of all_reduce; no device stands for its groups",
    ),
    ("stablehlo.infeed", "speaks to the host"),
    ("stablehlo.outfeed", "speaks to the host"),
    ("stablehlo.send", "speaks to the host"),
    ("stablehlo.recv", "speaks to the host"),
    ("sdy.data_flow_edge", "the compiler's own, between passes"),
    ("sdy.func_data_flow_edge", "the compiler's own, between passes"),
    ("", "stands for operations that are not in the table"),
    ("sdy.all_gather", "a step of a reshard, which a single device has not"),
    ("sdy.all_slice", "a step of a reshard, which a single device has not"),
    ("sdy.all_to_all", "a step of a reshard, which a single device has not"),
    ("sdy.collective_permute", "a step of a reshard, which a single device has not"),
    ("shardc.exchange", "the compiler's own, refused in programs of users"),
    ("sdy.all_reduce", "a step of a reshard, which a single device has not"),
    ("sdy.reduce_scatter", "a step of a reshard, which a single device has not"),
    ("sdy.sharded_to_unreduced", "a step of a reshard, which a single device has not"),
    ("sdy.replicated_to_unreduced", "a step of a reshard, which a single device has not"),
];

/// Whether the generator emits manual computations.
pub(super) fn is_manual(drawer: Drawer) -> bool {
    std::ptr::fn_addr_eq(drawer, devices::manual as Drawer)
}

/// Returns the generator of an operation, or `None` if the operation is in [`NOT_DRAWN`]. An operation in neither list is an error.
fn drawer(def: &'static OpDef) -> Result<Option<Drawer>, &'static str> {
    let listed = DRAWN.iter().find(|(names, _)| names.contains(&def.name)).map(|(_, drawer)| *drawer);
    if NOT_DRAWN.iter().any(|(name, _)| *name == def.name) {
        return Ok(None);
    }
    listed.or_else(|| elements::drawer(def.name)).map(Some).ok_or(def.name)
}

/// Every operation that is generated, and its generator.
pub(super) fn drawers() -> Vec<(&'static str, Drawer)> {
    let all = OpDef::all().filter_map(|def| Some((def.name, drawer(def).ok().flatten()?)));
    let mut all: Vec<(&'static str, Drawer)> = all.collect();
    all.sort_by_key(|(name, _)| *name);
    all.dedup_by_key(|(name, _)| *name);
    // Elementwise operations are similar, so at least half of the generated operations are not elementwise.
    let others: Vec<_> = all.iter().copied().filter(|(name, _)| elements::drawer(name).is_none()).collect();
    all.extend(others.iter().chain(&others));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_drawer_or_a_reason() {
        let forgotten: Vec<&str> = OpDef::all().filter_map(|def| drawer(def).err()).collect();
        assert!(forgotten.is_empty(), "neither drawn nor said why not: {forgotten:?}");
    }

    #[test]
    fn lists_name_operations_of_the_table_once() {
        let names =
            DRAWN.iter().flat_map(|(names, _)| names.iter()).chain(NOT_DRAWN.iter().map(|(name, _)| name));
        let mut seen = std::collections::BTreeSet::new();
        for name in names {
            assert!(OpDef::all().any(|def| def.name == *name), "{name} is not in the table");
            assert!(seen.insert(name), "{name} twice");
        }
    }
}
