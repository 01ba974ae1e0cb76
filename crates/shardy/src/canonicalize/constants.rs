//! Moves constants to the start of their scope, and merges equal constants.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{
    Attr, Dense, InsertionPoint, Insertions, Module, OpId, OpKind, RegionId, SPELLING_ATTR, SecondaryMap,
    ShardingId, TypeId, ValueMap,
};

/// Constants with equal keys are merged.
type Key = (RegionId, Dense, TypeId, Option<ShardingId>);

/// Moves each `stablehlo.constant` to the start of the enclosing function body or computation, and merges equal constants with equal
/// shardings. `sdy.constant`s are not changed, since they give each user its own constant.
pub(super) fn hoist(module: &mut Module, body: RegionId) {
    let mut scopes: BTreeMap<RegionId, Vec<OpId>> = BTreeMap::new();
    let mut first: FxHashMap<Key, OpId> = FxHashMap::default();
    let mut forward = ValueMap::new();
    let mut gone: FxHashSet<OpId> = FxHashSet::default();
    let mut moves = false;
    let mut in_front: SecondaryMap<OpId, bool> = SecondaryMap::new();
    let place = places(module, body);
    for op in module.walk_inner_first(body) {
        let Some(&(region, at, scope)) = place.get(&op) else { continue };
        let data = &module.ops[op];
        let (OpKind::Constant(dense), &[result]) = (&data.kind, data.results.as_slice()) else { continue };
        if matches!(data.attrs.get(SPELLING_ATTR), Some(Attr::Str(name)) if &**name == "sdy.constant") {
            continue;
        }
        let key = (scope, dense.clone(), module.values[result].ty, module.shardings.of(result));
        if let Some(&same) = first.get(&key) {
            forward.insert(result, module.ops[same].results[0]);
            gone.insert(op);
            continue;
        }
        first.insert(key, op);
        let front = scopes.entry(scope).or_default();
        // A constant need not move if it is first in its region, or directly follows a constant that is, or will be, at the start.
        let follows =
            at == 0 || module.regions[region].ops.get(at - 1).is_some_and(|before| in_front[*before]);
        in_front[op] = true;
        match follows && region == scope {
            true => front.push(op),
            false => {
                front.insert(0, op);
                moves = true;
            }
        }
    }
    if gone.is_empty() && !moves {
        return;
    }
    let mut insertions = Insertions::default();
    for (scope, front) in scopes {
        let mut at = InsertionPoint::Start(scope, 0);
        front.into_iter().for_each(|op| insertions.move_to(&mut at, op));
    }
    insertions.apply(module, body, &forward, |op| gone.contains(&op));
}

/// For each constant: the region that contains it, its index in that region, and the enclosing region that is isolated from above.
fn places(module: &Module, body: RegionId) -> FxHashMap<OpId, (RegionId, usize, RegionId)> {
    let mut out = FxHashMap::default();
    let mut stack = vec![(body, body)];
    while let Some((region, scope)) = stack.pop() {
        for (i, &op) in module.regions[region].ops.iter().enumerate() {
            let data = &module.ops[op];
            let closed = matches!(data.kind, OpKind::ManualComputation(_) | OpKind::NamedComputation(_));
            stack.extend(data.regions.iter().map(|&r| (r, if closed { r } else { scope })));
            if matches!(data.kind, OpKind::Constant(_)) {
                out.insert(op, (region, i, scope));
            }
        }
    }
    out
}
