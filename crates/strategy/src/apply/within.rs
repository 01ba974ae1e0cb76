//! The dimensions sharded within layers by tensor, expert and context parallelism, found from classes of dimensions.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{FuncId, Mesh, MeshId, Module, OpKind, RegionId, ValueId};
use shardc_passes::propagate::DimensionClasses;

use super::activations::{self, Dimensions};
use super::axes::Axes;
use super::tensor::Inner;
use super::{batch_classes, experts};
use crate::roles::{Role, Roles};
use crate::stacked::Stacked;

/// The dimensions that are sharded within layers.
#[derive(Default)]
pub(super) struct Within {
    classes: Option<DimensionClasses>,
    batch: FxHashSet<u32>,
    /// The class of features between layers.
    features: Option<u32>,
    /// The classes that tensor parallelism shards within layers.
    inner: FxHashSet<u32>,
    /// The classes of sequences that context parallelism shards.
    sequence_classes: FxHashSet<u32>,
    experts: FxHashSet<u32>,
    /// The dimension of each state argument that tensor parallelism shards.
    pub(super) tensor_dims: FxHashMap<ValueId, usize>,
    /// The expert dimension of each state argument.
    pub(super) expert_dims: FxHashMap<ValueId, usize>,
    /// The sequence dimension of each batch argument.
    pub(super) sequences: FxHashMap<ValueId, usize>,
    /// The batch arguments whose sequence does not divide evenly.
    uneven: FxHashMap<ValueId, usize>,
}

/// The classes of layer inputs: dimensions of the batch, and of rows that are looked up.
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

/// The classes of sequences: these dimensions of arguments, and of slices of them, such as tokens and next tokens.
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

impl Within {
    /// The dimensions for the arguments of a function without calls.
    pub(super) fn of(
        module: &Module,
        (func, body): (FuncId, RegionId),
        roles: &Roles,
        args: &[ValueId],
        (stacked, axes, mesh): (&Stacked, &Axes, &Mesh),
    ) -> Within {
        if axes.tensor.is_empty() && axes.expert.is_empty() && axes.context.is_empty() {
            return Within::default();
        }
        let Some(classes) = DimensionClasses::of_func(module, func) else { return Within::default() };
        let of = |is: &dyn Fn(Role) -> bool| -> Vec<ValueId> {
            roles.arguments.iter().zip(args).filter(|(a, _)| is(a.role)).map(|(_, &arg)| arg).collect()
        };
        let (weights, state) = (of(&Role::is_weight), of(&is_state));
        let mut out = Within { batch: batch_classes(&classes, roles, args), ..Within::default() };
        let n = mesh.axes_size(&axes.expert);
        if n > 1 {
            let has_batch = |value: ValueId| classes.of(value).iter().any(|class| out.batch.contains(class));
            let found = experts::classes(module, body, &classes, &weights, &has_batch);
            let dim = |&arg: &ValueId| Some((arg, experts::dim(module, &classes, &found, arg, n)?));
            out.expert_dims = state.iter().filter_map(dim).collect();
            out.experts = found;
        }
        let n = mesh.axes_size(&axes.tensor);
        if n > 1 {
            let fed = fed_classes(module, body, &classes, &of(&|role| role == Role::Batch));
            let inner = Inner::of(module, &classes, (&weights, &fed), stacked, n);
            let dim = |&arg: &ValueId| {
                let dim = inner.dim(module, &classes, arg, stacked, n)?;
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
            out.sequence_classes = sequence_classes(module, body, &classes, &out.sequences);
        }
        out.classes = Some(classes);
        out
    }

    /// Constrains activations.
    pub(super) fn constrain(
        &self,
        module: &mut Module,
        body: RegionId,
        at: (MeshId, &Axes),
        sequence_parallel: bool,
    ) {
        let Some(classes) = &self.classes else { return };
        let dims = Dimensions {
            classes,
            batch: &self.batch,
            features: self.features,
            inner: &self.inner,
            sequences: &self.sequence_classes,
            experts: &self.experts,
            uneven: &self.uneven,
        };
        activations::constrain(module, body, at, &dims, sequence_parallel);
    }
}

fn is_state(role: Role) -> bool {
    use Role::{FrozenParameter, GradientAccumulator, OptimizerState, Parameter};
    matches!(role, FrozenParameter | GradientAccumulator | OptimizerState | Parameter)
}
