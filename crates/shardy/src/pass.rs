//! Constructors of passes.

use shardc_ir::{FuncId, Module, RegionId};
use shardc_passes::driver::pass_options::PassOption;
use shardc_passes::driver::passes::{Pass, PassContext, PassResult};

/// The attribute with the shardings of an operation; kept as text if the operation has no results.
pub(super) const SHARDING_ATTR: &str = shardc_ir::discardable::SHARDING;
/// The attribute of a function with the manual axes of the manual computations that enclose its calls.
pub(super) const FUNC_MANUAL_AXES: &str = "sdy.func_manual_axes";

pub(super) const fn pass(
    name: &'static str,
    about: &'static str,
    run: fn(&mut Module, &mut PassContext) -> PassResult,
) -> Pass {
    pass_with(name, about, &[], run)
}

pub(super) const fn pass_with(
    name: &'static str,
    about: &'static str,
    options: &'static [PassOption],
    run: fn(&mut Module, &mut PassContext) -> PassResult,
) -> Pass {
    Pass { name, about, needs: &[], options, apply: run }
}

pub(super) fn each(module: &mut Module, step: fn(&mut Module, FuncId)) -> PassResult {
    for func in module.funcs.keys().collect::<Vec<_>>() {
        step(module, func);
    }
    Ok(Vec::new())
}

pub(super) fn each_body(module: &mut Module, step: impl Fn(&mut Module, RegionId)) -> PassResult {
    for body in module.bodies().collect::<Vec<_>>() {
        step(module, body);
    }
    Ok(Vec::new())
}
