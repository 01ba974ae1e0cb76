//! Other groups of collectives.

use shardc_ir::{CollectiveSpec, Module, OpId, OpKind, ReplicaGroups};

use super::Damage;
use crate::edit;
use crate::random::Random;

/// The groups of other collectives with as many members, and groups along other axes.
pub(super) fn others(module: &Module, op: OpId) -> Vec<ReplicaGroups> {
    let Some(own) = module.ops[op].kind.collective().map(|spec| spec.groups.clone()) else {
        return Vec::new();
    };
    let mut found: Vec<ReplicaGroups> = Vec::new();
    if let (OpKind::CollectivePermute(_), lists) = (&module.ops[op].kind, own.to_lists()) {
        found.push(lists.into_iter().map(|pair| pair.into_iter().rev().collect::<Vec<_>>()).collect());
    } else if let Some(size) = own.group_size() {
        let specs = edit::ops(module)
            .into_iter()
            .filter(|&other| !matches!(module.ops[other].kind, OpKind::CollectivePermute(_)));
        found.extend(
            specs
                .filter_map(|other| module.ops[other].kind.collective())
                .map(|spec| spec.groups.clone())
                .filter(|groups| groups.group_size() == Some(size) && groups.len() == own.len()),
        );
        // The ids column by column.
        let ids: Vec<i64> = own.ids().collect();
        let columns: Vec<i64> =
            (0..size).flat_map(|column| ids.iter().copied().skip(column).step_by(size)).collect();
        found.push(ReplicaGroups::matrix(columns, size));
    }
    found.retain(|groups| *groups != own);
    found.sort_by_key(ReplicaGroups::to_lists);
    found.dedup();
    found
}

/// Changes the groups of a collective.
pub(super) fn change(
    spec: &mut CollectiveSpec,
    damage: Damage,
    others: &[ReplicaGroups],
    random: &mut Random,
) -> Option<()> {
    spec.mesh_axes = None;
    if damage == Damage::OtherGroups {
        spec.groups = random.choose(others)?.clone();
        return Some(());
    }
    let width = spec.groups.group_size()?;
    spec.groups.edit(|lists| {
        if damage == Damage::MemberOrder {
            let group = random.below(lists.len());
            let (a, b) = random.pair(width)?;
            lists.get_mut(group)?.swap(a, b);
            return Some(());
        }
        // In pairs of a permute, the targets.
        let (a, b) = random.pair(lists.len())?;
        let at = if width == 2 { 1 } else { random.below(width) };
        let (one, two) = (*lists.get(a)?.get(at)?, *lists.get(b)?.get(at)?);
        *lists.get_mut(a)?.get_mut(at)? = two;
        *lists.get_mut(b)?.get_mut(at)? = one;
        Some(())
    })
}
