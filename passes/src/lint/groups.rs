//! Lints about sharding groups whose members are annotated differently.

use rustc_hash::FxHashMap;
use shardc_ir::{Class, Diagnostic, OpId, OpKind, ShardingId, TensorSharding, ValueId};

use super::subject::Subject;
use crate::propagate::overlaps;

/// Reports members of a sharding group whose shardings contradict each other. Two groups that have a common value count as one group.
pub(super) fn contradicting(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let module = subject.module;
    let members: Vec<(OpId, i64, ValueId)> = module
        .walk(subject.body)
        .into_iter()
        .filter_map(|op| match module.ops[op].kind {
            OpKind::ShardingGroup { id } => Some((op, id, *module.ops[op].operands.first()?)),
            _ => None,
        })
        .collect();
    let mut leader: FxHashMap<i64, i64> = FxHashMap::default();
    let mut of_value: FxHashMap<ValueId, i64> = FxHashMap::default();
    for &(_, id, value) in &members {
        let other = *of_value.entry(value).or_insert(id);
        let (a, b) = (find(&leader, other), find(&leader, id));
        leader.insert(a.max(b), a.min(b));
    }
    let mut first: FxHashMap<i64, (OpId, ShardingId)> = FxHashMap::default();
    let mut out = Vec::new();
    for &(op, id, value) in &members {
        let Some(given) = given(subject, value) else { continue };
        // The first member is chosen only after all groups are merged; otherwise, merged groups would have two first members.
        let (other_op, other) = *first.entry(find(&leader, id)).or_insert((op, given));
        let (one, two) = (module.shardings.get(other), module.shardings.get(given));
        if given == other || !contradict(one, two) {
            continue;
        }
        let message = format!(
            "values of sharding group {id} have the contradicting shardings {} and {}",
            one.display(subject.mesh(one)),
            two.display(subject.mesh(two))
        );
        let mut warning = Diagnostic::warning(Class::InvalidInput, "", message)
            .at(module.ops[op].span)
            .note(module.ops[other_op].span, "the other value of the group".to_owned())
            .hint("annotate only one member of the group, or remove one member from it");
        warning.user_loc = module.user_loc(op);
        out.push(warning);
    }
    out
}

fn find(leader: &FxHashMap<i64, i64>, mut id: i64) -> i64 {
    while let Some(&up) = leader.get(&id).filter(|&&up| up != id) {
        id = up;
    }
    id
}

/// Returns the annotation of a value: its own sharding, or that of the constraint that produces it.
fn given(subject: &Subject<'_>, value: ValueId) -> Option<ShardingId> {
    let constraint = subject.module.def_op(value).and_then(|op| match subject.module.ops[op].kind {
        OpKind::ShardingConstraint(id) => Some(id),
        _ => None,
    });
    constraint.or_else(|| subject.module.shardings.of(value))
}

/// Whether the shardings contradict each other: no sharding is compatible with both.
fn contradict(a: &TensorSharding, b: &TensorSharding) -> bool {
    if a.mesh != b.mesh || a.rank() != b.rank() {
        return a.mesh != b.mesh;
    }
    for (d, (x, y)) in a.dims.iter().zip(&b.dims).enumerate() {
        // The longer list of axes satisfies both `{"x", ?}` and `{"x", "y"}`. If both are closed, as in `{"x"}` and `{"x", "y"}`, no list
        // does.
        let (short, long) = if x.axes.len() <= y.axes.len() { (x, y) } else { (y, x) };
        if !long.axes.starts_with(&short.axes) || (!short.open && long.axes.len() > short.axes.len()) {
            return true;
        }
        let elsewhere = b.dims.iter().enumerate().filter(|&(e, _)| e != d).flat_map(|(_, dim)| &dim.axes);
        if elsewhere.into_iter().any(|&other| x.axes.iter().any(|&axis| overlaps(axis, other))) {
            return true;
        }
    }
    false
}
