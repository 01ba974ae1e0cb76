//! Whether an operation does nothing but make its results.

use crate::{Effect, Module, Op, OpId};

impl Module {
    /// Whether an operation, with all that its regions do, ends and does nothing but make its results: without uses it
    /// may go, an equal one may stand for it, and it may be done more often.
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
