//! Rules of window reductions.

use shardc_ir::reducer::{identity, is_identity, reducer, reduction_of};
use shardc_ir::{
    Build, CompareDirection, Diagnostic, OpKind, ReductionKind, SizeList, TensorBuild, ValueId, WindowSpec,
};

use super::unsupported;
use crate::linearize::expand::{self, Combiner, cumulate, reversed};
use crate::linearize::window::{cumulative, full, pairs};
use crate::linearize::{At, Rule};

/// Linearizes `reduce_window`: sums, maxima and minima of windows, cumulative reductions, and reductions with other combiners.
pub(super) fn reduce_window(at: &mut At<'_, '_>, spec: &WindowSpec) -> Result<Rule, Box<Diagnostic>> {
    let region = at.linear.module.ops[at.op].regions[0];
    if at.num_operands() != 2 || at.tangent(1).is_some() {
        return one_by_one(at, spec);
    }
    let (Some(tangent), x, init) = (at.tangent(0), at.operand(0), at.operand(1)) else {
        return Ok(Rule::nothing(1));
    };
    let kind = reduction_of(at.linear.module, region, 1);
    let shape = at.linear.module.shape(x).to_vec();
    let Some(dtype) = at.linear.module.tensor(x).map(|ty| ty.dtype) else { return Err(unsupported(at)) };
    if kind == Some(ReductionKind::Add) {
        let ty = at.linear.module.values[at.result()].ty;
        let add = reducer(at.linear.module, ReductionKind::Add, dtype);
        let zero = at.primal().zeros(&[], dtype);
        let op = at.tape().op(OpKind::ReduceWindow(Box::new(spec.clone())), &[tangent, zero], &[ty], &[add]);
        return Ok(Rule::one(at.linear.module.ops[op].results[0]));
    }
    let is_plain = kind.is_some_and(|kind| is_identity(at.linear.module, init, kind));
    if let (true, Some((dim, is_reverse))) = (is_plain || kind.is_none(), cumulative(spec, &shape)) {
        let Some(combiner) = Combiner::of(at.linear.module, region) else { return Err(unsupported(at)) };
        let error = unsupported(at);
        let mut e = at.primal();
        let from = if is_reverse { reversed(&mut e, x, dim) } else { x };
        let made = cumulate(&mut e, &combiner, from, dim).ok_or(error)?;
        let made = if is_reverse { reversed(&mut e, made, dim) } else { made };
        return Ok(Rule::Instead(vec![made]));
    }
    let full = full(spec);
    let ones = |list: &SizeList| list.iter().all(|&n| n == 1);
    match kind {
        Some(kind @ (ReductionKind::Max | ReductionKind::Min))
            if is_plain && ones(&full.base_dilations) && ones(&full.window_dilations) =>
        {
            let direction = match kind {
                ReductionKind::Max => CompareDirection::GE,
                _ => CompareDirection::LE,
            };
            let zero = at.primal().zeros(&[], dtype);
            let ty = at.linear.module.values[at.result()].ty;
            let pick = pairs(at.linear.module, direction, dtype);
            let Some(bytes) = identity(kind, dtype) else { return Err(unsupported(at)) };
            let init = at.primal().splat(&bytes, &[], dtype);
            let kind = OpKind::ReduceWindow(Box::new(full));
            let op = at.tape().op(kind, &[x, tangent, init, zero], &[ty, ty], &[pick]);
            Ok(Rule::one(at.linear.module.ops[op].results[1]))
        }
        _ => one_by_one(at, spec),
    }
}

/// Expands a window reduction whose combiner has no rule of its own: combines the elements at one window position after the other, for all
/// windows at once.
fn one_by_one(at: &mut At<'_, '_>, spec: &WindowSpec) -> Result<Rule, Box<Diagnostic>> {
    let error = unsupported(at);
    let region = at.linear.module.ops[at.op].regions[0];
    let Some(combiner) = Combiner::of(at.linear.module, region) else { return Err(error) };
    let operands = at.linear.module.ops[at.op].operands.clone();
    let (values, inits) = operands.split_at(operands.len() / 2);
    expand::windows(&mut at.primal(), &combiner, values, inits, &full(spec)).map(Rule::Instead).ok_or(error)
}

/// `select_and_scatter` is linear in its source; its selection is piecewise constant.
pub(super) fn select_and_scatter(at: &mut At<'_, '_>) -> Result<Option<ValueId>, Box<Diagnostic>> {
    let Some(tangent) = at.tangent(1) else { return Ok(None) };
    let regions = at.linear.module.ops[at.op].regions.clone();
    let adds = reduction_of(at.linear.module, regions[1], 1) == Some(ReductionKind::Add);
    let Some(dtype) = at.linear.module.tensor(tangent).map(|ty| ty.dtype).filter(|_| adds) else {
        return Err(unsupported(at));
    };
    let (kind, x) = (at.kind(), at.operand(0));
    let ty = at.linear.module.values[at.result()].ty;
    let mut map = shardc_ir::ValueMap::new();
    let select = shardc_ir::clone_region(at.linear.module, regions[0], &mut map);
    let add = reducer(at.linear.module, ReductionKind::Add, dtype);
    let zero = at.primal().zeros(&[], dtype);
    let op = at.tape().op(kind, &[x, tangent, zero], &[ty], &[select, add]);
    Ok(Some(at.linear.module.ops[op].results[0]))
}
