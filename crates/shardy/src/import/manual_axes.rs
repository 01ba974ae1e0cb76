//! `sdy-manual-axes-cleanup`: adds missing manual axes to the shardings of manual computations.

use shardc_ir::{Diagnostic, Module, Op, OpKind};
use shardc_passes::driver::passes::PassResult;
use shardc_passes::propagate;

/// Adds every manual axis to every in- and out-sharding, in mesh order.
///
/// # Errors
/// A non-empty manual computation has manual axes, but no operand or result, so their mesh is unknown.
pub(super) fn run(module: &mut Module) -> PassResult {
    let mut errors = Vec::new();
    for body in module.bodies() {
        for op in module.walk(body) {
            let op = &module.ops[op];
            if has_axes_of_no_mesh(op) && does_something(module, op) {
                let message = "this manual computation has manual axes, but no operand or result with a sharding that names their mesh";
                errors.push(
                    Diagnostic::invalid("SH0812", message)
                        .at(op.span)
                        .hint("add a result with a sharding, or remove the manual axes"),
                );
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    for func in module.funcs.keys().collect::<Vec<_>>() {
        propagate::name_manual_axes(module, func);
    }
    Ok(Vec::new())
}

fn has_axes_of_no_mesh(op: &Op) -> bool {
    match &op.kind {
        OpKind::ManualComputation(spec) => {
            spec.in_shardings.is_empty() && spec.out_shardings.is_empty() && !spec.manual_axes.is_empty()
        }
        // The parser keeps a manual computation without operands and results as text if it has manual axes.
        OpKind::Opaque(spec) => &*spec.name == "sdy.manual_computation",
        _ => false,
    }
}

fn does_something(module: &Module, op: &Op) -> bool {
    let first = op.regions.first().and_then(|&region| module.regions[region].ops.first());
    first.is_some_and(|&op| !matches!(module.ops[op].kind, OpKind::Return))
}
