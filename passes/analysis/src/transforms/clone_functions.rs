//! Clones functions, one for each call.

use shardc_ir::{Attr, Func, FuncId, Module, OpId, OpKind, ValueMap, clone_region};

use crate::analysis::call_graph::{ORIGINAL_FUNC_NAME, callee_of, original_name};
use crate::analysis::symbols::FreshNames;

/// Gives a call its own callee: a copy of the called function, whose calls also call copies. No function may be recursive.
pub fn clone_callee(module: &mut Module, call: OpId, names: &mut FreshNames) {
    let Some(func) = callee_of(module, call) else { return };
    let copy = clone_func(module, func, names);
    module.ops[call].kind = OpKind::Call { callee: module.funcs[copy].name.clone() };
}

/// Copies a function and its callees, callees first, under new names, to the end of the module.
fn clone_func(module: &mut Module, func: FuncId, names: &mut FreshNames) -> FuncId {
    // A post-order walk without recursion. A step is a call to visit, or a copied function whose callees have all been named.
    // Functions are named in post-order (callees before callers).
    enum CloneStep {
        Call(OpId),
        Named(Option<OpId>, Box<Func>),
    }
    let mut last = func;
    let copy_of = |module: &mut Module, func: FuncId, caller: Option<OpId>, stack: &mut Vec<CloneStep>| {
        let mut copy = module.funcs[func].clone();
        let original = original_name(&copy).into();
        copy.attrs.set(ORIGINAL_FUNC_NAME, Attr::Str(original));
        copy.body = copy.body.map(|body| clone_region(module, body, &mut ValueMap::new()));
        let calls = copy.body.map_or_else(Vec::new, |body| module.walk(body));
        stack.push(CloneStep::Named(caller, Box::new(copy)));
        stack.extend(calls.into_iter().rev().map(CloneStep::Call));
    };
    let mut stack = Vec::new();
    copy_of(module, func, None, &mut stack);
    while let Some(step) = stack.pop() {
        match step {
            CloneStep::Call(op) => {
                if let Some(callee) = callee_of(module, op) {
                    copy_of(module, callee, Some(op), &mut stack);
                }
            }
            CloneStep::Named(caller, mut func) => {
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
