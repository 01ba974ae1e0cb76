//! Dead code elimination: removes operations whose results nobody uses.

use shardc_ir::{Module, Op, OpId, RegionId, SecondaryMap, UseCounts};

use super::dead_carries::drop_dead_carries;

/// Removes, under `region`, every operation that is pure ([`Module::is_pure`]) and whose results are not used, and what loops carry
/// for nobody.
pub fn dce(module: &mut Module, region: RegionId) {
    dce_where(module, region, Module::is_pure);
    // What one loop does not carry any more, a loop within may have carried for it.
    while drop_dead_carries(module, region) {
        dce_where(module, region, Module::is_pure);
    }
}

/// Removes, under `region`, every operation that `can_go` and whose results are not used, with what is in its regions.
/// Tells whether there was any.
pub fn dce_where(module: &mut Module, region: RegionId, can_go: impl Fn(&Module, &Op) -> bool) -> bool {
    let order = module.walk(region);
    let mut uses = UseCounts::of(module, &order);
    let mut dead: SecondaryMap<OpId, bool> = SecondaryMap::new();
    let mut any = false;
    // Last to first, what reads a value has gone before what makes it is looked at.
    for &op in order.iter().rev() {
        let data = &module.ops[op];
        if !dead[op] && uses.are_unused(&data.results) && can_go(module, data) {
            any = true;
            let inner = data.regions.iter().flat_map(|&region| module.walk(region));
            for gone in inner.chain([op]) {
                // Some of what is inside may be gone already.
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
