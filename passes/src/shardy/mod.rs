//! Steps under the names of Shardy's passes, for its test files and for those who know it.
//!
//! A step here means what Shardy's pass of that name means, down to the order of what it prints. The compiler's own
//! pipeline runs some of them and does without others: it inlines calls, and data flow it knows without operations.

mod canonicalize;
mod edges;
mod export;
mod import;
mod pipeline;
mod propagation;

use shardc_ir::{FuncId, Module, RegionId};

use crate::driver::pass_options::PassOption;
use crate::driver::pipeline::{Pass, PassContext, PassResult};
use crate::propagate::DebugOptions;

/// Codes of warnings that are worth saying once, however many programs a file holds.
pub const SAID_ONCE: &[&str] = &[import::MANY_CALLS];

/// The steps, by Shardy's names.
pub fn passes() -> impl Iterator<Item = &'static Pass> {
    [import::PASSES, propagation::PASSES, export::PASSES, pipeline::PASSES].into_iter().flatten()
}

/// The attribute that holds shardings; as text where an operation has no results.
const SHARDING_ATTR: &str = shardc_ir::discardable::SHARDING;
/// The attribute of a function whose calls are in manual computations: the manual axes there.
const FUNC_MANUAL_AXES: &str = "sdy.func_manual_axes";

/// Whether to write where axes come from.
const ORIGINS: PassOption = PassOption::flag("debug-sharding-origins");

/// Whether to write what carried axes.
const EDGES: PassOption = PassOption::flag("debug-propagation-edge-sharding");

/// What Shardy's debugging options ask for.
pub(crate) const DEBUG: &[PassOption] = &[ORIGINS, EDGES];

pub(crate) fn debug_options(context: &PassContext) -> DebugOptions {
    DebugOptions { origins: context.options.is_on(ORIGINS), edges: context.options.is_on(EDGES) }
}

const fn pass(
    name: &'static str,
    about: &'static str,
    run: fn(&mut Module, &PassContext) -> PassResult,
) -> Pass {
    pass_with(name, about, &[], run)
}

const fn pass_with(
    name: &'static str,
    about: &'static str,
    options: &'static [PassOption],
    run: fn(&mut Module, &PassContext) -> PassResult,
) -> Pass {
    Pass { name, about, needs: &[], options, apply: run }
}

fn each(module: &mut Module, step: fn(&mut Module, FuncId)) -> PassResult {
    for func in module.funcs.keys().collect::<Vec<_>>() {
        step(module, func);
    }
    Ok(Vec::new())
}

fn each_body(module: &mut Module, step: impl Fn(&mut Module, RegionId)) -> PassResult {
    for body in module.bodies().collect::<Vec<_>>() {
        step(module, body);
    }
    Ok(Vec::new())
}
