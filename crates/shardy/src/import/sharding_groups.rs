//! `sdy-sharding-group-import`: merges sharding groups that share a value.

use std::collections::HashSet;

use indexmap::IndexMap;
use shardc_ir::{Module, OpId, OpKind, RegionId, ValueId};
use shardc_passes::driver::passes::PassResult;
use shardc_passes::internal::check_groups;

/// Merges groups with a common value, renumbers them from 0 in order of appearance, and removes duplicate members.
pub(super) fn run(module: &mut Module) -> PassResult {
    let bodies: Vec<RegionId> = module.bodies().collect();
    let errors = check_groups(module, &bodies);
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut members: IndexMap<ValueId, Vec<(OpId, i64)>> = IndexMap::new();
    for &body in &bodies {
        for op in module.walk_inner_first(body) {
            if let (OpKind::ShardingGroup { id }, &[value]) =
                (&module.ops[op].kind, module.ops[op].operands.as_slice())
            {
                members.entry(value).or_default().push((op, *id));
            }
        }
    }
    let mut classes = DimensionClasses::default();
    for groups in members.values() {
        for &(_, id) in groups {
            classes.join(groups[0].1, id);
        }
    }
    let numbers = classes.numbers();
    let mut dropped: HashSet<OpId> = HashSet::new();
    for groups in members.values() {
        for (i, &(op, id)) in groups.iter().enumerate() {
            module.ops[op].kind = OpKind::ShardingGroup { id: numbers[classes.find(id)] };
            // All groups of one value are merged now, so only the first `sdy.sharding_group` of the value is kept.
            if i > 0 {
                dropped.insert(op);
            }
        }
    }
    if !dropped.is_empty() {
        for region in bodies.into_iter().flat_map(|body| module.regions_under(body)).collect::<Vec<_>>() {
            module.retain_ops(region, |_, op| !dropped.contains(&op));
        }
    }
    Ok(Vec::new())
}

/// Equivalence classes of sharding groups, as a union-find forest. When two classes are merged, the representative of the first class
/// becomes the representative of both.
#[derive(Default)]
struct DimensionClasses {
    /// The index of each group's parent in the union-find forest, by group.
    leader: IndexMap<i64, usize>,
}

impl DimensionClasses {
    fn find(&self, group: i64) -> usize {
        let Some(mut at) = self.leader.get_index_of(&group) else { return 0 };
        while self.leader[at] != at {
            at = self.leader[at];
        }
        at
    }

    fn join(&mut self, to: i64, group: i64) {
        for id in [to, group] {
            let next = self.leader.len();
            self.leader.entry(id).or_insert(next);
        }
        let (to, group) = (self.find(to), self.find(group));
        self.leader[group] = to;
    }

    /// For each index, the number of representatives with smaller indices.
    fn numbers(&self) -> Vec<i64> {
        let leads = self.leader.values().enumerate().map(|(at, &leader)| i64::from(at == leader));
        leads
            .scan(0, |next, leads| {
                let number = *next;
                *next += leads;
                Some(number)
            })
            .collect()
    }
}
