//! Steps of a few lines: sharding rules and groups go, constraints become reshards.

use shardc_ir::{Attr, Module, OpKind, RegionId};

use crate::rules::SHARDING_RULE_ATTR;

/// `sdy-drop-sharding-rules`. A rule that the program itself gives stays.
pub(super) fn drop_rules(module: &mut Module, body: RegionId) {
    for op in module.walk(body) {
        let attrs = &mut module.ops[op].attrs;
        if !matches!(attrs.get(SHARDING_RULE_ATTR), Some(Attr::Raw(text)) if text.contains("custom")) {
            attrs.remove(SHARDING_RULE_ATTR);
        }
    }
}

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
