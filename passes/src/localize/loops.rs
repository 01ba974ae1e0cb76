//! What loops need in partition mode.
//!
//! XLA computes expressions of constants before it looks at shardings, and what it computes has lost the mark that it
//! is partitioned already. A loop that takes it in is then marked inside and not outside, which XLA refuses. A barrier
//! keeps such a value from being computed early.

use std::collections::{BTreeMap, HashSet};

use shardc_ir::{Build, Builder, Module, OpId, OpKind, RegionId, ValueId};

use super::MARK;
use crate::analysis::regions::has_program_regions;

/// Puts barriers between expressions of constants and the loops that read them, as operands or from outside.
pub(crate) fn shield_loops(module: &mut Module, body: RegionId) {
    region(module, body, &mut HashSet::new());
}

/// `computed` are the values so far that XLA could compute: made of constants, but not constants themselves, which
/// keep their mark.
fn region(module: &mut Module, id: RegionId, computed: &mut HashSet<ValueId>) {
    let ops = std::mem::take(&mut module.regions[id].ops);
    let mut out = Vec::with_capacity(ops.len());
    for op in ops {
        if matches!(module.ops[op].kind, OpKind::While) {
            shield(module, op, computed, &mut out);
        }
        if has_program_regions(&module.ops[op].kind) {
            for inner in module.ops[op].regions.clone() {
                region(module, inner, computed);
            }
        } else if is_computed(module, op, computed) {
            computed.extend(&module.ops[op].results);
        }
        out.push(op);
    }
    module.regions[id].ops = out;
}

/// A needless barrier costs next to nothing, so that in doubt the answer is yes.
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

fn shield(module: &mut Module, op: OpId, computed: &HashSet<ValueId>, out: &mut Vec<OpId>) {
    let mut readers = vec![op];
    for &inner in &module.ops[op].regions {
        readers.extend(module.walk(inner));
    }
    let mut shielded = BTreeMap::<ValueId, ValueId>::new();
    for reader in readers {
        for i in 0..module.ops[reader].operands.len() {
            let value = module.ops[reader].operands[i];
            if !computed.contains(&value) {
                continue;
            }
            let behind = *shielded.entry(value).or_insert_with(|| {
                let ty = module.values[value].ty;
                let mut b = Builder::new(module);
                b.from_op(op);
                let behind = b.op1(OpKind::OptimizationBarrier, &[value], ty);
                let made = b.take();
                let mark = module.def_op(value).and_then(|def| module.ops[def].attrs.get(MARK).cloned());
                if let Some(mark) = mark {
                    made.iter().for_each(|&barrier| module.ops[barrier].attrs.set(MARK, mark.clone()));
                }
                out.extend(made);
                behind
            });
            module.ops[reader].operands[i] = behind;
        }
    }
}
