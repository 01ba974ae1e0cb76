//! Places that integers say: what `gather` and `scatter` read and write.

use shardc_ir::{
    BinaryOp, Build, CompareDirection, DType, DimList, GatherSpec, Module, OpKind, ScatterSpec, SizeList,
    SliceSpec, TensorBuild, ValueId,
};

use crate::emit::{Arithmetic, Emit};

/// The gather that reads what a scatter writes to; `None` where the dimensions do not fit.
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

/// The scatter that writes to what a gather reads.
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

/// The last place at which a window of a gather still lies within the operand, for each component of an index.
pub(crate) fn last_places(spec: &GatherSpec, operand: &[i64]) -> Vec<i64> {
    spec.start_index_map.iter().map(|&d| operand[d as usize] - spec.slice_sizes[d as usize]).collect()
}

/// Whether each component of the indices is surely from zero to `last`.
pub(crate) fn is_within(module: &Module, indices: ValueId, vector_dim: u32, last: &[i64]) -> bool {
    let Some((low, high)) = range(module, indices, 8) else { return false };
    let shape = module.shape(indices);
    let count = shape.get(vector_dim as usize).copied().unwrap_or(1);
    debug_assert!(count as usize <= last.len().max(1));
    low >= 0 && last.iter().all(|&last| high <= last)
}

/// The least and the greatest number that a tensor of integers may hold, if the program says so within `depth` operations.
fn range(module: &Module, value: ValueId, depth: u32) -> Option<(i64, i64)> {
    let depth = depth.checked_sub(1)?;
    let op = module.def_op(value)?;
    let data = &module.ops[op];
    let of = |i: usize| range(module, *data.operands.get(i)?, depth);
    match &data.kind {
        OpKind::Constant(_) => {
            let all = module.constant_integers(value)?;
            Some((*all.iter().min()?, *all.iter().max()?))
        }
        OpKind::Iota { dim } => Some((0, module.shape(value).get(*dim as usize)? - 1)),
        OpKind::Reshape | OpKind::BroadcastInDim { .. } | OpKind::Transpose { .. } | OpKind::Slice(_) => {
            of(0)
        }
        OpKind::Convert => {
            let from = module.tensor(*data.operands.first()?)?.dtype;
            let to = module.tensor(value)?.dtype;
            (from.is_integer() && to.is_integer() && to.bits() >= 32).then(|| of(0)).flatten()
        }
        OpKind::Clamp => {
            let ((low, _), (_, high)) = (of(0)?, of(2)?);
            (low <= high).then_some((low, high))
        }
        OpKind::Concatenate { .. } => {
            let all: Option<Vec<_>> = (0..data.operands.len()).map(of).collect();
            let all = all?;
            Some((all.iter().map(|r| r.0).min()?, all.iter().map(|r| r.1).max()?))
        }
        _ => None,
    }
}

/// The indices, moved to where windows lie within the operand: there a gather reads.
pub(crate) fn clamped(e: &mut Emit<'_>, indices: ValueId, vector_dim: u32, last: &[i64]) -> ValueId {
    if is_within(e.module(), indices, vector_dim, last) {
        return indices;
    }
    let low = e.number(0.0, indices);
    let high = limits(e, indices, vector_dim, last);
    e.alike_to(OpKind::Clamp, &[low, indices, high], indices)
}

/// Numbers of which component `i` of each index has `of[i]`, like `indices`.
fn limits(e: &mut Emit<'_>, indices: ValueId, vector_dim: u32, of: &[i64]) -> ValueId {
    let ty = e.type_of(indices);
    let bytes = ty.dtype.bytes();
    let list: Vec<u8> = of.iter().flat_map(|n| n.to_le_bytes()[..bytes].to_vec()).collect();
    if (vector_dim as usize) < ty.shape.len() {
        let row = e.elements(list, &[of.len() as i64], ty.dtype);
        let dims = DimList::from_slice(&[vector_dim]);
        return e.spread(row, dims, &ty.shape).unwrap_or(row);
    }
    e.number(of.first().copied().unwrap_or(0) as f64, indices)
}

/// `value`, made by windows at `indices`, with zeros for the windows that do not lie within the operand: these a scatter
/// leaves out.
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
    let compare = |e: &mut Emit<'_>, direction, a, b| {
        e.tensor(OpKind::Compare(direction, None), &[a, b], &shape, DType::I1)
    };
    let above = compare(e, CompareDirection::GE, indices, low);
    let below = compare(e, CompareDirection::LE, indices, high);
    let mut within = e.binary(BinaryOp::And, above, below);
    let rows: Vec<i64> = (0..shape.len()).filter(|&d| d != vector_dim).map(|d| shape[d]).collect();
    if vector_dim < shape.len() {
        // All components of an index have to be.
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
