//! Rows of stacked layers that loops read, and the narrower types to which they are cast before the all-gather.
//!
//! If every user casts a row to the same narrower type, after at most reshapes and transposes, the cast moves to the row slice, so that
//! the narrow row is gathered. The reshapes and transposes then have the narrow type, and the original casts are removed.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{DType, Module, OpId, OpKind, RegionId, Rewriter, ValueId};

/// A row that is all-gathered in a loop.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// The stack of layers, an argument, that the row is sliced from.
    pub(super) stack: ValueId,
    /// The type to which the row is cast before the all-gather, if any.
    pub(super) to: Option<DType>,
}

/// The rows that are gathered in loops.
#[derive(Default)]
pub(super) struct Rows {
    rows: FxHashMap<ValueId, Row>,
    /// Reshapes and transposes of cast rows, with the narrow type.
    forms: FxHashMap<ValueId, DType>,
    /// Casts that become redundant and are removed.
    done: FxHashSet<OpId>,
}

impl Rows {
    /// Returns the rows that dynamic slices in a body read; for such a slice, `stack` returns the argument that is sliced.
    pub(super) fn of(module: &Module, body: RegionId, stack: impl Fn(OpId) -> Option<ValueId>) -> Rows {
        let mut readers: FxHashMap<ValueId, Vec<OpId>> = FxHashMap::default();
        let mut taken: Vec<(ValueId, ValueId)> = Vec::new();
        for op in module.walk(body) {
            let data = &module.ops[op];
            for &operand in &data.operands {
                readers.entry(operand).or_default().push(op);
            }
            if matches!(data.kind, OpKind::DynamicSlice { .. }) {
                taken.extend(data.results.first().copied().zip(stack(op)));
            }
        }
        let mut rows = Rows::default();
        for (row, stack) in taken {
            let to = rows.narrow(module, &readers, row);
            rows.rows.insert(row, Row { stack, to });
        }
        rows
    }

    /// Returns the row to gather, if the value is a row.
    pub(super) fn row(&self, value: ValueId) -> Option<Row> {
        self.rows.get(&value).copied()
    }

    /// Returns all rows, in no particular order.
    pub(super) fn all(&self) -> impl Iterator<Item = Row> {
        self.rows.values().copied()
    }

    /// Rewrites the current operation if it reads a row that is now cast earlier: removes a redundant cast, and changes the result of a
    /// reshape or transpose to the narrow type.
    pub(super) fn follow(&self, rw: &mut Rewriter<'_>, op: OpId) {
        if self.done.contains(&op) {
            let data = &rw.module.ops[op];
            let (operand, result) = (data.operands[0], data.results[0]);
            rw.stand_for(result, operand);
            rw.erase();
            return;
        }
        for result in rw.module.ops[op].results.clone() {
            if let Some(&to) = self.forms.get(&result) {
                let shape = rw.module.shape(result).to_vec();
                rw.module.values[result].ty = rw.module.types.tensor(&shape, to);
            }
        }
    }

    /// Returns the type to which all users cast a row, and records the operations between the row and the casts.
    fn narrow(
        &mut self,
        module: &Module,
        readers: &FxHashMap<ValueId, Vec<OpId>>,
        row: ValueId,
    ) -> Option<DType> {
        let dtype = |v: ValueId| module.stored(v).map(|ty| ty.dtype);
        let from = dtype(row)?;
        let (mut narrow, mut done, mut forms) = (None, Vec::new(), vec![row]);
        let mut looked_at = 0;
        while let Some(&value) = forms.get(looked_at) {
            looked_at += 1;
            for &reader in readers.get(&value).into_iter().flatten() {
                let data = &module.ops[reader];
                match &data.kind {
                    OpKind::Convert => {
                        let to = dtype(data.results[0]).filter(|to| to.bits() < from.bits())?;
                        if *narrow.get_or_insert(to) != to {
                            return None;
                        }
                        done.push(reader);
                    }
                    OpKind::Reshape
                    | OpKind::Transpose { .. }
                    | OpKind::BroadcastInDim { .. }
                    | OpKind::OptimizationBarrier => {
                        let handed_on = data.operands.iter().zip(&data.results).filter(|(v, _)| **v == value);
                        forms.extend(handed_on.map(|(_, &result)| result));
                    }
                    _ => return None,
                }
            }
        }
        let to = narrow?;
        self.forms.extend(forms.into_iter().skip(1).map(|value| (value, to)));
        self.done.extend(done);
        Some(to)
    }
}
