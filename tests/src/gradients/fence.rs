//! Inserts barriers so that a compiler cannot rewrite several operations together.

use shardc_ir::{Module, OpId, OpKind, RegionId, TypeId, ValueId};

/// Inserts an `optimization_barrier` after each operation except constants, so that rewrites that match on the producer of an operand do
/// not apply. The program computes the same values.
pub(super) fn fence(module: &mut Module) {
    let bodies: Vec<RegionId> = module.bodies().collect();
    for body in bodies {
        let (_, regions) = module.walk_with_regions(body, is_program);
        for region in regions {
            let mut ops = Vec::new();
            for op in module.regions[region].ops.clone() {
                ops.push(op);
                ops.extend(barrier(module, op));
            }
            module.set_ops(region, ops);
        }
    }
}

fn is_program(kind: &OpKind) -> bool {
    kind.def().region_kind.is_program()
}

/// Inserts a barrier on the results of `op`. The users of these results read the results of the barrier instead.
fn barrier(module: &mut Module, op: OpId) -> Option<OpId> {
    let data = &module.ops[op];
    let is_tensors = data.results.iter().all(|&value| module.tensor(value).is_some());
    if data.results.is_empty() || !is_tensors || matches!(data.kind, OpKind::Constant(_)) {
        return None;
    }
    let old: Vec<ValueId> = (0..data.results.len()).map(|i| module.renew_result(op, i)).collect();
    let fresh = module.ops[op].results.to_vec();
    let types: Vec<TypeId> = fresh.iter().map(|&value| module.values[value].ty).collect();
    let barrier = module.add_op(OpKind::OptimizationBarrier, &fresh, &types, &[]);
    let made = module.ops[barrier].results.to_vec();
    for (made, old) in made.into_iter().zip(old) {
        module.take_over(made, old);
    }
    Some(barrier)
}
