//! Annotates results with shardings.

use shardc_ir::{Module, TensorSharding};

use super::context::Context;

/// Shards next values like their state, and gradients like their parameters. Existing annotations are kept.
pub(super) fn shard_state(module: &mut Module, context: &Context<'_>) {
    let func = context.func;
    let results = module.funcs[func].results.len();
    module.funcs[func].res_shardings.resize(results, None.into());
    for (argument, sharding) in context.roles.arguments.iter().zip(&context.placed) {
        let result = argument.next.or(argument.gradient).filter(|&result| result < results);
        if let Some(result) = result.filter(|&result| module.funcs[func].res_shardings[result].is_none()) {
            let interned = module.shardings.intern(sharding.clone());
            module.funcs[func].res_shardings[result] = interned.into();
        }
    }
}

/// Replicates scalars without an annotation. The compiler chooses the shardings of other results.
pub(super) fn replicate_scalars(module: &mut Module, context: &Context<'_>) {
    let func = context.func;
    for result in 0..module.funcs[func].results.len() {
        let is_number =
            module.types.stored(module.funcs[func].results[result]).is_some_and(|ty| ty.rank() == 0);
        if is_number && module.funcs[func].res_shardings[result].is_none() {
            let interned = module.shardings.intern(TensorSharding::replicated(context.mesh, 0));
            module.funcs[func].res_shardings[result] = interned.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ONE_WEIGHT, around};

    #[test]
    fn a_next_value_is_sharded_like_its_state() {
        let around = around("shard-results", ONE_WEIGHT, ("full_shard", "fsdp=4"), &[]);
        assert_eq!(
            around.added(r#"tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}p1, {}]>}"#),
            1
        );
    }

    #[test]
    fn a_scalar_is_replicated() {
        let around = around("replicate-scalars", ONE_WEIGHT, ("full_shard", "fsdp=4"), &[]);
        assert_eq!(around.added("tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}"), 1);
    }

    #[test]
    fn annotations_of_results_are_kept() {
        let old = "-> (tensor<16x8xf32>, tensor<f32>)";
        let new = r#"-> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>})"#;
        let text = format!("sdy.mesh @mesh = <[\"fsdp\"=4]>\n{}", ONE_WEIGHT.replace(old, new));
        for step in ["shard-results", "replicate-scalars"] {
            assert!(around(step, &text, ("full_shard", "fsdp=4"), &[]).is_same(), "{step}");
        }
    }
}
