//! Replaces operands.

use rustc_hash::FxHashMap;
use shardc_ir::{Module, OpId, ValueId};

/// Replaces operands as `map` specifies, in `ops` and in the operations in their regions.
pub(crate) fn replace(module: &mut Module, ops: &[OpId], map: &FxHashMap<ValueId, ValueId>) {
    if map.is_empty() {
        return;
    }
    let mut all = Vec::new();
    for_each_under(module, ops, |op| all.push(op));
    for op in all {
        for operand in &mut module.ops[op].operands {
            if let Some(&other) = map.get(operand) {
                *operand = other;
            }
        }
    }
}

/// Visits operations and the operations in their regions.
pub(crate) fn for_each_under(module: &Module, ops: &[OpId], mut each: impl FnMut(OpId)) {
    for &op in ops {
        each(op);
        for inner in module.ops[op].regions.iter().flat_map(|&region| module.walk(region)) {
            each(inner);
        }
    }
}
