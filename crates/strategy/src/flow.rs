//! Data flow in a body: the users of values, and the operations that values depend on.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{Module, OpId, RegionId, ValueId};

/// Returns the values that an operation reads: its operands, and the values that its regions capture.
pub(crate) fn reads(module: &Module, op: OpId) -> Vec<ValueId> {
    let data = &module.ops[op];
    let mut out = data.operands.to_vec();
    for &region in &data.regions {
        let (inner, regions) = module.walk_with_regions(region, |_| true);
        let results = inner.iter().flat_map(|&op| &module.ops[op].results);
        let own: FxHashSet<ValueId> =
            regions.iter().flat_map(|&region| &module.regions[region].args).chain(results).copied().collect();
        let read = inner.iter().flat_map(|&op| &module.ops[op].operands);
        out.extend(read.filter(|value| !own.contains(value)));
    }
    out
}

/// Returns the values that a region's terminator returns to its operation.
pub(crate) fn yielded(module: &Module, region: RegionId) -> &[ValueId] {
    module.terminator(region).map(|end| module.ops[end].operands.as_slice()).unwrap_or_default()
}

/// Returns the users of each value in a body, in order.
pub(crate) fn users(module: &Module, body: RegionId) -> FxHashMap<ValueId, Vec<OpId>> {
    let mut users: FxHashMap<ValueId, Vec<OpId>> = FxHashMap::default();
    for &op in &module.regions[body].ops {
        for value in reads(module, op) {
            users.entry(value).or_default().push(op);
        }
    }
    users
}

/// Returns the operations that values transitively depend on, including the operations in their regions.
pub(crate) fn computed_by(module: &Module, values: impl IntoIterator<Item = ValueId>) -> FxHashSet<OpId> {
    let mut seen = FxHashSet::default();
    let mut todo: Vec<OpId> = values.into_iter().filter_map(|value| module.def_op(value)).collect();
    while let Some(op) = todo.pop() {
        if seen.insert(op) {
            todo.extend(reads(module, op).into_iter().filter_map(|value| module.def_op(value)));
            let regions = module.ops[op].regions.iter();
            seen.extend(regions.flat_map(|&region| module.walk(region)));
        }
    }
    seen
}

/// Searches backward from `values` for the nearest value that satisfies `is_wanted`, `values` included. Only results of operations that
/// satisfy `through` are tested and traversed.
pub(crate) fn nearest(
    module: &Module,
    values: &[ValueId],
    through: impl Fn(OpId) -> bool,
    is_wanted: impl Fn(ValueId) -> bool,
) -> Option<ValueId> {
    let mut seen = FxHashSet::default();
    let mut todo: VecDeque<ValueId> = values.iter().copied().collect();
    while let Some(value) = todo.pop_front() {
        let Some(op) = module.def_op(value).filter(|&op| through(op)) else { continue };
        if !seen.insert(op) {
            continue;
        }
        if is_wanted(value) {
            return Some(value);
        }
        todo.extend(reads(module, op));
    }
    None
}

/// Replaces operands of an operation, and of the operations in its regions, by the values that `stands` returns.
pub(crate) fn replace(module: &mut Module, op: OpId, stands: impl Fn(ValueId) -> Option<ValueId>) {
    let regions = module.ops[op].regions.clone();
    let inner: Vec<OpId> = regions.iter().flat_map(|&region| module.walk(region)).collect();
    for op in inner.into_iter().chain([op]) {
        for operand in &mut module.ops[op].operands {
            *operand = stands(*operand).unwrap_or(*operand);
        }
    }
}
