//! `sdy-constant-or-scalar-splitter`: gives each user its own copy of a constant.

use shardc_ir::{Attr, Module, OpKind, SPELLING_ATTR};
use shardc_passes::driver::passes::PassResult;
use shardc_passes::propagate;

/// Copies constant expressions, and broadcasts of scalars, for each user. Constants become `sdy.constant`, which is never
/// merged.
pub(super) fn run(module: &mut Module) -> PassResult {
    for body in module.bodies().collect::<Vec<_>>() {
        for op in module.walk(body) {
            let op = &mut module.ops[op];
            if matches!(op.kind, OpKind::Constant(_)) && op.attrs.get(SPELLING_ATTR).is_none() {
                op.attrs.set(SPELLING_ATTR, Attr::Str("sdy.constant".into()));
            }
        }
    }
    propagate::split_constants(module)?;
    Ok(Vec::new())
}
