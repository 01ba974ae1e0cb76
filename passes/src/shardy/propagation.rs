//! Propagation itself, and the rules that it goes by.

use shardc_ir::{Attr, Diagnostic, Module, RegionId};

use super::{each_body, pass};
use crate::pipeline::{Pass, PassResult};
use crate::propagate::{self, PropagateOptions, Strategy};
use crate::rules::{SHARDING_RULE_ATTR, rule_of};

pub(super) const PASSES: &[Pass] = &[
    pass("sdy-populate-op-sharding-rules", "write the sharding rule on each operation", |m, _| {
        each_body(m, write_rules)
    }),
    pass("sdy-basic-propagate", "propagate where nothing conflicts", |m, _| {
        propagation(m, Strategy::Basic, false, false)
    }),
    pass("sdy-aggressive-propagate", "propagate and solve conflicts", |m, _| {
        propagation(m, Strategy::Aggressive, false, false)
    }),
    pass("sdy-op-priority-propagate", "propagate by class of operation", |m, _| {
        propagation(m, Strategy::Aggressive, true, false)
    }),
    pass("sdy-user-priority-propagate", "propagate by user priority, then by class of operation", |m, _| {
        propagation(m, Strategy::Aggressive, true, true)
    }),
];

fn propagation(
    module: &mut Module,
    strategy: Strategy,
    op_priority: bool,
    user_priority: bool,
) -> PassResult {
    let options = PropagateOptions { strategy, op_priority, user_priority, provenance: false };
    let mut warnings: Vec<Diagnostic> = Vec::new();
    for func in module.funcs.keys().collect::<Vec<_>>() {
        if module.funcs[func].body.is_some() {
            warnings.extend(propagate::propagate_only(module, func, &options)?.warnings);
        }
    }
    Ok(warnings)
}

fn write_rules(module: &mut Module, body: RegionId) {
    for op in module.walk(body) {
        if module.ops[op].attrs.get(SHARDING_RULE_ATTR).is_some() {
            continue;
        }
        if let Some(rule) = rule_of(module, op) {
            let text = format!("#sdy.op_sharding_rule<{rule}>");
            module.ops[op].attrs.set(SHARDING_RULE_ATTR, Attr::Raw(text.into()));
        }
    }
}
