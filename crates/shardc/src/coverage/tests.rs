use super::*;

/// Operations without coverage of their own: they annotate other values, terminate a region, or exist only after partitioning.
const ABOUT_OTHERS: &[&str] = &[
    "func.call",
    "func.return",
    // Resharding emits this operation if no Shardy collective fits.
    "shardc.exchange",
    "sdy.all_gather",
    "sdy.all_reduce",
    "sdy.all_slice",
    "sdy.all_to_all",
    "sdy.collective_permute",
    "sdy.data_flow_edge",
    "sdy.func_data_flow_edge",
    "sdy.manual_computation",
    "sdy.named_computation",
    "sdy.propagation_barrier",
    "sdy.reduce_scatter",
    "sdy.replicated_to_unreduced",
    "sdy.reshard",
    "sdy.return",
    "sdy.sharded_to_unreduced",
    "sdy.sharding_constraint",
    "sdy.sharding_group",
    "stablehlo.return",
    // A future is not a tensor, so it cannot be sharded.
    "stablehlo.async_done",
    "stablehlo.async_start",
];

#[test]
fn every_probe_is_a_program_with_its_operation() {
    for probe in PROBES {
        let module = shardc_stablehlo::parse(probe.program).unwrap_or_else(|e| panic!("{}: {e:?}", probe.op));
        shardc_ir::verify(&module).unwrap_or_else(|e| panic!("{}: {e:?}", probe.op));
        assert!(find(&module, probe.op).is_some(), "{}", probe.op);
    }
}

#[test]
fn every_operation_has_a_row() {
    let rows: Vec<&str> = PROBES.iter().flat_map(|p| stands_for(p.op).into_iter().chain([p.op])).collect();
    let missing: Vec<&str> = shardc_stablehlo::op_names()
        .into_iter()
        // Other dialects contain test operations and operations that are kept as text.
        .filter(|name| {
            ["stablehlo.", "chlo.", "sdy.", "func."].iter().any(|dialect| name.starts_with(dialect))
        })
        .filter(|name| !rows.contains(name) && !ABOUT_OTHERS.contains(name))
        .collect();
    assert_eq!(missing, Vec::<&str>::new(), "add a program for it to probes.rs");
}

/// Operations without a derivative for some or all operands: operations with unknown semantics or dynamic shapes, and functions whose
/// derivative cannot be expressed by other operations.
const WITHOUT_DERIVATIVE: &[&str] = &[
    "chlo._asin_acos_kernel",
    "chlo.broadcast_polygamma",
    "chlo.broadcast_zeta",
    "chlo.polygamma",
    "chlo.zeta",
    "stablehlo.collective_reduce",
    "stablehlo.custom_call",
    "stablehlo.dynamic_conv",
    "stablehlo.dynamic_pad",
    "stablehlo.real_dynamic_slice",
    "stablehlo.set_dimension_size",
];

#[test]
fn every_float_operation_has_a_derivative() {
    let mut refused: Vec<&str> = Vec::new();
    for probe in PROBES {
        let has_none = |of: Differentiated| {
            matches!(of, Differentiated::Refused(_) | Differentiated::Partly(_) | Differentiated::Forward(_))
        };
        let of_probe = derivative::derivatives(probe);
        refused.extend(of_probe.into_iter().filter(|(_, of)| has_none(*of)).map(|(name, _)| name));
    }
    refused.retain(|name| !WITHOUT_DERIVATIVE.contains(name));
    assert_eq!(refused, Vec::<&str>::new());
}
