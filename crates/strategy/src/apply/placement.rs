//! The sharding of each argument of a step.
//!
//! Optimizer state and gradient accumulators are sharded like their parameter if they have its shape. With different shardings, the
//! update, which reads all of them, would need reshards. The sharded dimension is chosen from the parameter, because less is known about
//! its state: no loop slices the state, so the layer dimension is unknown, and the program may annotate only parameters.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{AxisRef, DimSharding, Module, RegionId, TensorSharding, ValueId};

use super::context::Context;
use super::dims::split_dim;
use super::{BATCH_FIRST, THEN_STATE, prioritize};
use crate::flow::computed_by;
use crate::roles::{Argument, Role, Roles};
use crate::settings::Sharding;

impl Context<'_> {
    /// Annotates each argument that has no annotation.
    pub(super) fn shard_arguments(&mut self, module: &mut Module) {
        self.annotated = annotations(module, &self.args);
        let read_by_loss = match self.settings.sharding {
            Sharding::Zero1 => read_by_loss(module, self.body, self.roles),
            _ => FxHashSet::default(),
        };
        let mut placed: Vec<TensorSharding> = Vec::with_capacity(self.args.len());
        for (argument, &arg) in self.roles.arguments.iter().zip(&self.args) {
            if let Some(sharding) = self.annotated.get(&arg) {
                placed.push(sharding.clone());
                continue;
            }
            let mut sharding = self.of_argument(module, (arg, argument), &read_by_loss);
            let has_examples = argument.role == Role::Batch || argument.batch_dim.is_some();
            let priority = if has_examples { BATCH_FIRST } else { THEN_STATE };
            prioritize(&mut sharding, priority);
            let interned = module.shardings.intern(sharding.clone());
            module.shardings.set(arg, Some(interned));
            placed.push(sharding);
        }
        self.placed = placed;
    }

    /// Returns the sharding of an argument without an annotation.
    fn of_argument(
        &self,
        module: &Module,
        (arg, argument): (ValueId, &Argument),
        read_by_loss: &FxHashSet<ValueId>,
    ) -> TensorSharding {
        let args = &self.args;
        match argument.role {
            Role::Parameter | Role::FrozenParameter | Role::GradientAccumulator
                if self.settings.sharding == Sharding::Zero1 =>
            {
                self.whole(module, like(module, (arg, argument), args))
            }
            // If the loss reads a state tensor, the tensor is a target network or an EMA teacher. If it were sharded, each step would
            // all-gather it.
            Role::OptimizerState
                if self.settings.sharding == Sharding::Zero1 && read_by_loss.contains(&arg) =>
            {
                self.whole(module, like(module, (arg, argument), args))
            }
            Role::Parameter | Role::FrozenParameter | Role::GradientAccumulator | Role::OptimizerState => {
                self.in_parts(module, like(module, (arg, argument), args))
            }
            Role::Batch | Role::ModelState => {
                let mut sharding = self.whole(module, arg);
                if let Some(dim) = argument.batch_dim.and_then(|dim| sharding.dims.get_mut(dim)) {
                    *dim = DimSharding::closed(&self.axes.data);
                }
                let n = module.meshes[self.mesh].axes_size(&self.axes.context);
                if let Some(&dim) = self.sequences.get(&arg).filter(|&&dim| module.shape(arg)[dim] % n == 0) {
                    sharding.dims[dim] = DimSharding::closed(&self.axes.context);
                }
                sharding
            }
            Role::Step | Role::Scalar | Role::RngKey => self.whole(module, arg),
        }
    }

    /// Returns the annotated sharding of an argument; without an annotation, its sharding by tensor and expert parallelism only.
    pub(super) fn whole(&self, module: &Module, arg: ValueId) -> TensorSharding {
        if let Some(sharding) = self.annotated.get(&arg).filter(|sharding| sharding.mesh == self.mesh) {
            return sharding.clone();
        }
        let mut sharding = TensorSharding::replicated(self.mesh, module.rank(arg));
        if let Some(&dim) = self.tensor_dims.get(&arg) {
            sharding.dims[dim] = DimSharding::closed(&self.axes.tensor);
        }
        if let Some(&dim) = self.expert_dims.get(&arg) {
            sharding.dims[dim] = DimSharding::closed(&self.axes.expert);
        }
        sharding
    }

    /// Returns the sharding of [`whole`](Context::whole), with one more dimension sharded over the unused axes of `axes.shard`.
    pub(super) fn in_parts(&self, module: &Module, arg: ValueId) -> TensorSharding {
        let mut sharding = self.whole(module, arg);
        let is_free = |axis: &&AxisRef| {
            !sharding.dims.iter().any(|dim| dim.axes.iter().any(|used| used.axis == axis.axis))
        };
        let shard: Vec<AxisRef> = self.axes.shard.iter().filter(is_free).cloned().collect();
        let n = module.meshes[self.mesh].axes_size(&shard);
        let is_of_stack = |dim: &usize| self.stacked(module).is_stacked(arg, *dim);
        // The first dimension that is not a layer dimension: the first dimension of one layer's parameter.
        let first = (0..module.rank(arg)).find(|dim| !is_of_stack(dim));
        let may = |dim: usize| {
            !is_of_stack(&dim)
                && (first == Some(dim) || !self.settings.shard_param_on_dim_0)
                && sharding.axes(dim).is_empty()
        };
        let is_stack = (0..module.rank(arg)).any(|dim| is_of_stack(&dim));
        let first_of_stack = first.filter(|&dim| {
            self.settings.split_stacks_first
                && is_stack
                && may(dim)
                && n > 1
                && module.shape(arg)[dim] % n == 0
        });
        if let Some(dim) = first_of_stack.or_else(|| split_dim(module.shape(arg), n, may)) {
            sharding.dims[dim] = DimSharding::closed(&shard);
        }
        sharding
    }
}

/// Returns the argument whose sharding `arg` gets: its parameter, if `arg` is state of the same shape; otherwise `arg` itself.
fn like(module: &Module, (arg, argument): (ValueId, &Argument), args: &[ValueId]) -> ValueId {
    let parameter = argument.of.and_then(|of| args.get(of)).copied();
    parameter.filter(|&parameter| module.shape(parameter) == module.shape(arg)).unwrap_or(arg)
}

/// Returns the values, including arguments, that operations of the forward pass of the loss read.
fn read_by_loss(module: &Module, body: RegionId, roles: &Roles) -> FxHashSet<ValueId> {
    let returned = module.terminator(body).map(|end| &module.ops[end].operands);
    let loss = roles.loss.and_then(|loss| returned?.get(loss).copied());
    let ops = computed_by(module, loss);
    ops.into_iter().flat_map(|op| module.ops[op].operands.to_vec()).collect()
}

/// Returns the annotations of arguments in the program.
fn annotations(module: &Module, args: &[ValueId]) -> FxHashMap<ValueId, TensorSharding> {
    let of = |&arg: &ValueId| Some((arg, module.shardings.get(module.shardings.of(arg)?).clone()));
    args.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ONE_WEIGHT, around};

    #[test]
    fn weights_and_the_batch_are_sharded() {
        let around = around("shard-arguments", ONE_WEIGHT, ("full_shard", "fsdp=4"), &[]);
        assert_eq!(around.added(r#"<@mesh, [{"fsdp"}p1, {}]>"#), 1);
        assert_eq!(around.added(r#"<@mesh, [{"fsdp"}p0, {}]>"#), 1);
    }

    #[test]
    fn zero1_replicates_weights() {
        let around = around("shard-arguments", ONE_WEIGHT, ("zero1", "fsdp=4"), &[]);
        assert_eq!((around.added("<@mesh, [{}, {}]>"), around.added("p1")), (1, 0));
    }

    #[test]
    fn annotations_of_the_program_are_kept() {
        let annotated = ONE_WEIGHT.replacen(
            "tf.aliasing_output = 0 : i32",
            r#"tf.aliasing_output = 0 : i32, sdy.sharding = #sdy.sharding<@mesh, [{}, {"fsdp"}]>"#,
            1,
        );
        let annotated = format!("sdy.mesh @mesh = <[\"fsdp\"=4]>\n{annotated}");
        let around = around("shard-arguments", &annotated, ("full_shard", "fsdp=4"), &[]);
        assert_eq!((around.added("p0"), around.added("p1")), (1, 0), "{}", around.after);
    }
}
