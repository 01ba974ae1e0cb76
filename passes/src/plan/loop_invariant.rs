//! Loop-invariant reshards: what a loop has to send once rather than in each trip.
//!
//! A collective of values that are the same in each trip leaves the loop (`collectives/clean/hoist.rs`), as long as the
//! loop is known to run and keeps little for it. So a trip pays for its part of the cost only.

use rustc_hash::FxHashSet;
use shardc_ir::{Module, OpId, ValueId};

use crate::analysis::trip_count;

/// A value counts as kept by a loop if it has at most one in so many of the bytes that hoisting may keep in all: planning
/// does not know how many values will leave the loop.
const PART: u64 = 16;

/// A loop whose body is planned.
pub(super) struct LoopInvariance {
    trips: u64,
    /// The most bytes of a value that the loop is expected to keep across its trips.
    kept: u64,
    /// Arguments and results in the body that differ from one trip to the next.
    varying: FxHashSet<ValueId>,
}

impl LoopInvariance {
    /// Analyzes the loop `op`, which is not planned yet and may keep `keep_bytes`. Returns `None` if it is not known to run, or
    /// may keep nothing.
    pub(super) fn of(module: &Module, op: OpId, keep_bytes: u64) -> Option<LoopInvariance> {
        if keep_bytes == 0 {
            return None;
        }
        let trips = trip_count::known_trips(module, op).filter(|&trips| trips > 0)?;
        let &[_, body] = module.ops[op].regions.as_slice() else { return None };
        let returned = &module.ops[module.terminator(body)?].operands;
        let args = module.regions[body].args.iter().zip(returned);
        // Invariant is what the body returns unchanged. One pass is enough: an argument that returns another invariant value
        // counts as varying, which only costs an opportunity.
        let mut varying: FxHashSet<ValueId> =
            args.filter(|(arg, returned)| arg != returned).map(|(&arg, _)| arg).collect();
        for &inner in &module.regions[body].ops {
            let data = &module.ops[inner];
            let is_same = data.regions.is_empty()
                && module.is_pure(data)
                && !data.operands.iter().any(|v| varying.contains(v));
            if !is_same {
                varying.extend(&data.results);
            }
        }
        Some(LoopInvariance { trips, kept: keep_bytes / PART, varying })
    }

    /// Returns the part of what resharding a value costs that each trip pays: between 0 and 1.
    pub(super) fn share(&self, module: &Module, value: ValueId) -> f64 {
        let bytes = module.stored(value).and_then(|ty| u64::try_from(ty.num_bytes()?).ok());
        let stays = !self.varying.contains(&value) && bytes.is_some_and(|bytes| bytes <= self.kept);
        if stays { 1.0 / self.trips as f64 } else { 1.0 }
    }
}
