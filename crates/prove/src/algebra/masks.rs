//! Reductions of masked values, of which the position consists of the number of a device and of the position in a block.
//!
//! | rewrite | condition |
//! |---|---|
//! | `sum over i of [low <= i < high] * x[i]` is the sum of a slice of `x` | all of `i` is summed |
//! | a reduction of `select(low <= i < high, x, y)` is that of a concatenation | all of `i` is reduced |

use shardc_ir::ReductionKind;

use super::Range;
use super::padding::{as_slot, is_covered, replaced, substituted, substitution};
use super::reduce::Reduced;
use crate::terms::{Digit, Digits, Kind, Map, Op, Terms, View, count};

impl Terms {
    /// The digits of the only position that a test compares, if all of it is reduced.
    fn tested_position(&self, test: &View, slots: &[Reduced]) -> Option<Digits> {
        let args = self.arguments(test)?;
        let value = args.first()?;
        self.as_linear(value)?;
        let [digits] = value.index.as_slice() else { return None };
        is_covered(digits, slots).then(|| digits.clone())
    }

    /// Views as functions of a slot that is the number with these digits.
    fn with_slot(&mut self, digits: &[Digit], views: &[View]) -> Option<(u32, Vec<View>)> {
        let slot = self.fresh();
        let numbers = substitution(&as_slot(digits, slot), views)?;
        let moved: Option<Vec<View>> = views.iter().map(|view| substituted(view, &numbers)).collect();
        Some((slot, moved?))
    }

    /// A reduction of a selection whose test compares one position, if all of the position is reduced. The selection is a concatenation.
    pub(super) fn reduce_selected(
        &mut self,
        join: ReductionKind,
        kind: Kind,
        view: &View,
        slots: &[Reduced],
    ) -> Option<View> {
        if self.node(view.term).op != Op::Map(Map::Select) {
            return None;
        }
        let digits = self.tested_position(self.arguments(view)?.first()?, slots)?;
        let (slot, args) = self.with_slot(&digits, &self.arguments(view)?)?;
        let [test, a, b] = args.as_slice() else { return None };
        let selected = self.select(kind, test, a, b)?;
        if self.node(selected.term).op == Op::Map(Map::Select) {
            return None;
        }
        self.reduce(join, kind, &selected, &replaced(slots, &digits, (slot, count(&digits))))
    }

    /// `sum over i of [low <= i < high] * x[i]` as the sum of a slice, if all of `i` is summed.
    pub(super) fn within_mask(&mut self, kind: Kind, factors: &[View], slots: &[Reduced]) -> Option<View> {
        for (at, factor) in factors.iter().enumerate() {
            if !self.is_indicator(factor) {
                continue;
            }
            let test = self.arguments(factor)?.pop()?;
            let Some(digits) = self.tested_position(&test, slots) else { continue };
            let mut views = vec![test];
            views.extend(
                factors.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, view)| view.clone()),
            );
            let Some((slot, views)) = self.with_slot(&digits, &views) else { continue };
            let Some((test, others)) = views.split_first() else { continue };
            let Some((digit, low, high)) = self.range_of(test) else { continue };
            let size = count(&digits);
            if digit != Digit::all(slot, size) {
                continue;
            }
            let range = Range::new(size, low, high);
            let parts: Option<Vec<View>> = others.iter().map(|view| self.part(view, slot, range)).collect();
            let Some(parts) = parts else { continue };
            let product = self.join(ReductionKind::Mul, kind, &parts)?;
            let slots = replaced(slots, &digits, (slot, high - low));
            return self.reduce(ReductionKind::Add, kind, &product, &slots);
        }
        None
    }
}
