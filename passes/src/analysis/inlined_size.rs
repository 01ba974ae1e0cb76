//! The number of operations that a program has once its calls are inlined, counted before anything is copied.
//!
//! Two calls in each of forty functions, of which each calls the next, stand for a million million operations.

use shardc_ir::limits::MAX_OPERATIONS;
use shardc_ir::{Diagnostic, FuncId, Module, OpKind, SecondaryMap};

/// Counts, for each function of `order`, the operations of its body with calls and composites replaced by the bodies of
/// what they name, and demands that all together are not too many. No entry of `order` may stand before one that it calls.
///
/// # Errors
/// SH0323 at the function with which it becomes too much.
pub fn check_size(module: &Module, order: &[FuncId]) -> Result<(), Vec<Diagnostic>> {
    check_size_except(module, order, &SecondaryMap::new())
}

/// As [`check_size`], where calls of the functions that `keep` names stay.
pub(crate) fn check_size_except(
    module: &Module,
    order: &[FuncId],
    keep: &SecondaryMap<FuncId, bool>,
) -> Result<(), Vec<Diagnostic>> {
    let mut sizes: SecondaryMap<FuncId, u64> = SecondaryMap::with_capacity(module.funcs.len());
    let mut all = 0u64;
    for &func in order {
        let data = &module.funcs[func];
        let Some(body) = data.body else { continue };
        let (mut size, mut calls) = (0u64, 0u64);
        for op in module.walk(body) {
            let callee = match &module.ops[op].kind {
                OpKind::Call { callee } => callee,
                OpKind::Composite(spec) => &spec.decomposition,
                // Inlining leaves no return of what it inlines.
                OpKind::Return => continue,
                _ => {
                    size = size.saturating_add(1);
                    continue;
                }
            };
            calls += 1;
            let callee = module.func_names.get(callee).filter(|&&callee| !keep[callee]);
            let inlined = callee.map_or(1, |&callee| sizes[callee]);
            // One at least: a function without operations still costs the visit of its call.
            size = size.saturating_add(inlined.max(1));
        }
        sizes[func] = size;
        all = all.saturating_add(size);
        // A program that is this large without calls is not refused.
        if calls > 0 && all > MAX_OPERATIONS {
            return Err(vec![too_many(module, func, size)]);
        }
    }
    Ok(())
}

fn too_many(module: &Module, func: FuncId, size: u64) -> Diagnostic {
    let name = &module.funcs[func].name;
    let size = if size == u64::MAX { "2^64 or more".to_owned() } else { size.to_string() };
    let message = format!(
        "with its calls inlined @{name} has {size} operations; shardc inlines as long as all functions together have at most {MAX_OPERATIONS}"
    );
    Diagnostic::unsupported("SH0323", message)
        .at(module.funcs[func].span)
        .hint("write repetition as stablehlo.while, or let fewer functions call the same one twice")
}
