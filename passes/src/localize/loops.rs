//! Barriers on constant operands of loops in partition mode.
//!
//! XLA folds constant expressions before it reads shardings, and the folded constant loses the mark of a partitioned operation. A loop
//! with such a constant as an operand has marks inside but not outside, and XLA rejects it. An `optimization_barrier` prevents the
//! folding.

use std::collections::{BTreeMap, HashSet};

use shardc_ir::{Build, Module, OpId, OpKind, RegionId, Rewriter, ValueId};

use super::MARK;
use super::loop_results::shield_results;
use crate::analysis::regions::has_program_regions;

/// Inserts barriers between constant expressions and the loops that use them as operands or captured values, and after loops (see
/// [`shield_results`]).
pub(crate) fn shield_loops(module: &mut Module, body: RegionId) {
    shield_results(module, body);
    shield_region(&mut Rewriter::new(module), body, &mut HashSet::new());
}

/// Inserts barriers in a region. `computed` are the values found so far that XLA can fold: expressions of constants, but not constants
/// themselves, which keep their mark.
fn shield_region(rw: &mut Rewriter<'_>, region: RegionId, computed: &mut HashSet<ValueId>) {
    rw.enter(region);
    while let Some(op) = rw.next_op() {
        if matches!(rw.module.ops[op].kind, OpKind::While) {
            shield(rw, op, computed);
        }
        if has_program_regions(&rw.module.ops[op].kind) {
            for inner in rw.module.ops[op].regions.clone() {
                shield_region(rw, inner, computed);
            }
        } else if is_computed(rw.module, op, computed) {
            computed.extend(&rw.module.ops[op].results);
        }
    }
}

/// Whether XLA may fold the operation. Conservative: true if in doubt, since an unneeded barrier costs almost nothing.
fn is_computed(module: &Module, op: OpId, computed: &HashSet<ValueId>) -> bool {
    let constant = |&v: &ValueId| {
        computed.contains(&v)
            || module.def_op(v).is_some_and(|def| matches!(module.ops[def].kind, OpKind::Constant(_)))
    };
    match &module.ops[op].kind {
        OpKind::Constant(_) | OpKind::PartitionId | OpKind::ReplicaId | OpKind::OptimizationBarrier => false,
        _ => module.ops[op].operands.iter().all(constant),
    }
}

fn shield(rw: &mut Rewriter<'_>, op: OpId, computed: &HashSet<ValueId>) {
    let mut readers = vec![op];
    for &inner in &rw.module.ops[op].regions {
        readers.extend(rw.module.walk(inner));
    }
    let mut shielded = BTreeMap::<ValueId, ValueId>::new();
    for reader in readers {
        for i in 0..rw.module.ops[reader].operands.len() {
            let value = rw.module.ops[reader].operands[i];
            if !computed.contains(&value) {
                continue;
            }
            let behind = *shielded.entry(value).or_insert_with(|| {
                let ty = rw.module.values[value].ty;
                let barrier = rw.op(OpKind::OptimizationBarrier, &[value], &[ty], &[]);
                let mark =
                    rw.module.def_op(value).and_then(|def| rw.module.ops[def].attrs.get(MARK).cloned());
                if let Some(mark) = mark {
                    rw.module.ops[barrier].attrs.set(MARK, mark);
                }
                rw.module.ops[barrier].results[0]
            });
            rw.module.ops[reader].operands[i] = behind;
        }
    }
}
