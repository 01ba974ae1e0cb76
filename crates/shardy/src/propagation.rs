//! `sdy-*-propagate` and `sdy-populate-op-sharding-rules`: propagation, and the sharding rules that it uses.

use shardc_ir::{Attr, Class, Diagnostic, Module, OpKind, RegionId, sharding_rule_fault};
use shardc_passes::driver::pass_options::{DEBUG_EDGES, DEBUG_ORIGINS, PassOption, debug_options};
use shardc_passes::driver::passes::{Pass, PassContext, PassResult};
use shardc_passes::propagate::{self, PropagateOptions, PropagationStrategy};
use shardc_passes::rules::{self, RuleOptions, SHARDING_RULE_ATTR, rule_with};

use crate::pass::{each_body, pass};

const KEEP_RULES: PassOption = PassOption::flag("keep-sharding-rules");
const CONSERVATIVE: PassOption = PassOption::flag("conservative-propagation");
const STRATEGY: PassOption =
    PassOption { name: "propagation-strategy", values: &["aggressive", "basic", "basic-then-aggressive"] };
const OP_PRIORITY: PassOption = PassOption::on("run-op-priority-propagation");

pub(super) const PASSES: &[Pass] = &[
    Pass {
        options: &[CONSERVATIVE],
        ..pass("sdy-populate-op-sharding-rules", "write the sharding rule on each operation", populate)
    },
    Pass {
        options: &[DEBUG_ORIGINS, DEBUG_EDGES, KEEP_RULES, CONSERVATIVE],
        ..pass("sdy-basic-propagate", "propagate axes without conflicts", |m, c| {
            propagation(
                m,
                c,
                Kind { strategies: &[PropagationStrategy::Basic], op_priority: false, user_priority: false },
            )
        })
    },
    Pass {
        options: &[DEBUG_ORIGINS, DEBUG_EDGES, KEEP_RULES, CONSERVATIVE, STRATEGY],
        ..pass("sdy-aggressive-propagate", "propagate and resolve conflicts", |m, c| {
            propagation(m, c, Kind { strategies: strategies(c), op_priority: false, user_priority: false })
        })
    },
    Pass {
        options: &[DEBUG_ORIGINS, DEBUG_EDGES, KEEP_RULES, CONSERVATIVE, STRATEGY, OP_PRIORITY],
        ..pass("sdy-op-priority-propagate", "propagate by operation priority", |m, c| {
            let op_priority = c.options.is_on(OP_PRIORITY);
            propagation(m, c, Kind { strategies: strategies(c), op_priority, user_priority: false })
        })
    },
    Pass {
        options: &[DEBUG_ORIGINS, DEBUG_EDGES, KEEP_RULES, CONSERVATIVE, STRATEGY, OP_PRIORITY],
        ..pass(
            "sdy-user-priority-propagate",
            "propagate by user priority, then by operation priority",
            |m, c| {
                let op_priority = c.options.is_on(OP_PRIORITY);
                propagation(m, c, Kind { strategies: strategies(c), op_priority, user_priority: true })
            },
        )
    },
];

/// The differences between the propagation passes.
struct Kind {
    strategies: &'static [PropagationStrategy],
    op_priority: bool,
    user_priority: bool,
}

fn strategies(context: &PassContext) -> &'static [PropagationStrategy] {
    match context.options.value(STRATEGY) {
        "basic" => &[PropagationStrategy::Basic],
        "basic-then-aggressive" => &[PropagationStrategy::Basic, PropagationStrategy::Aggressive],
        _ => &[PropagationStrategy::Aggressive],
    }
}

fn propagation(module: &mut Module, context: &PassContext, kind: Kind) -> PassResult {
    let Kind { strategies, op_priority, user_priority } = kind;
    let conservative = context.options.is_on(CONSERVATIVE);
    let options = PropagateOptions {
        strategies,
        op_priority,
        user_priority,
        conservative,
        debug: debug_options(&context.options),
        ..PropagateOptions::default()
    };
    let report = propagate::propagate_module(module, &options)?;
    if context.options.is_on(KEEP_RULES) {
        each_body(module, |m, body| {
            write_rules(m, body, RuleOptions { conservative, ..RuleOptions::default() })
        })?;
    } else {
        each_body(module, rules::drop_written_rules)?;
    }
    Ok(report.warnings)
}

fn populate(module: &mut Module, context: &mut PassContext) -> PassResult {
    let conservative = context.options.is_on(CONSERVATIVE);
    let options = RuleOptions { conservative, ..RuleOptions::default() };
    let mut warnings = Vec::new();
    for body in module.bodies().collect::<Vec<_>>() {
        write_rules(module, body, options);
        warnings.extend(unknown_calls(module, body));
    }
    Ok(warnings)
}

fn write_rules(module: &mut Module, body: RegionId, options: RuleOptions) {
    for op in module.walk(body) {
        if module.ops[op].attrs.get(SHARDING_RULE_ATTR).is_some() {
            continue;
        }
        if let Some(rule) = rule_with(module, op, options) {
            let text = format!("#sdy.op_sharding_rule<{rule}>");
            // Sharding rules on operations require static shapes.
            if sharding_rule_fault(module, op, &text).is_some() {
                continue;
            }
            module.ops[op].attrs.set(SHARDING_RULE_ATTR, Attr::Raw(text.into()));
        }
    }
}

/// A warning for each unknown target of custom calls, at its first call.
fn unknown_calls(module: &Module, body: RegionId) -> Vec<Diagnostic> {
    let mut seen: Vec<&str> = Vec::new();
    let mut warnings = Vec::new();
    for op in module.walk(body) {
        let data = &module.ops[op];
        let OpKind::CustomCall(spec) = &data.kind else { continue };
        let target = &*spec.target;
        if rules::is_known_target(target)
            || data.attrs.get(SHARDING_RULE_ATTR).is_some()
            || seen.contains(&target)
        {
            continue;
        }
        seen.push(target);
        let text =
            format!("the custom call @{target} has no sharding rule, so no sharding propagates through it");
        warnings.push(
            Diagnostic::warning(Class::Unsupported, "SH0806", text)
                .at(data.span)
                .hint(format!("give it a sharding rule: {SHARDING_RULE_ATTR} = #sdy.op_sharding_rule<...>")),
        );
    }
    warnings
}
