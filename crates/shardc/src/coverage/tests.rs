use super::*;

/// What has no coverage of its own: it says how others are sharded, ends a region, or exists only after partitioning.
const ABOUT_OTHERS: &[&str] = &[
    "func.call",
    "func.return",
    // What resharding makes of it where no collective of Shardy's does.
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
    // A future is of no tensor that a device could have a part of.
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
        // Other dialects hold tests and what is kept as text.
        .filter(|name| {
            ["stablehlo.", "chlo.", "sdy.", "func."].iter().any(|dialect| name.starts_with(dialect))
        })
        .filter(|name| !rows.contains(name) && !ABOUT_OTHERS.contains(name))
        .collect();
    assert_eq!(missing, Vec::<&str>::new(), "add a program for it to probes.rs");
}
