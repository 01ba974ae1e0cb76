//! What loops take of stacks of layers, row by row, and what it is narrowed to before it is gathered.
//!
//! A row that all readers narrow to one type, behind nothing but another form of it, is narrowed where it is taken: what is gathered
//! is as narrow as what is read. The forms between are of the narrow type then, and the conversions behind them are gone.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{DType, Module, OpId, OpKind, RegionId, Rewriter, ValueId};

/// Rows that are gathered in loops.
#[derive(Default)]
pub(super) struct Rows {
    /// Of each row, the type that it is narrowed to.
    to: FxHashMap<ValueId, Option<DType>>,
    /// What reads a row that is narrowed: its forms, which are of this type then, and the conversions behind.
    behind: FxHashMap<OpId, DType>,
}

impl Rows {
    /// The rows that slices `is_taken` of a body make.
    pub(super) fn of(module: &Module, body: RegionId, is_taken: impl Fn(OpId) -> bool) -> Rows {
        let walk = module.walk(body);
        let taken: Vec<OpId> = walk
            .iter()
            .copied()
            .filter(|&op| matches!(module.ops[op].kind, OpKind::DynamicSlice { .. }) && is_taken(op))
            .collect();
        let mut readers: FxHashMap<ValueId, Vec<OpId>> = FxHashMap::default();
        for op in walk.into_iter().filter(|_| !taken.is_empty()) {
            for &operand in &module.ops[op].operands {
                readers.entry(operand).or_default().push(op);
            }
        }
        let mut rows = Rows::default();
        for row in taken.into_iter().flat_map(|op| module.ops[op].results.iter().copied()) {
            let narrowed = narrowed(module, &readers, row);
            if let Some((to, behind)) = &narrowed {
                rows.behind.extend(behind.iter().map(|&op| (op, *to)));
            }
            rows.to.insert(row, narrowed.map(|(to, _)| to));
        }
        rows
    }

    /// The type that a value is narrowed to before it is gathered, `None` within if it is gathered as it is; `None` if it is no row.
    pub(super) fn narrowed_to(&self, value: ValueId) -> Option<Option<DType>> {
        self.to.get(&value).copied()
    }

    /// Lets the operation at hand, if it reads a row that is narrowed by now, be of the narrow type, or go.
    pub(super) fn follow(&self, rw: &mut Rewriter<'_>, op: OpId) {
        let Some(&to) = self.behind.get(&op) else { return };
        let data = &rw.module.ops[op];
        let (Some(&operand), Some(&result)) = (data.operands.first(), data.results.first()) else { return };
        if matches!(data.kind, OpKind::Convert) {
            rw.stand_for(result, operand);
            rw.erase();
        } else {
            let shape = rw.module.shape(result).to_vec();
            rw.module.values[result].ty = rw.module.types.tensor(&shape, to);
        }
    }
}

/// The type that all readers of a row narrow it to, with the operations that lead there: forms, and the conversions at their ends.
fn narrowed(
    module: &Module,
    readers: &FxHashMap<ValueId, Vec<OpId>>,
    row: ValueId,
) -> Option<(DType, FxHashSet<OpId>)> {
    let dtype = |v: ValueId| module.stored(v).map(|ty| ty.dtype);
    let from = dtype(row)?;
    let (mut narrow, mut behind, mut todo) = (None, FxHashSet::default(), vec![row]);
    while let Some(value) = todo.pop() {
        for &reader in readers.get(&value).into_iter().flatten() {
            let data = &module.ops[reader];
            let &[result] = data.results.as_slice() else { return None };
            match &data.kind {
                OpKind::Convert => {
                    let to = dtype(result).filter(|to| to.bits() < from.bits())?;
                    if *narrow.get_or_insert(to) != to {
                        return None;
                    }
                }
                OpKind::Reshape | OpKind::Transpose { .. } | OpKind::BroadcastInDim { .. } => {
                    todo.push(result);
                }
                _ => return None,
            }
            behind.insert(reader);
        }
    }
    Some((narrow?, behind))
}
