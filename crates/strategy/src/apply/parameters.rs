//! Inserts the all-gathers of parameters.

use shardc_ir::Module;

use super::context::Context;
use super::unshard::Unshard;
use super::{THEN_STATE, prioritize};

/// All-gathers sharded parameters before their uses. If the settings do not specify whether the backward pass gathers them again,
/// `otherwise_again` determines it.
pub(super) fn gather(module: &mut Module, context: &mut Context<'_>, otherwise_again: bool) {
    let (settings, roles) = (context.settings, context.roles);
    let is_gathered = |i: &usize| {
        let arg = context.args[*i];
        roles.arguments[*i].role.is_weight()
            && !context.annotated.contains_key(&arg)
            && !context.placed[*i].same_placement(&context.whole(module, arg))
    };
    let split = (0..context.placed.len()).filter(is_gathered).collect();
    let dimensions = context.dimensions(module);
    let unshard = Unshard {
        roles,
        split,
        stacked: context.stacked(module),
        whole: &|module, arg| {
            let mut sharding = context.whole(module, arg);
            prioritize(&mut sharding, THEN_STATE);
            sharding
        },
        has_batch: &|value| dimensions.is_some_and(|dimensions| dimensions.has_batch(value)),
        again: settings.reshard_after_forward.unwrap_or(otherwise_again),
        units: context.units.as_deref(),
        again_at_root: settings.reshard_root,
        prefetch: settings.backward_prefetch,
    };
    unshard.apply(module, context.body);
    context.invalidate_dimensions();
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ONE_WEIGHT, TWO_LAYERS, around};

    #[test]
    fn a_sharded_weight_is_gathered_before_its_use() {
        let around = around("gather-parameters", ONE_WEIGHT, ("full_shard", "fsdp=4"), &[]);
        assert_eq!(around.added("sdy.sharding_constraint %arg0 <@mesh, [{}, {}]>"), 1);
    }

    #[test]
    fn full_shard_gathers_again_for_the_backward_pass() {
        let gathered = |words| {
            let around = around("gather-parameters", TWO_LAYERS, (words, "fsdp=4"), &[]);
            (around.added("sdy.sharding_constraint"), around.added("optimization_barrier"))
        };
        // The backward pass needs all weights except the first one.
        assert_eq!(gathered("full_shard"), (7, 3));
        assert_eq!(gathered("shard_grad_op"), (4, 0));
    }

    #[test]
    fn replicated_weights_are_not_gathered() {
        assert!(around("gather-parameters", ONE_WEIGHT, ("no_shard", "fsdp=4"), &[]).is_same());
    }
}
