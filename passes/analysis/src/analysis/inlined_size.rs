//! The number of operations of a program after inlining, computed without copying anything.
//!
//! For example, forty functions that each call the next one twice expand to about 2^40 operations.

use shardc_ir::limits::MAX_OPERATIONS;
use shardc_ir::{Diagnostic, FuncId, Module, OpKind, SecondaryMap};

/// Counts the operations of each function of `order` after inlining its calls and composites, and checks that the
/// total is not too large. `order` must list callees first.
///
/// # Errors
/// Returns SH0323 at the function that exceeds the limit.
pub fn check_size(module: &Module, order: &[FuncId]) -> Result<(), Vec<Diagnostic>> {
    check_size_except(module, order, &SecondaryMap::new())
}

/// Like [`check_size`], but calls of the functions in `keep` are not inlined.
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
                // Inlining drops the callee's return.
                OpKind::Return => continue,
                _ => {
                    size = size.saturating_add(1);
                    continue;
                }
            };
            calls += 1;
            let callee = module.func_names.get(callee).filter(|&&callee| !keep[callee]);
            let inlined = callee.map_or(1, |&callee| sizes[callee]);
            // A call counts as at least one operation, even of an empty function, because visiting it takes time.
            size = size.saturating_add(inlined.max(1));
        }
        sizes[func] = size;
        all = all.saturating_add(size);
        // A program without calls is not rejected for its size.
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
        "@{name} has {size} operations after inlining; all functions together may have at most {MAX_OPERATIONS}"
    );
    Diagnostic::unsupported("SH0323", message)
        .at(module.funcs[func].span)
        .hint("write repetition as stablehlo.while, or inline fewer calls of the same function")
}
