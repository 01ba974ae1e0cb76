//! Removal of data-flow edge operations.

use shardc_ir::{Module, OpId, RegionId, Rewriter};

/// Removes the operations of a function body for which `is_edge` holds. The results of a removed operation are replaced by its operands.
pub(super) fn remove(module: &mut Module, body: RegionId, is_edge: impl Fn(&Module, OpId) -> bool) {
    remove_in(&mut Rewriter::new(module), body, &is_edge);
}

fn remove_in(rw: &mut Rewriter<'_>, region: RegionId, is_edge: &impl Fn(&Module, OpId) -> bool) {
    rw.enter(region);
    while let Some(op) = rw.next_op() {
        if is_edge(rw.module, op) {
            let operands = rw.module.ops[op].operands.clone();
            rw.replace(&operands);
            continue;
        }
        for inner in rw.module.ops[op].regions.clone() {
            remove_in(rw, inner, is_edge);
        }
    }
}
