//! `sdy-sink-data-flow-edges`: moves the shardings of data-flow edges to their owners, and removes the edges.
//!
//! ```mlir
//! %0 = stablehlo.optimization_barrier %a
//! %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"x"}]>
//! // becomes
//! %0 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} %a
//! ```

use shardc_ir::{Attr, Module, OpId, OpKind, RegionId, ValueId};
use shardc_passes::driver::pass_options::{PassOption, PassOptions};
use shardc_passes::internal::access::ShardingAccess;
use shardc_passes::internal::manual;

use super::super::edges;

/// Also moves the sharding origins (debug information) of data-flow edges.
pub(super) const ORIGINS: PassOption = PassOption::flag("sink-debug-sharding-origins");
/// Also moves the propagation steps (debug information) of data-flow edges.
pub(super) const PROPAGATION_EDGES: PassOption = PassOption::flag("sink-debug-propagation-edge-sharding");

/// The debug attributes of propagation: on the producer of a value; on an operation for its region arguments; on an operation
/// for its results.
pub(super) const DEBUG: [(PassOption, [&str; 3]); 2] = [
    (ORIGINS, ["sdy.sharding_origins", "sdy.block_arg_sharding_origins", "sdy.result_sharding_origins"]),
    (
        PROPAGATION_EDGES,
        ["sdy.propagation_edges", "sdy.block_arg_propagation_edges", "sdy.result_propagation_edges"],
    ),
];

/// Moves the shardings of the data-flow edges in a function body to their owners, and removes the edges.
pub(super) fn sink_edges(module: &mut Module, body: RegionId, options: &PassOptions) {
    let places = ShardingAccess::new(module);
    for op in module.walk(body) {
        let data = &module.ops[op];
        let (takes_arguments, args) = match data.kind {
            OpKind::ManualComputation(_) | OpKind::NamedComputation(_) => {
                (true, data.regions.first().map_or(Vec::new(), |&r| module.regions[r].args.clone()))
            }
            OpKind::While | OpKind::Case | OpKind::OptimizationBarrier => (false, Vec::new()),
            _ => continue,
        };
        let results = data.results.to_vec();
        if takes_arguments {
            sink_arguments(module, &places, op, &args);
        }
        sink_results(module, &places, op, &results);
        for (option, [from, of_args, of_results]) in DEBUG {
            if options.is_on(option) {
                sink_debug(module, &places, op, &args, from, of_args);
                sink_debug(module, &places, op, &results, from, of_results);
            }
        }
    }
    edges::remove(module, body, |module, op| matches!(module.ops[op].kind, OpKind::DataFlowEdge(_)));
}

fn sink_arguments(module: &mut Module, places: &ShardingAccess, op: OpId, args: &[ValueId]) {
    let Some(found) = places.of_edges(module, args) else { return };
    match module.ops[op].kind.clone() {
        OpKind::ManualComputation(mut spec) => {
            for (i, &inside) in found.iter().enumerate() {
                if let Some(outside) = manual::outside(module, &spec, i, inside) {
                    spec.in_shardings[i] = outside;
                }
            }
            module.ops[op].kind = OpKind::ManualComputation(spec);
        }
        OpKind::NamedComputation(mut spec) => {
            spec.in_shardings = Some(found);
            module.ops[op].kind = OpKind::NamedComputation(spec);
        }
        _ => {}
    }
}

fn sink_results(module: &mut Module, places: &ShardingAccess, op: OpId, results: &[ValueId]) {
    let Some(found) = places.of_edges(module, results) else { return };
    match &mut module.ops[op].kind {
        OpKind::ManualComputation(spec) => spec.out_shardings = found,
        OpKind::NamedComputation(spec) => spec.out_shardings = Some(found),
        _ => {
            for (&result, sharding) in results.iter().zip(found) {
                module.shardings.set(result, Some(sharding));
            }
        }
    }
}

/// Collects the attribute `from` of data-flow edges into the attribute `to` of the operation to whose region arguments or results the edges
/// belong.
fn sink_debug(
    module: &mut Module,
    places: &ShardingAccess,
    op: OpId,
    owners: &[ValueId],
    from: &str,
    to: &str,
) {
    let attrs = owners.iter().filter_map(|&owner| {
        let attr = module.ops[places.edge(owner)?].attrs.get(from)?;
        // A data-flow edge without propagation steps is skipped.
        let empty = matches!(attr, Attr::Raw(text) if &**text == "#sdy.propagation_edges<[]>");
        (!empty).then(|| attr.clone())
    });
    let list = Attr::Array(attrs.collect());
    module.ops[op].attrs.set(to, list);
}
