//! Constraints on activations whose sharding should differ from what the batch and weights imply.
//!
//! * *Sequence parallelism*: activations between layers, which are partial sums, become sharded along their sequence dimension over the
//!   axes of tensor parallelism. Normalizations are then computed on shards, and the last matmul of a layer ends in a reduce-scatter
//!   instead of an all-reduce. Matmuls within a layer are sharded by heads or hidden features, as in Megatron (Korthikanti et al., 2022).
//!   If sequences were sharded everywhere, keys, values and weights would be all-gathered.
//! * *Context parallelism*: if the sequence dimension of an argument does not divide evenly, for example because it has an additional
//!   token, slices of the argument are sharded instead. Attention scores have the sequence dimension twice. They are always sharded by
//!   queries, in the forward and in the backward pass: if they were sharded by keys in one place, resharding them would be the largest
//!   transfer of a layer.
//! * *Expert parallelism*: inputs and outputs of experts are sharded by expert, so that devices exchange tokens.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_analysis::propagate::DimensionClasses;
use shardc_ir::{
    AxisRef, BinaryOp, DimSharding, Mesh, MeshId, Module, OpId, OpKind, RegionId, TensorSharding, ValueId,
};

use super::axes::Axes;
use super::constraints::Constraints;
use super::{BATCH_FIRST, prioritize};

/// The dimension classes of a step, and the purpose of some of them. Dimensions are in one class if they probably need the same
/// sharding.
pub(super) struct ActivationClasses<'a> {
    pub(super) classes: &'a DimensionClasses,
    /// Dimension classes of the batch.
    pub(super) batch: &'a FxHashSet<u32>,
    /// The dimension class of features between layers.
    pub(super) features: Option<u32>,
    /// Dimension classes that tensor parallelism shards within layers: heads, hidden features.
    pub(super) inner: &'a FxHashSet<u32>,
    /// Dimension classes of sequences, which context parallelism shards.
    pub(super) sequences: &'a FxHashSet<u32>,
    /// Dimension classes of experts.
    pub(super) experts: &'a FxHashSet<u32>,
    /// Arguments whose sequence dimension does not divide evenly, each with the index of this dimension.
    pub(super) uneven: &'a FxHashMap<ValueId, usize>,
}

/// Inserts sharding constraints on activations in a body without calls. Returns whether any constraint was inserted.
pub(super) fn constrain(
    module: &mut Module,
    body: RegionId,
    (mesh, axes): (MeshId, &Axes),
    dims: &ActivationClasses<'_>,
    sequence_parallel: bool,
) -> bool {
    let activations = Activations { mesh, axes, dims, sequence_parallel };
    let mut found = Constraints::default();
    for op in module.walk(body) {
        activations.of_op(module, op, &mut found);
    }
    found.insert(module, body)
}

struct Activations<'a> {
    mesh: MeshId,
    axes: &'a Axes,
    dims: &'a ActivationClasses<'a>,
    sequence_parallel: bool,
}

impl Activations<'_> {
    fn of_op(&self, module: &Module, op: OpId, found: &mut Constraints) {
        let data = &module.ops[op];
        let mesh = &module.meshes[self.mesh];
        match &data.kind {
            OpKind::Binary(BinaryOp::Add) if self.sequence_parallel => {
                if let Some(sharding) = self.by_sequence(module, mesh, data.results[0]) {
                    found.results.insert(op, sharding);
                }
            }
            OpKind::Slice(_) => {
                let cut = self.dims.uneven.get(&data.operands[0]);
                let size = |dim: usize| module.shape(data.results[0])[dim];
                if let Some(&dim) = cut.filter(|&&dim| size(dim) % mesh.axes_size(&self.axes.context) == 0) {
                    let mut sharding = self.like_batch(module, data.results[0], &self.axes.data);
                    sharding.dims[dim] = DimSharding::closed(&self.axes.context);
                    prioritize(&mut sharding, BATCH_FIRST);
                    found.results.insert(op, sharding);
                }
            }
            OpKind::Reduce { dims } if !self.axes.context.is_empty() => {
                if let Some(sharding) = self.by_query(module, mesh, data.operands[0], dims) {
                    found.operands.entry(op).or_default().push((0, sharding));
                }
            }
            OpKind::DotGeneral(_) => {
                if self.sequence_parallel
                    && let Some(sharding) = self.by_inner(module, mesh, data.results[0])
                {
                    found.results.insert(op, sharding);
                }
                if self.axes.expert.is_empty() {
                    return;
                }
                let of_operands: Vec<(usize, TensorSharding)> = data
                    .operands
                    .iter()
                    .enumerate()
                    .filter_map(|(i, &value)| Some((i, self.by_expert(module, mesh, value)?)))
                    .collect();
                if let Some(sharding) = self.by_expert(module, mesh, data.results[0]) {
                    found.results.insert(op, sharding);
                }
                if !of_operands.is_empty() {
                    found.operands.insert(op, of_operands);
                }
            }
            _ => {}
        }
    }

    /// Returns a sharding of the batch dimension along `axes`, with all other dimensions open.
    fn like_batch(&self, module: &Module, value: ValueId, axes: &[AxisRef]) -> TensorSharding {
        let mut sharding = TensorSharding::open(self.mesh, module.rank(value));
        for (dim, class) in sharding.dims.iter_mut().zip(self.dims.classes.of(value)) {
            if self.dims.batch.contains(class) {
                *dim = DimSharding::closed(axes);
            }
        }
        sharding
    }

    /// Shards the sequence dimension of a tensor with batch, sequence and feature dimensions over the axes of tensor parallelism.
    fn by_sequence(&self, module: &Module, mesh: &Mesh, value: ValueId) -> Option<TensorSharding> {
        let &[a, b, c] = self.dims.classes.of(value) else { return None };
        let is_batch = |class: u32| self.dims.batch.contains(&class);
        let sequence = (0..3).find(|&dim| {
            let class = [a, b, c][dim];
            !is_batch(class) && Some(class) != self.dims.features
        })?;
        let has_both = [a, b, c].into_iter().any(is_batch) && [a, b, c].contains(&self.dims.features?);
        let along: Vec<AxisRef> = self.axes.context.iter().chain(&self.axes.tensor).cloned().collect();
        if !has_both || module.shape(value)[sequence] % mesh.axes_size(&along) != 0 {
            return None;
        }
        let mut sharding = self.like_batch(module, value, &self.axes.data);
        sharding.dims[sequence] = DimSharding::closed(&along);
        prioritize(&mut sharding, BATCH_FIRST);
        Some(sharding)
    }

    /// Shards the heads or hidden features of an activation within a layer over the axes of tensor parallelism, and its sequence
    /// dimension over none of these axes.
    fn by_inner(&self, module: &Module, mesh: &Mesh, value: ValueId) -> Option<TensorSharding> {
        let of = self.dims.classes.of(value);
        let n = mesh.axes_size(&self.axes.tensor);
        let is_split = |&dim: &usize| self.dims.inner.contains(&of[dim]) && module.shape(value)[dim] % n == 0;
        let inner = (0..of.len()).find(is_split).filter(|_| n > 1)?;
        if !of.iter().any(|class| self.dims.batch.contains(class)) {
            return None;
        }
        let mut sharding = self.like_batch(module, value, &self.axes.data);
        sharding.dims[inner] = DimSharding::closed(&self.axes.tensor);
        prioritize(&mut sharding, BATCH_FIRST);
        Some(sharding)
    }

    /// Shards the batch and query dimensions of scores that are reduced along keys.
    fn by_query(
        &self,
        module: &Module,
        mesh: &Mesh,
        scores: ValueId,
        reduced: &[u32],
    ) -> Option<TensorSharding> {
        let of = self.dims.classes.of(scores);
        if !of.iter().any(|class| self.dims.batch.contains(class)) {
            return None;
        }
        let sequences = (0..of.len()).filter(|&dim| self.dims.sequences.contains(&of[dim]));
        let (keys, queries): (Vec<usize>, Vec<usize>) =
            sequences.partition(|&dim| reduced.contains(&(dim as u32)));
        let (&[_], &[query]) = (keys.as_slice(), queries.as_slice()) else { return None };
        if module.shape(scores)[query] % mesh.axes_size(&self.axes.context) != 0 {
            return None;
        }
        let mut sharding = self.like_batch(module, scores, &self.axes.data);
        sharding.dims[query] = DimSharding::closed(&self.axes.context);
        prioritize(&mut sharding, BATCH_FIRST);
        Some(sharding)
    }

    /// Shards inputs and outputs of experts by expert over the expert axes, and along the batch dimension over the other axes that
    /// shard the batch.
    fn by_expert(&self, module: &Module, mesh: &Mesh, value: ValueId) -> Option<TensorSharding> {
        let of = self.dims.classes.of(value);
        if !of.iter().any(|class| self.dims.batch.contains(class)) {
            return None;
        }
        let n = mesh.axes_size(&self.axes.expert);
        let is_split =
            |dim: &usize| self.dims.experts.contains(&of[*dim]) && module.shape(value)[*dim] % n == 0;
        let expert = (0..of.len()).find(is_split)?;
        let is_other = |axis: &&AxisRef| !self.axes.expert.contains(axis);
        let others: Vec<AxisRef> = self.axes.data.iter().filter(is_other).cloned().collect();
        let mut sharding = self.like_batch(module, value, &others);
        sharding.dims[expert] = DimSharding::closed(&self.axes.expert);
        prioritize(&mut sharding, BATCH_FIRST);
        Some(sharding)
    }
}
