//! The call graph, in the order in which MLIR goes through it, and copies of functions.

use shardc_ir::{Attr, Diagnostic, Func, FuncId, Module, OpId, OpKind};

use crate::analysis::symbols::FreshNames;
use crate::transforms::inline::{ValueMap, clone_region};

/// Where a copy of a function has the name of what it was copied from.
pub(crate) const ORIGINAL_FUNC_NAME: &str = "sdy.original_func_name";

/// The attribute of a function or a call that says which thread of the host runs it.
pub(crate) const EXECUTION_THREAD: &str = "execution_thread";

/// The calls in each function, in order.
pub(crate) fn calls_in(module: &Module, func: FuncId) -> Vec<OpId> {
    let Some(body) = module.funcs[func].body else { return Vec::new() };
    let mut ops = module.walk(body);
    ops.retain(|&op| matches!(module.ops[op].kind, OpKind::Call { .. }));
    ops
}

/// The function that a call names, if it is one that the module holds and not keeps as text.
pub(crate) fn callee_of(module: &Module, call: OpId) -> Option<FuncId> {
    let OpKind::Call { callee } = &module.ops[call].kind else { return None };
    module.func_names.get(callee).copied()
}

/// The functions that have bodies, each after those that it calls: depth first through the calls, from each function
/// in turn. Backwards, that is MLIR's reverse post-order.
pub(crate) fn callees_first(module: &Module) -> Vec<FuncId> {
    let mut order = Vec::new();
    let mut seen: std::collections::HashSet<FuncId> = std::collections::HashSet::new();
    let callees = |func: FuncId| {
        let mut out: Vec<FuncId> =
            calls_in(module, func).into_iter().filter_map(|call| callee_of(module, call)).collect();
        out.reverse();
        out
    };
    let has_body = |func: FuncId| module.funcs[func].body.is_some();
    for root in module.funcs.keys().filter(|&func| has_body(func)) {
        if !seen.insert(root) {
            continue;
        }
        // Each with the functions that it calls and that were not looked at yet, the next one last.
        let mut stack = vec![(root, callees(root))];
        while let Some((func, open)) = stack.last_mut() {
            match open.pop() {
                Some(next) if has_body(next) && seen.insert(next) => stack.push((next, callees(next))),
                Some(_) => {}
                None => {
                    order.push(*func);
                    stack.pop();
                }
            }
        }
    }
    order
}

/// Checks that every call names a function and that none calls itself.
///
/// # Errors
/// One for each such call, and for each group of functions that call each other.
pub(crate) fn check_calls(module: &Module) -> Result<(), Vec<Diagnostic>> {
    crate::transforms::inline::callees_first(module).map(drop)
}

/// The name of a function, or of the one that it is a copy of.
pub(crate) fn original_name(func: &Func) -> &str {
    match func.attrs.get(ORIGINAL_FUNC_NAME) {
        Some(Attr::Str(name)) => name,
        _ => &func.name,
    }
}

/// Makes a call its callee's only one: it calls a copy, which calls copies too. No function may call itself.
pub(crate) fn give_own_callee(module: &mut Module, call: OpId, names: &mut FreshNames) {
    let Some(func) = callee_of(module, call) else { return };
    let copy = clone_func(module, func, names);
    module.ops[call].kind = OpKind::Call { callee: module.funcs[copy].name.clone() };
}

/// Copies a function and those that it calls, these first, under new names, to the end of the module.
fn clone_func(module: &mut Module, func: FuncId, names: &mut FreshNames) -> FuncId {
    // A call that is still to be looked at, or one whose callee was copied by then.
    enum Step {
        Call(OpId),
        Named(Option<OpId>, Box<Func>),
    }
    let mut last = func;
    let copy_of = |module: &mut Module, func: FuncId, caller: Option<OpId>, stack: &mut Vec<Step>| {
        let mut copy = module.funcs[func].clone();
        let original = original_name(&copy).into();
        copy.attrs.set(ORIGINAL_FUNC_NAME, Attr::Str(original));
        copy.body = copy.body.map(|body| clone_region(module, body, &mut ValueMap::new()));
        let calls = copy.body.map_or_else(Vec::new, |body| module.walk(body));
        stack.push(Step::Named(caller, Box::new(copy)));
        stack.extend(calls.into_iter().rev().map(Step::Call));
    };
    let mut stack = Vec::new();
    copy_of(module, func, None, &mut stack);
    while let Some(step) = stack.pop() {
        match step {
            Step::Call(op) => {
                if let Some(callee) = callee_of(module, op) {
                    copy_of(module, callee, Some(op), &mut stack);
                }
            }
            Step::Named(caller, mut func) => {
                func.name = names.make(module, &func.name).into();
                if let Some(caller) = caller {
                    module.ops[caller].kind = OpKind::Call { callee: func.name.clone() };
                }
                last = module.add_func(*func);
            }
        }
    }
    last
}
