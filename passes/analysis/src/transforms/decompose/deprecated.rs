//! Expands deprecated operations: `broadcast` and `torch_index_select` (`einsum` has its own file).

use shardc_ir::{Build, GatherSpec, OpId, OpKind, Rewriter, SizeList, ValueId};

/// Expands `broadcast`: the operand's dimensions are the last dimensions of the result.
pub(super) fn broadcast(rw: &mut Rewriter<'_>, op: OpId, sizes: &SizeList) -> Option<ValueId> {
    let module = &*rw.module;
    let (&operand, &result) = (module.ops[op].operands.first()?, module.ops[op].results.first()?);
    let (ty, rank) = (module.values[result].ty, module.rank(operand));
    let dims = (sizes.len()..sizes.len() + rank).map(|d| d as u32).collect();
    let value = rw.op1(OpKind::BroadcastInDim { dims }, &[operand], ty);
    Some(value)
}

/// Expands `torch_index_select`: dimension `dim` of the operand is replaced by slices at the indices. The first `batch_dims` dimensions of
/// operand and indices are batching dimensions.
pub(super) fn index_select(rw: &mut Rewriter<'_>, op: OpId, dim: i64, batch_dims: i64) -> Option<ValueId> {
    let module = &*rw.module;
    let &[operand, indices] = module.ops[op].operands.as_slice() else { return None };
    let &result = module.ops[op].results.first()?;
    let (rank, index_rank) = (module.rank(operand), module.rank(indices));
    let from_end = |n: i64, rank: usize| usize::try_from(if n < 0 { n + rank as i64 } else { n }).ok();
    let (dim, batch) = (from_end(dim, rank)?, from_end(batch_dims, index_rank)?);
    let known = |v: ValueId| module.stored(v).is_some_and(|t| t.is_static());
    let agree = batch <= dim
        && dim < rank
        && batch <= index_rank
        && module.shape(operand).get(..batch) == module.shape(indices).get(..batch);
    let are_integers = module.stored(indices).is_some_and(|t| t.dtype.is_integer());
    if !agree || !are_integers {
        return None;
    }
    let (from, at) = (module.shape(operand), module.shape(indices));
    let fits = [&from[..dim], &at[batch..], &from[dim + 1..]].concat() == module.shape(result);
    // The gather takes slices of one element from these dimensions, so they must not be empty.
    let has_slices = from[..batch].iter().chain(&from[dim..=dim]).all(|&n| n > 0);
    if !fits || !has_slices || ![operand, indices, result].into_iter().all(known) {
        return None;
    }
    let list = |range: std::ops::Range<usize>| range.map(|d| d as u32);
    let mut slice_sizes = SizeList::from_slice(from);
    slice_sizes[..batch].fill(1);
    slice_sizes[dim] = 1;
    let behind = dim + index_rank - batch;
    let spec = GatherSpec {
        offset_dims: list(batch..dim).chain(list(behind..behind + rank - dim - 1)).collect(),
        collapsed_slice_dims: list(dim..dim + 1).collect(),
        operand_batching_dims: list(0..batch).collect(),
        start_indices_batching_dims: list(0..batch).collect(),
        start_index_map: list(dim..dim + 1).collect(),
        index_vector_dim: index_rank as u32,
        slice_sizes,
        indices_are_sorted: None,
    };
    let ty = module.values[result].ty;
    let value = rw.op1(OpKind::Gather(Box::new(spec)), &[operand, indices], ty);
    Some(value)
}
