//! Transposition of regions that run once: residuals become additional results.

use rustc_hash::FxHashMap;
use shardc_ir::{Diagnostic, OpId, OpKind, ValueId};

use super::residuals::{free_values, plan};
use super::{Transposed, recompute};
use crate::linearize::Tape;

/// Passes the cotangents of the results of `whole`, which represents `op` on the tape, through the tape of the region.
pub(super) fn transpose(
    t: &mut Transposed<'_, '_>,
    whole: OpId,
    op: OpId,
    tape: &Tape,
    asked: &[Option<ValueId>],
) -> Result<(), Box<Diagnostic>> {
    let outside = t.linear.module.ops[whole].operands.to_vec();
    let mut inner = Transposed::new(t.linear);
    for (&tangent, &ct) in tape.returned.iter().zip(asked) {
        if let (Some(tangent), Some(ct)) = (tangent, ct) {
            inner.ask(tangent, ct);
        }
    }
    let region = inner.linear.module.ops[op].regions[0];
    inner.tape(tape, region)?;
    let given: Vec<Option<ValueId>> = outside.iter().map(|&tangent| inner.take(tangent, whole)).collect();
    let mut ops = inner.ops;
    // The terminator is included when values of the forward pass are searched below, since a returned cotangent may be one of them.
    let values: Vec<ValueId> = given.iter().copied().flatten().collect();
    let end = t.linear.module.add_op(OpKind::Return, &values, &[], &[]);
    ops.push(end);
    let needed = free_values(t.linear.module, region, &ops);
    let checkpoint = t.linear.checkpoint.within(t.linear.module, op);
    let residuals = plan(t.linear.module, region, &needed, &|_| true, &checkpoint);
    let mut stand_ins: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    let args = t.linear.module.regions[region].args.clone();
    for &arg in &residuals.args {
        if let Some(i) = args.iter().position(|&a| a == arg) {
            stand_ins.insert(arg, t.linear.module.ops[op].operands[i]);
        }
    }
    if let Some(terminator) = t.linear.module.terminator(region) {
        for &value in &residuals.kept {
            let ty = t.linear.module.values[value].ty;
            t.linear.module.ops[terminator].operands.push(value);
            stand_ins.insert(value, t.linear.module.add_result(op, ty));
        }
    }
    let mut ops = recompute::place(t, &residuals, stand_ins, ops);
    ops.pop();
    t.ops.extend(ops);
    let values = t.linear.module.ops[end].operands.clone();
    let mut values = values.into_iter();
    for (&tangent, ct) in outside.iter().zip(&given) {
        if ct.is_some()
            && let Some(value) = values.next()
        {
            t.ask(tangent, value);
        }
    }
    Ok(())
}
