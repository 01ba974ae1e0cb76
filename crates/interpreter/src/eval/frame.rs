//! The values of a function call, with those of its nested regions.

use shardc_ir::{RegionId, ValueId};

use crate::numbers::Domain;
use crate::plan::Plan;
use crate::value::Value;

/// The values of a function call that have uses left.
pub(crate) struct Frame<'p, D: Domain> {
    plan: &'p Plan,
    slots: Vec<Option<Value<D>>>,
}

impl<'p, D: Domain> Frame<'p, D> {
    /// An empty frame of a function body.
    pub(super) fn new(plan: &'p Plan, body: RegionId) -> Self {
        Frame { plan, slots: vec![None; plan.frame_len(body)] }
    }

    /// Sets a value, unless it has no use.
    pub(super) fn insert(&mut self, id: ValueId, value: Value<D>) {
        if let Some(slot) = self.plan.slot(id).and_then(|slot| self.slots.get_mut(slot)) {
            *slot = Some(value);
        }
    }

    pub(super) fn get(&self, id: ValueId) -> Option<&Value<D>> {
        self.slots.get(self.plan.slot(id)?)?.as_ref()
    }

    /// Returns a value and clears it.
    pub(super) fn take(&mut self, id: ValueId) -> Option<Value<D>> {
        self.slots.get_mut(self.plan.slot(id)?)?.take()
    }
}
