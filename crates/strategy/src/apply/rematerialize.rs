//! The activation checkpointing step: rematerializes units, or layers if there are no units, in the backward pass.

use shardc_ir::{Class, Diagnostic, Module};

use super::context::Context;
use crate::checkpointing::checkpoint;
use crate::units::{Units, Wrap};

/// Rematerializes the units of a training step if the settings request it; warns if there is nothing to rematerialize.
pub(super) fn apply(module: &mut Module, context: &mut Context<'_>) {
    if context.settings.activation_checkpointing && compute_again(module, context) == 0 {
        let message = "activation_checkpointing: no layer activations to rematerialize in this step";
        let hint = "layers are found by the numbers in the names of parameters, outside of loops; for other code, choose what is \
                    rematerialized where the step is differentiated: `jax.checkpoint` or `shardc grad --checkpoint`";
        context.warnings.push(Diagnostic::warning(Class::Unsupported, "SH1252", message).hint(hint));
    }
}

/// Rematerializes units, or layers if there are no units, in the backward pass. Returns the number of rematerialized units.
fn compute_again(module: &mut Module, context: &mut Context<'_>) -> usize {
    let (roles, body) = (context.roles, context.body);
    let layers = context
        .units
        .is_none()
        .then(|| Units::find_with(module, (body, context.stacked(module)), roles, Wrap::Layers));
    let layers = layers.flatten();
    let (Some(units), Some(dimensions)) =
        (context.units.as_deref().or(layers.as_ref()), context.dimensions(module))
    else {
        return 0;
    };
    let again = checkpoint(module, body, roles, units, &|value| dimensions.has_batch(value));
    context.invalidate();
    again
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ONE_WEIGHT, TWO_LAYERS, around};

    const WORDS: &str = "full_shard activation_checkpointing";

    #[test]
    fn the_activations_of_all_layers_except_the_last_are_recomputed() {
        let around = around("rematerialize", TWO_LAYERS, (WORDS, "fsdp=4"), &[]);
        assert_eq!((around.added("stablehlo.exponential"), around.added("optimization_barrier")), (1, 1));
        assert_eq!(around.warnings, 0);
    }

    #[test]
    fn a_step_without_layers_gets_a_warning() {
        let around = around("rematerialize", ONE_WEIGHT, (WORDS, "fsdp=4"), &[]);
        assert!(around.is_same());
        assert_eq!(around.warnings, 1);
    }

    #[test]
    fn nothing_is_recomputed_without_the_setting() {
        assert!(around("rematerialize", TWO_LAYERS, ("full_shard", "fsdp=4"), &[]).is_same());
    }
}
