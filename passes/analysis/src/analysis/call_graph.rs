//! The call graph, in MLIR's order of traversal.

use shardc_ir::{Attr, Func, FuncId, Module, OpId, OpKind};

/// The attribute by which a cloned function names its original.
pub const ORIGINAL_FUNC_NAME: &str = "sdy.original_func_name";

/// The attribute that specifies the host thread of a function or call.
pub const EXECUTION_THREAD: &str = "execution_thread";

/// Returns the calls in a function, in order.
pub fn calls_in(module: &Module, func: FuncId) -> Vec<OpId> {
    let Some(body) = module.funcs[func].body else { return Vec::new() };
    let mut ops = module.walk(body);
    ops.retain(|&op| matches!(module.ops[op].kind, OpKind::Call { .. }));
    ops
}

/// Returns the callee of a call. Returns `None` if the callee is not in the module, or if the call is only kept as text.
pub fn callee_of(module: &Module, call: OpId) -> Option<FuncId> {
    let OpKind::Call { callee } = &module.ops[call].kind else { return None };
    module.func_names.get(callee).copied()
}

/// Returns the functions with bodies, callees first: a postorder of the call graph, starting from each function in
/// turn. Reversed, it is MLIR's reverse postorder.
pub fn callees_first(module: &Module) -> Vec<FuncId> {
    let mut order = Vec::new();
    let mut seen: std::collections::HashSet<FuncId> = std::collections::HashSet::new();
    let callees = |func: FuncId| {
        let mut out: Vec<FuncId> =
            calls_in(module, func).into_iter().filter_map(|call| callee_of(module, call)).collect();
        // The next callee is popped from the end.
        out.reverse();
        out
    };
    let has_body = |func: FuncId| module.funcs[func].body.is_some();
    for root in module.funcs.keys().filter(|&func| has_body(func)) {
        if !seen.insert(root) {
            continue;
        }
        // The traversal is iterative, since the call graph may be deep. Each entry of the stack holds the callees that are not visited yet,
        // the next one last.
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

/// Returns the name of a function, or of its original if it is a clone.
pub fn original_name(func: &Func) -> &str {
    match func.attrs.get(ORIGINAL_FUNC_NAME) {
        Some(Attr::Str(name)) => name,
        _ => &func.name,
    }
}
