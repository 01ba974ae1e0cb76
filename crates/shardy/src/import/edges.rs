//! Operations that stand between a value and all who read it.

use shardc_ir::{
    InsertionPoint, Insertions, LocId, Module, OpKind, PackedOption, RegionId, Span, ValueId, ValueMap,
};

/// Edges that were made and are still to be put in place.
#[derive(Debug, Default)]
pub(super) struct Edges {
    insertions: Insertions,
    instead: ValueMap,
}

impl Edges {
    /// Makes an operation that reads `value`, gives a value of the same type, and stands right after where `value` is
    /// made; those of one operation or region in the order in which they were made. `None` for what is no tensor of
    /// known shape: it has no sharding that could flow.
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

    /// Puts the edges in place under these regions; who read a value before reads its edge.
    pub(super) fn place(mut self, module: &mut Module, regions: Vec<RegionId>) {
        if !self.insertions.is_empty() {
            self.insertions.apply_to(module, regions, &self.instead, |_| false);
        }
    }
}
