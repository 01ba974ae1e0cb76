//! Batch index recognition: turns an index component that is an iota over a batch into a batching dimension of `gather` or `scatter`.
//!
//! In `x[arange(n), i]`, one component of each index equals the position of the index. An index component could address any row, so a
//! sharded batch would need an all-gather or an all-reduce. A batching dimension can be sharded, as in a `dot_general`. XLA calls these
//! dimensions parallel and detects them if an `iota` is concatenated with other components. This pass folds the integers instead, so it
//! is independent of the expression that computes them (`analysis/integer_fold.rs`).
//!
//! Conditions, for each component:
//! * its value is the position along one dimension of the indices, and that dimension is as long as the indexed one;
//! * slices have one element of the indexed dimension and drop it (`collapsed_slice_dims`, `inserted_window_dims`);
//! * another component remains, since an index vector needs at least one.
//!
//! ```mlir
//! %a = stablehlo.broadcast_in_dim %iota, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
//! %b = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
//! %ab = stablehlo.concatenate %a, %b, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
//! %0 = "stablehlo.gather"(%x, %ab) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1],
//!   start_index_map = [0, 1], index_vector_dim = 1>, ...}> : (tensor<4x8xf32>, tensor<4x2xi32>) -> tensor<4xf32>
//! ```
//! becomes
//! ```mlir
//! %0 = "stablehlo.gather"(%x, %b) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0],
//!   start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, ...}>
//!   : (tensor<4x8xf32>, tensor<4x1xi32>) -> tensor<4xf32>
//! ```

use rustc_hash::FxHashMap;
use shardc_ir::{
    Build, DimList, GatherSpec, Module, OpId, OpKind, RegionId, Rewriter, ScatterSpec, SliceSpec, ValueId,
};
use smallvec::SmallVec;

use crate::analysis::integer_fold::IntegerFold;
use crate::analysis::regions::program_ops;

/// An index component that equals the position along a dimension of the indices.
#[derive(Clone, Copy, Debug)]
struct Counting {
    /// The position of the component in the index vector.
    component: usize,
    /// The dimension of the indexed tensor that the component addresses.
    indexed: u32,
    /// The dimension of the indices whose position the component equals.
    along: u32,
}

/// Replaces index components that equal a batch position by batching dimensions everywhere under `body`. The operations that computed the
/// indices remain as dead code.
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

/// Returns the operations to change, each with the components that become batching dimensions, in ascending order.
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

/// The attributes that gather and scatter share.
struct View<'a> {
    indexed: ValueId,
    indices: ValueId,
    /// For each component of an index vector, the dimension of the indexed tensor that it addresses.
    map: &'a DimList,
    /// Dimensions of the indexed tensor that have slice size 1 and are omitted from the slices: `collapsed_slice_dims` or
    /// `inserted_window_dims`.
    single: &'a DimList,
    /// Dimensions of the indices that are batching dimensions before this pass.
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
            // The operands are the inputs, the indices, and as many updates as inputs, so the indices are in the middle.
            indices: *operands.get(operands.len() / 2)?,
            map: &spec.scatter_dims_to_operand_dims,
            single: &spec.inserted_window_dims,
            batching: &spec.scatter_indices_batching_dims,
            vector_dim: spec.index_vector_dim,
        })
    }

    /// Returns the components that meet the conditions of the module documentation. At least one component of the index vector is not
    /// returned.
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

/// Replaces index components of `op` by batching dimensions; `None` if `op` is unchanged.
fn make_batched(rw: &mut Rewriter<'_>, op: OpId, counting: &[Counting]) -> Option<()> {
    let place = rw.module.ops[op].operands.len() / 2;
    let indices = rw.module.ops[op].operands[place];
    let dropped = |component: usize| counting.iter().any(|c| c.component == component);
    let mut kind = rw.module.ops[op].kind.clone();
    // Batching dimensions of the indexed tensor are in ascending order (StableHLO specification, `gather` and `scatter`).
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
    // Index vectors that are sorted with all components may not be sorted without the removed ones.
    *sorted = sorted.map(|_| false);
    let fewer = columns(rw, indices, vector_dim, &kept)?;
    rw.module.ops[op].kind = kind;
    rw.module.ops[op].operands[place] = fewer;
    Some(())
}

/// Returns the indices reduced to the components `kept`, in ascending order.
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

/// Returns the components of the index vectors if `indices` is a concatenation of them.
fn joined(module: &Module, indices: ValueId, vector_dim: u32) -> Option<Vec<ValueId>> {
    let data = &module.ops[module.def_op(indices)?];
    let is_one = |&v: &ValueId| module.shape(v).get(vector_dim as usize) == Some(&1);
    let joins = matches!(data.kind, OpKind::Concatenate { dim } if dim == vector_dim);
    (joins && data.operands.iter().all(is_one)).then(|| data.operands.to_vec())
}

/// Inserts the slice of one component from all index vectors.
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
