//! The table of apply steps: rewrites that run in order, and together apply a strategy to a training step.

use std::borrow::Cow;

use shardc_analysis::transforms::dce::dce;
use shardc_analysis::transforms::fused_parts::fused_parts;
use shardc_analysis::transforms::inline::inline_calls;
use shardc_ir::{Diagnostic, Module};

use super::context::Context;
use super::{compute, groups, layers, offload, parameters, random_bits, rematerialize, results, within};
use crate::settings::Sharding;
use crate::units::Units;

/// One step of applying a strategy.
#[derive(Clone, Copy, Debug)]
pub struct ApplyStep {
    /// The name of the step, such as `find-units`.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    pub(super) apply: fn(&mut Module, &mut Context<'_>) -> Result<(), Vec<Diagnostic>>,
}

impl ApplyStep {
    /// All steps, in the order in which they run.
    pub const ALL: &'static [ApplyStep] = STEPS;

    /// Runs all steps in order, and calls `after` after each step.
    ///
    /// # Errors
    /// Returns the errors of the steps. The module is then incomplete.
    pub(super) fn run_all(
        module: &mut Module,
        context: &mut Context<'_>,
        after: &mut dyn FnMut(&ApplyStep, &Module),
    ) -> Result<(), Vec<Diagnostic>> {
        for step in STEPS {
            (step.apply)(module, context)?;
            after(step, module);
        }
        Ok(())
    }
}

const STEPS: &[ApplyStep] = &[
    ApplyStep {
        name: "inline",
        about: "replace every call by the body of the function",
        apply: |module, context| {
            inline_calls(module)?;
            context.enter(module)
        },
    },
    ApplyStep {
        name: "find-units",
        about: "group parameters into units by the wrap policy",
        apply: |module, context| {
            if let Some(wrap) = context.wrap {
                let units =
                    Units::find_with(module, (context.body, context.stacked(module)), context.roles, wrap);
                context.units = units.map(Cow::Owned);
            }
            Ok(())
        },
    },
    ApplyStep {
        name: "rematerialize",
        about: "activation checkpointing: recompute the activations of units in the backward pass",
        apply: |module, context| {
            rematerialize::apply(module, context);
            Ok(())
        },
    },
    ApplyStep {
        name: "fused-parts",
        about: "tensor parallelism: split fused weights, such as QKV, by slices instead of a reshape",
        apply: |module, context| {
            if !context.axes.tensor.is_empty() {
                fused_parts(module, context.body);
                dce(module, context.body);
                context.invalidate();
            }
            Ok(())
        },
    },
    // Stacks are found before the apply steps that insert casts and barriers.
    ApplyStep {
        name: "find-stacks",
        about: "find arguments that stack the parameters of layers, and from which loops read one layer per iteration",
        apply: |module, context| {
            context.stacked(module);
            Ok(())
        },
    },
    ApplyStep {
        name: "compute-dtype",
        about: "mixed precision: compute matmuls of activations in a narrower type",
        apply: |module, context| {
            compute::apply(module, context);
            Ok(())
        },
    },
    ApplyStep {
        name: "delay-random-bits",
        about: "delay the generation of random bits until their layer: a barrier ties the key to the last matmul before the layer",
        apply: |module, context| {
            random_bits::apply(module, context);
            Ok(())
        },
    },
    ApplyStep {
        name: "split-layer-matmuls",
        about: "shard the batched matmuls of an optimizer by layer",
        apply: |module, context| {
            layers::apply(module, context);
            Ok(())
        },
    },
    ApplyStep {
        name: "constrain-activations",
        about: "find the dimensions that tensor, expert and context parallelism shard, and constrain activations",
        apply: within::apply,
    },
    ApplyStep {
        name: "shard-arguments",
        about: "annotate each argument that has no annotation",
        apply: |module, context| {
            context.shard_arguments(module);
            Ok(())
        },
    },
    ApplyStep {
        name: "leave-sharding-groups",
        about: "remove state from sharding groups",
        apply: |module, context| {
            groups::leave(module, context);
            Ok(())
        },
    },
    ApplyStep {
        name: "gather-parameters",
        about: "FSDP: all-gather sharded parameters before their use",
        apply: |module, context| {
            match context.settings.sharding {
                Sharding::NoShard | Sharding::Zero1 => {}
                Sharding::FullShard | Sharding::HybridShard => parameters::gather(module, context, true),
                Sharding::ShardGradOp | Sharding::HybridShardZero2 => {
                    parameters::gather(module, context, false);
                }
            }
            Ok(())
        },
    },
    ApplyStep {
        name: "shard-update",
        about: "ZeRO-1: compute a shard of the next parameters on each device, and all-gather it",
        apply: |module, context| {
            if context.settings.sharding == Sharding::Zero1 {
                context.update_in_parts(module);
            }
            Ok(())
        },
    },
    ApplyStep {
        name: "shard-results",
        about: "shard next values like their state, and gradients like their parameters",
        apply: |module, context| {
            results::shard_state(module, context);
            Ok(())
        },
    },
    ApplyStep {
        name: "offload",
        about: "move parameters and optimizer state to host memory",
        apply: |module, context| {
            if context.settings.offload_params {
                offload::apply(module, context);
            }
            Ok(())
        },
    },
    ApplyStep {
        name: "replicate-scalars",
        about: "replicate results that are scalars",
        apply: |module, context| {
            results::replicate_scalars(module, context);
            Ok(())
        },
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::testing::{ONE_WEIGHT, STACK, TWO_LAYERS, around};
    use super::*;
    use crate::roles::Role;

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<&str> = ApplyStep::ALL.iter().map(|step| step.name).collect();
        assert_eq!(names.len(), ApplyStep::ALL.len());
    }

    #[test]
    fn a_call_is_inlined() {
        let main =
            ONE_WEIGHT.replace("stablehlo.add %y, %y :", "func.call @twice(%y) : (tensor<8x8xf32>) ->");
        let twice = r#"func.func private @twice(%y: tensor<8x8xf32>) -> tensor<8x8xf32> {
              %z = stablehlo.add %y, %y : tensor<8x8xf32>
              return %z : tensor<8x8xf32>
            }"#;
        let inlined = |text: &str| around("inline", text, ("full_shard", "fsdp=4"), &[]);
        // The handle of the entry function changes if the preceding function is removed.
        for text in [format!("{main}\n{twice}"), format!("{twice}\n{main}")] {
            let inlined = inlined(&text);
            assert!(inlined.before.contains("@twice") && !inlined.after.contains("@twice"));
            let last = around("replicate-scalars", &text, ("full_shard", "fsdp=4"), &[]);
            assert_eq!(last.added("tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}"), 1);
        }
        assert!(inlined(ONE_WEIGHT).is_same());
    }

    #[test]
    fn units_are_found_if_there_is_a_policy() {
        let units = |words| around("find-units", TWO_LAYERS, (words, "fsdp=4"), &[]).units;
        let layers = ["params.h.0", "params.h.1"].map(str::to_owned).to_vec();
        assert_eq!(units("full_shard auto_wrap"), Some(layers));
        assert_eq!(units("full_shard"), None);
    }

    #[test]
    fn stacks_are_arguments_whose_rows_loops_read() {
        let stacks = |text, given| around("find-stacks", text, ("full_shard", "fsdp=2"), given).stacks;
        assert_eq!(stacks(STACK, &[(1, Role::Batch)]), [0]);
        assert_eq!(stacks(ONE_WEIGHT, &[]), [0_usize; 0]);
    }

    #[test]
    fn fused_weights_are_sliced_with_an_axis_of_tensor_parallelism() {
        let parts = r#"  %cut = stablehlo.reshape %y : (tensor<8x8xf32>) -> tensor<8x2x4xf32>
          %part = stablehlo.slice %cut [0:8, 1:2, 0:4] : (tensor<8x2x4xf32>) -> tensor<8x1x4xf32>
          %other = stablehlo.reduce(%part init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<8x1x4xf32>, tensor<f32>) -> tensor<f32>
          return %n, %loss, %other : tensor<16x8xf32>, tensor<f32>, tensor<f32>"#;
        let text = ONE_WEIGHT
            .replace("  return %n, %loss : tensor<16x8xf32>, tensor<f32>", parts)
            .replace("-> (tensor<16x8xf32>, tensor<f32>)", "-> (tensor<16x8xf32>, tensor<f32>, tensor<f32>)");
        let sliced = around("fused-parts", &text, ("full_shard", "data=2,model=2"), &[]);
        assert_eq!(sliced.added("[0:8, 4:8] : (tensor<8x8xf32>)"), 1, "{}", sliced.after);
        assert!(around("fused-parts", &text, ("full_shard", "data=4"), &[]).is_same());
    }
}
