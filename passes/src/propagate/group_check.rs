//! What sharding groups ask of their members.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{Diagnostic, Module, OpId, OpKind, RegionId};

use super::flow::Parents;

/// Checks that the values of each group under these function bodies have one shape, and are in the same manual
/// computation if in any. One error for each group that is wrong.
pub(crate) fn check(module: &Module, bodies: &[RegionId]) -> Vec<Diagnostic> {
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
                "are inside and outside of a manual computation"
            } else {
                continue;
            };
            if wrong.insert(id) {
                let message = format!("values of sharding group {id} {what}");
                let error = Diagnostic::invalid("SH0804", message).at(module.ops[op].span);
                errors.push(error.note(module.ops[other].span, "another value of the group"));
            }
        }
    }
    errors
}

/// The innermost manual computation that an operation is in.
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
