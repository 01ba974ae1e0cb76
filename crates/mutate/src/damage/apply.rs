//! Applies damages.

use shardc_ir::rewrite::{ValueMap, clone_region};
use shardc_ir::{BinaryOp, Module, OpId, OpKind, ValueId};

use super::{Damage, Damaged, constants, groups, other_operation, single, sites};
use crate::edit;
use crate::random::Random;

/// The most further damages of [`Damage::Several`].
const MOST_FURTHER: usize = 3;

/// Applies a damage to an operation that admits it. `None` if it changes nothing; the module may then be changed in part.
pub fn apply(module: &mut Module, op: OpId, damage: Damage, random: &mut Random) -> Option<Damaged> {
    let near = edit::neighbors(module, op);
    let span = module.ops[op].span;
    match damage {
        Damage::MemberOrder | Damage::OtherMembers | Damage::OtherGroups => {
            let others = groups::others(module, op);
            groups::change(module.ops[op].kind.collective_mut()?, damage, &others, random)?;
        }
        Damage::Dropped => {
            let data = module.ops[op].clone();
            for (&result, &operand) in data.results.iter().zip(&data.operands) {
                edit::replace(module, result, operand, None);
            }
            edit::remove(module, op);
        }
        Damage::Repeated => repeat(module, op)?,
        Damage::OtherReduction => reduce_otherwise(module, op, random)?,
        Damage::ShiftedOffset | Damage::ChangedConstant => shift(module, op, random)?,
        Damage::RemovedMask => {
            let data = module.ops[op].clone();
            let value = *data.operands.get(1 + random.below(2))?;
            edit::replace(module, *data.results.first()?, value, None);
            edit::remove(module, op);
        }
        Damage::SwappedOperands => swap(module, op, random)?,
        Damage::OtherOperation => module.ops[op].kind = other_operation(&module.ops[op].kind)?,
        Damage::OtherOperand => {
            let at = random.below(module.ops[op].operands.len());
            let value = *random.choose(&others(module, op, at))?;
            module.ops[op].operands[at] = value;
        }
        Damage::Several => return several(module, op, random),
    }
    Some(match damage {
        Damage::Dropped | Damage::RemovedMask => Damaged { exact: near, near: Vec::new() },
        _ => Damaged { exact: vec![span], near },
    })
}

/// Damages an operation, and then some others.
fn several(module: &mut Module, op: OpId, random: &mut Random) -> Option<Damaged> {
    let own: Vec<Damage> = single().filter(|&damage| super::admits(module, op, damage)).collect();
    let mut all = apply(module, op, *random.choose(&own)?, random)?;
    for _ in 0..=random.below(MOST_FURTHER) {
        let damages: Vec<Damage> = single().collect();
        let &damage = random.choose(&damages)?;
        let Some(&other) = random.choose(&sites(module, damage)) else { continue };
        let Some(damaged) = apply(module, other, damage, random) else { continue };
        all.exact.extend(damaged.exact);
        all.near.extend(damaged.near);
    }
    Some(all)
}

/// Applies a collective again to its results.
fn repeat(module: &mut Module, op: OpId) -> Option<()> {
    let data = module.ops[op].clone();
    // The second operation shares no region with the first.
    let regions: Vec<_> =
        data.regions.iter().map(|&region| clone_region(module, region, &mut ValueMap::new())).collect();
    let again = edit::insert(module, op, true, (data.kind, &data.results, &regions), &data.results)?;
    for (at, &result) in data.results.iter().enumerate() {
        let new = *module.ops[again].results.get(at)?;
        edit::replace(module, result, new, Some(again));
    }
    Some(())
}

fn reduce_otherwise(module: &mut Module, op: OpId, random: &mut Random) -> Option<()> {
    let region = *module.ops[op].regions.first()?;
    for inner in module.regions[region].ops.clone() {
        if let OpKind::Binary(kind) = &mut module.ops[inner].kind {
            let others: &[BinaryOp] = match kind {
                BinaryOp::And | BinaryOp::Or => &[BinaryOp::And, BinaryOp::Or],
                _ => &[BinaryOp::Add, BinaryOp::Multiply, BinaryOp::Maximum, BinaryOp::Minimum],
            };
            let others: Vec<BinaryOp> = others.iter().copied().filter(|other| other != kind).collect();
            *kind = *random.choose(&others)?;
        }
    }
    Some(())
}

/// Changes a constant, or moves a slice by one element.
fn shift(module: &mut Module, op: OpId, random: &mut Random) -> Option<()> {
    let data = &module.ops[op];
    let shape = module.shape(*data.operands.first().unwrap_or(data.results.first()?)).to_vec();
    let dtype = module.tensor(*data.results.first()?)?.dtype;
    match &mut module.ops[op].kind {
        OpKind::Constant(dense) => constants::change(dense, dtype.bytes(), dtype.is_float(), random),
        OpKind::Slice(spec) => {
            let moves: Vec<(usize, i64)> = (0..shape.len())
                .flat_map(|dim| [(dim, 1), (dim, -1)])
                .filter(|&(dim, by)| spec.start[dim] + by >= 0 && spec.limit[dim] + by <= shape[dim])
                .collect();
            let &(dim, by) = random.choose(&moves)?;
            spec.start[dim] += by;
            spec.limit[dim] += by;
            Some(())
        }
        _ => None,
    }
}

fn swap(module: &mut Module, op: OpId, random: &mut Random) -> Option<()> {
    let data = &mut module.ops[op];
    let (a, b) = match data.kind {
        OpKind::Select => (1, 2),
        OpKind::DynamicSlice { .. } | OpKind::Concatenate { .. } => {
            let first = usize::from(matches!(data.kind, OpKind::DynamicSlice { .. }));
            let (a, b) = random.pair(data.operands.len() - first)?;
            (a + first, b + first)
        }
        _ => (0, 1),
    };
    if data.operands.get(a)? == data.operands.get(b)? {
        return None;
    }
    data.operands.swap(a, b);
    Some(())
}

/// Other values of the type of an operand that are defined before the operation.
fn others(module: &Module, op: OpId, at: usize) -> Vec<ValueId> {
    let Some(&old) = module.ops[op].operands.get(at) else { return Vec::new() };
    let Some((region, place)) = edit::place(module, op) else { return Vec::new() };
    let region = &module.regions[region];
    let before = region.ops[..place].iter().flat_map(|&other| &module.ops[other].results);
    let fits = |value: &&ValueId| **value != old && module.values[**value].ty == module.values[old].ty;
    region.args.iter().chain(before).filter(fits).copied().collect()
}
