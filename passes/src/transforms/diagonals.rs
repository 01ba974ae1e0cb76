//! Sums that take the diagonal out of a masked tensor run along the dimension that is not split.
//!
//! `einsum("ii->i")` is written as `reduce(select(i == j, x, 0))` along one of the two dimensions. Along the other it adds up
//! the same elements in the same order: the one of the diagonal, at the same place among as many fills. Where the dimension
//! that is reduced is split and the other is not, the sum would have to be completed over devices; along the other each
//! device has its part of the diagonal.

use shardc_ir::{CompareDirection, Dense, DimList, Module, OpId, OpKind, RegionId, ValueId};

use crate::analysis::integer_fold::IntegerFold;
use crate::analysis::regions::program_ops;

/// Changes reductions of diagonals under `body`, of which values have shardings.
pub fn diagonals(module: &mut Module, body: RegionId) {
    let reductions: Vec<OpId> = program_ops(module, body)
        .into_iter()
        .filter(|&op| matches!(module.ops[op].kind, OpKind::Reduce { .. }))
        .collect();
    let found: Vec<(OpId, DimList)> =
        reductions.into_iter().filter_map(|op| Some((op, other_dims(module, op)?))).collect();
    for (op, dims) in found {
        module.ops[op].kind = OpKind::Reduce { dims };
    }
}

/// Returns the dimensions along which `op` had better reduce; `None` if it stays.
fn other_dims(module: &Module, op: OpId) -> Option<DimList> {
    let data = &module.ops[op];
    let (OpKind::Reduce { dims }, &[value, _]) = (&data.kind, data.operands.as_slice()) else { return None };
    let sharding = module.shardings.sharding_of(value)?;
    if sharding.is_unsplit() {
        return None;
    }
    let [a, b] = masked_diagonal(module, value)?;
    let is_split = |dim: usize| dim < sharding.rank() && !sharding.axes(dim).is_empty();
    let (from, to) = if dims.contains(&(a as u32)) { (a, b) } else { (b, a) };
    let is_reduced = |dim: usize| dims.contains(&(dim as u32));
    if !is_reduced(from) || is_reduced(to) || !is_split(from) || is_split(to) {
        return None;
    }
    // The dimension that is left takes the other's place in the result.
    if (a.min(b) + 1..a.max(b)).any(|dim| !is_reduced(dim)) {
        return None;
    }
    let mut dims: DimList = dims.iter().map(|&d| if d as usize == from { to as u32 } else { d }).collect();
    dims.sort_unstable();
    Some(dims)
}

/// Returns the two dimensions of which `value` has the diagonal, and one fill elsewhere.
fn masked_diagonal(module: &Module, value: ValueId) -> Option<[usize; 2]> {
    let select = &module.ops[module.def_op(value)?];
    let (OpKind::Select, &[mask, yes, no]) = (&select.kind, select.operands.as_slice()) else { return None };
    let compare = &module.ops[module.def_op(mask)?];
    let (&OpKind::Compare(direction, _), &[a, b]) = (&compare.kind, compare.operands.as_slice()) else {
        return None;
    };
    let fill = match direction {
        CompareDirection::EQ => no,
        CompareDirection::NE => yes,
        _ => return None,
    };
    if !is_fill(module, fill) {
        return None;
    }
    let mut fold = IntegerFold::new(module);
    let (a, b) = (fold.fold(a, None)?, fold.fold(b, None)?);
    // The numbers of places differ, or several would be equal.
    let is_diagonal = a.values == b.values && a.values.windows(2).all(|pair| pair[0] < pair[1]);
    let (a, b) = (a.dim?, b.dim?);
    (is_diagonal && a != b).then_some([a, b])
}

/// Whether all elements are one.
fn is_fill(module: &Module, value: ValueId) -> bool {
    let Some(op) = module.def_op(value) else { return false };
    let data = &module.ops[op];
    match &data.kind {
        OpKind::Constant(Dense::Splat(_)) => true,
        OpKind::BroadcastInDim { .. } => data.operands.first().is_some_and(|&v| module.rank(v) == 0),
        _ => false,
    }
}
