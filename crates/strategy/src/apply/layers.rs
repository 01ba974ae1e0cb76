//! Shards an optimizer's matmuls by layer.
//!
//! Muon and Shampoo multiply each layer's matrix with itself many times. If the matrix were sharded, each matmul would need
//! communication. For a stack of layers, these matmuls are batched by layer: if they are sharded along the layer dimension, each
//! device holds all operands for some of the layers. The stack is resharded once before these matmuls and once after them.

use rustc_hash::FxHashSet;
use shardc_analysis::propagate::DimensionClasses;
use shardc_ir::{
    AxisRef, DimSharding, Mesh, MeshId, Module, OpId, OpKind, RegionId, SubAxis, TensorSharding, ValueId,
};

use super::axes::Axes;
use super::constraints::Constraints;
use super::context::Context;
use super::{THEN_STATE, prioritize};
use crate::roles::Role;

/// Shards batched matmuls of the update by layer.
pub(super) fn apply(module: &mut Module, context: &mut Context<'_>) {
    let Some(dimensions) = context.dimensions(module) else { return };
    let (classes, batch) = (&dimensions.classes, &dimensions.batch);
    let layers = &context.stacked(module).classes(classes);
    let examples: Vec<ValueId> = context.roles.of(Role::Batch).map(|i| context.args[i]).collect();
    let matmuls = LayerMatmuls { classes, batch, layers };
    if matmuls.split(module, context.body, (context.mesh, &context.axes), &examples) {
        context.invalidate_dimensions();
    }
}

/// The dimension classes of a step, and which of them are batch and layer dimensions.
struct LayerMatmuls<'a> {
    classes: &'a DimensionClasses,
    /// Dimension classes of the batch.
    batch: &'a FxHashSet<u32>,
    /// Dimension classes of the layer dimensions of stacks.
    layers: &'a FxHashSet<u32>,
}

impl LayerMatmuls<'_> {
    /// Shards the batched matmuls of the update by layer: matmuls that depend on the batch arguments `examples`, but have no data-batch
    /// dimension. Returns whether any sharding was inserted.
    fn split(
        &self,
        module: &mut Module,
        body: RegionId,
        (mesh, axes): (MeshId, &Axes),
        examples: &[ValueId],
    ) -> bool {
        if axes.shard.is_empty() || self.layers.is_empty() {
            return false;
        }
        let behind = behind(module, body, examples);
        let returned = module.terminator(body).map_or(&[][..], |end| &module.ops[end].operands);
        let is_inner = |op: &OpId| !module.ops[*op].results.iter().any(|result| returned.contains(result));
        let inner: FxHashSet<OpId> = behind.iter().copied().filter(is_inner).collect();
        let mut found = Constraints::default();
        for op in behind {
            self.of_op(module, op, (mesh, axes), &inner, &mut found);
        }
        found.insert(module, body)
    }

    /// Shards a matmul that is batched by layers, and its operands. An operand is sharded at its producer, for all users, if the
    /// producer is in `inner` (operations whose results the body does not return). Other operands are sharded only for this matmul.
    fn of_op(
        &self,
        module: &Module,
        op: OpId,
        (mesh, axes): (MeshId, &Axes),
        inner: &FxHashSet<OpId>,
        found: &mut Constraints,
    ) {
        let data = &module.ops[op];
        let OpKind::DotGeneral(spec) = &data.kind else { return };
        let (lhs, rhs, result) = (data.operands[0], data.operands[1], data.results[0]);
        let has_examples =
            |value: ValueId| self.classes.of(value).iter().any(|class| self.batch.contains(class));
        if has_examples(lhs) || has_examples(rhs) {
            return;
        }
        let counts_layers = |dim: u32| {
            self.classes.of(lhs).get(dim as usize).is_some_and(|class| self.layers.contains(class))
        };
        let Some(at) = spec.lhs_batch.iter().position(|&dim| counts_layers(dim)) else { return };
        let layers = module.shape(result)[at];
        let Some(along) = along(&module.meshes[mesh], axes, layers) else { return };
        let split = |value: ValueId, dim: usize| {
            let mut sharding = TensorSharding::open(mesh, module.rank(value));
            sharding.dims[dim] = DimSharding::closed(&along);
            prioritize(&mut sharding, THEN_STATE);
            sharding
        };
        let of_operands = [(lhs, spec.lhs_batch[at] as usize), (rhs, spec.rhs_batch[at] as usize)];
        for (i, (operand, dim)) in of_operands.into_iter().enumerate() {
            let (source, source_dim) = transposed_from(module, operand, dim);
            match module.def_op(source).filter(|def| inner.contains(def)) {
                Some(def) if module.ops[def].results.len() == 1 => {
                    found.results.insert(def, split(source, source_dim));
                }
                _ => found.operands.entry(op).or_default().push((i, split(operand, dim))),
            }
        }
        found.results.insert(op, split(result, at));
    }
}

/// Returns the axes that shard this many layers: all axes that shard weights, if they divide the number of layers; otherwise those that
/// shard state. If there are fewer layers than devices, returns the largest sub-axis that divides the number of layers.
fn along(mesh: &Mesh, axes: &Axes, layers: i64) -> Option<Vec<AxisRef>> {
    let all: Vec<AxisRef> = axes.shard.iter().chain(&axes.tensor).copied().collect();
    if layers % mesh.axes_size(&all) == 0 {
        return Some(all);
    }
    let n = mesh.axes_size(&axes.shard);
    if layers >= n {
        return Some(axes.shard.clone());
    }
    let &[axis] = axes.shard.as_slice() else { return None };
    let size = (2..=layers).rev().find(|size| layers % size == 0 && n % size == 0)?;
    Some(vec![AxisRef { sub: Some(SubAxis { pre: 1, size: u32::try_from(size).ok()? }), ..axis }])
}

/// Looks through transposes: returns the original value, and its dimension that corresponds to `dim`.
fn transposed_from(module: &Module, mut value: ValueId, mut dim: usize) -> (ValueId, usize) {
    while let Some(def) = module.def_op(value)
        && let OpKind::Transpose { permutation } = &module.ops[def].kind
    {
        dim = permutation[dim] as usize;
        value = module.ops[def].operands[0];
    }
    (value, dim)
}

/// Finds the operations in a body that depend on these arguments.
fn behind(module: &Module, body: RegionId, args: &[ValueId]) -> Vec<OpId> {
    let mut known: FxHashSet<ValueId> = args.iter().copied().collect();
    let mut all = Vec::new();
    for &op in module.regions[body].ops.iter() {
        let data = &module.ops[op];
        let inner: Vec<OpId> = data.regions.iter().flat_map(|&region| module.walk(region)).collect();
        let mut reads =
            std::iter::once(op).chain(inner.iter().copied()).flat_map(|op| &module.ops[op].operands);
        if reads.any(|value| known.contains(value)) {
            known.extend(&data.results);
            all.push(op);
            all.extend(inner);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::testing::{STACK, around};
    use crate::roles::Role;

    #[test]
    fn matmuls_of_an_update_are_sharded_by_layer() {
        let given = [(1, Role::Batch)];
        let around = around("split-layer-matmuls", STACK, ("full_shard", "fsdp=2"), &given);
        assert_eq!(around.added(r#"<@mesh, [{"fsdp"}p1, {?}, {?}]>"#), 2, "the gradient and the product");
    }

    #[test]
    fn no_matmul_is_sharded_without_sharded_state() {
        assert!(around("split-layer-matmuls", STACK, ("no_shard", "fsdp=2"), &[(1, Role::Batch)]).is_same());
    }
}
