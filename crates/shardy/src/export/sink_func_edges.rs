//! `sdy-sink-func-data-flow-edges`: moves the shardings of `sdy.func_data_flow_edge` operations to their operands, and removes the
//! operations.

use shardc_ir::{Module, OpKind, RegionId, TensorSharding};
use shardc_passes::internal::access::ShardingAccess;

use super::super::edges;

/// Removes the `sdy.func_data_flow_edge` operations of a function body, and moves their shardings to their operands. If the operation has
/// no sharding but its operand has one, the operand gets an open sharding.
pub(super) fn sink_func_edges(module: &mut Module, body: RegionId) {
    let places = ShardingAccess::new(module);
    let is_edge = |module: &Module, op| matches!(module.ops[op].kind, OpKind::FuncDataFlowEdge);
    for op in module.walk(body) {
        let data = &module.ops[op];
        let (true, &[operand], &[result]) =
            (is_edge(module, op), data.operands.as_slice(), data.results.as_slice())
        else {
            continue;
        };
        let new = match (module.shardings.of(result), places.get(module, operand)) {
            (Some(found), _) => found,
            (None, Some(before)) => {
                let before = module.shardings.get(before);
                let open = TensorSharding::open(before.mesh, before.rank());
                module.shardings.intern(open)
            }
            (None, None) => continue,
        };
        places.set(module, operand, new);
    }
    edges::remove(module, body, is_edge);
}
