//! Reduction sinking: moves a reduction after slices of its result, if loops accumulate the slices.
//!
//! The gradient of several concatenated parameters, such as those of the gates of an LSTM, is one matmul whose slices are added to
//! carried values. If each slice is reduced separately, [`defer`](super::defer) can move the reductions out of the loop.

use shardc_ir::{
    AxisList, BinaryOp, Build, Module, OpId, OpKind, RegionId, Rewriter, ShardingId, TensorSharding,
    TensorType, Uses, ValueId,
};

use crate::analysis::linear::is_part;
use crate::analysis::linear_forms::pending_source;
use crate::analysis::regions::has_program_regions;

/// The maximum nesting depth of slices: deeper slices of slices are not followed.
const MAX_PARTS: usize = 8;

/// Sinks reductions in loops of a planned function body if the slices are only accumulated and together have no more bytes than the
/// sliced value. Returns the number of slices. The original reductions remain as dead code.
pub(crate) fn sink_sums(module: &mut Module, body: RegionId) -> usize {
    let uses = module.uses();
    visit(&mut Rewriter::new(module), body, &uses, false)
}

fn visit(rw: &mut Rewriter<'_>, region: RegionId, uses: &Uses, in_loop: bool) -> usize {
    let mut sunk = 0;
    rw.enter(region);
    while let Some(op) = rw.next_op() {
        let kind = &rw.module.ops[op].kind;
        if has_program_regions(kind) {
            let in_loop = in_loop || matches!(kind, OpKind::While);
            for inner in rw.module.ops[op].regions.clone() {
                sunk += visit(rw, inner, uses, in_loop);
            }
        }
        if in_loop && is_part(&rw.module.ops[op].kind) {
            sunk += usize::from(sink(rw, op, uses).is_some());
        }
    }
    sunk
}

/// Applies the slice `op` to the partial sums of its operand, if the operand is a reduced value that is only accumulated.
fn sink(rw: &mut Rewriter<'_>, op: OpId, uses: &Uses) -> Option<()> {
    let module = &*rw.module;
    let (&[completed], &[result]) = (module.ops[op].operands.as_slice(), module.ops[op].results.as_slice())
    else {
        return None;
    };
    let (source, pending) = pending_source(module, completed)?;
    let (whole, after) = (module.shardings.of(completed)?, module.shardings.of(result)?);
    let over = module.shardings.get(pending).unreduced.clone();
    let is_as_addends = addends(module, whole, &over).same_placement(module.shardings.get(pending));
    if !is_as_addends || !is_added_up(module, uses, completed, 0) {
        return None;
    }
    // A slice along a sharded dimension may itself have an unreduced result, which a later reshard reduces. That reduction then also covers
    // these axes.
    let is_completed_later = !module.shardings.get(after).unreduced.is_empty();
    if is_completed_later && !uses.of(result).iter().all(|&(reader, _)| completes(module, reader, &over)) {
        return None;
    }
    let ty = module.values[result].ty;
    let of_addends = rw.module.shardings.intern(addends(rw.module, after, &over));
    rw.module.ops[op].operands[0] = source;
    if is_completed_later {
        rw.module.shardings.set(result, Some(of_addends));
        return Some(());
    }
    rw.module.renew_result(op, 0);
    let part = rw.module.ops[op].results[0];
    rw.module.shardings.set(part, Some(of_addends));
    rw.keep();
    let last = rw.op1(OpKind::Reshard(after), &[part], ty);
    rw.module.shardings.set(last, Some(after));
    rw.module.take_over(last, result);
    Some(())
}

/// Returns a copy of the sharding `of` that is unreduced along the axes `over` and no longer shards dimensions along them.
fn addends(module: &Module, of: ShardingId, over: &AxisList) -> TensorSharding {
    let mut sharding = module.shardings.get(of).clone();
    for dim in &mut sharding.dims {
        dim.axes.retain(|axis| !over.iter().any(|other| other.axis == axis.axis));
    }
    TensorSharding { unreduced: over.clone(), ..sharding }
}

/// Whether an operation is a reduction over some of the axes `over`.
fn completes(module: &Module, op: OpId, over: &AxisList) -> bool {
    let data = &module.ops[op];
    let pending = |value: ValueId| module.shardings.sharding_of(value).map(|s| &s.unreduced);
    matches!(data.kind, OpKind::Reshard(_))
        && pending(data.operands[0]).is_some_and(|from| from.iter().all(|axis| over.contains(axis)))
        && pending(data.results[0]).is_some_and(|to| to.is_empty())
}

/// Whether every user of a value is an addition, or a slice whose result recursively has only such users. The slices together must not be
/// larger than the value.
fn is_added_up(module: &Module, uses: &Uses, value: ValueId, depth: usize) -> bool {
    let bytes = |v: ValueId| module.stored(v).and_then(TensorType::num_bytes);
    let mut parts = Some(0i64);
    for &(reader, _) in uses.of(value) {
        let data = &module.ops[reader];
        let &[result] = data.results.as_slice() else { return false };
        let completes = || pending_source(module, result).is_some();
        if is_part(&data.kind) || completes() {
            if depth == MAX_PARTS || !is_added_up(module, uses, result, depth + 1) {
                return false;
            }
            parts = parts.zip(bytes(result)).map(|(sum, n)| sum.saturating_add(n));
        } else if !matches!(data.kind, OpKind::Binary(BinaryOp::Add)) {
            return false;
        }
    }
    parts.zip(bytes(value)).is_some_and(|(parts, all)| parts <= all)
}
