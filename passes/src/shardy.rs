//! Steps under the names of Shardy's passes, for its test files and for those who know it.
//!
//! A step here means what Shardy's pass of that name means. Two differences of representation show: data flow
//! edges are not operations, so adding and sinking them does nothing; and propagation always sees them.

use shardc_ir::{Attr, Diagnostic, FuncId, Module, OpKind, RegionId};

use crate::pipeline::{Pass, PassContext, PassResult};
use crate::propagate::{self, PropagateOptions, Strategy};
use crate::rules::{SHARDING_RULE_ATTR, rule_of};

/// The steps, by Shardy's names.
pub const SHARDY_PASSES: &[Pass] = &[
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
    pass("sdy-add-data-flow-edges", "nothing: data flow is known without operations", |_, _| Ok(Vec::new())),
    pass("sdy-sink-data-flow-edges", "nothing: data flow is known without operations", |_, _| Ok(Vec::new())),
    pass("sdy-apply-sharding-constraints", "constraints give their sharding to their operand", |m, _| {
        each(m, propagate::apply_sharding_constraints)
    }),
    pass("sdy-constant-or-scalar-splitter", "copy constants for each of their uses", |m, _| {
        each(m, propagate::split_constants)
    }),
    pass("sdy-remove-size-one-axes", "take axes of size one out of shardings", |m, _| {
        each(m, propagate::drop_size_one_axes)
    }),
    pass(
        "sdy-manual-axes-cleanup",
        "name every manual axis at the boundary of manual computations",
        |m, _| each(m, propagate::name_manual_axes),
    ),
    pass("sdy-close-shardings", "close every dimension, without priorities and replicated axes", |m, _| {
        each(m, propagate::close_shardings)
    }),
    pass(
        "sdy-update-non-divisible-input-output-shardings",
        "keep axes that divide, at boundaries",
        |m, _| each(m, propagate::keep_dividing_axes),
    ),
    pass("sdy-populate-op-sharding-rules", "write the sharding rule on each operation", |m, _| {
        each_body(m, write_rules)
    }),
    pass("sdy-drop-sharding-rules", "remove sharding rules from operations", |m, _| each_body(m, drop_rules)),
    pass("sdy-remove-sharding-groups", "remove sharding groups", |m, _| each_body(m, remove_groups)),
    pass("sdy-sharding-constraint-to-reshard", "replace constraints by reshards", |m, _| {
        each_body(m, constraints_to_reshards)
    }),
];

const fn pass(
    name: &'static str,
    about: &'static str,
    run: fn(&mut Module, &PassContext) -> PassResult,
) -> Pass {
    Pass { name, about, needs: "any verified module", run }
}

fn each(module: &mut Module, step: fn(&mut Module, FuncId)) -> PassResult {
    for func in module.funcs.keys().collect::<Vec<_>>() {
        step(module, func);
    }
    Ok(Vec::new())
}

fn each_body(module: &mut Module, step: fn(&mut Module, RegionId)) -> PassResult {
    for body in module.bodies().collect::<Vec<_>>() {
        step(module, body);
    }
    Ok(Vec::new())
}

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
