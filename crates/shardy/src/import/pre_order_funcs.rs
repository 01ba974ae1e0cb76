//! `sdy-pre-order-funcs`: orders functions so that callers come before callees.

use shardc_ir::Module;
use shardc_passes::driver::passes::PassResult;
use shardc_passes::internal::call_graph::callees_first;

/// Moves functions with bodies to the end of the module, each before its callees.
pub(super) fn run(module: &mut Module) -> PassResult {
    let order: Vec<Box<str>> =
        callees_first(module).into_iter().rev().map(|func| module.funcs[func].name.clone()).collect();
    let mut moved: std::collections::HashMap<Box<str>, _> =
        module.retain_funcs(|_, func| func.body.is_none()).into_iter().map(|f| (f.name.clone(), f)).collect();
    for name in order {
        if let Some(func) = moved.remove(&name) {
            module.add_func(func);
        }
    }
    Ok(Vec::new())
}
