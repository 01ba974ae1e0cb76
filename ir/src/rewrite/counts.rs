//! How often values are read.

use cranelift_entity::{EntityRef, SecondaryMap};

use crate::{Module, OpId, RegionId, ValueId};

/// How often each value is read. A pass that changes operands says so; the counts are not found again.
#[derive(Clone, Debug)]
pub struct UseCounts(SecondaryMap<ValueId, u32>);

impl UseCounts {
    /// Counts what the operations under `region` read.
    #[must_use]
    pub fn under(module: &Module, region: RegionId) -> UseCounts {
        UseCounts::of(module, &module.walk(region))
    }

    /// Counts what these operations read, what is in their regions not among it.
    #[must_use]
    pub fn of(module: &Module, ops: &[OpId]) -> UseCounts {
        let mut counts = SecondaryMap::with_capacity(module.values.len());
        if let Some(last) = module.values.len().checked_sub(1) {
            // Writing the last entry makes room for all at once; `SecondaryMap` would grow by the highest value read
            // so far.
            counts[ValueId::new(last)] = 0;
        }
        let mut counts = UseCounts(counts);
        for &op in ops {
            counts.add(&module.ops[op].operands);
        }
        counts
    }

    /// How often `value` is read.
    #[must_use]
    #[inline]
    pub fn get(&self, value: ValueId) -> u32 {
        self.0[value]
    }

    /// Whether nothing reads any of these values.
    #[must_use]
    #[inline]
    pub fn are_unused(&self, values: &[ValueId]) -> bool {
        values.iter().all(|&value| self.0[value] == 0)
    }

    /// Each of these values is read once more.
    #[inline]
    pub fn add(&mut self, values: &[ValueId]) {
        for &value in values {
            self.0[value] += 1;
        }
    }

    /// Each of these values is read once less.
    #[inline]
    pub fn remove(&mut self, values: &[ValueId]) {
        for &value in values {
            self.0[value] = self.0[value].saturating_sub(1);
        }
    }
}
