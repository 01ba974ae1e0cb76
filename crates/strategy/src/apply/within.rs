//! Finds the dimensions that tensor, expert and context parallelism shard within layers, from dimension classes.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_analysis::propagate::DimensionClasses;
use shardc_ir::{Diagnostic, MeshId, Module, OpKind, RegionId, ValueId};

use super::activations::{self, ActivationClasses};
use super::analyses::Dimensions;
use super::axes::Axes;
use super::context::Context;
use super::experts;
use super::tensor::Inner;
use crate::roles::Role;

/// Finds the dimensions that are sharded within layers, and constrains activations.
///
/// # Errors
/// Returns SH1251 if an axis shards sequences, but no argument has a sequence dimension.
pub(super) fn apply(module: &mut Module, context: &mut Context<'_>) -> Result<(), Vec<Diagnostic>> {
    let within = Within::of(module, context);
    if module.meshes[context.mesh].axes_size(&context.axes.context) > 1 && within.sequences.is_empty() {
        let message = "the mesh has an axis for sequences, but no batch argument has a sequence dimension";
        let hint = "the sequence dimension follows the batch dimension, in arguments of tokens or of vectors";
        return Err(vec![Diagnostic::invalid("SH1251", message).hint(hint)]);
    }
    let at = (context.mesh, &context.axes);
    let is_changed = within.constrain(module, context.body, at, context.settings.sequence_parallel);
    let Within { tensor_dims, expert_dims, sequences, .. } = within;
    (context.tensor_dims, context.expert_dims, context.sequences) = (tensor_dims, expert_dims, sequences);
    if is_changed {
        context.invalidate_dimensions();
    }
    Ok(())
}

/// The dimensions that are sharded within layers.
#[derive(Default)]
struct Within<'a> {
    dimensions: Option<&'a Dimensions>,
    /// The dimension class of features between layers.
    features: Option<u32>,
    /// The dimension classes that tensor parallelism shards within layers.
    inner: FxHashSet<u32>,
    /// The dimension classes of sequences, which context parallelism shards.
    sequence_classes: FxHashSet<u32>,
    experts: FxHashSet<u32>,
    /// For each state argument, the dimension that tensor parallelism shards.
    tensor_dims: FxHashMap<ValueId, usize>,
    /// The expert dimension of each state argument.
    expert_dims: FxHashMap<ValueId, usize>,
    /// The sequence dimension of each batch argument.
    sequences: FxHashMap<ValueId, usize>,
    /// The batch arguments whose sequence dimension does not divide evenly, each with the index of this dimension.
    uneven: FxHashMap<ValueId, usize>,
}

/// Returns the dimension classes of layer inputs: the dimensions of batch arguments, and the row dimensions of embedding tables.
fn fed_classes(
    module: &Module,
    body: RegionId,
    classes: &DimensionClasses,
    batch: &[ValueId],
) -> FxHashSet<u32> {
    let mut fed: FxHashSet<u32> = batch.iter().flat_map(|&arg| classes.of(arg)).copied().collect();
    for op in module.walk(body) {
        let data = &module.ops[op];
        if let (OpKind::Gather(spec), Some(&rows)) = (&data.kind, data.results.first()) {
            let of = classes.of(rows);
            fed.extend(spec.offset_dims.iter().filter_map(|&dim| of.get(dim as usize)));
        }
    }
    fed
}

/// Returns the dimension classes of sequences. `sequences` gives the sequence dimension of arguments; slices of these arguments, such
/// as tokens and next tokens, also count.
fn sequence_classes(
    module: &Module,
    body: RegionId,
    classes: &DimensionClasses,
    sequences: &FxHashMap<ValueId, usize>,
) -> FxHashSet<u32> {
    let class = |value: ValueId, dim: usize| classes.of(value).get(dim).copied();
    let mut of: FxHashSet<u32> = sequences.iter().filter_map(|(&arg, &dim)| class(arg, dim)).collect();
    for op in module.walk(body) {
        let data = &module.ops[op];
        if matches!(data.kind, OpKind::Slice(_))
            && let Some(&dim) = sequences.get(&data.operands[0])
        {
            of.extend(class(data.results[0], dim));
        }
    }
    of
}

impl<'a> Within<'a> {
    /// Finds the dimensions that tensor, expert and context parallelism shard, in a function without calls. There are none if the mesh
    /// has no axis for these kinds of parallelism.
    fn of(module: &Module, context: &'a Context<'_>) -> Within<'a> {
        let (roles, args, axes, body) = (context.roles, &context.args, &context.axes, context.body);
        let (stacked, mesh) = (context.stacked(module), &module.meshes[context.mesh]);
        if axes.tensor.is_empty() && axes.expert.is_empty() && axes.context.is_empty() {
            return Within::default();
        }
        let Some(dimensions) = context.dimensions(module) else { return Within::default() };
        let classes = &dimensions.classes;
        let of = |is: &dyn Fn(Role) -> bool| -> Vec<ValueId> {
            roles.arguments.iter().zip(args).filter(|(a, _)| is(a.role)).map(|(_, &arg)| arg).collect()
        };
        let (weights, state) = (of(&Role::is_weight), of(&is_state));
        let mut out = Within { dimensions: Some(dimensions), ..Within::default() };
        let n = mesh.axes_size(&axes.expert);
        if n > 1 {
            let has_batch = |value: ValueId| dimensions.has_batch(value);
            let found = experts::classes(module, body, classes, &weights, &has_batch);
            let dim = |&arg: &ValueId| Some((arg, experts::dim(module, classes, &found, arg, n)?));
            out.expert_dims = state.iter().filter_map(dim).collect();
            out.experts = found;
        }
        let n = mesh.axes_size(&axes.tensor);
        if n > 1 {
            let fed = fed_classes(module, body, classes, &of(&|role| role == Role::Batch));
            let inner = Inner::of(module, classes, (&weights, &fed), stacked, n);
            let dim = |&arg: &ValueId| {
                let dim = inner.dim(module, classes, arg, stacked, n)?;
                (out.expert_dims.get(&arg) != Some(&dim)).then_some((arg, dim))
            };
            out.tensor_dims = state.iter().filter_map(dim).collect();
            out.features = inner.features();
            out.inner = inner.classes;
        }
        let n = mesh.axes_size(&axes.context);
        if n > 1 {
            let sequence = |(argument, &arg): (&crate::Argument, &ValueId)| {
                let dim = argument.batch_dim.filter(|_| argument.role == Role::Batch)? + 1;
                let is_integer = module.stored(arg)?.dtype.is_integer();
                let has_one = module.rank(arg) > dim && (is_integer || module.rank(arg) > dim + 1);
                has_one.then_some((arg, dim))
            };
            out.sequences = roles.arguments.iter().zip(args).filter_map(sequence).collect();
            let is_uneven = |(arg, dim): &(&ValueId, &usize)| module.shape(**arg)[**dim] % n != 0;
            out.uneven = out.sequences.iter().filter(is_uneven).map(|(&arg, &dim)| (arg, dim)).collect();
            out.sequence_classes = sequence_classes(module, body, classes, &out.sequences);
        }
        out
    }

    /// Inserts sharding constraints on activations. Returns whether any constraint was inserted.
    fn constrain(
        &self,
        module: &mut Module,
        body: RegionId,
        at: (MeshId, &Axes),
        sequence_parallel: bool,
    ) -> bool {
        let Some(dimensions) = self.dimensions else { return false };
        let dims = ActivationClasses {
            classes: &dimensions.classes,
            batch: &dimensions.batch,
            features: self.features,
            inner: &self.inner,
            sequences: &self.sequence_classes,
            experts: &self.experts,
            uneven: &self.uneven,
        };
        activations::constrain(module, body, at, &dims, sequence_parallel)
    }
}

fn is_state(role: Role) -> bool {
    use Role::{FrozenParameter, GradientAccumulator, OptimizerState, Parameter};
    matches!(role, FrozenParameter | GradientAccumulator | OptimizerState | Parameter)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ONE_WEIGHT, around, try_around};

    const EXPERTS: &str = r#"func.func @main(
        %w: tensor<4x16x32xf32> {tf.aliasing_output = 0 : i32} loc("w"), %x: tensor<8x4x16xf32> loc("x"))
        -> (tensor<4x16x32xf32>, tensor<f32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %y = stablehlo.dot_general %x, %w, batching_dims = [1] x [0], contracting_dims = [2] x [1] : (tensor<8x4x16xf32>, tensor<4x16x32xf32>) -> tensor<4x8x32xf32>
      %q = stablehlo.multiply %y, %y : tensor<4x8x32xf32>
      %loss = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x8x32xf32>, tensor<f32>) -> tensor<f32>
      %dy = stablehlo.add %y, %y : tensor<4x8x32xf32>
      %g = stablehlo.dot_general %x, %dy, batching_dims = [1] x [0], contracting_dims = [0] x [1] : (tensor<8x4x16xf32>, tensor<4x8x32xf32>) -> tensor<4x16x32xf32>
      %n = stablehlo.subtract %w, %g : tensor<4x16x32xf32>
      return %n, %loss : tensor<4x16x32xf32>, tensor<f32>
    }"#;

    #[test]
    fn inputs_and_outputs_of_experts_are_sharded_by_expert() {
        let around = around("constrain-activations", EXPERTS, ("full_shard", "data=2,expert=4"), &[]);
        assert!(around.added(r#"{"expert"}p0"#) >= 2, "{}", around.after);
    }

    #[test]
    fn data_parallelism_constrains_no_activation() {
        assert!(around("constrain-activations", EXPERTS, ("full_shard", "data=8"), &[]).is_same());
    }

    #[test]
    fn context_parallelism_without_sequences_is_an_error() {
        let how = ("full_shard", "data=2,context=4");
        let errors = try_around("constrain-activations", ONE_WEIGHT, how, &[]).err().unwrap();
        assert_eq!(errors[0].code, "SH1251");
    }
}
