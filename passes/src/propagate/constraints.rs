//! Sharding constraints act on their operand too.
//!
//! A constraint says how the user wants a value from here on. Where the value has no sharding yet and no other
//! constraint contradicts, its producer gets that sharding as well; a value that flows through a region keeps its
//! freedom, and its other uses read the constrained value instead.

use rustc_hash::FxHashMap;
use shardc_ir::{Module, OpId, OpKind, RegionId, ShardingId, Uses, ValueDef, ValueId};

use super::flow::{Holder, Parents};
use super::provenance::Annotation;

/// Uses of values while operands are being replaced.
struct LiveUses {
    at_start: Uses,
    changed: FxHashMap<ValueId, Vec<(OpId, u32)>>,
}

impl LiveUses {
    fn of(&self, value: ValueId) -> &[(OpId, u32)] {
        self.changed.get(&value).map_or_else(|| self.at_start.of(value), Vec::as_slice)
    }

    /// `new` takes the uses of `old` that `which` selects.
    fn replace(
        &mut self,
        module: &mut Module,
        old: ValueId,
        new: ValueId,
        which: impl Fn(&Module, OpId) -> bool,
    ) {
        let (moved, kept): (Vec<_>, Vec<_>) = self.of(old).iter().partition(|(op, _)| which(module, *op));
        for &(op, i) in &moved {
            module.ops[op].operands[i as usize] = new;
        }
        let mut all = self.of(new).to_vec();
        all.extend(moved);
        self.changed.insert(old, kept);
        self.changed.insert(new, all);
    }
}

/// Applies every constraint under a function body to its operand. Returns the values that got a sharding, with what
/// gave it.
pub(super) fn apply(
    module: &mut Module,
    body: RegionId,
    parents: &mut Parents,
) -> Vec<(ValueId, Annotation)> {
    let mut given = Vec::new();
    if !module.walk(body).iter().any(|&op| is_constraint(module, op)) {
        return given;
    }
    let mut uses = LiveUses { at_start: module.uses(), changed: FxHashMap::default() };
    for op in module.walk_inner_first(body) {
        match &module.ops[op].kind {
            &OpKind::ShardingConstraint(sharding) => {
                let Some(&input) = module.ops[op].operands.first() else { continue };
                replace_after_chain(module, parents, &mut uses, op, input);
                if !should_apply(module, parents, &uses, input, sharding) {
                    continue;
                }
                if matches!(parents.holder(module, input), Holder::Flow(_)) {
                    let result = module.ops[op].results[0];
                    move_after(module, parents, op, input);
                    uses.replace(module, input, result, |_, user| user != op);
                } else {
                    module.shardings.set(input, Some(sharding));
                    if !says_itself(module, input) {
                        given.push((input, Annotation::Constraint(op)));
                    }
                }
            }
            OpKind::ManualComputation(spec) => {
                let shardings = spec.in_shardings.clone();
                let operands = module.ops[op].operands.clone();
                for (i, (&input, &sharding)) in operands.iter().zip(&shardings).enumerate() {
                    if !should_apply(module, parents, &uses, input, sharding) {
                        continue;
                    }
                    if matches!(parents.holder(module, input), Holder::Flow(_)) {
                        let ty = module.values[input].ty;
                        let new = module.add_op(OpKind::ShardingConstraint(sharding), &[input], &[ty], &[]);
                        (module.ops[new].span, module.ops[new].loc) =
                            (module.ops[op].span, module.ops[op].loc);
                        let result = module.ops[new].results[0];
                        module.shardings.set(result, Some(sharding));
                        move_after(module, parents, new, input);
                        uses.replace(module, input, result, |_, user| user != new);
                        uses.changed.entry(input).or_default().push((new, 0));
                    } else {
                        module.shardings.set(input, Some(sharding));
                        if !says_itself(module, input) {
                            given.push((input, Annotation::ManualIn(op, i as u32)));
                        }
                    }
                }
            }
            _ => {}
        }
    }
    given
}

/// Whether the operation that makes a value holds the value's sharding.
fn says_itself(module: &Module, value: ValueId) -> bool {
    module.def_op(value).is_some_and(|op| is_constraint(module, op))
}

fn is_constraint(module: &Module, op: OpId) -> bool {
    matches!(module.ops[op].kind, OpKind::ShardingConstraint(_) | OpKind::ManualComputation(_))
}

/// Whether `input` is to get the sharding of a constraint on it.
fn should_apply(
    module: &Module,
    parents: &Parents,
    uses: &LiveUses,
    input: ValueId,
    sharding: ShardingId,
) -> bool {
    let holder = match parents.holder(module, input) {
        Holder::Own => input,
        Holder::Flow(owner) => owner,
        Holder::None => return false,
    };
    if module.shardings.of(holder).is_some() || module.shardings.get(sharding).dims.iter().any(|d| d.open) {
        return false;
    }
    !uses.of(input).iter().any(|&(op, i)| match &module.ops[op].kind {
        OpKind::ShardingConstraint(other) => *other != sharding,
        OpKind::ManualComputation(spec) => {
            spec.in_shardings.get(i as usize).is_some_and(|&other| other != sharding)
        }
        _ => false,
    })
}

/// Where constraints follow each other and nothing else reads the values between them, later uses of the first
/// operand read the last constraint's result.
fn replace_after_chain(
    module: &mut Module,
    parents: &Parents,
    uses: &mut LiveUses,
    head: OpId,
    input: ValueId,
) {
    let Some(tail) = chain_tail(module, parents, uses, head, input) else { return };
    let Some(region) = parents.region(tail) else { return };
    let ops = &module.regions[region].ops;
    let Some(at) = ops.iter().position(|&op| op == tail) else { return };
    let after: std::collections::HashSet<OpId> = ops[at + 1..].iter().copied().collect();
    let to_function = parents.parent(region).is_none();
    let result = module.ops[tail].results[0];
    uses.replace(module, input, result, |module, user| {
        let leaves = to_function && matches!(module.ops[user].kind, OpKind::Return);
        user != head && !leaves && after.contains(&user)
    });
}

fn chain_tail(
    module: &Module,
    parents: &Parents,
    uses: &LiveUses,
    head: OpId,
    input: ValueId,
) -> Option<OpId> {
    let is_sharding_constraint = |op: OpId| matches!(module.ops[op].kind, OpKind::ShardingConstraint(_));
    if module.def_op(input).is_some_and(is_sharding_constraint) {
        return None;
    }
    let holder = match parents.holder(module, input) {
        Holder::Flow(owner) => owner,
        Holder::Own | Holder::None => input,
    };
    let other_constraint =
        |value: ValueId| uses.of(value).iter().any(|&(op, _)| op != head && is_constraint(module, op));
    if module.shardings.of(holder).is_some() || other_constraint(input) {
        return None;
    }
    let mut tail = head;
    while let [(next, _)] = *uses.of(module.ops[tail].results[0])
        && is_sharding_constraint(next)
    {
        tail = next;
    }
    (tail != head && !other_constraint(module.ops[tail].results[0])).then_some(tail)
}

/// Moves an operation to right after where a value is made.
fn move_after(module: &mut Module, parents: &mut Parents, op: OpId, value: ValueId) {
    if let Some(region) = parents.region(op) {
        module.regions[region].ops.retain(|&o| o != op);
    }
    let (region, at) = match module.values[value].def {
        ValueDef::Arg(region, _) => (region, 0),
        ValueDef::Result(def, _) => {
            let Some(region) = parents.region(def) else { return };
            let at = module.regions[region].ops.iter().position(|&o| o == def);
            (region, at.map_or(0, |at| at + 1))
        }
    };
    module.regions[region].ops.insert(at, op);
    parents.set_region(op, region);
}
