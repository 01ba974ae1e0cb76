//! `sdy-explicit-gather-scatter-batching`: makes implicit batching dimensions of gathers and scatters explicit.
//!
//! `operand[iota, j]` reads row `i` for index `i`, so rows are independent. With the iota as an index, the gathered dimension cannot be
//! sharded. As a batching dimension, it can be sharded like any other.
//!
//! ```mlir
//! %indices = stablehlo.concatenate %j, %iota, dim = 1
//! "stablehlo.gather"(%x, %indices) <{#stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [1, 0]>}>
//! // becomes
//! "stablehlo.gather"(%x, %j) <{#stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0],
//!                              start_indices_batching_dims = [0], start_index_map = [1]>}>
//! ```

mod identity;

use rustc_hash::FxHashSet;
use shardc_ir::{
    Build, DimList, GatherSpec, Module, OpId, OpKind, RegionId, Rewriter, ScatterSpec, SliceSpec, UseCounts,
    ValueId,
};
use shardc_passes::driver::passes::PassResult;

/// Makes the first dimension of operand and indices a batching dimension, if a component of the indices is an iota along it.
pub(super) fn run(module: &mut Module) -> PassResult {
    for body in module.bodies().collect::<Vec<_>>() {
        let mut left: Vec<ValueId> = Vec::new();
        let mut rw = Rewriter::new(module);
        for region in rw.module.regions_under(body) {
            rw.enter(region);
            while let Some(op) = rw.next_op() {
                let start = rw.checkpoint();
                match batch(&mut rw, op) {
                    Some(indices) => left.push(indices),
                    None => rw.undo(start),
                }
            }
        }
        drop(rw);
        if !left.is_empty() {
            drop_unused(module, body, left);
        }
    }
    Ok(Vec::new())
}

/// The common attributes of gathers and scatters.
struct Indexing<'a> {
    /// The operand dimension of each index component.
    map: &'a DimList,
    /// The operand dimensions that the slices omit: `collapsed_slice_dims` or `inserted_window_dims`.
    fixed: &'a DimList,
    batching: &'a DimList,
    vector_dim: u32,
}

/// Rewrites a gather or a scatter; returns its old indices.
fn batch(rw: &mut Rewriter<'_>, op: OpId) -> Option<ValueId> {
    let module = &*rw.module;
    let (indexing, at) = match &module.ops[op].kind {
        OpKind::Gather(spec) => {
            let GatherSpec { start_index_map, collapsed_slice_dims, operand_batching_dims, .. } = &**spec;
            (indexing(start_index_map, collapsed_slice_dims, operand_batching_dims, spec.index_vector_dim), 1)
        }
        OpKind::Scatter(spec) => {
            let ScatterSpec { scatter_dims_to_operand_dims: map, inserted_window_dims: fixed, .. } = &**spec;
            let inputs = (module.ops[op].operands.len().checked_sub(1)?) / 2;
            (indexing(map, fixed, &spec.input_batching_dims, spec.index_vector_dim), inputs)
        }
        _ => return None,
    };
    let (&operand, &indices) = (module.ops[op].operands.first()?, module.ops[op].operands.get(at)?);
    let component = implied_batch(module, &indexing, operand, indices)?;
    let vector_dim = indexing.vector_dim;
    let rest = without_component(rw, indices, vector_dim, component)?;
    let module = &mut *rw.module;
    module.ops[op].operands[at] = rest;
    match &mut module.ops[op].kind {
        OpKind::Gather(spec) => {
            spec.start_index_map.remove(component);
            spec.collapsed_slice_dims.retain(|dim| *dim != 0);
            spec.operand_batching_dims.push(0);
            spec.start_indices_batching_dims.push(0);
        }
        OpKind::Scatter(spec) => {
            spec.scatter_dims_to_operand_dims.remove(component);
            spec.inserted_window_dims.retain(|dim| *dim != 0);
            spec.input_batching_dims.push(0);
            spec.scatter_indices_batching_dims.push(0);
        }
        _ => {}
    }
    Some(indices)
}

fn indexing<'a>(
    map: &'a DimList,
    fixed: &'a DimList,
    batching: &'a DimList,
    vector_dim: u32,
) -> Indexing<'a> {
    Indexing { map, fixed, batching, vector_dim }
}

/// Returns the position in the index vector of the component that selects the operand's row and is an iota; `None` if there is none.
fn implied_batch(
    module: &Module,
    indexing: &Indexing<'_>,
    operand: ValueId,
    indices: ValueId,
) -> Option<usize> {
    let (rows, shape) = (*module.shape(operand).first()?, module.shape(indices));
    let vector_dim = indexing.vector_dim as usize;
    // The index vector must have a second component, because the iota component is removed from it.
    let several = vector_dim > 0 && shape.get(vector_dim).is_some_and(|&n| n > 1);
    let component = indexing.map.iter().position(|&dim| dim == 0)?;
    let fits = several
        && indexing.batching.is_empty()
        && indexing.fixed.contains(&0)
        && shape.first() == Some(&rows)
        && module.tensor(indices).is_some_and(|tensor| tensor.is_static());
    if !fits {
        return None;
    }
    let source = part_with(module, indices, vector_dim, component).unwrap_or(indices);
    identity::counts(module, source).then_some(component)
}

/// If a value is a concatenation along a dimension, returns the operand that contains the element at `position`.
fn part_with(module: &Module, value: ValueId, along: usize, position: usize) -> Option<ValueId> {
    let op = &module.ops[module.def_op(value)?];
    if !matches!(op.kind, OpKind::Concatenate { dim } if dim as usize == along) {
        return None;
    }
    let mut left = position as i64;
    op.operands.iter().copied().find(|&part| {
        let size = module.shape(part).get(along).copied().unwrap_or(0);
        let found = (0..size).contains(&left);
        left -= size;
        found
    })
}

/// Removes one component from the indices.
fn without_component(
    rw: &mut Rewriter<'_>,
    indices: ValueId,
    vector_dim: u32,
    component: usize,
) -> Option<ValueId> {
    let along = vector_dim as usize;
    let shape = rw.module.shape(indices).to_vec();
    let size = *shape.get(along)?;
    let parts = rw.module.def_op(indices).map(|op| &rw.module.ops[op]);
    let parts = parts.filter(|op| matches!(op.kind, OpKind::Concatenate { dim } if dim == vector_dim));
    let parts = parts.map(|op| op.operands.clone()).filter(|parts| parts.len() as i64 == size);
    let kept: Vec<ValueId> = match parts {
        // The concatenation has one operand for each component.
        Some(mut parts) => {
            parts.remove(component);
            parts.into_vec()
        }
        None => {
            let (component, mut kept) = (component as i64, Vec::new());
            for (start, limit) in [(0, component), (component + 1, size)] {
                if start < limit {
                    kept.push(slice(rw, indices, &shape, along, (start, limit))?);
                }
            }
            kept
        }
    };
    match kept.as_slice() {
        &[only] => Some(only),
        several => rw.infer1(OpKind::Concatenate { dim: vector_dim }, several).ok(),
    }
}

fn slice(
    rw: &mut Rewriter<'_>,
    value: ValueId,
    shape: &[i64],
    along: usize,
    (start, limit): (i64, i64),
) -> Option<ValueId> {
    let mut spec = SliceSpec {
        start: shape.iter().map(|_| 0).collect(),
        limit: shape.iter().copied().collect(),
        stride: shape.iter().map(|_| 1).collect(),
    };
    (spec.start[along], spec.limit[along]) = (start, limit);
    rw.infer1(OpKind::Slice(Box::new(spec)), &[value]).ok()
}

/// Removes the producers of these values that are now dead.
fn drop_unused(module: &mut Module, body: RegionId, mut values: Vec<ValueId>) {
    let mut uses = UseCounts::under(module, body);
    let mut dead: FxHashSet<OpId> = FxHashSet::default();
    while let Some(value) = values.pop() {
        let Some(op) = module.def_op(value) else { continue };
        let data = &module.ops[op];
        // A sharding constraint without users still has an effect.
        let removable = data.regions.is_empty()
            && module.is_pure(data)
            && !matches!(data.kind, OpKind::ShardingConstraint(_));
        if removable && uses.are_unused(&data.results) && dead.insert(op) {
            uses.remove(&data.operands);
            values.extend(&data.operands);
        }
    }
    for region in module.regions_under(body) {
        module.retain_ops(region, |_, op| !dead.contains(&op));
    }
}
