//! Memoizes planning decisions, so that identical layers of a model are planned once.
//!
//! A decision depends on the operation's kind, its sharding rule, and the [`Split`](crate::plan::support::Split) of each factor. For each
//! tensor, the decision depends on the type, the sharding, and the shardings in which the tensor is available. If all of these properties
//! are equal, the earlier decision is reused. Types and shardings are interned handles, so most operations take one table lookup.

use std::hash::Hasher;

use rustc_hash::{FxHashMap, FxHasher};
use shardc_ir::{EntityRef, Module, OpId, OpKind, ShardingId, TensorSharding};
use smallvec::SmallVec;

use super::OpPlanner;
use super::available::AvailableCopies;
use super::carry;
use super::loop_invariant::LoopInvariance;
use super::site::{Splits, splits};
use crate::plan::free_values::FreeValues;
use crate::plan::support;
use crate::rules::sharding_rule::ShardingRule;
use crate::rules::{is_determined_by_types, rule_of};

/// The shardings in which an operation needs its operands, then those in which it produces its results.
pub(super) type Decided = SmallVec<[ShardingId; 4]>;

/// The key of a decision: properties of an operation and its tensors, one word each.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Signature {
    /// A hash of the operation kind; different kinds may have the same hash.
    kind: u64,
    words: SmallVec<[u32; 16]>,
}

impl Signature {
    /// Returns the signature of an operation; `None` if a tensor has no sharding.
    fn of(
        module: &Module,
        op: OpId,
        invariance: Option<&LoopInvariance>,
        copies: &AvailableCopies,
        free: &FreeValues,
    ) -> Option<Signature> {
        let data = &module.ops[op];
        let mut words = SmallVec::new();
        words.push(data.operands.len() as u32);
        for &value in &data.operands {
            words.push(module.values[value].ty.index() as u32);
            words.push(module.shardings.of(value)?.index() as u32);
            let at = words.len();
            words.push(0);
            words.extend(copies.shardings(value).map(|id| id.index() as u32));
            // This word encodes the number of shardings that follow it, and whether the value is free (available in any sharding).
            let others = (words.len() - at - 1) as u32;
            words[at] = 2 * others + u32::from(free.is_free(value));
            words.extend(invariance.iter().flat_map(|loops| bits(loops.share(module, value))));
        }
        // An enclosing loop affects a decision only by the fraction of a reshard's cost that is charged.
        words.push(u32::from(invariance.is_some()));
        for &value in &data.results {
            words.push(module.values[value].ty.index() as u32);
            words.push(module.shardings.of(value)?.index() as u32);
            words.extend(invariance.iter().flat_map(|loops| bits(loops.share_of_sum(module, value))));
        }
        let mut kind = FxHasher::default();
        data.kind.hash_places(&mut kind);
        Some(Signature { kind: kind.finish(), words })
    }
}

fn bits(share: f64) -> [u32; 2] {
    let bits = share.to_bits();
    [bits as u32, (bits >> 32) as u32]
}

/// A memoized decision. It is reused if the signature, the operation kind and the rule all match.
struct Entry {
    kind: OpKind,
    /// The rule and the effect of sharding each factor; `None` if the operation kind and the types determine them.
    rule: Option<Box<(ShardingRule, Splits)>>,
    decided: Decided,
}

/// All decisions of one run of the pass.
#[derive(Default)]
pub(super) struct Decisions(FxHashMap<Signature, SmallVec<[Entry; 1]>>);

impl Decisions {
    /// Returns the earlier decision for an equal operation; `rule` is needed unless [`is_determined_by_types`] holds.
    fn get(
        &self,
        signature: &Signature,
        kind: &OpKind,
        rule: Option<(&ShardingRule, &Splits)>,
    ) -> Option<&Decided> {
        let same = |entry: &&Entry| {
            entry.kind == *kind && entry.rule.as_deref().map(|(rule, splits)| (rule, splits)) == rule
        };
        self.0.get(signature)?.iter().find(same).map(|entry| &entry.decided)
    }

    fn insert(
        &mut self,
        signature: Signature,
        kind: OpKind,
        rule: Option<(ShardingRule, Splits)>,
        decided: Decided,
    ) {
        self.0.entry(signature).or_default().push(Entry { kind, rule: rule.map(Box::new), decided });
    }
}

impl OpPlanner<'_> {
    /// Returns the decision for an operation with a rule: the memoized decision, or else the cheapest one. `None` if the operation has no
    /// rule, or an operand or result has no sharding.
    pub(super) fn decided(&mut self, op: OpId, copies: &AvailableCopies) -> Option<Decided> {
        let module = &*self.rw.module;
        let data = &module.ops[op];
        if carry::takes_part(module, op) {
            // A decision with unreduced tensors is not memoized: whether an operation is linear also depends on its regions.
            let (rule, _) = self.rule_and_splits(op)?;
            let decision = self.decide(op, &rule, copies)?;
            self.warnings.extend(decision.warning);
            return Some(self.interned(decision.shardings));
        }
        let signature = Signature::of(module, op, self.invariance.as_ref(), copies, &self.free)?;
        let is_determined = is_determined_by_types(data);
        if is_determined && let Some(known) = self.decisions.get(&signature, &data.kind, None) {
            let known = known.clone();
            debug_assert_eq!(
                Some(&known),
                self.decided_uncached(op, copies).as_ref(),
                "the decision depends on more than the signature"
            );
            return Some(known);
        }
        let (rule, splits) = self.rule_and_splits(op)?;
        if !is_determined
            && let Some(known) = self.decisions.get(&signature, &data.kind, Some((&rule, &splits)))
        {
            let known = known.clone();
            debug_assert_eq!(
                Some(&known),
                self.decided_uncached(op, copies).as_ref(),
                "the decision depends on more than signature and rule"
            );
            return Some(known);
        }
        let decision = self.decide(op, &rule, copies)?;
        let ids = self.interned(decision.shardings);
        match decision.warning {
            // The warning names the operation, so the decision is not memoized.
            Some(warning) => self.warnings.push(warning),
            None => {
                let kind = self.rw.module.ops[op].kind.clone();
                let rule = (!is_determined).then_some((rule, splits));
                self.decisions.insert(signature, kind, rule, ids.clone());
            }
        }
        Some(ids)
    }

    /// Returns the decision for an operation, without memoization.
    fn decided_uncached(&mut self, op: OpId, copies: &AvailableCopies) -> Option<Decided> {
        let (rule, _) = self.rule_and_splits(op)?;
        let decision = self.decide(op, &rule, copies)?;
        Some(self.interned(decision.shardings))
    }

    fn interned(&mut self, shardings: SmallVec<[TensorSharding; 4]>) -> Decided {
        let table = &mut self.rw.module.shardings;
        shardings.into_iter().map(|sharding| table.intern(sharding)).collect()
    }

    fn rule_and_splits(&self, op: OpId) -> Option<(ShardingRule, Splits)> {
        let module = &*self.rw.module;
        let mut rule = support::planning_rule(module, op, rule_of(module, op)?);
        support::keep_replicated_operands(module, op, &mut rule, &self.free);
        let splits = splits(module, op, &rule);
        Some((rule, splits))
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    /// Plans two additions, each of a value that is sharded along dimension 0 and a value that is sharded along dimension 1. `second` is
    /// the sharding of the second sum.
    fn planned(second: &str) -> Around {
        let program = format!(
            r#"func.func @main(%a: tensor<64x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}},
                %b: tensor<64x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}},
                %c: tensor<64x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}},
                %d: tensor<64x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}}) -> (
                tensor<64x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}, tensor<64x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, {second}>}}) {{
              %0 = stablehlo.add %a, %b : tensor<64x64xf32>
              %1 = stablehlo.add %c, %d : tensor<64x64xf32>
              return %0, %1 : tensor<64x64xf32>, tensor<64x64xf32>
            }}"#
        );
        around("plan", r#""x"=4"#, &program)
    }

    #[test]
    fn operations_with_the_same_signature_are_decided_alike() {
        let done = planned(r#"[{"x"}, {}]"#);
        assert_eq!(done.shardings("stablehlo.add"), [r#"[{"x"}, {}]"#, r#"[{"x"}, {}]"#]);
        assert_eq!(done.shardings("sdy.reshard"), [r#"[{"x"}, {}]"#, r#"[{"x"}, {}]"#]);
    }

    #[test]
    fn operations_whose_results_are_sharded_differently_are_decided_apart() {
        let done = planned(r#"[{}, {"x"}]"#);
        assert_eq!(done.shardings("stablehlo.add"), [r#"[{"x"}, {}]"#, r#"[{}, {"x"}]"#]);
    }
}
