//! Inserts data-flow edge operations between values and their users.

use shardc_ir::{
    InsertionPoint, Insertions, LocId, Module, OpKind, PackedOption, RegionId, Span, ValueId, ValueMap,
};

/// Data-flow edge operations that were created but not yet inserted into their regions.
#[derive(Debug, Default)]
pub(super) struct Edges {
    insertions: Insertions,
    instead: ValueMap,
}

impl Edges {
    /// Creates a data-flow edge operation that reads `value` and returns a value of the same type, for insertion directly after the
    /// producer of `value`. Edges after the same operation or at the start of the same region keep their order. Returns `None` for a value
    /// without a static tensor type, which has no sharding.
    pub(super) fn add(
        &mut self,
        module: &mut Module,
        value: ValueId,
        kind: OpKind,
        (span, loc): (Span, PackedOption<LocId>),
    ) -> Option<ValueId> {
        if !module.stored(value).is_some_and(|tensor| tensor.is_static()) {
            return None;
        }
        let ty = module.values[value].ty;
        let edge = module.add_op(kind, &[value], &[ty], &[]);
        (module.ops[edge].span, module.ops[edge].loc) = (span, loc);
        let result = *module.ops[edge].results.first()?;
        self.instead.insert(value, result);
        self.insertions.insert(&mut InsertionPoint::last_behind(module, value), edge);
        Some(result)
    }

    /// Inserts the created data-flow edges in `regions`. The users of a value then read the result of the value's edge.
    pub(super) fn place(mut self, module: &mut Module, regions: Vec<RegionId>) {
        if !self.insertions.is_empty() {
            self.insertions.apply_to(module, regions, &self.instead, |_| false);
        }
    }
}
