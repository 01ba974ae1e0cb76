//! Use counts of values.

use cranelift_entity::{EntityRef, SecondaryMap};

use crate::{Module, OpId, RegionId, ValueId};

/// The number of uses of each value. Passes that change operands update the counts.
#[derive(Clone, Debug)]
pub struct UseCounts(SecondaryMap<ValueId, u32>);

impl UseCounts {
    /// Counts the uses by operations under `region`.
    #[must_use]
    pub fn under(module: &Module, region: RegionId) -> UseCounts {
        UseCounts::of(module, &module.walk(region))
    }

    /// Counts the uses by these operations, but not the uses in their regions.
    #[must_use]
    pub fn of(module: &Module, ops: &[OpId]) -> UseCounts {
        let mut counts = SecondaryMap::with_capacity(module.values.len());
        if let Some(last) = module.values.len().checked_sub(1) {
            // Writing the last entry allocates once; `SecondaryMap` would otherwise grow with the highest value so far.
            counts[ValueId::new(last)] = 0;
        }
        let mut counts = UseCounts(counts);
        for &op in ops {
            counts.add(&module.ops[op].operands);
        }
        counts
    }

    /// The number of uses of `value`.
    #[must_use]
    #[inline]
    pub fn get(&self, value: ValueId) -> u32 {
        self.0[value]
    }

    /// Whether none of these values has uses.
    #[must_use]
    #[inline]
    pub fn are_unused(&self, values: &[ValueId]) -> bool {
        values.iter().all(|&value| self.0[value] == 0)
    }

    /// Adds a use to each of these values.
    #[inline]
    pub fn add(&mut self, values: &[ValueId]) {
        for &value in values {
            self.0[value] += 1;
        }
    }

    /// Removes a use from each of these values.
    #[inline]
    pub fn remove(&mut self, values: &[ValueId]) {
        for &value in values {
            self.0[value] = self.0[value].saturating_sub(1);
        }
    }
}
