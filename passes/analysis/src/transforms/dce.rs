//! Dead code elimination: removes pure operations whose results have no users, and dead loop-carried values.
//!
//! ```mlir
//! %0 = stablehlo.sine %a : tensor<4xf32>       // removed: its only user is removed
//! %1 = stablehlo.add %0, %a : tensor<4xf32>    // removed: no users
//! %2 = stablehlo.negate %a : tensor<4xf32>
//! return %2 : tensor<4xf32>
//! ```

use shardc_ir::{Module, Op, OpId, RegionId, SecondaryMap, UseCounts};

use super::dead_carries::drop_dead_carries;

/// Removes, under `region`, every pure operation ([`Module::is_pure`]) whose results have no users, and dead loop-carried values.
pub fn dce(module: &mut Module, region: RegionId) {
    dce_where(module, region, Module::is_pure);
    // Removing a carried value of an outer loop may make a carried value of an inner loop dead.
    while drop_dead_carries(module, region) {
        dce_where(module, region, Module::is_pure);
    }
}

/// Removes, under `region`, every operation for which `can_go` holds and whose results have no users, with its regions. Returns whether it
/// removed any.
pub fn dce_where(module: &mut Module, region: RegionId, can_go: impl Fn(&Module, &Op) -> bool) -> bool {
    let order = module.walk(region);
    let mut uses = UseCounts::of(module, &order);
    let mut dead: SecondaryMap<OpId, bool> = SecondaryMap::new();
    let mut any = false;
    // In reverse order, the users of a value are removed before its producer is visited.
    for &op in order.iter().rev() {
        let data = &module.ops[op];
        if !dead[op] && uses.are_unused(&data.results) && can_go(module, data) {
            any = true;
            let inner = data.regions.iter().flat_map(|&region| module.walk(region));
            for gone in inner.chain([op]) {
                // A nested operation may already have been removed with the operation that encloses it.
                if !std::mem::replace(&mut dead[gone], true) {
                    uses.remove(&module.ops[gone].operands);
                }
            }
        }
    }
    if any {
        for region in module.regions_under(region) {
            module.retain_ops(region, |_, op| !dead[op]);
        }
    }
    any
}
