//! Indices of `gather` and `scatter`: determines which elements they read and write.

use shardc_ir::reducer::reduction_of;
use shardc_ir::{
    BinaryOp, Build, CompareDirection, CompareType, DType, DTypeClass, Dense, DimList, GatherSpec, Module,
    OpKind, ReductionKind, ScatterSpec, SizeList, SliceSpec, TensorBuild, ValueId,
};

use crate::emit::{Arithmetic, Emit};
use crate::ranges::{Range, range, ranges_along};

/// Returns the gather that reads the elements that a scatter writes; `None` if the dimensions do not match.
pub(crate) fn gather_of(spec: &ScatterSpec, input: &[i64], updates: &[i64]) -> Option<GatherSpec> {
    let mut window = spec.update_window_dims.iter();
    let slice_sizes: SizeList = (0..input.len() as u32)
        .map(|d| {
            let is_one = spec.inserted_window_dims.contains(&d) || spec.input_batching_dims.contains(&d);
            if is_one { Some(1) } else { window.next().and_then(|&u| updates.get(u as usize)).copied() }
        })
        .collect::<Option<_>>()?;
    Some(GatherSpec {
        offset_dims: spec.update_window_dims.clone(),
        collapsed_slice_dims: spec.inserted_window_dims.clone(),
        operand_batching_dims: spec.input_batching_dims.clone(),
        start_indices_batching_dims: spec.scatter_indices_batching_dims.clone(),
        start_index_map: spec.scatter_dims_to_operand_dims.clone(),
        index_vector_dim: spec.index_vector_dim,
        slice_sizes,
        indices_are_sorted: spec.indices_are_sorted,
    })
}

/// A scatter without the dimensions that each window covers entirely, and the remaining dimensions of operand and updates.
#[derive(Debug)]
pub(crate) struct Thin {
    pub(crate) spec: ScatterSpec,
    pub(crate) of_operand: DimList,
    pub(crate) of_updates: DimList,
}

/// Drops the dimensions that every window covers entirely: along these, all elements of a window are treated in the same way. `None` if the
/// dimensions do not match.
pub(crate) fn thin(spec: &ScatterSpec, input: &[i64], updates: &[i64]) -> Option<Thin> {
    let gather = gather_of(spec, input, updates)?;
    let is_whole = |d: u32| {
        gather.slice_sizes[d as usize] == input[d as usize]
            && !spec.inserted_window_dims.contains(&d)
            && !spec.input_batching_dims.contains(&d)
            && !spec.scatter_dims_to_operand_dims.contains(&d)
    };
    let of_operand: DimList = (0..input.len() as u32).filter(|&d| !is_whole(d)).collect();
    let windows = (0..input.len() as u32)
        .filter(|d| !spec.inserted_window_dims.contains(d) && !spec.input_batching_dims.contains(d));
    let whole: Vec<u32> =
        windows.zip(&spec.update_window_dims).filter(|&(d, _)| is_whole(d)).map(|(_, &u)| u).collect();
    let of_updates: DimList = (0..updates.len() as u32).filter(|u| !whole.contains(u)).collect();
    let among = |kept: &DimList, dims: &DimList| -> DimList {
        dims.iter().filter_map(|d| kept.iter().position(|k| k == d)).map(|at| at as u32).collect()
    };
    let thin = ScatterSpec {
        update_window_dims: among(&of_updates, &spec.update_window_dims),
        inserted_window_dims: among(&of_operand, &spec.inserted_window_dims),
        input_batching_dims: among(&of_operand, &spec.input_batching_dims),
        scatter_dims_to_operand_dims: among(&of_operand, &spec.scatter_dims_to_operand_dims),
        ..spec.clone()
    };
    Some(Thin { spec: thin, of_operand, of_updates })
}

/// The scatter that writes the elements that a gather reads.
pub(crate) fn scatter_of(spec: &GatherSpec) -> ScatterSpec {
    ScatterSpec {
        update_window_dims: spec.offset_dims.clone(),
        inserted_window_dims: spec.collapsed_slice_dims.clone(),
        input_batching_dims: spec.operand_batching_dims.clone(),
        scatter_indices_batching_dims: spec.start_indices_batching_dims.clone(),
        scatter_dims_to_operand_dims: spec.start_index_map.clone(),
        index_vector_dim: spec.index_vector_dim,
        indices_are_sorted: spec.indices_are_sorted,
        unique_indices: None,
    }
}

/// For each index component, the last start at which a window of a gather is within the operand.
pub(crate) fn last_places(spec: &GatherSpec, operand: &[i64]) -> Vec<i64> {
    spec.start_index_map.iter().map(|&d| operand[d as usize] - spec.slice_sizes[d as usize]).collect()
}

/// Whether each index component is provably between zero and the last valid start, `last`.
fn is_within(module: &Module, indices: ValueId, vector_dim: u32, last: &[i64]) -> bool {
    match (vector_dim as usize) < module.rank(indices) {
        true => ranges_along(module, indices, vector_dim as usize)
            .is_some_and(|all| all.iter().zip(last).all(|(range, &last)| range.is_within(last))),
        // There is one component, and the index vector dimension is implicit.
        false => match (range(module, indices), last.first()) {
            (Some(range), Some(&last)) => range.is_within(last),
            (range, last) => range.is_some() && last.is_none(),
        },
    }
}

/// Clamps the indices so that windows are within the operand, as `gather` does.
pub(crate) fn clamped(e: &mut Emit<'_>, indices: ValueId, vector_dim: u32, last: &[i64]) -> ValueId {
    if is_within(e.module(), indices, vector_dim, last) {
        return indices;
    }
    if let Some(moved) = clamped_before(e, indices, vector_dim, last) {
        return moved;
    }
    let low = e.number(0.0, indices);
    let high = limits(e, indices, vector_dim, last);
    e.alike_to(OpKind::Clamp, &[low, indices, high], indices)
}

/// Like [`clamped`], but clamps the operands of the concatenation or broadcast that produces the indices, which have fewer elements.
fn clamped_before(e: &mut Emit<'_>, indices: ValueId, vector_dim: u32, last: &[i64]) -> Option<ValueId> {
    let op = e.module().def_op(indices)?;
    let (kind, operands) = (e.module().ops[op].kind.clone(), e.module().ops[op].operands.clone());
    match kind {
        OpKind::Concatenate { dim } if dim == vector_dim => {
            let (mut parts, mut first) = (Vec::with_capacity(operands.len()), 0);
            for &part in &operands {
                let count = *e.module().shape(part).get(dim as usize)? as usize;
                parts.push(clamped(e, part, vector_dim, last.get(first..first + count)?));
                first += count;
            }
            Some(e.alike_to(kind, &parts, indices))
        }
        // There is only one component, so all indices have the same limit.
        OpKind::BroadcastInDim { .. } | OpKind::Reshape if last.len() == 1 => {
            let from = *operands.first()?;
            let vector_dim = e.module().rank(from) as u32;
            let moved = clamped(e, from, vector_dim, last);
            Some(e.alike_to(kind, &[moved], indices))
        }
        _ => None,
    }
}

/// If a mask set the windows of `ct` that are outside of the operand to zero, returns the cotangent before the mask. `None` if there is no
/// such mask.
pub(crate) fn without_mask(
    module: &Module,
    ct: ValueId,
    indices: ValueId,
    spec: &GatherSpec,
    last: &[i64],
) -> Option<ValueId> {
    let made = |value: ValueId| module.def_op(value).map(|op| &module.ops[op]);
    let select = made(ct).filter(|data| data.kind == OpKind::Select)?;
    let &[mask, unmasked, zeros] = select.operands.as_slice() else { return None };
    let OpKind::Constant(Dense::Splat(zero)) = &made(zeros)?.kind else { return None };
    if zero.iter().any(|&byte| byte != 0) {
        return None;
    }
    // For each window, whether all index components are in bounds.
    let mask_made = made(mask)?;
    let of_windows = match &mask_made.kind {
        OpKind::BroadcastInDim { dims } => {
            let rank = module.rank(ct) as u32;
            let windows = (0..rank).filter(|d| !spec.offset_dims.contains(d));
            windows.eq(dims.iter().copied()).then(|| mask_made.operands[0])?
        }
        _ if spec.offset_dims.is_empty() => mask,
        _ => return None,
    };
    let vector_dim = spec.index_vector_dim as usize;
    let of_components = if vector_dim < module.rank(indices) {
        let all = made(of_windows)?;
        let OpKind::Reduce { dims } = &all.kind else { return None };
        let is_all = reduction_of(module, *all.regions.first()?, 1) == Some(ReductionKind::And)
            && range(module, *all.operands.get(1)?)? == Range { low: 1, high: 1 };
        (is_all && dims.as_slice() == [spec.index_vector_dim]).then(|| all.operands[0])?
    } else {
        of_windows
    };
    let both = made(of_components).filter(|data| data.kind == OpKind::Binary(BinaryOp::And))?;
    let bounded = |value: ValueId, direction: CompareDirection, is_bound: &dyn Fn(ValueId) -> bool| {
        made(value).is_some_and(|data| {
            matches!(data.kind, OpKind::Compare(is, _) if is == direction)
                && data.operands[0] == indices
                && is_bound(data.operands[1])
        })
    };
    let is_zero = |bound: ValueId| range(module, bound) == Some(Range { low: 0, high: 0 });
    let is_last = |bound: ValueId| is_exactly(module, bound, vector_dim, last);
    let is_within = bounded(both.operands[0], CompareDirection::GE, &is_zero)
        && bounded(both.operands[1], CompareDirection::LE, &is_last);
    is_within.then_some(unmasked)
}

/// Whether the components of an index tensor are the constants `numbers`.
fn is_exactly(module: &Module, mut value: ValueId, mut vector_dim: usize, numbers: &[i64]) -> bool {
    let is = |range: &Range, n: i64| (range.low, range.high) == (n.into(), n.into());
    loop {
        if vector_dim < module.rank(value) {
            let found = ranges_along(module, value, vector_dim);
            if found.is_some_and(|all| {
                all.len() == numbers.len() && all.iter().zip(numbers).all(|(r, &n)| is(r, n))
            }) {
                return true;
            }
        } else if let [n] = numbers {
            return range(module, value).is_some_and(|range| is(&range, *n));
        }
        // The value may be a broadcast of a vector of constants.
        let Some(op) = module.def_op(value).map(|op| &module.ops[op]) else { return false };
        let OpKind::BroadcastInDim { dims } = &op.kind else { return false };
        let Some(from) = dims.iter().position(|&d| d as usize == vector_dim) else { return false };
        (value, vector_dim) = (op.operands[0], from);
    }
}

/// A tensor of the type of `indices` in which index component `i` is `of[i]`.
fn limits(e: &mut Emit<'_>, indices: ValueId, vector_dim: u32, of: &[i64]) -> ValueId {
    let ty = e.type_of(indices);
    let bytes = ty.dtype.bytes();
    // The limits are capped at the maximum of the index type, which no index can exceed.
    let most = |n: &i64| match ty.dtype.class() {
        DTypeClass::Signed => (*n).min(i64::MAX >> (64 - ty.dtype.bits().min(64))),
        _ => (*n).min(i64::MAX >> 63u32.saturating_sub(ty.dtype.bits())),
    };
    let of: Vec<i64> = of.iter().map(most).collect();
    let list: Vec<u8> = of.iter().flat_map(|n| n.to_le_bytes()[..bytes].to_vec()).collect();
    if (vector_dim as usize) < ty.shape.len() {
        let row = e.elements(list, &[of.len() as i64], ty.dtype);
        let dims = DimList::from_slice(&[vector_dim]);
        return e.spread(row, dims, &ty.shape).unwrap_or(row);
    }
    e.number(of.first().copied().unwrap_or(0) as f64, indices)
}

/// Returns `value`, whose windows belong to `indices`, with zeros in windows that are outside of the operand, since `scatter` ignores these
/// windows.
pub(crate) fn only_within(
    e: &mut Emit<'_>,
    value: ValueId,
    indices: ValueId,
    spec: &GatherSpec,
    operand: &[i64],
) -> Option<ValueId> {
    let last = last_places(spec, operand);
    if is_within(e.module(), indices, spec.index_vector_dim, &last) {
        return Some(value);
    }
    let vector_dim = spec.index_vector_dim as usize;
    let shape = e.type_of(indices).shape;
    let (low, high) = (e.number(0.0, indices), limits(e, indices, spec.index_vector_dim, &last));
    let how = CompareType::of_integers(e.type_of(indices).dtype);
    let compare = |e: &mut Emit<'_>, direction, a, b| {
        e.tensor(OpKind::Compare(direction, how), &[a, b], &shape, DType::I1)
    };
    let above = compare(e, CompareDirection::GE, indices, low);
    let below = compare(e, CompareDirection::LE, indices, high);
    let mut within = e.binary(BinaryOp::And, above, below);
    let rows: Vec<i64> = (0..shape.len()).filter(|&d| d != vector_dim).map(|d| shape[d]).collect();
    if vector_dim < shape.len() {
        // All components of an index must be in bounds.
        let mut all: Option<ValueId> = None;
        for i in 0..shape[vector_dim] {
            let mut box_of = SliceSpec {
                start: SizeList::from_elem(0, shape.len()),
                limit: shape.iter().copied().collect(),
                stride: SizeList::from_elem(1, shape.len()),
            };
            (box_of.start[vector_dim], box_of.limit[vector_dim]) = (i, i + 1);
            let mut thin = shape.to_vec();
            thin[vector_dim] = 1;
            let part = e.tensor(OpKind::Slice(Box::new(box_of)), &[within], &thin, DType::I1);
            let part = e.tensor(OpKind::Reshape, &[part], &rows, DType::I1);
            all = Some(match all {
                Some(all) => e.binary(BinaryOp::And, all, part),
                None => part,
            });
        }
        within = match all {
            Some(all) => all,
            None => return Some(value),
        };
    }
    let result = e.type_of(value).shape;
    let dims: DimList = (0..result.len() as u32).filter(|d| !spec.offset_dims.contains(d)).collect();
    let mask = e.spread(within, dims, &result)?;
    let zero = e.zeros_like(value);
    Some(e.alike_to(OpKind::Select, &[mask, value, zero], value))
}
