//! Passes of a few lines.

use shardc_ir::{Module, OpKind, RegionId};

/// `sdy-remove-sharding-groups`: removes all `sdy.sharding_group` operations.
pub(super) fn remove_groups(module: &mut Module, body: RegionId) {
    for region in module.regions_under(body) {
        module.retain_ops(region, |module, op| !matches!(module.ops[op].kind, OpKind::ShardingGroup { .. }));
    }
}

/// `sdy-sharding-constraint-to-reshard`: replaces each `sdy.sharding_constraint` by an `sdy.reshard`.
pub(super) fn constraints_to_reshards(module: &mut Module, body: RegionId) {
    for op in module.walk(body) {
        if let OpKind::ShardingConstraint(sharding) = module.ops[op].kind {
            module.ops[op].kind = OpKind::Reshard(sharding);
        }
    }
}
