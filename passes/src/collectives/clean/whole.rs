//! All-reduces the result of a combined reduce-scatter as a whole, before it is sliced back into the individual gradients.
//!
//! With HYBRID_SHARD, a gradient is reduce-scattered over one mesh axis and all-reduced over the other. If [`combine`](super::combine)
//! combines several reduce-scatters, the following all-reduce would take each slice as an operand. The unsliced result has the same
//! elements, in a single operand.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{Build, Builder, Module, OpId, OpKind, RegionId, Uses, ValueId};

use super::Combined;

/// A combined reduce-scatter whose slices are all operands of one all-reduce.
struct Row {
    /// The unsliced result.
    row: ValueId,
    /// The operations that slice the result, in order.
    cuts: Vec<OpId>,
    /// The results of `cuts`.
    parts: FxHashSet<ValueId>,
    /// The all-reduce whose operands the slices are.
    sum: OpId,
}

/// Replaces the operands of all-reduces in `body` by the unsliced results of combined reduce-scatters.
pub(super) fn sum_whole(module: &mut Module, body: RegionId, combined: &[Combined]) {
    let is_scattered = |op: &OpId| matches!(module.ops[*op].kind, OpKind::ReduceScatter { .. });
    let scattered: FxHashSet<OpId> = combined.iter().map(|one| one.op).filter(is_scattered).collect();
    if scattered.is_empty() {
        return;
    }
    let uses = module.uses();
    let mut left = vec![body];
    while let Some(region) = left.pop() {
        let ops = module.regions[region].ops.to_vec();
        left.extend(ops.iter().flat_map(|&op| module.ops[op].regions.iter().copied()));
        if !ops.iter().any(|op| scattered.contains(op)) {
            continue;
        }
        let here: FxHashSet<OpId> = ops.iter().copied().collect();
        let rows = ops.iter().filter(|op| scattered.contains(op));
        let rows: Vec<Row> = rows.filter_map(|&op| row_of(module, &uses, &here, op)).collect();
        if !rows.is_empty() {
            take(module, region, &ops, &rows);
        }
    }
}

/// Returns the result of a combined reduce-scatter and its slices, if the only user of the slices is one all-reduce among the operations
/// `here`.
fn row_of(module: &Module, uses: &Uses, here: &FxHashSet<OpId>, scatter: OpId) -> Option<Row> {
    let row = module.ops[scatter].results[0];
    let mut cuts = Vec::new();
    let mut parts = FxHashSet::default();
    let mut sums = FxHashSet::default();
    for &(slice, _) in uses.of(row) {
        let mut op = slice;
        let part = loop {
            let data = &module.ops[op];
            let is_cut = match data.kind {
                OpKind::Slice(_) => op == slice,
                OpKind::Reshape | OpKind::Transpose { .. } => op != slice,
                _ => false,
            };
            let &[(reader, _)] = uses.of(*data.results.first()?) else { return None };
            if !is_cut || !here.contains(&op) {
                return None;
            }
            cuts.push(op);
            if matches!(module.ops[reader].kind, OpKind::AllReduce(_)) {
                sums.insert(reader);
                break data.results[0];
            }
            op = reader;
        };
        parts.insert(part);
    }
    let mut sums = sums.into_iter();
    let (Some(sum), None) = (sums.next().filter(|sum| here.contains(sum)), sums.next()) else { return None };
    Some(Row { row, cuts, parts, sum })
}

/// In the all-reduces of a region, replaces the slices by the unsliced results, and slices the all-reduced values instead.
fn take(module: &mut Module, region: RegionId, ops: &[OpId], rows: &[Row]) {
    let mut behind: FxHashMap<OpId, Vec<OpId>> = FxHashMap::default();
    for Row { row, cuts, parts, sum } in rows {
        let (operands, results) = (&module.ops[*sum].operands, &module.ops[*sum].results);
        let is_left = |value: &ValueId| !parts.contains(value);
        let left: Vec<bool> = operands.iter().map(is_left).collect();
        let summed: Vec<(ValueId, ValueId)> = operands
            .iter()
            .copied()
            .zip(results.iter().copied())
            .filter(|(part, _)| !is_left(part))
            .collect();
        module.ops[*sum].operands.retain(|part| !parts.contains(part));
        module.retain_results(*sum, |i| left[i]);
        for (part, result) in summed {
            module.take_over(part, result);
        }
        module.ops[*sum].operands.push(*row);
        let whole = module.add_result(*sum, module.values[*row].ty);
        for &cut in cuts {
            for operand in module.ops[cut].operands.iter_mut().filter(|operand| **operand == *row) {
                *operand = whole;
            }
        }
        behind.entry(*sum).or_default().extend(cuts);
    }
    let moved: FxHashSet<OpId> = behind.values().flatten().copied().collect();
    let mut builder = Builder::new(module);
    for &op in ops.iter().filter(|op| !moved.contains(op)) {
        builder.insert(op);
        behind.get(&op).into_iter().flatten().for_each(|&cut| builder.insert(cut));
    }
    builder.finish(region);
}
