//! Checks sharding groups, and assigns their members one initial sharding.
//!
//! Propagation applies each change of a member to all others, so members must start with the same sharding: that of the first member that
//! has a sharding. If two members have different shardings, both shardings are kept. The users of each member then read it through an
//! open sharding constraint, and the results of these constraints form the group.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{
    Class, Diagnostic, EntityRef, InsertionPoint, Insertions, Module, OpId, OpKind, RegionId, ShardingId,
    TensorSharding, Uses, ValueDef, ValueId, ValueMap,
};

use super::flow::Parents;
use super::graph::{Graph, NONE};

/// Checks that the values of each group in these function bodies have the same shape, and that either none is in a manual computation, or
/// all are in the same one. Returns one error for each invalid group.
pub fn check(module: &Module, bodies: &[RegionId]) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    let mut first: FxHashMap<i64, (OpId, Option<OpId>)> = FxHashMap::default();
    let mut wrong: FxHashSet<i64> = FxHashSet::default();
    for &body in bodies {
        let mut ops = module.walk_inner_first(body);
        ops.retain(|&op| matches!(module.ops[op].kind, OpKind::ShardingGroup { .. }));
        if ops.is_empty() {
            continue;
        }
        let parents = Parents::new(module, body);
        for op in ops {
            let OpKind::ShardingGroup { id } = module.ops[op].kind else { continue };
            let around = manual_around(module, &parents, op);
            let (other, other_around) = *first.entry(id).or_insert((op, around));
            let shape = |op: OpId| module.ops[op].operands.first().map(|&v| module.shape(v));
            let what = if shape(op) != shape(other) {
                "have different shapes"
            } else if around != other_around {
                "are not all in the same manual computation"
            } else {
                continue;
            };
            if wrong.insert(id) {
                let message = format!("values of sharding group {id} {what}");
                let error = Diagnostic::invalid("SH0804", message).at(module.ops[op].span);
                errors.push(error.note(module.ops[other].span, "the first value is added to the group here"));
            }
        }
    }
    errors
}

/// Returns the innermost manual computation that encloses an operation; `None` if there is none.
fn manual_around(module: &Module, parents: &Parents, op: OpId) -> Option<OpId> {
    let mut at = op;
    loop {
        let parent = parents.region(at).and_then(|region| parents.parent(region))?;
        if matches!(module.ops[parent].kind, OpKind::ManualComputation(_)) {
            return Some(parent);
        }
        at = parent;
    }
}

/// A sharding group whose members disagree.
pub(super) struct GroupConflict {
    /// The operations that add values to the group.
    ops: Vec<OpId>,
    /// The sharding of the first member that has a sharding.
    first: ShardingId,
}

/// Assigns one sharding to the members of each group. Returns the groups whose members disagree.
pub(super) fn join(module: &Module, graph: &Graph, shardings: &mut [u32]) -> Vec<GroupConflict> {
    let mut conflicts = Vec::new();
    // For each sharding group, the operations that add values to it; collected only if the members of some group disagree.
    let mut ops: Option<Vec<Vec<OpId>>> = None;
    for (index, members) in graph.group_members.iter().enumerate() {
        let get = |&slot: &u32| {
            let id = shardings[slot as usize];
            (id != NONE).then(|| (id, module.shardings.get(ShardingId::new(id as usize))))
        };
        let mut found = members.iter().filter_map(get).filter(|(_, sharding)| !says_nothing(sharding));
        let Some((first, sharding)) = found.next() else { continue };
        if found.any(|(_, other)| other != sharding) {
            let ops = ops.get_or_insert_with(|| ops_of_groups(module, graph));
            conflicts.push(GroupConflict {
                ops: std::mem::take(&mut ops[index]),
                first: ShardingId::new(first as usize),
            });
            continue;
        }
        for &slot in members {
            shardings[slot as usize] = first;
        }
    }
    conflicts
}

/// Returns the operations that add values to each group, in program order.
fn ops_of_groups(module: &Module, graph: &Graph) -> Vec<Vec<OpId>> {
    let mut out = vec![Vec::new(); graph.group_members.len()];
    for op in module.bodies().flat_map(|body| module.walk(body)) {
        let data = &module.ops[op];
        if let (OpKind::ShardingGroup { .. }, Some(&value)) = (&data.kind, data.operands.first())
            && let Some(&group) = graph.slot(value).and_then(|slot| graph.groups.get(&slot))
        {
            out[group as usize].push(op);
        }
    }
    out
}

fn says_nothing(sharding: &TensorSharding) -> bool {
    sharding.replicated.is_empty()
        && sharding.unreduced.is_empty()
        && sharding.dims.iter().all(|d| d.open && d.axes.is_empty())
}

/// Inserts open constraints for the members of disagreeing groups, and makes users read the constrained values. Returns a warning for each
/// group.
pub(super) fn open(module: &mut Module, parents: &Parents, conflicts: &[GroupConflict]) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    let (uses, mut insertions) = (module.uses(), Insertions::default());
    for conflict in conflicts {
        let mut done: FxHashSet<ValueId> = FxHashSet::default();
        for &op in &conflict.ops {
            let Some(&value) = module.ops[op].operands.first() else { continue };
            // `done` holds the results of the inserted constraints. If a value is in the group twice, the second operation already reads
            // the result of the first constraint.
            if done.contains(&value) {
                continue;
            }
            if done.is_empty() {
                warnings.push(warning(module, parents, op, value));
            }
            let mesh = module.shardings.get(conflict.first).mesh;
            let sharding = module.shardings.intern(TensorSharding::open(mesh, module.rank(value)));
            done.insert(constrain(module, &uses, &mut insertions, value, sharding));
        }
    }
    let bodies: Vec<RegionId> = module.bodies().collect();
    insertions.apply_to(module, bodies, &ValueMap::new(), |_| false);
    warnings
}

fn warning(module: &Module, parents: &Parents, op: OpId, value: ValueId) -> Diagnostic {
    let OpKind::ShardingGroup { id } = module.ops[op].kind else {
        return Diagnostic::warning(Class::InvalidInput, "SH0803", "a sharding group has no id");
    };
    let text = format!(
        "values of sharding group {id} have different shardings; \
         each keeps its own, and their uses are constrained to a common sharding"
    );
    let span = match module.values[value].def() {
        ValueDef::Result(def, _) => module.ops[def].span,
        ValueDef::Arg(region, _) => match (parents.parent(region), owner_of(module, region)) {
            (Some(op), _) => module.ops[op].span,
            (None, Some(span)) => span,
            (None, None) => module.ops[op].span,
        },
    };
    Diagnostic::warning(Class::InvalidInput, "SH0803", text).at(span)
}

fn owner_of(module: &Module, body: RegionId) -> Option<shardc_ir::Span> {
    module.funcs.values().find(|func| func.body == Some(body)).map(|func| func.span)
}

/// Inserts a constraint right after a value and makes all other users read it. No value is constrained twice, so the recorded uses are
/// still valid.
fn constrain(
    module: &mut Module,
    uses: &Uses,
    insertions: &mut Insertions,
    value: ValueId,
    sharding: ShardingId,
) -> ValueId {
    let ty = module.values[value].ty;
    let op = module.add_op(OpKind::ShardingConstraint(sharding), &[value], &[ty], &[]);
    let result = module.ops[op].results[0];
    for &(user, i) in uses.of(value) {
        module.ops[user].operands[i as usize] = result;
    }
    if let Some(def) = module.def_op(value) {
        (module.ops[op].span, module.ops[op].loc) = (module.ops[def].span, module.ops[def].loc);
    }
    insertions.insert(&mut InsertionPoint::behind(module, value), op);
    result
}
