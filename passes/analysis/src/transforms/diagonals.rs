//! Diagonal reduction: reduces a masked diagonal along the dimension that is not sharded.
//!
//! `einsum("ii->i")` is written as `reduce(select(i == j, x, 0))` along one of two dimensions. Along the other dimension, the reduction
//! combines the same elements in the same order: one element of the diagonal, at the same position among the same number of fill values.
//! If the reduced dimension is sharded, the result is unreduced and needs an all-reduce. Along the other dimension, each device computes
//! its shard of the diagonal.
//!
//! Conditions:
//! * the mask compares two iotas along different dimensions, and all other elements are one fill value;
//! * the reduced dimension is sharded, and the other dimension is not;
//! * every dimension between the two is reduced, so that the result keeps its order of dimensions.
//!
//! ```mlir
//! %m = stablehlo.select %is_diagonal, %x, %zeros                                        // [{"x"}, {}]
//! %0 = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [0]
//! // becomes
//! %0 = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [1]
//! ```

use shardc_ir::{CompareDirection, Dense, DimList, Module, OpId, OpKind, RegionId, ValueId};

use crate::analysis::integer_fold::IntegerFold;
use crate::analysis::regions::program_ops;

/// Changes the dimension that reductions of diagonals under `body` reduce, after propagation.
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

/// Returns the dimensions that `op` should reduce instead; `None` if `op` does not meet the conditions.
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
    // If a dimension between the two were not reduced, the diagonal would be at another position among the dimensions of the result.
    if (a.min(b) + 1..a.max(b)).any(|dim| !is_reduced(dim)) {
        return None;
    }
    let mut dims: DimList = dims.iter().map(|&d| if d as usize == from { to as u32 } else { d }).collect();
    dims.sort_unstable();
    Some(dims)
}

/// Returns two dimensions of `value` if all elements that are not on the diagonal of the two dimensions have the same fill value.
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
    // The mask is a diagonal if both iotas have the same distinct numbers, in ascending order.
    let is_diagonal = a.values == b.values && a.values.windows(2).all(|pair| pair[0] < pair[1]);
    let (a, b) = (a.dim?, b.dim?);
    (is_diagonal && a != b).then_some([a, b])
}

/// Whether a value is known to have equal elements: a splat constant, or a broadcast of a scalar.
fn is_fill(module: &Module, value: ValueId) -> bool {
    let Some(op) = module.def_op(value) else { return false };
    let data = &module.ops[op];
    match &data.kind {
        OpKind::Constant(Dense::Splat(_)) => true,
        OpKind::BroadcastInDim { .. } => data.operands.first().is_some_and(|&v| module.rank(v) == 0),
        _ => false,
    }
}
