//! Barriers on loop results in partition mode.
//!
//! XLA's importer simplifies StableHLO. When an operation is equal to its operand, the operand replaces it, and the `mhlo.sharding`
//! attribute (mark) of the operation moves to the producer of the operand. XLA rejects a loop that gets a mark in this way if the loop
//! carries a value without a mark, such as an argument of an outer loop. The importer does not simplify across a barrier.
//!
//! Conditions for a barrier on a loop result:
//! * a chain of simple operations leads from the result to an operation with a result of the same type;
//! * each operation of the chain only moves or converts elements, or combines them with constants.
//!
//! ```mlir
//! %0:2 = stablehlo.while(...)
//! %1 = stablehlo.convert %0#0 {mhlo.sharding = "{manual}"} : tensor<8xf32>
//! ```
//! becomes
//! ```mlir
//! %0:2 = stablehlo.while(...)
//! %1 = stablehlo.optimization_barrier {mhlo.sharding = "{manual}"} %0#0 : tensor<8xf32>
//! %2 = stablehlo.convert %1 {mhlo.sharding = "{manual}"} : tensor<8xf32>
//! ```

use std::collections::HashSet;

use shardc_ir::discardable::GSPMD_SHARDING;
use shardc_ir::{Attr, Build, Module, OpId, OpKind, RegionId, Rewriter, UnaryOp, Uses, ValueId, Work};

use crate::analysis::elementwise::is_elementwise;
use crate::analysis::regions::program_ops;

/// Inserts a barrier on each loop result that may replace a later operation when XLA simplifies the program.
pub(super) fn shield_results(module: &mut Module, body: RegionId) {
    let uses = module.uses();
    let is_replacement = |v: &ValueId| may_replace_an_operation(module, &uses, *v);
    let loops = program_ops(module, body).into_iter().filter(|&op| module.ops[op].kind == OpKind::While);
    let results: Vec<ValueId> = loops.flat_map(|op| module.ops[op].results.clone()).collect();
    let shielded: HashSet<ValueId> = results.into_iter().filter(is_replacement).collect();
    if shielded.is_empty() {
        return;
    }
    Rewriter::new(module).each_op(body, &mut |rw, op| {
        for i in 0..rw.module.ops[op].results.len() {
            if !shielded.contains(&rw.module.ops[op].results[i]) {
                continue;
            }
            let read = rw.module.renew_result(op, i);
            let (value, ty) = (rw.module.ops[op].results[i], rw.module.values[read].ty);
            rw.keep();
            let barrier = rw.op(OpKind::OptimizationBarrier, &[value], &[ty], &[]);
            rw.module.ops[barrier].attrs.set(GSPMD_SHARDING, Attr::Str("{manual}".into()));
            let fresh = rw.module.ops[barrier].results[0];
            rw.module.take_over(fresh, read);
        }
    });
}

/// Whether XLA may replace a later operation by `value`. Conservative: true if in doubt.
fn may_replace_an_operation(module: &Module, uses: &Uses, value: ValueId) -> bool {
    let ty = module.values[value].ty;
    let (mut seen, mut pending) = (HashSet::from([value]), vec![value]);
    while let Some(operand) = pending.pop() {
        for &(op, _) in uses.of(operand) {
            if !is_simple(module, op, &seen) {
                continue;
            }
            let result = module.ops[op].results[0];
            if module.values[result].ty == ty {
                return true;
            }
            if seen.insert(result) {
                pending.push(result);
            }
        }
    }
    false
}

/// Whether the result of the operation may consist of moved or converted elements of values in `same`. All operands must be in `same` or
/// constant.
fn is_simple(module: &Module, op: OpId, same: &HashSet<ValueId>) -> bool {
    let data = &module.ops[op];
    let def = data.kind.def();
    if data.results.len() != 1 || def.work != Work::Light || !module.is_pure(data) {
        return false;
    }
    match data.kind {
        OpKind::Unary(op) => matches!(op, UnaryOp::Negate | UnaryOp::Not | UnaryOp::Real | UnaryOp::Imag),
        OpKind::Reduce { .. } | OpKind::Compare(..) => false,
        OpKind::Select => {
            let [predicate, on_true, on_false] = data.operands[..] else { return false };
            same.contains(&on_true) && same.contains(&on_false) || is_made_of_constants(module, predicate)
        }
        _ if is_elementwise(module, op) => {
            let others = data.operands.iter().filter(|&v| !same.contains(v));
            data.operands.len() == 1 || others.clone().next().is_none() || { others }
                .any(|&v| is_made_of_constants(module, v))
        }
        _ => true,
    }
}

/// Whether XLA can fold `value` to a constant, because its computation uses no arguments and has no side effects.
fn is_made_of_constants(module: &Module, value: ValueId) -> bool {
    let (mut seen, mut pending) = (HashSet::from([value]), vec![value]);
    while let Some(value) = pending.pop() {
        let Some(def) = module.def_op(value) else { return false };
        let op = &module.ops[def];
        if matches!(op.kind, OpKind::PartitionId | OpKind::ReplicaId)
            || !module.is_pure(op)
            || !op.regions.is_empty()
        {
            return false;
        }
        pending.extend(op.operands.iter().filter(|&&v| seen.insert(v)));
    }
    true
}
