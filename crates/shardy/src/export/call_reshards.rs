//! `sdy-insert-func-call-reshards`: assigns the shardings of the function's results to call results, and inserts reshards to the shardings
//! that users expect.
//!
//! ```mlir
//! %0 = call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}]>]>}   // @f returns [{"x"}]
//! // becomes
//! %0 = call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
//! %1 = sdy.reshard %0 <@mesh, [{"y"}]>
//! ```

use shardc_ir::{
    InsertionPoint, Insertions, Module, OpId, OpKind, RegionId, ShardingId, TensorSharding, ValueMap,
};
use shardc_passes::internal::access::result_sharding;

use crate::shardings::{self, equivalent};

/// Inserts reshards after all calls.
pub(super) fn insert(module: &mut Module) {
    for body in module.bodies().collect::<Vec<_>>() {
        insert_in(module, body);
    }
}

fn insert_in(module: &mut Module, body: RegionId) {
    let mut forward = ValueMap::new();
    let mut insertions = Insertions::default();
    for op in module.walk(body) {
        let mut at = InsertionPoint::After(op, 0);
        for reshard in reshards(module, op, &mut forward) {
            insertions.insert(&mut at, reshard);
        }
    }
    if !insertions.is_empty() {
        insertions.apply(module, body, &forward, |_| false);
    }
}

/// The reshards of the results of a call, in program order: the reshard of the last result comes first.
fn reshards(module: &mut Module, call: OpId, forward: &mut ValueMap) -> Vec<OpId> {
    let OpKind::Call { callee } = &module.ops[call].kind else { return Vec::new() };
    let Some(&func) = module.func_names.get(callee) else { return Vec::new() };
    let results = module.ops[call].results.clone();
    let wanted: Vec<Option<ShardingId>> =
        (0..results.len()).map(|i| result_sharding(module, call, i)).collect();
    let whole = |module: &mut Module, id: ShardingId| {
        let like = module.shardings.get(id);
        let whole = TensorSharding::replicated(like.mesh, like.rank());
        module.shardings.intern(whole)
    };
    let given = match shardings::of_results(module, func) {
        Some(given) => given,
        None => wanted.iter().flatten().map(|&id| whole(module, id)).collect(),
    };
    let mut out = Vec::new();
    for ((&result, given), wanted) in results.iter().zip(given).zip(wanted) {
        module.shardings.set(result, Some(given));
        if equivalent(module, Some(given), wanted) {
            continue;
        }
        let target = wanted.unwrap_or_else(|| whole(module, given));
        let ty = module.values[result].ty;
        let reshard = module.add_op(OpKind::Reshard(target), &[result], &[ty], &[]);
        (module.ops[reshard].span, module.ops[reshard].loc) = (module.ops[call].span, module.ops[call].loc);
        forward.insert(result, module.ops[reshard].results[0]);
        out.push(reshard);
    }
    out.reverse();
    out
}
