//! `sdy-apply-sharding-constraints`: assigns the sharding of a constraint to its operand.

use shardc_ir::{Attr, Module};
use shardc_passes::driver::passes::PassResult;
use shardc_passes::propagate::{self, DebugOptions};
use shardc_passes::rules::{SHARDING_RULE_ATTR, rule_of};

/// Assigns the sharding of a constraint to its operand, if there is no conflict. As in Shardy, such a constraint gets its sharding rule as
/// an attribute.
pub(super) fn run(module: &mut Module, debug: DebugOptions) -> PassResult {
    for op in propagate::apply_sharding_constraints(module, debug) {
        if module.ops[op].attrs.get(SHARDING_RULE_ATTR).is_none()
            && let Some(rule) = rule_of(module, op)
        {
            let text = format!("#sdy.op_sharding_rule<{rule}>");
            module.ops[op].attrs.set(SHARDING_RULE_ATTR, Attr::Raw(text.into()));
        }
    }
    Ok(Vec::new())
}
