//! All-gather rematerialization: all-gathers a parameter again in the backward pass if memory is insufficient.
//!
//! A sharded parameter that the forward and the backward pass both use would stay all-gathered in between. If the all-gathered parameters
//! exceed the device memory, some of them are all-gathered again before their use in the backward pass: `reshard_after_forward` of FSDP,
//! ZeRO-3. The criterion is peak memory: all-gathered values that are used before and after the peak, but not at it, are all-gathered
//! again. The largest values are chosen first, as many as are needed. Then the new peak is computed, and the step is repeated.
//!
//! A barrier ties the second all-gather to a value that exists only after the peak. Without the barrier, back ends would merge the two
//! all-gathers by CSE.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{
    FuncId, InsertionPoint, Insertions, Module, OpId, OpKind, RegionId, ValueId, ValueMap, clone_op,
};

use crate::cost::memory::{Machine, need};
use crate::transforms::dce::dce;

/// Rematerializes all-gathers of the function until a device needs at most `memory` bytes, or no candidate is left. Returns the number of
/// rematerialized all-gathers.
pub(super) fn repeat(
    module: &mut Module,
    func: FuncId,
    body: RegionId,
    memory: u64,
    machine: Machine,
) -> usize {
    let mut channel = next_channel(module, body);
    let mut repeated = 0;
    loop {
        let need = need(module, func, machine);
        let mut excess = need.estimate.high.saturating_sub(memory);
        let mut chosen: Vec<Kept> = need.at.iter().flat_map(|&(r, at)| kept_over(module, r, at)).collect();
        // The sort is stable: values of equal size stay in program order.
        chosen.sort_by_key(|kept| std::cmp::Reverse(kept.bytes));
        chosen.retain(|kept| {
            let wanted = excess > 0;
            excess = excess.saturating_sub(kept.bytes);
            wanted
        });
        if chosen.is_empty() {
            return repeated;
        }
        repeated += chosen.len();
        gather_again(module, body, &chosen, &mut channel);
        dce(module, body);
    }
}

/// An all-gathered value that is live at the peak.
struct Kept {
    gather: OpId,
    /// The reshapes, transposes, converts and slices of the all-gathered value, in order.
    forms: Vec<OpId>,
    /// The size of the all-gathered value in bytes.
    bytes: u64,
    /// The users of the value after the peak, in order.
    late: Vec<OpId>,
    /// The index of an operand of `late[0]`: the second all-gather waits for this operand.
    waits_for: usize,
}

/// Returns the all-gathers of a region with users before and after operation number `peak`, but not at the peak.
fn kept_over(module: &Module, region: RegionId, peak: usize) -> Vec<Kept> {
    /// The uses of one all-gathered value in a region.
    #[derive(Default)]
    struct GatherReads {
        forms: Vec<OpId>,
        readers: Vec<usize>,
    }
    let ops = &module.regions[region].ops;
    let mut found: Vec<(OpId, GatherReads)> = Vec::new();
    let mut of: FxHashMap<ValueId, usize> = FxHashMap::default();
    let mut new: FxHashSet<ValueId> = FxHashSet::default();
    for (number, &op) in ops.iter().enumerate() {
        let data = &module.ops[op];
        match (&data.kind, data.operands.as_slice(), data.results.as_slice()) {
            (OpKind::AllGather { .. }, [_], &[result]) if number < peak => {
                of.insert(result, found.len());
                found.push((op, GatherReads::default()));
                continue;
            }
            (kind, [operand], &[result]) if is_form(kind) => {
                if let Some(&gather) = of.get(operand) {
                    of.insert(result, gather);
                    found[gather].1.forms.push(op);
                    continue;
                }
            }
            _ => {}
        }
        for value in reads(module, op) {
            if let Some(&gather) = of.get(&value)
                && found[gather].1.readers.last() != Some(&number)
            {
                found[gather].1.readers.push(number);
            }
        }
        // A constant is also available before the peak, so waiting for it would not delay the all-gather.
        if number > peak && !matches!(data.kind, OpKind::Constant(_) | OpKind::Iota { .. }) {
            new.extend(&data.results);
        }
    }
    let kept = found.into_iter().filter_map(|(gather, GatherReads { forms, readers })| {
        let late = readers.partition_point(|&number| number < peak);
        if late == 0 || late == readers.len() || readers[late] == peak {
            return None;
        }
        let first = ops[readers[late]];
        let waits_for = module.ops[first].operands.iter().position(|v| new.contains(v))?;
        let &result = module.ops[gather].results.first()?;
        let bytes = u64::try_from(module.tensor(result)?.num_bytes()?).ok()?;
        let late = readers[late..].iter().map(|&number| ops[number]).collect();
        Some(Kept { gather, forms, bytes, late, waits_for })
    });
    kept.collect()
}

/// Whether an operation only reshapes, transposes, converts or slices its operand.
fn is_form(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Reshape | OpKind::Transpose { .. } | OpKind::Convert | OpKind::Slice(_))
}

/// Returns the operands of an operation and of the operations in its regions.
fn reads(module: &Module, op: OpId) -> Vec<ValueId> {
    let data = &module.ops[op];
    let nested = data.regions.iter().flat_map(|&region| module.walk(region));
    let inner = nested.flat_map(|op| module.ops[op].operands.iter().copied());
    data.operands.iter().copied().chain(inner).collect()
}

/// Inserts a second all-gather before the first late use of each chosen value.
fn gather_again(module: &mut Module, body: RegionId, chosen: &[Kept], channel: &mut i64) {
    let mut insertions = Insertions::default();
    for kept in chosen {
        let mut place = InsertionPoint::Before(kept.late[0]);
        let mut map = ValueMap::new();
        let part = module.ops[kept.gather].operands[0];
        let (barrier, part_then) = behind(module, kept, part);
        insertions.insert(&mut place, barrier);
        map.insert(part, part_then);
        let again = clone_op(module, kept.gather, &mut map);
        if let OpKind::AllGather { spec, .. } = &mut module.ops[again].kind
            && let Some(own) = &mut spec.channel
        {
            own.handle = *channel;
            *channel += 1;
        }
        insertions.insert(&mut place, again);
        for &form in &kept.forms {
            insertions.insert(&mut place, clone_op(module, form, &mut map));
        }
        let whole: FxHashSet<ValueId> =
            kept.forms.iter().chain([&kept.gather]).map(|&op| module.ops[op].results[0]).collect();
        for &reader in &kept.late {
            let nested: Vec<OpId> =
                module.ops[reader].regions.iter().flat_map(|&region| module.walk(region)).collect();
            for op in nested.into_iter().chain([reader]) {
                for operand in module.ops[op].operands.iter_mut().filter(|v| whole.contains(v)) {
                    *operand = map.get(*operand);
                }
            }
        }
    }
    insertions.apply(module, body, &ValueMap::new(), |_| false);
}

/// Adds a barrier that ties `part`, the operand of the all-gather, to another operand of the first late user. Returns the barrier and its
/// result for `part`.
fn behind(module: &mut Module, kept: &Kept, part: ValueId) -> (OpId, ValueId) {
    let reader = kept.late[0];
    let other = module.ops[reader].operands[kept.waits_for];
    let types = [module.values[part].ty, module.values[other].ty];
    let barrier = module.add_op(OpKind::OptimizationBarrier, &[part, other], &types, &[]);
    module.ops[barrier].loc = module.ops[kept.gather].loc;
    module.ops[barrier].span = module.ops[kept.gather].span;
    let results = &module.ops[barrier].results;
    let (part_then, other_then) = (results[0], results[1]);
    module.ops[reader].operands[kept.waits_for] = other_then;
    (barrier, part_then)
}

/// Returns an unused channel id.
fn next_channel(module: &Module, body: RegionId) -> i64 {
    let channels = module.walk(body).into_iter().filter_map(|op| {
        let spec = module.ops[op].kind.collective()?;
        Some(spec.channel.as_ref()?.handle)
    });
    channels.max().map_or(1, |last| last + 1)
}
