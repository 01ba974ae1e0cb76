//! Evaluates a program again with an assumption about one value.

use shardc_ir::{EntityRef, OpKind, RegionId, ValueId};

use super::{Eval, Stop};
use crate::terms::View;

/// The number of operations in a row without a value of the original after which an assumption is given up.
const PATIENCE: u32 = 24;

/// The views of all values, to undo an assumption.
pub(crate) struct Saved {
    values: Vec<Option<View>>,
    cases: Vec<Option<super::exchange::Cases>>,
    status: Vec<super::Status>,
    matched: Vec<bool>,
}

impl Eval<'_, '_> {
    /// The views of all values.
    pub(crate) fn save(&self) -> Saved {
        Saved {
            values: self.values.clone(),
            cases: self.cases.clone(),
            status: self.status.clone(),
            matched: self.matched.clone(),
        }
    }

    /// Sets the views of all values.
    pub(crate) fn restore(&mut self, saved: &Saved) {
        self.values.clone_from(&saved.values);
        self.cases.clone_from(&saved.cases);
        self.status.clone_from(&saved.status);
        self.matched.clone_from(&saved.matched);
    }

    /// Gives another view to a value of a region, and evaluates the operations of the region that depend on it. Returns the results of the
    /// region, unless many operations in a row have no value of the original, and the number of operations that were evaluated.
    pub(crate) fn assume(
        &mut self,
        region: RegionId,
        value: ValueId,
        view: View,
    ) -> Result<(Option<Vec<View>>, u64), Stop> {
        let module = self.module;
        let mut changed = vec![false; module.values.len()];
        changed[value.index()] = true;
        self.define(value, view);
        let (mut misses, mut steps) = (0, 0);
        for &op in &module.regions[region].ops {
            let data = &module.ops[op];
            if matches!(data.kind, OpKind::Return) {
                return Ok((Some(self.operands(op)?), steps));
            }
            let inner = data.regions.iter().flat_map(|&region| module.walk(region));
            let is_user = std::iter::once(op)
                .chain(inner)
                .any(|op| module.ops[op].operands.iter().any(|value| changed[value.index()]));
            if !is_user || data.results.contains(&value) {
                continue;
            }
            let old: Vec<Option<View>> =
                data.results.iter().map(|result| self.values[result.index()].clone()).collect();
            self.step(op)?;
            steps += 1;
            let mut is_any = false;
            for (&result, old) in data.results.iter().zip(old) {
                let new = &self.values[result.index()];
                changed[result.index()] = *new != old;
                is_any |= new.as_ref().is_some_and(|view| self.is_original(view));
            }
            misses = if is_any { 0 } else { misses + 1 };
            if misses > PATIENCE {
                return Ok((None, steps));
            }
        }
        Ok((None, steps))
    }
}
