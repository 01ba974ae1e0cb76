//! What a loop has to send once rather than each time round.
//!
//! A collective of values that are the same each time round leaves the loop (`collectives/clean/hoist.rs`), as long as
//! the loop is known to run and keeps little for it. So each time round pays for its part of it only.

use rustc_hash::FxHashSet;
use shardc_ir::{Module, OpId, ValueId};

use crate::sweep::is_pure;
use crate::trips;

/// The most bytes of a value that a loop is expected to keep: well below what clean-up lets a loop keep of all values
/// together.
const KEPT: i64 = 4 << 20;

/// A loop whose body is planned.
pub(super) struct Rounds {
    trips: u64,
    /// What differs from one time round to the next, of what the body makes and gets.
    varying: FxHashSet<ValueId>,
}

impl Rounds {
    /// Of the loop `op`, which is not planned yet; `None` if it is not known to run.
    pub(super) fn of(module: &Module, op: OpId) -> Option<Rounds> {
        let trips = trips::known_trips(module, op).filter(|&trips| trips > 0)?;
        let &[_, body] = module.ops[op].regions.as_slice() else { return None };
        let returned = &module.ops[module.terminator(body)?].operands;
        let args = module.regions[body].args.iter().zip(returned);
        let mut varying: FxHashSet<ValueId> =
            args.filter(|(arg, returned)| arg != returned).map(|(&arg, _)| arg).collect();
        for &inner in &module.regions[body].ops {
            let data = &module.ops[inner];
            let is_same = is_pure(&data.kind)
                && data.regions.is_empty()
                && !data.operands.iter().any(|v| varying.contains(v));
            if !is_same {
                varying.extend(&data.results);
            }
        }
        Some(Rounds { trips, varying })
    }

    /// The part of what resharding a value costs that each time round pays.
    pub(super) fn share(&self, module: &Module, value: ValueId) -> f64 {
        let bytes = module.stored(value).and_then(|ty| ty.num_bytes());
        if self.varying.contains(&value) || bytes.is_none_or(|bytes| bytes > KEPT) {
            1.0
        } else {
            1.0 / self.trips as f64
        }
    }
}
