//! Applies a strategy: annotates each argument and result of a training step with a sharding.

mod activations;
mod analyses;
mod axes;
mod compute;
mod constraints;
mod context;
mod dims;
mod experts;
mod groups;
mod kept_stacks;
mod layers;
mod offload;
mod parameters;
mod placement;
mod random_bits;
mod rematerialize;
mod results;
mod rows;
mod steps;
mod tensor;
#[cfg(test)]
mod testing;
mod unshard;
mod update;
mod within;

use std::borrow::Cow;

use shardc_ir::{Build, Diagnostic, Mesh, Module, OpKind, Rewriter, TensorSharding, ValueId};

use crate::roles::Roles;
use crate::settings::Settings;
use crate::units::Units;
pub use axes::AxisPurpose;
use context::Context;
pub use steps::ApplyStep;

/// The propagation priority of arguments with examples, the highest: if one axis shards batch and parameters, parameters are all-gathered
/// rather than activations.
pub const BATCH_FIRST: u32 = 0;
/// The propagation priority of parameters and other state.
pub const THEN_STATE: u32 = 1;

/// Annotates a training step, so that the compiler shards it according to a strategy on a mesh. Calls are inlined.
///
/// * The batch is sharded along the axes of data parallelism, in contiguous blocks of examples.
/// * Axes named `model`, `tensor`, `tp` or `mp` shard weights within layers, and the vocabulary; `context`, `cp`, `sequence`, `seq`
///   or `sp` shard sequences; `expert`, `experts` or `ep` shard experts and the batch. If an axis shards a weight dimension that the program
///   reshapes into several parts (queries, keys and values of one matmul), the parts are rewritten as slices of the dimension.
/// * Parameters (also frozen ones), optimizer state and gradient accumulators are sharded along their largest divisible dimension,
///   according to the strategy. Tensors too small for a shard on each device are replicated. State is sharded like its parameter if
///   it has the same shape.
/// * Statistics, counters, RNG keys and scalars are replicated.
/// * Existing annotations of arguments and results on the same mesh are kept; an annotated parameter is not all-gathered before its use.
/// * The next value of state is sharded like the state. Other results are replicated if they are scalars; the compiler chooses the
///   shardings of the rest.
///
/// Returns warnings about settings that have no effect on this step (SH1252).
///
/// # Errors
/// Returns an error if the module has a different mesh (SH0331), if the roles belong to a different program (SH1250), if a call cannot be
/// inlined, or if the strategy does not fit the mesh (SH1251).
pub fn apply(
    module: &mut Module,
    roles: &Roles,
    settings: &Settings,
    mesh: &Mesh,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    apply_observed(module, roles, settings, mesh, &mut |_, _| {})
}

/// Annotates a training step as [`apply()`] does, and calls `after` after each step of [`ApplyStep::ALL`].
///
/// # Errors
/// Returns the same errors as [`apply()`].
pub fn apply_observed(
    module: &mut Module,
    roles: &Roles,
    settings: &Settings,
    mesh: &Mesh,
    after: &mut dyn FnMut(&ApplyStep, &Module),
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let mut context = Context::new(module, roles, settings, mesh)?;
    context.wrap = settings.wrap;
    ApplyStep::run_all(module, &mut context, after)?;
    Ok(context.warnings)
}

/// Annotates a training step as [`apply()`] does, with these units instead of the units that the settings define.
///
/// # Errors
/// Returns the same errors as [`apply()`].
pub fn apply_units(
    module: &mut Module,
    roles: &Roles,
    settings: &Settings,
    mesh: &Mesh,
    units: Option<&Units>,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let mut context = Context::new(module, roles, settings, mesh)?;
    context.units = units.map(Cow::Borrowed);
    ApplyStep::run_all(module, &mut context, &mut |_, _| {})?;
    Ok(context.warnings)
}

fn prioritize(sharding: &mut TensorSharding, priority: u32) {
    for dim in sharding.dims.iter_mut().filter(|dim| !dim.axes.is_empty()) {
        dim.priority = Some(priority);
    }
}

/// Constrains a value to a sharding.
fn constrained(rw: &mut Rewriter<'_>, value: ValueId, sharding: TensorSharding) -> ValueId {
    let interned = rw.module.shardings.intern(sharding);
    let ty = rw.module.values[value].ty;
    rw.op1(OpKind::ShardingConstraint(interned), &[value], ty)
}
