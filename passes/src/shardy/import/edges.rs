//! Operations that stand between a value and all who read it.

use rustc_hash::FxHashMap;
use shardc_ir::{LocId, Module, OpId, OpKind, PackedOption, RegionId, Span, ValueDef, ValueId, ValueMap};

/// Edges that were made and are still to be put in place.
#[derive(Debug, Default)]
pub(super) struct Edges {
    at_start: FxHashMap<RegionId, Vec<OpId>>,
    after: FxHashMap<OpId, Vec<OpId>>,
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
        match module.values[value].def {
            ValueDef::Result(op, _) => self.after.entry(op).or_default().push(edge),
            ValueDef::Arg(region, _) => self.at_start.entry(region).or_default().push(edge),
        }
        Some(result)
    }

    /// Puts the edges in place under these regions; who read a value before reads its edge.
    pub(super) fn place(mut self, module: &mut Module, regions: Vec<RegionId>) {
        if self.at_start.is_empty() && self.after.is_empty() {
            return;
        }
        let mut open = regions;
        while let Some(region) = open.pop() {
            let ops = std::mem::take(&mut module.regions[region].ops);
            let mut out = self.at_start.remove(&region).unwrap_or_default();
            out.reserve(ops.len());
            for op in ops {
                for operand in &mut module.ops[op].operands {
                    *operand = self.instead.get(*operand);
                }
                open.extend(&module.ops[op].regions);
                out.push(op);
                out.extend(self.after.remove(&op).unwrap_or_default());
            }
            module.regions[region].ops = out;
        }
    }
}
