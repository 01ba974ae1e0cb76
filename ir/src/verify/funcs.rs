//! Verifies invariants I9 (functions) and I10 (calls), and for function bodies also I5 (terminators) and I8 (types of regions).

use cranelift_entity::EntityRef;

use super::Report;
use super::regions::check_types;
use crate::infer::type_fits;
use crate::{CompositeSpec, FuncId, Module, OpId, OpKind};

pub(super) fn check(report: &mut Report<'_>, order: &[OpId]) {
    let module = report.module;
    for (id, func) in &module.funcs {
        let span = func.span;
        if module.func_names.get(&func.name) != Some(&id) {
            report.invalid("SH0209", span, format!("there are two functions @{}", func.name));
        }
        for (what, have, want) in [
            ("attribute lists of parameters", func.arg_attrs.len(), func.params.len()),
            ("attribute lists of results", func.res_attrs.len(), func.results.len()),
            ("shardings of results", func.res_shardings.len(), func.results.len()),
            ("locations of parameters", func.arg_locs.len(), func.params.len()),
        ] {
            if have != want && have != 0 {
                report.invalid("SH0209", span, format!("@{} has {have} {what}, expected {want}", func.name));
            }
        }
        let Some(body) = func.body else { continue };
        let args = module.regions[body].args.iter().map(|&v| module.values[v].ty);
        if !args.eq(func.params.iter().copied()) {
            report.invalid(
                "SH0209",
                span,
                format!("the parameter types of @{} differ from the argument types of its body", func.name),
            );
        }
        match module.terminator(body) {
            Some(end) => {
                let what = format!("@{}", func.name);
                check_types(report, end, &what, "returned value", &module.ops[end].operands, &func.results);
            }
            None => report.invalid("SH0205", span, format!("@{} does not end with a return", func.name)),
        }
    }
    for (name, &id) in &module.func_names {
        if module.funcs[id].name != *name {
            report.internal(
                "SH0209",
                format!("{id} is listed as @{name}, but its name is @{}", module.funcs[id].name),
            );
        }
    }
    check_calls(report, order);
    check_recursion(report);
}

fn check_calls(report: &mut Report<'_>, order: &[OpId]) {
    let module = report.module;
    for &id in order {
        let op = &module.ops[id];
        let callee = match &op.kind {
            OpKind::Call { callee } => callee,
            OpKind::Composite(spec) => {
                composite(report, id, spec);
                continue;
            }
            _ => continue,
        };
        let Some(&func) = module.func_names.get(callee) else {
            // The check of invariant I10 (calls) reports an unknown callee when types are checked.
            continue;
        };
        let params = &module.funcs[func].params;
        if params.len() != op.operands.len() {
            let (have, want) = (op.operands.len(), params.len());
            report.at_op("SH0210", id, format!("the call of @{callee} has {have} operands, expected {want}"));
            continue;
        }
        for (i, (&value, &want)) in op.operands.iter().zip(params).enumerate() {
            let have = module.values[value].ty;
            if !type_fits(module, have, want) {
                let (have, want) = (module.types.display(have), module.types.display(want));
                report.at_op(
                    "SH0210",
                    id,
                    format!("operand {i} of the call of @{callee} is {have}, expected {want}"),
                );
            }
        }
    }
}

/// Checks that a composite has a name with a namespace, and the operand and result types of its decomposition.
fn composite(report: &mut Report<'_>, id: OpId, spec: &CompositeSpec) {
    let module = report.module;
    let op = &module.ops[id];
    if !is_namespaced(&spec.name) {
        let message = format!("\"{}\" is not a valid name of a composite", spec.name);
        report.hinted(
            "SH0210",
            id,
            message,
            Some("write a name with a namespace, as in \"my_namespace.my_op\""),
        );
    }
    let name = &spec.decomposition;
    let Some(&func) = module.func_names.get(name) else {
        if module.kept_symbol(name).is_some() {
            return;
        }
        report.at_op(
            "SH0210",
            id,
            format!("the decomposition @{name} of {} is not a function of the module", spec.name),
        );
        return;
    };
    let func = &module.funcs[func];
    for (what, have, want) in
        [("operands", &op.operands[..], &func.params), ("results", &op.results[..], &func.results)]
    {
        if have.len() != want.len() {
            let (have, want) = (have.len(), want.len());
            report.at_op(
                "SH0210",
                id,
                format!("{} has {have} {what}, but its decomposition @{name} has {want}", spec.name),
            );
            continue;
        }
        for (i, (&value, &want)) in have.iter().zip(want).enumerate() {
            let have = module.values[value].ty;
            if have != want {
                let (have, want) = (module.types.display(have), module.types.display(want));
                let message = format!(
                    "{} {i} of {} is {have}, but that of its decomposition @{name} is {want}",
                    what.trim_end_matches('s'),
                    spec.name
                );
                report.at_op("SH0210", id, message);
            }
        }
    }
}

/// Whether a name consists of at least two words separated by dots, and the first word begins with a letter.
fn is_namespaced(name: &str) -> bool {
    let mut parts = name.split('.');
    let first = parts.next().unwrap_or_default();
    let word = |part: &str, more: &[u8]| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || more.contains(&b))
    };
    let mut rest = parts.peekable();
    first.bytes().next().is_some_and(|b| b.is_ascii_alphabetic())
        && word(first, b"")
        && rest.peek().is_some()
        && rest.all(|part| word(part, b"$"))
}

/// The calls in a function's body, each with the called function.
fn calls(module: &Module, func: FuncId) -> Vec<(OpId, FuncId)> {
    let Some(body) = module.funcs[func].body else { return Vec::new() };
    module
        .walk(body)
        .into_iter()
        .filter_map(|op| match &module.ops[op].kind {
            OpKind::Call { callee } => module.func_names.get(callee).map(|&f| (op, f)),
            _ => None,
        })
        .collect()
}

/// Checks that no call is recursive, by a depth-first search of the call graph: a call of a function that is on the stack is recursive.
fn check_recursion(report: &mut Report<'_>) {
    #[derive(Clone, Copy, PartialEq)]
    enum VisitState {
        New,
        Open,
        Done,
    }
    let module = report.module;
    let mut state = vec![VisitState::New; module.funcs.len()];
    for root in module.funcs.keys() {
        if state[root.index()] != VisitState::New {
            continue;
        }
        state[root.index()] = VisitState::Open;
        let mut stack = vec![(root, calls(module, root).into_iter())];
        while let Some((func, rest)) = stack.last_mut() {
            let Some((op, callee)) = rest.next() else {
                state[func.index()] = VisitState::Done;
                stack.pop();
                continue;
            };
            match state[callee.index()] {
                // Done functions are not visited again: each body is walked once, even if calls form a ladder (`f` calls `g` twice, `g`
                // calls `h` twice, ...).
                VisitState::Done => {}
                VisitState::Open => {
                    let message =
                        format!("@{} calls itself, directly or indirectly", module.funcs[callee].name);
                    report.hinted("SH0210", op, message, Some("write a loop as stablehlo.while"));
                }
                VisitState::New => {
                    state[callee.index()] = VisitState::Open;
                    stack.push((callee, calls(module, callee).into_iter()));
                }
            }
        }
    }
}
