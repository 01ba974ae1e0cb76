//! Applies a strategy: annotates each argument and result of a training step with a sharding.

mod activations;
mod axes;
mod compute;
mod constraints;
mod dims;
mod experts;
mod kept_stacks;
mod layers;
mod offload;
mod placement;
mod random_bits;
mod rows;
mod tensor;
mod unshard;
mod update;
mod within;

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{
    Build, Class, DType, Diagnostic, FuncId, Mesh, MeshId, Module, OpKind, RegionId, Rewriter, ShardingId,
    TensorSharding, ValueId,
};
use shardc_passes::propagate::DimensionClasses;
use shardc_passes::transforms::dce::dce;
use shardc_passes::transforms::fused_parts::fused_parts;
use shardc_passes::transforms::inline::inline_calls;

use crate::checkpointing::checkpoint;
use crate::roles::{Role, Roles};
use crate::settings::{Settings, Sharding};
use crate::stacked::Stacked;
use crate::units::{Units, Wrap};
use axes::{Axes, misspelt};
use layers::Layers;
use unshard::Unshard;
use within::Within;

/// Propagation priorities. The batch goes first: data parallelism computes each example on one device, and gathers parameters
/// rather than activations if one axis shards both.
const BATCH_FIRST: u32 = 0;
const THEN_STATE: u32 = 1;

/// Annotates a training step, whose calls are inlined, so that the compiler shards it by a strategy on a mesh.
///
/// * The batch is sharded along the axes of data parallelism, with examples in order.
/// * Axes named `model`, `tensor`, `tp` or `mp` shard weights within layers, and the vocabulary; `context`, `cp`, `sequence`, `seq`
///   or `sp` shard sequences; `expert`, `experts` or `ep` shard experts and the batch. For the weight axes, slices of a dimension
///   that a reshape splits (queries, keys and values of one matmul) are rewritten as ranges of it.
/// * Parameters (also frozen ones), optimizer state and gradient accumulators are sharded along their largest divisible dimension,
///   according to the strategy. Tensors too small for a shard on each device are replicated. State is sharded like its parameter if
///   it has the same shape.
/// * Statistics, counters, RNG keys and scalars are replicated.
/// * Existing annotations of arguments and results on the same mesh are kept; an annotated parameter is not gathered for use.
/// * The next value of state is sharded like the state. Other results are replicated if they are scalars; the compiler chooses for
///   the rest.
///
/// Returns warnings about settings that have no effect on this step (SH1252).
///
/// # Errors
/// The module has another mesh (SH0331), the roles are those of another program (SH1250), a call cannot be inlined, or the strategy
/// does not fit the mesh (SH1251).
pub fn apply(
    module: &mut Module,
    roles: &Roles,
    settings: &Settings,
    mesh: &Mesh,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    inline_calls(module)?;
    let units = settings.wrap.and_then(|wrap| Units::find(module, roles, wrap));
    apply_units(module, roles, settings, mesh, units.as_ref())
}

/// Annotates a training step as [`apply()`] does, with these units instead of those of the settings.
///
/// # Errors
/// Those of [`apply()`].
pub fn apply_units(
    module: &mut Module,
    roles: &Roles,
    settings: &Settings,
    mesh: &Mesh,
    units: Option<&Units>,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    if let Some(missing) = args_missing(module, roles) {
        return Err(vec![missing]);
    }
    let known = module.mesh_names.iter().find(|(_, id)| !module.meshes[**id].is_maximal());
    let known = known.map(|(name, &id)| (name.clone(), id));
    if let Some((name, id)) = &known
        && module.meshes[*id] != *mesh
    {
        let message = format!("the module already has a different mesh: @{name}");
        let hint = "use a program without annotations, or with annotations on the same mesh";
        return Err(vec![Diagnostic::invalid("SH0331", message).hint(hint)]);
    }
    let axes = Axes::of(mesh, settings).map_err(|error| vec![error])?;
    inline_calls(module)?;
    let Some((func, body)) = module.entry().and_then(|f| Some((f, module.funcs[f].body?))) else {
        return Err(vec![Diagnostic::invalid("SH1250", "the program has no function to train")]);
    };
    let id = known.map_or_else(|| module.add_mesh("mesh", mesh.clone()), |(_, id)| id);
    let args = module.regions[body].args.clone();
    let mut warnings = misspelt(mesh);
    if settings.activation_checkpointing && compute_again(module, (func, body), roles, units) == 0 {
        let message = "activation_checkpointing: no layer activations to rematerialize in this step";
        let hint = "layers are found by the numbers in names of parameters, and outside of loops; of others `jax.checkpoint` and \
                    `shardc grad --checkpoint` say, where the step is differentiated, what is computed again";
        warnings.push(Diagnostic::warning(Class::Unsupported, "SH1252", message).hint(hint));
    }
    if !axes.tensor.is_empty() {
        fused_parts(module, body);
        dce(module, body);
    }
    let stacked = Stacked::of(module, body);
    if let Some(dtype) = settings.compute_dtype.filter(|&dtype| dtype != DType::F32)
        && let Some(classes) = DimensionClasses::of_func(module, func)
    {
        let batch = batch_classes(&classes, roles, &args);
        let has_batch = |value: ValueId| classes.of(value).iter().any(|class| batch.contains(class));
        compute::narrow(module, body, &stacked, &has_batch, dtype, settings.fp32_reduce_scatter);
    }
    if let Some(classes) = DimensionClasses::of_func(module, func) {
        let batch = batch_classes(&classes, roles, &args);
        random_bits::wait(module, body, &|value| classes.of(value).iter().any(|class| batch.contains(class)));
        let layers = stacked.classes(&classes);
        let examples: Vec<ValueId> = roles.of(Role::Batch).map(|i| args[i]).collect();
        Layers { classes: &classes, batch: &batch, layers: &layers }.split(
            module,
            body,
            (id, &axes),
            &examples,
        );
    }
    let within = Within::of(module, (func, body), roles, &args, (&stacked, &axes, mesh));
    if mesh.axes_size(&axes.context) > 1 && within.sequences.is_empty() {
        let message = "the mesh has an axis for sequences, but no batch argument has a sequence dimension";
        let hint = "the sequence dimension follows the batch dimension, in arguments of tokens or of vectors";
        return Err(vec![Diagnostic::invalid("SH1251", message).hint(hint)]);
    }
    within.constrain(module, body, (id, &axes), settings.sequence_parallel);
    let Within { tensor_dims, expert_dims, sequences, .. } = within;
    let said = placement::said(module, &args);
    let read_by_loss = placement::read_by_loss(module, body, roles);
    let plan = Plan {
        settings,
        axes,
        mesh: id,
        stacked,
        said,
        read_by_loss,
        tensor_dims,
        expert_dims,
        sequences,
        units,
    };
    let mut placed: Vec<TensorSharding> = Vec::with_capacity(args.len());
    for (argument, &arg) in roles.arguments.iter().zip(&args) {
        if let Some(said) = plan.said.get(&arg) {
            placed.push(said.clone());
            continue;
        }
        let mut sharding = plan.of_argument(module, (arg, argument), &args);
        let has_examples = argument.role == Role::Batch || argument.batch_dim.is_some();
        let priority = if has_examples { BATCH_FIRST } else { THEN_STATE };
        prioritize(&mut sharding, priority);
        let interned = module.shardings.intern(sharding.clone());
        module.shardings.set(arg, Some(interned));
        placed.push(sharding);
    }
    plan.leave_groups(module, body, roles, &args);
    match settings.sharding {
        Sharding::NoShard => {}
        Sharding::Zero1 => plan.update_in_parts(module, body, roles),
        Sharding::FullShard | Sharding::HybridShard => plan.unshard(module, body, roles, &placed, true),
        Sharding::ShardGradOp | Sharding::HybridShardZero2 => {
            plan.unshard(module, body, roles, &placed, false)
        }
    }
    let results = module.funcs[func].results.len();
    module.funcs[func].res_shardings.resize(results, None.into());
    for (argument, sharding) in roles.arguments.iter().zip(&placed) {
        let result = argument.next.or(argument.gradient).filter(|&result| result < results);
        if let Some(result) = result.filter(|&result| module.funcs[func].res_shardings[result].is_none()) {
            let interned = module.shardings.intern(sharding.clone());
            module.funcs[func].res_shardings[result] = interned.into();
        }
    }
    if settings.offload_params {
        plan.offload(module, (func, body), roles, &placed);
    }
    for result in 0..results {
        let is_number =
            module.types.stored(module.funcs[func].results[result]).is_some_and(|ty| ty.rank() == 0);
        if is_number && module.funcs[func].res_shardings[result].is_none() {
            let interned = module.shardings.intern(TensorSharding::replicated(id, 0));
            module.funcs[func].res_shardings[result] = interned.into();
        }
    }
    Ok(warnings)
}

/// Rematerializes units, or else layers, in the backward pass; returns how many.
fn compute_again(
    module: &mut Module,
    (func, body): (FuncId, RegionId),
    roles: &Roles,
    units: Option<&Units>,
) -> usize {
    let layers = units.is_none().then(|| Units::find(module, roles, Wrap::Layers)).flatten();
    let (Some(units), Some(classes)) = (units.or(layers.as_ref()), DimensionClasses::of_func(module, func))
    else {
        return 0;
    };
    let batch = batch_classes(&classes, roles, &module.regions[body].args);
    let has_batch = |value: ValueId| classes.of(value).iter().any(|class| batch.contains(class));
    checkpoint(module, body, roles, units, &has_batch)
}

/// The classes of batch dimensions.
fn batch_classes(classes: &DimensionClasses, roles: &Roles, args: &[ValueId]) -> FxHashSet<u32> {
    let of_batch = |i: usize| Some(*classes.of(args[i]).get(roles.arguments[i].batch_dim?)?);
    roles.of(Role::Batch).filter_map(of_batch).collect()
}

/// The error if the roles do not match the module's arguments.
fn args_missing(module: &Module, roles: &Roles) -> Option<Diagnostic> {
    let (has, told) = (module.entry().map_or(0, |f| module.funcs[f].params.len()), roles.arguments.len());
    let message = || format!("the roles are for {told} arguments, and the program has {has}");
    (has != told).then(|| Diagnostic::invalid("SH1250", message()).hint("infer the roles of this program"))
}

fn prioritize(sharding: &mut TensorSharding, priority: u32) {
    for dim in sharding.dims.iter_mut().filter(|dim| !dim.axes.is_empty()) {
        dim.priority = Some(priority);
    }
}

/// A value, constrained to a sharding.
fn constrained(rw: &mut Rewriter<'_>, value: ValueId, sharding: TensorSharding) -> ValueId {
    let interned = rw.module.shardings.intern(sharding);
    let ty = rw.module.values[value].ty;
    rw.op1(OpKind::ShardingConstraint(interned), &[value], ty)
}

struct Plan<'a> {
    settings: &'a Settings,
    axes: Axes,
    mesh: MeshId,
    stacked: Stacked,
    /// Annotations of the program on its arguments.
    said: FxHashMap<ValueId, TensorSharding>,
    /// The values that the loss depends on, including arguments.
    read_by_loss: FxHashSet<ValueId>,
    /// The dimension of each argument that tensor parallelism shards.
    tensor_dims: FxHashMap<ValueId, usize>,
    /// The dimension of each argument that expert parallelism shards.
    expert_dims: FxHashMap<ValueId, usize>,
    /// The dimension of each batch argument that context parallelism shards.
    sequences: FxHashMap<ValueId, usize>,
    units: Option<&'a Units>,
}

impl Plan<'_> {
    /// Removes state from sharding groups if the strategy places it: a next value is sharded like its state, but its producers need
    /// not be, for example if parameters are replicated and their next values are computed on shards.
    fn leave_groups(&self, module: &mut Module, body: RegionId, roles: &Roles, args: &[ValueId]) {
        let returned =
            module.terminator(body).map(|end| module.ops[end].operands.to_vec()).unwrap_or_default();
        let placed = (0..args.len()).filter(|i| !self.said.contains_key(&args[*i]));
        let state = placed.filter_map(|i| Some([args[i], *returned.get(roles.arguments[i].next?)?]));
        let state: FxHashSet<ValueId> = state.flatten().collect();
        let mut rw = Rewriter::new(module);
        rw.enter(body);
        while let Some(op) = rw.next_op() {
            let data = &rw.module.ops[op];
            if matches!(data.kind, OpKind::ShardingGroup { .. }) && state.contains(&data.operands[0]) {
                rw.erase();
            }
        }
    }

    /// Gathers sharded parameters where they are used.
    fn unshard(
        &self,
        module: &mut Module,
        body: RegionId,
        roles: &Roles,
        placed: &[TensorSharding],
        otherwise_again: bool,
    ) {
        let classes = module.entry().and_then(|func| DimensionClasses::of_func(module, func));
        let classes = classes.as_ref();
        let args = &module.regions[body].args;
        let batch = classes.map(|classes| batch_classes(classes, roles, args)).unwrap_or_default();
        let is_gathered = |i: &usize| {
            roles.arguments[*i].role.is_weight()
                && !self.said.contains_key(&args[*i])
                && !placed[*i].same_placement(&self.whole(module, args[*i]))
        };
        let unshard = Unshard {
            roles,
            split: (0..placed.len()).filter(is_gathered).collect(),
            stacked: &self.stacked,
            whole: &|module, arg| {
                let mut sharding = self.whole(module, arg);
                prioritize(&mut sharding, THEN_STATE);
                sharding
            },
            has_batch: &|value| {
                classes.is_some_and(|classes| classes.of(value).iter().any(|class| batch.contains(class)))
            },
            again: self.settings.reshard_after_forward.unwrap_or(otherwise_again),
            units: self.units,
            again_at_root: self.settings.reshard_root,
            prefetch: self.settings.backward_prefetch,
        };
        unshard.apply(module, body);
    }

    fn offload(
        &self,
        module: &mut Module,
        (func, body): (FuncId, RegionId),
        roles: &Roles,
        placed: &[TensorSharding],
    ) {
        let shardings = module.regions[body].args.iter().zip(placed);
        let state: Vec<offload::State> = (0..)
            .zip(roles.arguments.iter().zip(shardings))
            .filter(|(_, (argument, _))| argument.role.is_weight() || argument.role == Role::OptimizerState)
            .map(|(i, (_, (&arg, sharding)))| {
                let local = sharding.local_shape(&module.meshes[sharding.mesh], module.shape(arg));
                offload::State::new(module, i, (arg, &local), &self.stacked)
            })
            .collect();
        let arguments = offload::waiting(&state);
        let next = arguments.iter().filter_map(|&i| roles.arguments[i].next);
        let results: Vec<(usize, ShardingId)> = next
            .filter_map(|result| Some((result, module.funcs[func].res_shardings.get(result)?.expand()?)))
            .collect();
        offload::offload(module, (func, body), &self.stacked, &arguments, &results);
    }
}
