//! Steps of a few lines: sharding groups go, constraints become reshards.

use shardc_ir::{Module, OpKind, RegionId};

/// `sdy-remove-sharding-groups`.
pub(super) fn remove_groups(module: &mut Module, body: RegionId) {
    let mut regions = vec![body];
    while let Some(region) = regions.pop() {
        let mut ops = std::mem::take(&mut module.regions[region].ops);
        ops.retain(|&op| !matches!(module.ops[op].kind, OpKind::ShardingGroup { .. }));
        regions.extend(ops.iter().flat_map(|&op| module.ops[op].regions.iter().copied()));
        module.regions[region].ops = ops;
    }
}

/// `sdy-sharding-constraint-to-reshard`.
pub(super) fn constraints_to_reshards(module: &mut Module, body: RegionId) {
    for op in module.walk(body) {
        if let OpKind::ShardingConstraint(sharding) = module.ops[op].kind {
            module.ops[op].kind = OpKind::Reshard(sharding);
        }
    }
}
