//! Permute composition: replaces two successive collective permutes with one.
//!
//! A reverse of two sharded dimensions permutes blocks along the first dimension, then along the second, and a reshard of the result
//! permutes them again. If the same devices send and receive in both permutes, one permute with composed pairs replaces them, and no device
//! sends more than before. Operations between the two permutes must have one operand and do the same on every device; they move after the
//! new permute.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{
    CollectiveSpec, Effect, Module, OpId, OpKind, RegionId, ReplicaGroups, UseCounts, ValueId, ValueMap,
};

/// The maximum number of operations between two permutes.
const MAX_BETWEEN: usize = 8;

/// Composes permutes in a function body and its nested regions. Returns the number of removed permutes.
pub(super) fn compose(module: &mut Module, body: RegionId) -> usize {
    let mut regions: Vec<(RegionId, Vec<OpId>)> = Vec::new();
    let mut left = vec![body];
    while let Some(region) = left.pop() {
        let mut permutes = Vec::new();
        for &op in module.regions[region].ops.iter() {
            let data = &module.ops[op];
            if matches!(data.kind, OpKind::CollectivePermute(_)) {
                permutes.push(op);
            }
            left.extend(data.regions.iter().copied());
        }
        if permutes.len() > 1 {
            regions.push((region, permutes));
        }
    }
    if regions.is_empty() {
        return 0;
    }
    let uses = UseCounts::under(module, body);
    let mut joined = ValueMap::new();
    let mut gone = 0;
    for (region, permutes) in regions {
        let here: FxHashSet<OpId> = module.regions[region].ops.iter().copied().collect();
        for outer in permutes {
            let Some((inner, groups)) = composed(module, outer, &here, &uses, &joined) else { continue };
            if let OpKind::CollectivePermute(spec) = &mut module.ops[inner].kind {
                spec.groups = groups;
                spec.mesh_axes = None;
            }
            let (from, to) = (module.ops[outer].operands[0], module.ops[outer].results[0]);
            joined.insert(to, joined.resolve(from));
            gone += 1;
        }
    }
    if gone > 0 {
        joined.resolve_all(module);
    }
    gone
}

/// Returns the earlier permute that can be composed with `outer`, and the source-target pairs of the composition.
fn composed(
    module: &Module,
    outer: OpId,
    here: &FxHashSet<OpId>,
    uses: &UseCounts,
    joined: &ValueMap,
) -> Option<(OpId, ReplicaGroups)> {
    let OpKind::CollectivePermute(after) = &module.ops[outer].kind else { return None };
    let mut value = *module.ops[outer].operands.first()?;
    for _ in 0..MAX_BETWEEN {
        value = only_use(value, uses, joined)?;
        let op = module.def_op(value).filter(|op| here.contains(op))?;
        let data = &module.ops[op];
        if let OpKind::CollectivePermute(before) = &data.kind {
            return pairs(before, after).map(|groups| (op, groups));
        }
        let is_alike = data.kind.def().effect == Effect::Pure && data.regions.is_empty();
        let &[operand] = data.operands.as_slice() else { return None };
        if !is_alike || data.results.len() != 1 {
            return None;
        }
        value = operand;
    }
    None
}

/// Returns the value that replaced `value` in an earlier composition, or `value` itself. Returns `None` unless `value` and its replacement
/// have exactly one use each.
fn only_use(value: ValueId, uses: &UseCounts, joined: &ValueMap) -> Option<ValueId> {
    let now = joined.resolve(value);
    (uses.get(value) == 1 && uses.get(now) == 1).then_some(now)
}

/// Returns the source-target pairs of the composition of two permutes. Returns `None` unless both permutes have the same set of sources and
/// the same set of targets.
fn pairs(before: &CollectiveSpec, after: &CollectiveSpec) -> Option<ReplicaGroups> {
    if before.channel.is_some() != after.channel.is_some()
        || before.use_global_device_ids != after.use_global_device_ids
        || before.crosses_partitions() != after.crosses_partitions()
    {
        return None;
    }
    let list = |spec: &CollectiveSpec| -> Option<Vec<(i64, i64)>> {
        spec.groups
            .iter()
            .map(|pair| {
                let mut ids = pair.iter();
                Some((ids.next()?, ids.next()?))
            })
            .collect()
    };
    let (first, second) = (list(before)?, list(after)?);
    let source: FxHashMap<i64, i64> = first.iter().map(|&(from, to)| (to, from)).collect();
    let received: FxHashSet<i64> = second.iter().map(|&(_, to)| to).collect();
    // A device that receives nothing gets zeros, and the operations between the permutes may turn zeros into other values.
    let is_complete = first.len() == second.len()
        && source.len() == first.len()
        && received.len() == second.len()
        && second.iter().all(|(from, to)| source.contains_key(from) && source.contains_key(to));
    is_complete.then(|| ReplicaGroups::pairs(second.into_iter().map(|(from, to)| (source[&from], to))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(pairs: &[(i64, i64)]) -> CollectiveSpec {
        CollectiveSpec { groups: ReplicaGroups::pairs(pairs.iter().copied()), ..CollectiveSpec::default() }
    }

    #[test]
    fn consecutive_permutes_of_all_devices_are_merged() {
        let turn = spec(&[(0, 1), (1, 2), (2, 3), (3, 0)]);
        let swap = spec(&[(1, 0), (0, 1), (3, 2), (2, 3)]);
        let both = spec(&[(0, 0), (3, 1), (2, 2), (1, 3)]);
        assert_eq!(pairs(&turn, &swap), Some(both.groups));
    }

    #[test]
    fn permutes_without_all_receivers_are_not_merged() {
        let shift = spec(&[(0, 1), (1, 2), (2, 3)]);
        let turn = spec(&[(0, 1), (1, 2), (2, 3), (3, 0)]);
        assert_eq!(pairs(&shift, &turn), None);
        assert_eq!(pairs(&turn, &shift), None);
        assert_eq!(pairs(&shift, &shift), None);
    }
}
