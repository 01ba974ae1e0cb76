//! Rules of operations that reorder elements by comparisons: tangents are reordered in the same way.

use shardc_ir::{
    Build, DType, Diagnostic, DimList, GatherSpec, InsertionPoint, OpKind, SizeList, TensorBuild, ValueId,
};

use super::unsupported;
use crate::emit::{Arithmetic, Emit};
use crate::linearize::{At, Tangents};

/// Linearizes `sort`: sorts an additional iota, and gathers tangents by the sorted indices.
pub(super) fn sort(at: &mut At<'_, '_>, dim: Option<i64>) -> Result<Tangents, Box<Diagnostic>> {
    let op = at.op;
    let n = at.num_operands();
    let shape = at.linear.module.shape(at.operand(0)).to_vec();
    let rank = shape.len() as i64;
    let along = dim.unwrap_or(-1);
    let along = if along < 0 { along + rank } else { along };
    let Ok(dim) = u32::try_from(along) else { return Err(unsupported(at)) };
    let mut made = Vec::new();
    let places = {
        let mut e = Emit::new(at.linear.module, &mut made, op);
        e.tensor(OpKind::Iota { dim }, &[], &shape, DType::I32)
    };
    for iota in made {
        at.linear.insertions.insert(&mut InsertionPoint::Before(op), iota);
    }
    let module = &mut *at.linear.module;
    let ty = module.values[places].ty;
    module.ops[op].operands.push(places);
    let order = module.add_result(op, ty);
    let scalar = module.types.tensor(&[], DType::I32);
    let region = module.ops[op].regions[0];
    for _ in 0..2 {
        module.add_arg(region, scalar);
    }
    (0..n).map(|i| picked(at, i, order, dim)).chain(std::iter::once(Ok(None))).collect()
}

/// Linearizes `top_k`: gathers the tangent by the second result, the indices.
pub(super) fn top_k(at: &mut At<'_, '_>) -> Result<Tangents, Box<Diagnostic>> {
    let places = at.linear.module.ops[at.op].results[1];
    let dim = at.linear.module.rank(places).saturating_sub(1) as u32;
    Ok([picked(at, 0, places, dim)?, None].into_iter().collect())
}

/// The tangent of operand `i`, gathered along `dim` at the indices `places`.
fn picked(
    at: &mut At<'_, '_>,
    i: usize,
    places: ValueId,
    dim: u32,
) -> Result<Option<ValueId>, Box<Diagnostic>> {
    let Some(tangent) = at.tangent(i) else { return Ok(None) };
    let error = unsupported(at);
    let (indices, spec) = {
        let mut e = at.primal();
        let mut shape = e.type_of(places).shape.to_vec();
        let dtype = e.dtype(places).ok_or(error)?;
        let rank = shape.len() as u32;
        shape.push(1);
        let indices = e.tensor(OpKind::Reshape, &[places], &shape, dtype);
        let others: DimList = (0..rank).filter(|&d| d != dim).collect();
        let spec = GatherSpec {
            offset_dims: DimList::new(),
            collapsed_slice_dims: DimList::from_slice(&[dim]),
            operand_batching_dims: others.clone(),
            start_indices_batching_dims: others,
            start_index_map: DimList::from_slice(&[dim]),
            index_vector_dim: rank,
            slice_sizes: SizeList::from_elem(1, rank as usize),
            indices_are_sorted: None,
        };
        (indices, spec)
    };
    let result = at.linear.module.ops[at.op].results[i];
    let ty = at.linear.module.values[result].ty;
    Ok(Some(at.tape().op1(OpKind::Gather(Box::new(spec)), &[tangent, indices], ty)))
}
