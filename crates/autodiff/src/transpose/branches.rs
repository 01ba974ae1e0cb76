//! Transposition of `case` and `if`: the same branch selection over the transposed tapes.

use rustc_hash::FxHashMap;
use shardc_ir::{Build, Diagnostic, Module, OpId, RegionId, TensorBuild, TypeId, ValueId};

use super::residuals::{free_values, plan};
use super::{Transposed, recompute};
use crate::emit::{Arithmetic, Emit};
use crate::linearize::Tape;

/// Passes the cotangents of the results of `choice`, which represents `op` on the tape, through the tapes of the branches.
pub(super) fn transpose(
    t: &mut Transposed<'_, '_>,
    choice: OpId,
    op: OpId,
    tapes: &[Tape],
    asked: &[Option<ValueId>],
) -> Result<(), Box<Diagnostic>> {
    let outside: Vec<ValueId> = t.linear.module.ops[choice].operands[1..].to_vec();
    // The cotangents that each branch computes for captured tangents.
    let mut given: Vec<Vec<Option<ValueId>>> = Vec::new();
    let mut bodies: Vec<Vec<OpId>> = Vec::new();
    let regions = t.linear.module.ops[op].regions.clone();
    for (tape, &region) in tapes.iter().zip(&regions) {
        let mut inner = Transposed::new(t.linear);
        for (&tangent, &ct) in tape.returned.iter().zip(asked) {
            if let (Some(tangent), Some(ct)) = (tangent, ct) {
                inner.ask(tangent, ct);
            }
        }
        inner.tape(tape, region)?;
        given.push(outside.iter().map(|&tangent| inner.take(tangent, choice)).collect());
        bodies.push(inner.ops);
    }
    let is_given = |i: &usize| given.iter().any(|of_branch| of_branch[*i].is_some());
    let results: Vec<usize> = (0..outside.len()).filter(is_given).collect();
    if results.is_empty() {
        return Ok(());
    }
    keep_for_backward(t, op, &regions, &mut bodies);
    let types: Vec<TypeId> = results.iter().map(|&i| t.linear.module.values[outside[i]].ty).collect();
    let mut backward = Vec::new();
    for (mut ops, given) in bodies.into_iter().zip(&given) {
        let region = t.linear.module.add_region(&[]);
        let mut e = Emit::new(t.linear.module, &mut ops, choice);
        let values: Vec<ValueId> =
            results.iter().map(|&i| given[i].unwrap_or_else(|| e.zeros_like(outside[i]))).collect();
        e.ret(&values);
        t.linear.module.set_ops(region, ops);
        backward.push(region);
    }
    let (kind, which) = (t.linear.module.ops[op].kind.clone(), t.linear.module.ops[op].operands[0]);
    let back = t.emit(choice).op(kind, &[which], &types, &backward);
    for (&i, &ct) in results.iter().zip(&t.linear.module.ops[back].results.clone()) {
        t.ask(outside[i], ct);
    }
    Ok(())
}

/// Makes the branches of the program return the residuals of the backward branches.
fn keep_for_backward(t: &mut Transposed<'_, '_>, op: OpId, regions: &[RegionId], bodies: &mut [Vec<OpId>]) {
    let checkpoint = t.linear.checkpoint;
    // Residuals of the same type in different branches share a result, since only one branch is executed.
    let mut slots: Vec<TypeId> = Vec::new();
    let mut placed: Vec<Vec<(usize, ValueId)>> = Vec::new();
    let mut plans = Vec::new();
    for (&region, body) in regions.iter().zip(bodies.iter()) {
        let mut taken = vec![false; slots.len()];
        let mut of_branch = Vec::new();
        let module = &*t.linear.module;
        let residuals = plan(module, region, &free_values(module, region, body), &|_| false, checkpoint);
        for &value in &residuals.kept {
            let ty = module.values[value].ty;
            let slot = (0..slots.len()).find(|&s| !taken[s] && slots[s] == ty).unwrap_or_else(|| {
                slots.push(ty);
                taken.push(false);
                slots.len() - 1
            });
            taken[slot] = true;
            of_branch.push((slot, value));
        }
        placed.push(of_branch);
        plans.push(residuals);
    }
    let kept: Vec<ValueId> = slots.iter().map(|&ty| t.linear.module.add_result(op, ty)).collect();
    for (((&region, body), placed), residuals) in
        regions.iter().zip(bodies.iter_mut()).zip(&placed).zip(&plans)
    {
        return_more(t.linear.module, region, &slots, placed);
        let map: FxHashMap<ValueId, ValueId> = placed.iter().map(|&(slot, v)| (v, kept[slot])).collect();
        *body = recompute::place(t, residuals, map, std::mem::take(body));
    }
}

/// Makes a region return one additional value for each of the types `slots`. `placed` has pairs of an index in `slots` and the value to
/// return for that slot; the region returns zeros for the other slots.
fn return_more(module: &mut Module, region: RegionId, slots: &[TypeId], placed: &[(usize, ValueId)]) {
    let Some(end) = module.terminator(region) else { return };
    let mut ops = module.regions[region].ops.to_vec();
    ops.pop();
    for (slot, &ty) in slots.iter().enumerate() {
        let value = match placed.iter().find(|(s, _)| *s == slot) {
            Some(&(_, value)) => value,
            None => {
                let Some(tensor) = module.types.as_tensor(ty).cloned() else { continue };
                let mut e = Emit::new(module, &mut ops, end);
                e.zeros(&tensor.shape, tensor.dtype)
            }
        };
        module.ops[end].operands.push(value);
    }
    ops.push(end);
    module.set_ops(region, ops);
}
