//! The call graph, in the order in which MLIR visits it.

use shardc_ir::{Attr, Func, FuncId, Module, OpId, OpKind};

/// The attribute with which a copy of a function names its original.
pub const ORIGINAL_FUNC_NAME: &str = "sdy.original_func_name";

/// The attribute of a function or a call that says which thread of the host runs it.
pub const EXECUTION_THREAD: &str = "execution_thread";

/// Returns the calls in a function, in order.
pub fn calls_in(module: &Module, func: FuncId) -> Vec<OpId> {
    let Some(body) = module.funcs[func].body else { return Vec::new() };
    let mut ops = module.walk(body);
    ops.retain(|&op| matches!(module.ops[op].kind, OpKind::Call { .. }));
    ops
}

/// Returns the function that a call names, if the module holds it and does not only keep it as text.
pub fn callee_of(module: &Module, call: OpId) -> Option<FuncId> {
    let OpKind::Call { callee } = &module.ops[call].kind else { return None };
    module.func_names.get(callee).copied()
}

/// Returns the functions that have bodies, each after those that it calls: a post-order of the call graph, from each function
/// in turn. Backwards, that is MLIR's reverse post-order.
pub fn callees_first(module: &Module) -> Vec<FuncId> {
    let mut order = Vec::new();
    let mut seen: std::collections::HashSet<FuncId> = std::collections::HashSet::new();
    let callees = |func: FuncId| {
        let mut out: Vec<FuncId> =
            calls_in(module, func).into_iter().filter_map(|call| callee_of(module, call)).collect();
        // The next one to look at is taken from the end.
        out.reverse();
        out
    };
    let has_body = |func: FuncId| module.funcs[func].body.is_some();
    for root in module.funcs.keys().filter(|&func| has_body(func)) {
        if !seen.insert(root) {
            continue;
        }
        // Not recursive, since calls may be nested as deep as a program is long. Each entry has the callees that were not
        // looked at yet, the next one last.
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

/// Returns the name of a function, or of the one that it is a copy of.
pub fn original_name(func: &Func) -> &str {
    match func.attrs.get(ORIGINAL_FUNC_NAME) {
        Some(Attr::Str(name)) => name,
        _ => &func.name,
    }
}
