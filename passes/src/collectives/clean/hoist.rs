//! Loop-invariant code motion for collectives.
//!
//! A value is invariant if it is defined outside of the loop, is a carried value that the body returns unchanged, or is computed only
//! from invariant values. A collective of invariant values moves before the loop; the computation of its operands is copied there.
//!
//! Conditions: the loop is known to run at least once, so that no more bytes are sent, and the additional live values take at most
//! `keep_bytes`.
//!
//! The result of an optimization barrier is also invariant if its operand is computed and invariant, such as a table that is computed from
//! parameters before the loop. The all-gather of a parameter after a barrier is not hoisted: it is rematerialized on purpose, since the
//! all-gathered parameters together would not fit in memory.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{Build, Module, OpId, OpKind, RegionId, Rewriter, ValueId, ValueMap, clone_op};

use super::CleanOptions;
use crate::analysis::regions::has_program_regions;
use crate::analysis::trip_count;

/// Hoists collectives in `region` and its nested regions. Returns the number of moves: a collective counts once for each loop that it
/// leaves.
pub(super) fn hoist(module: &mut Module, region: RegionId, options: &CleanOptions) -> usize {
    hoist_in(&mut Rewriter::new(module), region, options)
}

fn hoist_in(rw: &mut Rewriter<'_>, region: RegionId, options: &CleanOptions) -> usize {
    let mut moved = 0;
    rw.enter(region);
    while let Some(op) = rw.next_op() {
        if has_program_regions(&rw.module.ops[op].kind) {
            for inner in rw.module.ops[op].regions.clone() {
                moved += hoist_in(rw, inner, options);
            }
        }
        if matches!(rw.module.ops[op].kind, OpKind::While)
            && options.keep_bytes > 0
            && trip_count::runs(rw.module, op)
        {
            moved += out_of_loop(rw, op, options.keep_bytes);
        }
    }
    moved
}

fn out_of_loop(rw: &mut Rewriter<'_>, op: OpId, mut budget: u64) -> usize {
    let module = &*rw.module;
    let &[_, body] = module.ops[op].regions.as_slice() else { return 0 };
    let chosen = choose(module, op, body, &mut budget);
    if chosen.is_empty() {
        return 0;
    }
    let mut map = carried_unchanged(module, op, body);
    let mut copied = FxHashSet::default();
    let mut own = made_in(module, body);
    for &inner in &module.regions[body].ops {
        for (behind, before) in handed_on(module, inner, &map, &own) {
            own.remove(&behind);
            map.insert(behind, before);
        }
    }
    let moved: FxHashSet<OpId> = chosen.iter().copied().collect();
    rw.module.retain_ops(body, |_, op| !moved.contains(&op));
    for &collective in &chosen {
        bring_along(rw, collective, &own, &chosen, &mut map, &mut copied);
        map.rewrite(&mut rw.module.ops[collective].operands);
        rw.insert(collective);
    }
    chosen.len()
}

/// Maps the values that operations of a region define to these operations.
fn made_in(module: &Module, region: RegionId) -> FxHashMap<ValueId, OpId> {
    let ops = module.regions[region].ops.iter();
    ops.flat_map(|&op| module.ops[op].results.iter().map(move |&v| (v, op))).collect()
}

/// Maps carried values that the body returns unchanged to their initial values.
fn carried_unchanged(module: &Module, op: OpId, body: RegionId) -> ValueMap {
    let mut map = ValueMap::new();
    let Some(end) = module.terminator(body) else { return map };
    let returned = module.ops[end].operands.iter().zip(&module.ops[op].operands);
    for (&arg, (&returned, &operand)) in module.regions[body].args.iter().zip(returned) {
        if arg == returned {
            map.insert(arg, operand);
        }
    }
    map
}

/// Maps results of optimization barriers in the body to values outside of the loop, if the barrier's operands are invariant and computed
/// (see [`is_computed`]). `own` are the values defined in the body.
fn handed_on(
    module: &Module,
    op: OpId,
    unchanged: &ValueMap,
    own: &FxHashMap<ValueId, OpId>,
) -> Vec<(ValueId, ValueId)> {
    let data = &module.ops[op];
    if !matches!(data.kind, OpKind::OptimizationBarrier) {
        return Vec::new();
    }
    let outside = |&value: &ValueId| {
        let before = unchanged.get(value);
        let is_outside = before != value || module.def_op(value).is_some() && !own.contains_key(&value);
        (is_outside && is_computed(module, before)).then_some(before)
    };
    let pairs = data.results.iter().zip(&data.operands);
    pairs.filter_map(|(&behind, before)| Some((behind, outside(before)?))).collect()
}

/// Whether a value is computed, as opposed to an argument, or a slice or reshape of one.
fn is_computed(module: &Module, mut value: ValueId) -> bool {
    while let Some(def) = module.def_op(value) {
        let data = &module.ops[def];
        let at = match data.kind {
            OpKind::Convert
            | OpKind::Reshape
            | OpKind::Transpose { .. }
            | OpKind::Slice(_)
            | OpKind::DynamicSlice { .. } => 0,
            OpKind::OptimizationBarrier => data.results.iter().position(|&v| v == value).unwrap_or(0),
            _ => return true,
        };
        let Some(&before) = data.operands.get(at) else { return true };
        value = before;
    }
    false
}

/// Returns the collectives of invariant values, in order, as long as their results fit in the budget for live values.
fn choose(module: &Module, op: OpId, body: RegionId, budget: &mut u64) -> Vec<OpId> {
    let unchanged = carried_unchanged(module, op, body);
    // Values that may differ between iterations.
    let mut varying: FxHashSet<ValueId> = FxHashSet::default();
    varying.extend(module.regions[body].args.iter().filter(|&&arg| unchanged.get(arg) == arg));
    let own = made_in(module, body);
    let mut chosen = Vec::new();
    for &inner in &module.regions[body].ops {
        let data = &module.ops[inner];
        if matches!(data.kind, OpKind::OptimizationBarrier) {
            let through: FxHashSet<ValueId> =
                handed_on(module, inner, &unchanged, &own).into_iter().map(|(behind, _)| behind).collect();
            varying.extend(data.results.iter().filter(|&v| !through.contains(v)));
            continue;
        }
        let is_collective = data.kind.collective().is_some();
        let can_move = is_collective || data.regions.is_empty() && module.is_pure(data);
        let mut moves = can_move && !data.operands.iter().any(|v| varying.contains(v));
        if moves && is_collective {
            let bytes = data.results.iter().filter_map(|&v| module.tensor(v)?.num_bytes()).sum::<i64>();
            match u64::try_from(bytes).ok().and_then(|bytes| budget.checked_sub(bytes)) {
                Some(left) => {
                    *budget = left;
                    chosen.push(inner);
                }
                None => moves = false,
            }
        }
        // A collective that exceeds the budget stays in the loop, with all operations that depend on it.
        if !moves {
            varying.extend(&data.results);
        }
    }
    chosen
}

/// Copies the operations of the body that `op` depends on, except collectives that move anyway, and inserts the copies before the loop. The
/// originals stay, since the body may use them; DCE removes them if they are dead.
fn bring_along(
    rw: &mut Rewriter<'_>,
    op: OpId,
    own: &FxHashMap<ValueId, OpId>,
    chosen: &[OpId],
    map: &mut ValueMap,
    copied: &mut FxHashSet<OpId>,
) {
    // An entry is an operation, and whether the operations that it depends on were already pushed. The operation is copied after them.
    let mut stack: Vec<(OpId, bool)> = vec![(op, false)];
    while let Some((at, ready)) = stack.pop() {
        if ready {
            if at != op && copied.insert(at) {
                let copy = clone_op(rw.module, at, map);
                rw.insert(copy);
            }
            continue;
        }
        stack.push((at, true));
        for operand in &rw.module.ops[at].operands {
            if let Some(&def) = own.get(operand)
                && !chosen.contains(&def)
                && !copied.contains(&def)
            {
                stack.push((def, false));
            }
        }
    }
}
