//! Rules of indexed operations: `gather`, `scatter`, `torch_index_select`.

use shardc_ir::{DType, DimList, GatherSpec, Module, OpId, ReductionKind, ScatterSpec, ValueId};

use super::builder::{RuleBuilder, operand_shape, result_shape, size};
use crate::analysis::reducer::reduction_of;
use crate::rules::sharding_rule::{FactorKind, ShardingRule};

/// The common structure of gather and scatter: an indexed tensor, indices, and slices (the result of a gather, the updates of a scatter).
struct Indexing<'a> {
    indexed: &'a [i64],
    indices: &'a [i64],
    slices: &'a [i64],
    /// The dimensions of `slices` that are offset dimensions (gather) or window dimensions (scatter).
    offset: &'a DimList,
    /// The dimensions of `indexed` that are missing in `slices`.
    collapsed: &'a DimList,
    indexed_batching: &'a DimList,
    indices_batching: &'a DimList,
    vector_dim: usize,
}

/// A factor with its dimensions in the indexed tensor, the indices and the slices.
struct IndexFactor {
    dims: [Option<usize>; 3],
    size: i64,
    kind: FactorKind,
    blocked: bool,
}

impl Indexing<'_> {
    /// Returns the factors in order. `batch` is the kind of the factor of a dimension that only indices and slices have; `scatter` is true
    /// for a scatter, and false for a gather.
    fn factors(&self, scatter: bool, batch: FactorKind) -> Vec<IndexFactor> {
        let mut out = Vec::new();
        let mut add = |dims, size, kind, blocked| out.push(IndexFactor { dims, size, kind, blocked });
        let mut dim = 0;
        let mut batch_dim = 0;
        for (slice_dim, &n) in self.slices.iter().enumerate() {
            if self.offset.contains(&(slice_dim as u32)) {
                // Offset dimensions correspond, in order, to the indexed dimensions that are neither collapsed nor batching (StableHLO
                // specification, `gather` and `scatter`).
                while self.collapsed.contains(&(dim as u32)) || self.indexed_batching.contains(&(dim as u32))
                {
                    dim += 1;
                }
                let m = size(self.indexed, dim);
                if m == n {
                    add([Some(dim), None, Some(slice_dim)], m, FactorKind::PassThrough, false);
                } else if scatter {
                    add([Some(dim), None, None], m, FactorKind::NeedReplication, false);
                    add([None, None, Some(slice_dim)], n, FactorKind::NeedReplication, false);
                } else if n == 1 {
                    // The device that holds the element contributes it to the sum; the others contribute zero.
                    add([Some(dim), None, None], m, FactorKind::Reduction, false);
                    add([None, None, Some(slice_dim)], n, FactorKind::NeedReplication, false);
                } else {
                    add([Some(dim), None, Some(slice_dim)], m, FactorKind::NeedReplication, true);
                }
                dim += 1;
            } else {
                // The index vector's dimension may be at any position among the batch dimensions of the indices.
                let index_dim = if batch_dim < self.vector_dim { batch_dim } else { batch_dim + 1 };
                let along = self.indices_batching.iter().position(|&d| d as usize == index_dim);
                let indexed = along.and_then(|i| self.indexed_batching.get(i)).map(|&d| d as usize);
                let kind = if along.is_some() { FactorKind::PassThrough } else { batch };
                add([indexed, Some(index_dim), Some(slice_dim)], n, kind, false);
                batch_dim += 1;
            }
        }
        for &dim in self.collapsed {
            let n = size(self.indexed, dim as usize);
            let kind = match (scatter, n) {
                // A scatter needs no reduction: each device writes the updates that are within its shard and ignores the others. For a
                // gather, the results of all devices are summed.
                (true, _) => FactorKind::PassThrough,
                (false, 1) => FactorKind::NeedReplication,
                (false, _) => FactorKind::Reduction,
            };
            add([Some(dim as usize), None, None], n, kind, false);
        }
        if let Some(&n) = self.indices.get(self.vector_dim) {
            add([None, Some(self.vector_dim), None], n, FactorKind::NeedReplication, false);
        }
        out
    }
}

/// Relates the dimensions of a `gather`. An indexed dimension may be sharded: each device reads the elements of its block, and the partial
/// results are summed.
pub(super) fn gather(module: &Module, op: OpId, spec: &GatherSpec) -> Option<ShardingRule> {
    let indexing = Indexing {
        indexed: operand_shape(module, op, 0)?,
        indices: operand_shape(module, op, 1)?,
        slices: result_shape(module, op, 0)?,
        offset: &spec.offset_dims,
        collapsed: &spec.collapsed_slice_dims,
        indexed_batching: &spec.operand_batching_dims,
        indices_batching: &spec.start_indices_batching_dims,
        vector_dim: spec.index_vector_dim as usize,
    };
    let mut rule = RuleBuilder::new(module, op);
    for IndexFactor { dims: [indexed, index, slice], size, kind, blocked } in
        indexing.factors(false, FactorKind::PassThrough)
    {
        let factor = rule.blocked(size, kind, blocked);
        for (operand, dim) in [indexed, index].into_iter().enumerate() {
            if let Some(dim) = dim {
                rule.operand(operand, dim, factor);
            }
        }
        if let Some(dim) = slice {
            rule.result(0, dim, factor);
        }
    }
    Some(rule.finish())
}

/// Whether the order in which a `scatter` combines updates of the same element is irrelevant.
fn is_reduction(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let is_bool = |&v: &ValueId| module.tensor(v).is_some_and(|t| t.dtype == DType::I1);
    let kind = data.regions.first().and_then(|&region| reduction_of(module, region, data.results.len()));
    match kind {
        Some(ReductionKind::Add | ReductionKind::Mul | ReductionKind::Max | ReductionKind::Min) => true,
        Some(ReductionKind::And | ReductionKind::Or) => data.results.iter().all(is_bool),
        Some(ReductionKind::Xor) | None => false,
    }
}

/// Relates the dimensions of a `scatter`. An indexed dimension is pass-through: each device writes the updates of its shard. If the updates
/// are sharded, the results are unreduced, so an all-reduce must support the function that combines updates.
pub(super) fn scatter(module: &Module, op: OpId, spec: &ScatterSpec) -> Option<ShardingRule> {
    let inputs = module.ops[op].results.len();
    let indexing = Indexing {
        indexed: operand_shape(module, op, 0)?,
        indices: operand_shape(module, op, inputs)?,
        slices: operand_shape(module, op, inputs + 1)?,
        offset: &spec.update_window_dims,
        collapsed: &spec.inserted_window_dims,
        indexed_batching: &spec.input_batching_dims,
        indices_batching: &spec.scatter_indices_batching_dims,
        vector_dim: spec.index_vector_dim as usize,
    };
    let batch = if is_reduction(module, op) { FactorKind::Reduction } else { FactorKind::NeedReplication };
    let mut rule = RuleBuilder::new(module, op);
    for IndexFactor { dims: [indexed, index, slice], size, kind, blocked } in indexing.factors(true, batch) {
        let factor = rule.blocked(size, kind, blocked);
        for i in 0..inputs {
            if let Some(dim) = indexed {
                rule.operand(i, dim, factor).result(i, dim, factor);
            }
            if let Some(dim) = slice {
                rule.operand(inputs + 1 + i, dim, factor);
            }
        }
        if let Some(dim) = index {
            rule.operand(inputs, dim, factor);
        }
    }
    Some(rule.finish())
}

/// Relates the dimensions of a `torch_index_select`: slices of the operand along a dimension, at the indices.
pub(super) fn torch_index_select(module: &Module, op: OpId, dim: i64, batch: i64) -> Option<ShardingRule> {
    let (indexed, index) = (operand_shape(module, op, 0)?, operand_shape(module, op, 1)?);
    let from_end = |n: i64, rank: usize| usize::try_from(if n < 0 { n + rank as i64 } else { n }).ok();
    let (dim, batch) = (from_end(dim, indexed.len())?, from_end(batch, index.len())?);
    let mut rule = RuleBuilder::new(module, op);
    let mut out = 0;
    for (d, &n) in indexed.iter().enumerate() {
        if d != dim {
            let factor = rule.factor(n, FactorKind::PassThrough);
            rule.operand(0, d, factor).result(0, out, factor);
            if d < batch {
                rule.operand(1, d, factor);
            }
            out += 1;
            continue;
        }
        for (d, &n) in index.iter().enumerate().skip(batch) {
            let factor = rule.factor(n, FactorKind::PassThrough);
            rule.operand(1, d, factor).result(0, out, factor);
            out += 1;
        }
        // The device that holds a slice contributes it to the sum; the others contribute zero.
        let kind = if n == 1 { FactorKind::NeedReplication } else { FactorKind::Reduction };
        let factor = rule.factor(n, kind);
        rule.operand(0, d, factor);
    }
    Some(rule.finish())
}
