//! Removes state from sharding groups.

use rustc_hash::FxHashSet;
use shardc_ir::{Module, OpKind, Rewriter, ValueId};

use super::context::Context;

/// Removes state from sharding groups if the strategy chooses its sharding. The next value of state is sharded like the state, but the
/// values from which the next value is computed may have another sharding. For example, replicated parameters may be updated on shards.
pub(super) fn leave(module: &mut Module, context: &mut Context<'_>) {
    let (roles, args) = (context.roles, &context.args);
    let returned =
        module.terminator(context.body).map(|end| module.ops[end].operands.to_vec()).unwrap_or_default();
    let placed = (0..args.len()).filter(|i| !context.annotated.contains_key(&args[*i]));
    let state = placed.filter_map(|i| Some([args[i], *returned.get(roles.arguments[i].next?)?]));
    let state: FxHashSet<ValueId> = state.flatten().collect();
    let mut is_changed = false;
    let mut rw = Rewriter::new(module);
    rw.enter(context.body);
    while let Some(op) = rw.next_op() {
        let data = &rw.module.ops[op];
        if matches!(data.kind, OpKind::ShardingGroup { .. }) && state.contains(&data.operands[0]) {
            rw.erase();
            is_changed = true;
        }
    }
    drop(rw);
    if is_changed {
        context.invalidate_dimensions();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ONE_WEIGHT, around};

    fn grouped(value: &str, ty: &str) -> String {
        ONE_WEIGHT.replace("  return", &format!("  sdy.sharding_group {value} group_id=0 : {ty}\n  return"))
    }

    #[test]
    fn next_values_leave_their_groups() {
        let text = grouped("%n", "tensor<16x8xf32>");
        let around = around("leave-sharding-groups", &text, ("full_shard", "fsdp=4"), &[]);
        assert!(around.before.contains("sharding_group") && !around.after.contains("sharding_group"));
    }

    #[test]
    fn activations_stay_in_their_groups() {
        let text = grouped("%y", "tensor<8x8xf32>");
        let around = around("leave-sharding-groups", &text, ("full_shard", "fsdp=4"), &[]);
        assert!(around.before.contains("sharding_group") && around.is_same());
    }
}
