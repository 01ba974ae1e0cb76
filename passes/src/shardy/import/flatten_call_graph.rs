//! One function for each call.

use std::collections::HashSet;

use shardc_ir::{FuncId, Module};

use crate::analysis::call_graph::{callee_of, callees_first, calls_in};
use crate::analysis::inlined_size::check_size;
use crate::analysis::symbols::FreshNames;
use crate::driver::pipeline::PassResult;
use crate::transforms::clone_functions::give_own_callee;
use crate::transforms::inline::check_calls;

/// Every call but the first of a function calls a copy of it.
pub(super) fn run(module: &mut Module) -> PassResult {
    check_calls(module)?;
    check_size(module, &callees_first(module))?;
    let mut names = FreshNames::default();
    let mut called: HashSet<FuncId> = HashSet::new();
    for caller in callees_first(module) {
        for call in calls_in(module, caller) {
            let Some(callee) = callee_of(module, call) else { continue };
            if !called.insert(callee) {
                give_own_callee(module, call, &mut names);
            }
        }
    }
    Ok(Vec::new())
}
