//! Steps after propagation.

use shardc_ir::{Attr, Module, OpKind, RegionId};

use super::{each, each_body, pass};
use crate::pipeline::Pass;
use crate::propagate;
use crate::rules::SHARDING_RULE_ATTR;

pub(super) const PASSES: &[Pass] = &[
    pass("sdy-sink-data-flow-edges", "nothing: data flow is known without operations", |_, _| Ok(Vec::new())),
    pass("sdy-close-shardings", "close every dimension, without priorities and replicated axes", |m, _| {
        each(m, propagate::close_shardings)
    }),
    pass(
        "sdy-update-non-divisible-input-output-shardings",
        "keep axes that divide, at boundaries",
        |m, _| each(m, propagate::keep_dividing_axes),
    ),
    pass("sdy-drop-sharding-rules", "remove sharding rules from operations", |m, _| each_body(m, drop_rules)),
    pass("sdy-remove-sharding-groups", "remove sharding groups", |m, _| each_body(m, remove_groups)),
    pass("sdy-sharding-constraint-to-reshard", "replace constraints by reshards", |m, _| {
        each_body(m, constraints_to_reshards)
    }),
];

/// A rule that the program itself gives stays.
fn drop_rules(module: &mut Module, body: RegionId) {
    for op in module.walk(body) {
        let attrs = &mut module.ops[op].attrs;
        if !matches!(attrs.get(SHARDING_RULE_ATTR), Some(Attr::Raw(text)) if text.contains("custom")) {
            attrs.remove(SHARDING_RULE_ATTR);
        }
    }
}

fn remove_groups(module: &mut Module, body: RegionId) {
    let mut regions = vec![body];
    while let Some(region) = regions.pop() {
        let mut ops = std::mem::take(&mut module.regions[region].ops);
        ops.retain(|&op| !matches!(module.ops[op].kind, OpKind::ShardingGroup { .. }));
        regions.extend(ops.iter().flat_map(|&op| module.ops[op].regions.iter().copied()));
        module.regions[region].ops = ops;
    }
}

fn constraints_to_reshards(module: &mut Module, body: RegionId) {
    for op in module.walk(body) {
        if let OpKind::ShardingConstraint(sharding) = module.ops[op].kind {
            module.ops[op].kind = OpKind::Reshard(sharding);
        }
    }
}
