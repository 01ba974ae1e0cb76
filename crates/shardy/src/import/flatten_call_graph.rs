//! `sdy-flatten-call-graph`: clones functions so that each call has its own copy.

use std::collections::HashSet;

use shardc_ir::{FuncId, Module};
use shardc_passes::driver::passes::PassResult;
use shardc_passes::internal::call_graph::{callee_of, callees_first, calls_in};
use shardc_passes::internal::check_calls;
use shardc_passes::internal::check_size;
use shardc_passes::internal::clone_callee;
use shardc_passes::internal::symbols::FreshNames;

/// Clones the function of every call but the first.
pub(super) fn run(module: &mut Module) -> PassResult {
    check_calls(module)?;
    check_size(module, &callees_first(module))?;
    let mut names = FreshNames::default();
    let mut called: HashSet<FuncId> = HashSet::new();
    for caller in callees_first(module) {
        for call in calls_in(module, caller) {
            let Some(callee) = callee_of(module, call) else { continue };
            if !called.insert(callee) {
                clone_callee(module, call, &mut names);
            }
        }
    }
    Ok(Vec::new())
}
