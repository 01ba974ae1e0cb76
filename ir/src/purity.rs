//! Purity of operations: whether they terminate and have no side effects.

use crate::{Effect, Module, Op, OpId};

impl Module {
    /// Whether an operation, with its regions, terminates and has no side effects: it may be removed if dead, merged with an equal
    /// operation, and recomputed.
    #[must_use]
    pub fn is_pure(&self, op: &Op) -> bool {
        let pure_inside = |inner: OpId| {
            let effect = self.ops[inner].kind.def().effect;
            effect.is_pure() || effect == Effect::Ends
        };
        op.kind.def().effect.is_pure()
            && op.regions.iter().all(|&region| self.walk(region).into_iter().all(pure_inside))
    }
}
