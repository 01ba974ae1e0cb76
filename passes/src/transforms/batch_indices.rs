//! Gathers and scatters whose index counts a batch become batched ones.
//!
//! In `x[arange(n), i]` one component of each index is the position of the index itself. Taken for an address, it could be
//! any row, so that a batch that is split would have to be gathered, or its results added up. As a batching dimension, which
//! gather and scatter have of their own, it is split as one of a product is, and each device looks at its part alone. XLA
//! calls such dimensions parallel, and finds them where an `iota` is concatenated with other components; here the numbers
//! are folded, so that it does not matter how they were computed (`analysis/integer_fold.rs`).
//!
//! One component stays even where all count, since an index must have some.

use rustc_hash::FxHashMap;
use shardc_ir::{
    Build, DimList, GatherSpec, Module, OpId, OpKind, RegionId, Rewriter, ScatterSpec, SliceSpec, ValueId,
};
use smallvec::SmallVec;

use crate::analysis::integer_fold::IntegerFold;
use crate::analysis::regions::program_ops;

/// A component of the indices that counts one of their dimensions.
#[derive(Clone, Copy, Debug)]
struct Counting {
    /// Which component.
    component: usize,
    /// The dimension of the indexed tensor that it is for.
    indexed: u32,
    /// The dimension of the indices that it counts.
    along: u32,
}

/// Makes indexed dimensions batching ones everywhere under `body`. What computed the indices stays, unused.
pub fn batch_indices(module: &mut Module, body: RegionId) {
    let found = find(module, body);
    if found.is_empty() {
        return;
    }
    Rewriter::new(module).each_op(body, &mut |rw, op| {
        if let Some(counting) = found.get(&op) {
            let start = rw.checkpoint();
            if make_batched(rw, op, counting).is_none() {
                rw.undo(start);
            }
        }
    });
}

/// Returns the operations whose indices count, with the components that do, in the order of these.
fn find(module: &Module, body: RegionId) -> FxHashMap<OpId, SmallVec<[Counting; 2]>> {
    let mut fold = IntegerFold::new(module);
    let mut found = FxHashMap::default();
    for op in program_ops(module, body) {
        let data = &module.ops[op];
        let view = match &data.kind {
            OpKind::Gather(spec) => View::of_gather(spec, &data.operands),
            OpKind::Scatter(spec) => View::of_scatter(spec, &data.operands),
            _ => None,
        };
        let counting = view.and_then(|view| view.counting(module, &mut fold));
        found.extend(counting.filter(|c| !c.is_empty()).map(|counting| (op, counting)));
    }
    found
}

/// What gather and scatter have in common.
struct View<'a> {
    indexed: ValueId,
    indices: ValueId,
    /// The dimension of the indexed tensor for each component.
    map: &'a DimList,
    /// Dimensions of the indexed tensor of which one element is taken, and which the slices do not have.
    single: &'a DimList,
    /// Dimensions of the indices that are batching ones already.
    batching: &'a DimList,
    vector_dim: u32,
}

impl<'a> View<'a> {
    fn of_gather(spec: &'a GatherSpec, operands: &[ValueId]) -> Option<Self> {
        let &[indexed, indices] = operands else { return None };
        Some(View {
            indexed,
            indices,
            map: &spec.start_index_map,
            single: &spec.collapsed_slice_dims,
            batching: &spec.start_indices_batching_dims,
            vector_dim: spec.index_vector_dim,
        })
    }

    fn of_scatter(spec: &'a ScatterSpec, operands: &[ValueId]) -> Option<Self> {
        Some(View {
            indexed: *operands.first()?,
            // Inputs, indices, and as many updates as inputs.
            indices: *operands.get(operands.len() / 2)?,
            map: &spec.scatter_dims_to_operand_dims,
            single: &spec.inserted_window_dims,
            batching: &spec.scatter_indices_batching_dims,
            vector_dim: spec.index_vector_dim,
        })
    }

    /// Returns the components that count a dimension of the indices which is as long as the indexed one; not all of them.
    fn counting(&self, module: &Module, fold: &mut IntegerFold<'_>) -> Option<SmallVec<[Counting; 2]>> {
        let (sizes, lengths) = (module.shape(self.indexed), module.shape(self.indices));
        let mut found: SmallVec<[Counting; 2]> = SmallVec::new();
        for (component, &indexed) in self.map.iter().enumerate() {
            if found.len() + 1 == self.map.len() {
                break;
            }
            let &size = sizes.get(indexed as usize)?;
            let is_free = |along: u32| {
                along != self.vector_dim
                    && !self.batching.contains(&along)
                    && !found.iter().any(|c| c.along == along)
                    && lengths.get(along as usize) == Some(&size)
            };
            if size <= 1 || !self.single.contains(&indexed) || !(0..lengths.len() as u32).any(is_free) {
                continue;
            }
            let at = Some((self.vector_dim as usize, component as i64));
            let Some(folded) = fold.fold(self.indices, at) else { continue };
            let Some(along) = folded.dim.map(|dim| dim as u32).filter(|&dim| is_free(dim)) else { continue };
            if folded.values.iter().copied().eq(0..size) {
                found.push(Counting { component, indexed, along });
            }
        }
        Some(found)
    }
}

/// Changes `op` to its batched form; `None` if it stays.
fn make_batched(rw: &mut Rewriter<'_>, op: OpId, counting: &[Counting]) -> Option<()> {
    let place = rw.module.ops[op].operands.len() / 2;
    let indices = rw.module.ops[op].operands[place];
    let dropped = |component: usize| counting.iter().any(|c| c.component == component);
    let mut kind = rw.module.ops[op].kind.clone();
    // Batching dimensions of the indexed tensor are in order (StableHLO specification, `gather` and `scatter`).
    let (map, single, indexed, along, sorted, vector_dim) = match &mut kind {
        OpKind::Gather(spec) => (
            &mut spec.start_index_map,
            &mut spec.collapsed_slice_dims,
            &mut spec.operand_batching_dims,
            &mut spec.start_indices_batching_dims,
            &mut spec.indices_are_sorted,
            spec.index_vector_dim,
        ),
        OpKind::Scatter(spec) => (
            &mut spec.scatter_dims_to_operand_dims,
            &mut spec.inserted_window_dims,
            &mut spec.input_batching_dims,
            &mut spec.scatter_indices_batching_dims,
            &mut spec.indices_are_sorted,
            spec.index_vector_dim,
        ),
        _ => return None,
    };
    let mut pairs: Vec<(u32, u32)> = indexed.iter().copied().zip(along.iter().copied()).collect();
    pairs.extend(counting.iter().map(|c| (c.indexed, c.along)));
    pairs.sort_unstable();
    *indexed = pairs.iter().map(|p| p.0).collect();
    *along = pairs.iter().map(|p| p.1).collect();
    single.retain(|dim| !counting.iter().any(|c| c.indexed == *dim));
    let kept: Vec<usize> = (0..map.len()).filter(|&i| !dropped(i)).collect();
    *map = kept.iter().map(|&i| map[i]).collect();
    // Sorted were the whole indices.
    *sorted = sorted.map(|_| false);
    let fewer = columns(rw, indices, vector_dim, &kept)?;
    rw.module.ops[op].kind = kind;
    rw.module.ops[op].operands[place] = fewer;
    Some(())
}

/// Returns the indices with these components alone, which are in order.
fn columns(rw: &mut Rewriter<'_>, indices: ValueId, vector_dim: u32, kept: &[usize]) -> Option<ValueId> {
    let dim = vector_dim as usize;
    let parts: Vec<ValueId> = match joined(rw.module, indices, vector_dim) {
        Some(parts) => kept.iter().map(|&i| parts.get(i).copied()).collect::<Option<_>>()?,
        None => kept.iter().map(|&i| column(rw, indices, dim, i as i64)).collect::<Option<_>>()?,
    };
    if let [only] = parts.as_slice() {
        return Some(*only);
    }
    let (mut shape, dtype) = rw.module.tensor(indices).map(|ty| (ty.shape.clone(), ty.dtype))?;
    shape[dim] = parts.len() as i64;
    let ty = rw.module.types.tensor(&shape, dtype);
    Some(rw.op1(OpKind::Concatenate { dim: vector_dim }, &parts, ty))
}

/// The components of indices that are a concatenation of these.
fn joined(module: &Module, indices: ValueId, vector_dim: u32) -> Option<Vec<ValueId>> {
    let data = &module.ops[module.def_op(indices)?];
    let is_one = |&v: &ValueId| module.shape(v).get(vector_dim as usize) == Some(&1);
    let joins = matches!(data.kind, OpKind::Concatenate { dim } if dim == vector_dim);
    (joins && data.operands.iter().all(is_one)).then(|| data.operands.to_vec())
}

/// Inserts the slice of one component.
fn column(rw: &mut Rewriter<'_>, indices: ValueId, dim: usize, component: i64) -> Option<ValueId> {
    let (mut shape, dtype) = rw.module.tensor(indices).map(|ty| (ty.shape.clone(), ty.dtype))?;
    let mut spec = SliceSpec {
        start: shape.iter().map(|_| 0).collect(),
        limit: shape.iter().copied().collect(),
        stride: shape.iter().map(|_| 1).collect(),
    };
    (spec.start[dim], spec.limit[dim]) = (component, component + 1);
    shape[dim] = 1;
    let ty = rw.module.types.tensor(&shape, dtype);
    Some(rw.op1(OpKind::Slice(Box::new(spec)), &[indices], ty))
}
