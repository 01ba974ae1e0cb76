//! Results that the compiler writes to larger or additional memory.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_analysis::analysis::tiles::LANES;
use shardc_ir::{AttrDict, FuncId, Module, OpKind, RegionId, ValueId};

/// Returns the results of loops that are aliased to an argument that the loop also reads, as when a scan reads a stack and returns its
/// new rows. XLA's `CopyInsertion` gives such a result memory of its own.
pub(super) fn beside_arguments(module: &Module, func: FuncId) -> FxHashSet<ValueId> {
    let data = &module.funcs[func];
    let Some(body) = data.body.map(|body| &module.regions[body]) else { return FxHashSet::default() };
    let returned = body.ops.last().map_or(&[][..], |&last| &module.ops[last].operands);
    let aliased = body.args.iter().zip(&data.arg_attrs).filter_map(|(&arg, attrs)| {
        let &result = returned.get(AttrDict::donated_to(attrs)?)?;
        let op = &module.ops[module.def_op(result)?];
        let at = op.results.iter().position(|&v| v == result)?;
        let reads = op.operands.iter().enumerate().any(|(i, &operand)| operand == arg && i != at);
        (matches!(op.kind, OpKind::While) && reads).then_some(result)
    });
    aliased.collect()
}

/// Returns the results of reduce-scatters that the compiler computes as all-reduces, because shards are not whole tiles. Users read their
/// shard from the whole sum, so that it stays in memory, unless an optimization barrier needs the shard itself.
pub(super) fn whole_sums(module: &Module, body: RegionId) -> FxHashMap<ValueId, ValueId> {
    let mut sums = FxHashMap::default();
    for op in module.walk(body) {
        let data = &module.ops[op];
        match &data.kind {
            OpKind::ReduceScatter { dim, .. } => {
                let (sum, shard) = (data.operands[0], data.results[0]);
                if module.shape(shard).get(*dim as usize).is_some_and(|n| n % LANES as i64 != 0) {
                    sums.insert(shard, sum);
                }
            }
            OpKind::OptimizationBarrier => sums.retain(|shard, _| !data.operands.contains(shard)),
            _ => {}
        }
    }
    sums
}
