//! `sdy-add-data-flow-edges`: adds data-flow edges at the boundaries of regions.
//!
//! ```mlir
//! %0 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} %a
//! return %0
//! // becomes
//! %0 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} %a
//! %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"x"}]>
//! return %1
//! ```

use shardc_ir::{Module, OpId, OpKind, ShardingId};
use shardc_passes::driver::passes::PassResult;

use super::edges::Edges;

/// Adds a data-flow edge, with the value's sharding, to every owner of a data flow: results of loops, branches and barriers; block
/// arguments and results of manual and named computations.
pub(super) fn run(module: &mut Module) -> PassResult {
    add(module, |kind| {
        matches!(
            kind,
            OpKind::While
                | OpKind::Case
                | OpKind::OptimizationBarrier
                | OpKind::ManualComputation(_)
                | OpKind::NamedComputation(_)
        )
    });
    Ok(Vec::new())
}

/// Adds data-flow edges for the operations for which `which` returns true: to the results, and to region arguments that own a data flow.
pub(super) fn add(module: &mut Module, which: impl Fn(&OpKind) -> bool) {
    let bodies: Vec<_> = module.bodies().collect();
    let mut edges = Edges::default();
    for &body in &bodies {
        for op in module.walk(body) {
            if which(&module.ops[op].kind) {
                add_to(module, op, &mut edges);
            }
        }
    }
    edges.place(module, bodies);
}

fn add_to(module: &mut Module, op: OpId, edges: &mut Edges) {
    let at = (module.ops[op].span, module.ops[op].loc);
    let (ins, outs) = boundary(module, op);
    if let Some(ins) = ins
        && let Some(&region) = module.ops[op].regions.first()
    {
        for (i, arg) in module.regions[region].args.clone().into_iter().enumerate() {
            let loc = module.regions[region].arg_locs.get(i).copied().filter(|loc| loc.is_some());
            let at = (at.0, loc.unwrap_or(at.1));
            edges.add(module, arg, OpKind::DataFlowEdge(ins.get(i).copied().flatten()), at);
        }
    }
    for (i, result) in module.ops[op].results.clone().into_iter().enumerate() {
        edges.add(module, result, OpKind::DataFlowEdge(outs.get(i).copied().flatten()), at);
    }
}

type Shardings = Vec<Option<ShardingId>>;

/// Returns two lists: the shardings of an operation's region arguments, or `None` if the arguments own no data flow; and the shardings of
/// its results.
fn boundary(module: &mut Module, op: OpId) -> (Option<Shardings>, Shardings) {
    let list = |ids: &[ShardingId]| ids.iter().copied().map(Some).collect();
    match module.ops[op].kind.clone() {
        OpKind::ManualComputation(spec) => {
            let ins = (0..spec.in_shardings.len())
                .map(|i| shardc_passes::internal::manual::inside(module, &spec, i))
                .collect();
            (Some(ins), list(&spec.out_shardings))
        }
        OpKind::NamedComputation(spec) => {
            let ins = spec.in_shardings.as_deref().map_or_else(Vec::new, list);
            (Some(ins), spec.out_shardings.as_deref().map_or_else(Vec::new, list))
        }
        _ => (None, module.ops[op].results.iter().map(|&result| module.shardings.of(result)).collect()),
    }
}
