//! Harmless rewrites: the program computes the same in exact arithmetic.

use shardc_ir::reducer::{reducer, reduction_of};
use shardc_ir::rewrite::{ValueMap, clone_op, clone_region};
use shardc_ir::{BinaryOp, Module, Op, OpId, OpKind, ReductionKind, ReplicaGroups, ValueId};

use crate::edit;
use crate::random::Random;

/// A class of harmless rewrites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rewrite {
    /// Independent operations change places.
    Reordered,
    /// Two all-reduces over the same groups become one with more operands, or one with several operands becomes several.
    MergedCollectives,
    /// The all-reduce of a sum becomes a sum of all-reduces.
    SplitSums,
    /// An operation is computed twice, and each copy has some of the users.
    Duplicated,
    /// `(a + b) + c` becomes `a + (b + c)`; also products, maxima and minima.
    Reassociated,
    /// Operands of a commutative operation change places.
    Commuted,
}

impl Rewrite {
    /// Every class.
    pub const ALL: [Rewrite; 6] = [
        Rewrite::Reordered,
        Rewrite::MergedCollectives,
        Rewrite::SplitSums,
        Rewrite::Duplicated,
        Rewrite::Reassociated,
        Rewrite::Commuted,
    ];

    /// The name in options and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Rewrite::Reordered => "reordered",
            Rewrite::MergedCollectives => "merged-collectives",
            Rewrite::SplitSums => "split-sums",
            Rewrite::Duplicated => "duplicated",
            Rewrite::Reassociated => "reassociated",
            Rewrite::Commuted => "commuted",
        }
    }
}

/// Applies a rewrite at a random operation. Returns whether there is one.
pub fn apply(module: &mut Module, rewrite: Rewrite, random: &mut Random) -> bool {
    let done = match rewrite {
        Rewrite::Reordered => reorder(module, random),
        Rewrite::MergedCollectives => merge(module, random),
        Rewrite::SplitSums => split(module, random),
        Rewrite::Duplicated => duplicate(module, random),
        Rewrite::Reassociated => reassociate(module, random),
        Rewrite::Commuted => commute(module, random),
    };
    done.is_some()
}

/// Whether an operation may move and be copied: collectives are executed by all devices in the same order.
fn is_movable(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    !matches!(data.kind, OpKind::Return) && (data.kind.collective().is_some() || module.is_pure(data))
}

fn reorder(module: &mut Module, random: &mut Random) -> Option<()> {
    let ops: Vec<OpId> = edit::ops(module).into_iter().filter(|&op| is_movable(module, op)).collect();
    let op = *random.choose(&ops)?;
    let (region, at) = edit::place(module, op)?;
    let mut list = module.regions[region].ops.to_vec();
    let own = edit::used(module, op);
    let results = module.ops[op].results.clone();
    let after = |other: &OpId| module.ops[*other].results.iter().any(|value| own.contains(value));
    let before = |other: &OpId| {
        matches!(module.ops[*other].kind, OpKind::Return)
            || edit::used(module, *other).iter().any(|value| results.contains(value))
    };
    let first = list[..at].iter().rposition(after).map_or(0, |last| last + 1);
    let end = list[at + 1..].iter().position(before).map_or(list.len(), |next| at + 1 + next);
    let to = first + random.below(end - first);
    if to == at {
        return None;
    }
    list.remove(at);
    list.insert(to, op);
    module.set_ops(region, list);
    Some(())
}

fn reduction(module: &Module, op: OpId, count: usize) -> Option<ReductionKind> {
    reduction_of(module, *module.ops[op].regions.first()?, count)
}

/// Merges two all-reduces; if there are none, splits one with several operands, which later calls merge in another way.
fn merge(module: &mut Module, random: &mut Random) -> Option<()> {
    let is_all_reduce = |op: &OpId| matches!(module.ops[*op].kind, OpKind::AllReduce(_));
    let all: Vec<OpId> = edit::ops(module).into_iter().filter(is_all_reduce).collect();
    let pair = random.pair(all.len()).and_then(|(a, b)| Some((*all.get(a.min(b))?, *all.get(a.max(b))?)));
    if pair.and_then(|(first, second)| merge_two(module, first, second)).is_some() {
        return Some(());
    }
    let all: Vec<OpId> = all.into_iter().filter(|&op| module.ops[op].results.len() > 1).collect();
    let op = *random.choose(&all)?;
    let data = module.ops[op].clone();
    for (&operand, &result) in data.operands.iter().zip(&data.results) {
        let region = clone_region(module, *data.regions.first()?, &mut ValueMap::new());
        let one = edit::insert(module, op, false, (data.kind.clone(), &[operand], &[region]), &[result])?;
        let new = *module.ops[one].results.first()?;
        edit::replace(module, result, new, None);
    }
    edit::remove(module, op);
    Some(())
}

fn merge_two(module: &mut Module, first: OpId, second: OpId) -> Option<()> {
    let (one, two) = (module.ops[first].clone(), module.ops[second].clone());
    fn groups(op: &Op) -> Option<(&ReplicaGroups, bool)> {
        op.kind.collective().map(|spec| (&spec.groups, spec.use_global_device_ids))
    }
    let kind = reduction(module, first, 1)?;
    let types: Vec<ValueId> = one.results.iter().chain(&two.results).copied().collect();
    let operands: Vec<ValueId> = one.operands.iter().chain(&two.operands).copied().collect();
    let dtype = |value: ValueId| module.tensor(value).map(|ty| ty.dtype);
    let element = dtype(*types.first()?)?;
    let ((region, from), (other, to)) = (edit::place(module, first)?, edit::place(module, second)?);
    if groups(&one) != groups(&two)
        || reduction(module, second, 1) != Some(kind)
        || types.iter().any(|&value| dtype(value) != Some(element))
        || region != other
    {
        return None;
    }
    let between = module.regions[region].ops.get(from + 1..=to)?;
    let uses = |op: &OpId| one.results.iter().any(|result| edit::used(module, *op).contains(result));
    if between.iter().any(uses) {
        return None;
    }
    let combine = reducer(module, kind, element);
    let merged = edit::insert(module, second, true, (one.kind, &operands, &[combine]), &types)?;
    for (at, old) in types.into_iter().enumerate() {
        let new = *module.ops[merged].results.get(at)?;
        edit::replace(module, old, new, None);
    }
    edit::remove(module, first);
    edit::remove(module, second);
    Some(())
}

fn split(module: &mut Module, random: &mut Random) -> Option<()> {
    let sums: Vec<OpId> = edit::ops(module)
        .into_iter()
        .filter(|&op| {
            let data = &module.ops[op];
            let producer = data.operands.first().and_then(|&value| module.def_op(value));
            matches!(data.kind, OpKind::AllReduce(_))
                && data.operands.len() == 1
                && reduction(module, op, 1) == Some(ReductionKind::Add)
                && producer.is_some_and(|op| matches!(module.ops[op].kind, OpKind::Binary(BinaryOp::Add)))
        })
        .collect();
    let sum = *random.choose(&sums)?;
    let data = module.ops[sum].clone();
    let parts = module.ops[module.def_op(*data.operands.first()?)?].operands.clone();
    let mut results = Vec::new();
    for part in parts {
        let region = clone_region(module, *data.regions.first()?, &mut ValueMap::new());
        let op = edit::insert(module, sum, false, (data.kind.clone(), &[part], &[region]), &data.results)?;
        results.push(*module.ops[op].results.first()?);
    }
    let total =
        edit::insert(module, sum, true, (OpKind::Binary(BinaryOp::Add), &results, &[]), &data.results)?;
    let new = *module.ops[total].results.first()?;
    edit::replace(module, *data.results.first()?, new, None);
    edit::remove(module, sum);
    Some(())
}

fn duplicate(module: &mut Module, random: &mut Random) -> Option<()> {
    let uses = module.uses();
    let ops: Vec<OpId> = edit::ops(module)
        .into_iter()
        .filter(|&op| {
            let results = &module.ops[op].results;
            is_movable(module, op) && results.iter().any(|&value| uses.of(value).len() > 1)
        })
        .collect();
    let op = *random.choose(&ops)?;
    let (region, at) = edit::place(module, op)?;
    let copy = clone_op(module, op, &mut ValueMap::new());
    module.insert_op(region, at + 1, copy);
    let results = module.ops[op].results.clone();
    for (result, &old) in results.iter().enumerate() {
        let new = *module.ops[copy].results.get(result)?;
        for &(user, operand) in uses.of(old).iter().skip(1) {
            if random.below(2) == 0 {
                *module.ops[user].operands.get_mut(operand as usize)? = new;
            }
        }
    }
    Some(())
}

fn reassociate(module: &mut Module, random: &mut Random) -> Option<()> {
    let is_associative = |kind: &OpKind| {
        matches!(
            kind,
            OpKind::Binary(BinaryOp::Add | BinaryOp::Multiply | BinaryOp::Maximum | BinaryOp::Minimum)
        )
    };
    let inner = |op: OpId| {
        let data = &module.ops[op];
        let inner = module.def_op(*data.operands.first()?)?;
        (is_associative(&data.kind) && module.ops[inner].kind == data.kind).then_some(inner)
    };
    let ops: Vec<OpId> = edit::ops(module).into_iter().filter(|&op| inner(op).is_some()).collect();
    let op = *random.choose(&ops)?;
    let [a, b] = module.ops[inner(op)?].operands[..] else { return None };
    let data = module.ops[op].clone();
    let c = *data.operands.get(1)?;
    let right = edit::insert(module, op, false, (data.kind.clone(), &[b, c], &[]), &data.results)?;
    let right = *module.ops[right].results.first()?;
    module.ops[op].operands = [a, right].into_iter().collect();
    Some(())
}

fn commute(module: &mut Module, random: &mut Random) -> Option<()> {
    let ops: Vec<OpId> = edit::ops(module)
        .into_iter()
        .filter(|&op| {
            let data = &module.ops[op];
            matches!(&data.kind, OpKind::Binary(kind) if kind.is_commutative())
                && data.operands.first() != data.operands.get(1)
        })
        .collect();
    let op = *random.choose(&ops)?;
    module.ops[op].operands.swap(0, 1);
    Some(())
}
