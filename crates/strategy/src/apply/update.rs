//! The ZeRO-1 update: parameters are replicated, and each device computes a shard of their next values.
//!
//! If the last operation of the update adds a term to a parameter, the term is all-gathered. Otherwise, the next value of the
//! parameter is all-gathered. The term and the parameter have the same size, but gathering the term needs less memory. The TPU
//! compiler gathers a result into a separate buffer, and copies that buffer and the aliased argument, so parameters would be in memory
//! three times. A sum is instead written in place, into the buffer of the argument. All users of a next parameter, such as averages,
//! read the replicated value: if computed on shards, they would need another all-gather.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{BinaryOp, Module, OpId, OpKind, Rewriter, TensorSharding, ValueId};

use super::context::Context;
use super::{THEN_STATE, constrained, prioritize};
use crate::flow::replace;
use crate::roles::Role;

impl Context<'_> {
    /// Shards the computation of the terms that are added to parameters, and all-gathers the terms.
    pub(super) fn update_in_parts(&mut self, module: &mut Module) {
        let (roles, body, args) = (self.roles, self.body, &self.args);
        let Some(end) = module.terminator(body) else { return };
        let returned = module.ops[end].operands.clone();
        // The operands to gather, by operation.
        let mut parts: FxHashMap<OpId, Vec<(usize, TensorSharding, TensorSharding)>> = FxHashMap::default();
        for i in roles.of(Role::Parameter) {
            let (Some(&arg), Some(result)) = (args.get(i), roles.arguments[i].next) else { continue };
            // A parameter that is returned unchanged needs no all-gather.
            let Some(&next) = returned.get(result).filter(|&&next| next != arg) else { continue };
            let (mut split, mut whole) = (self.in_parts(module, arg), self.whole(module, arg));
            prioritize(&mut split, THEN_STATE);
            prioritize(&mut whole, THEN_STATE);
            let (op, operand) = added_to(module, arg, next).unwrap_or((end, result));
            parts.entry(op).or_default().push((operand, split, whole));
        }
        let others = module.walk(body).into_iter().filter(|&op| op != end);
        let read: FxHashSet<ValueId> = others.flat_map(|op| module.ops[op].operands.to_vec()).collect();
        let mut rw = Rewriter::new(module);
        rw.enter(body);
        let mut sums: Vec<(ValueId, TensorSharding)> = Vec::new();
        let mut stands: FxHashMap<ValueId, ValueId> = FxHashMap::default();
        while let Some(op) = rw.next_op() {
            for (sum, whole) in sums.drain(..) {
                stands.insert(sum, constrained(&mut rw, sum, whole));
            }
            if !stands.is_empty() {
                replace(rw.module, op, |value| stands.get(&value).copied());
            }
            for (operand, split, whole) in parts.remove(&op).into_iter().flatten() {
                // The value is sharded, so that each device computes its shard, and then replicated, so that it is gathered here:
                // otherwise the sum would also be sharded, and gathered afterwards.
                let mut value = rw.module.ops[op].operands[operand];
                for sharding in [split, whole.clone()] {
                    value = constrained(&mut rw, value, sharding);
                }
                rw.module.ops[op].operands[operand] = value;
                let sum = rw.module.ops[op].results.first().filter(|sum| read.contains(*sum));
                sums.extend(sum.map(|&sum| (sum, whole)));
            }
        }
        drop(rw);
        self.invalidate_dimensions();
    }
}

/// Returns the operation that produces `next` by adding a value to an argument or subtracting one from it, and the index of the value's
/// operand. The argument may be scaled by a number first, as in the weight decay of `torch.optim.AdamW`.
fn added_to(module: &Module, arg: ValueId, next: ValueId) -> Option<(OpId, usize)> {
    let op = module.def_op(next)?;
    let data = &module.ops[op];
    match (&data.kind, data.operands.as_slice()) {
        (OpKind::Binary(BinaryOp::Add | BinaryOp::Subtract), &[first, _])
            if is_scaled(module, first, arg) =>
        {
            Some((op, 1))
        }
        (OpKind::Binary(BinaryOp::Add), &[_, second]) if is_scaled(module, second, arg) => Some((op, 0)),
        _ => None,
    }
}

/// Returns whether a value is `arg`, or `arg` multiplied by a number.
fn is_scaled(module: &Module, value: ValueId, arg: ValueId) -> bool {
    let def = |value| module.def_op(value).map(|def| &module.ops[def]);
    let is_number = |value| {
        def(value).is_some_and(|data| match data.kind {
            OpKind::BroadcastInDim { .. } => module.rank(data.operands[0]) == 0,
            OpKind::Constant(_) => true,
            _ => false,
        })
    };
    value == arg
        || def(value).is_some_and(|data| match (&data.kind, data.operands.as_slice()) {
            (OpKind::Binary(BinaryOp::Multiply), &[a, b]) => {
                a == arg && is_number(b) || b == arg && is_number(a)
            }
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ONE_WEIGHT, around};

    #[test]
    fn zero1_computes_a_shard_of_the_update_and_gathers_it() {
        let around = around("shard-update", ONE_WEIGHT, ("zero1", "fsdp=4"), &[]);
        assert_eq!(around.added("sdy.sharding_constraint"), 2);
        assert_eq!(around.added(r#"<@mesh, [{"fsdp"}p1, {}]>"#), 1);
    }

    #[test]
    fn other_strategies_leave_the_update() {
        assert!(around("shard-update", ONE_WEIGHT, ("full_shard", "fsdp=4"), &[]).is_same());
    }
}
