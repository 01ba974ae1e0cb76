//! Values that are available in other shardings than their own: common subexpression elimination for reshards.

use rustc_hash::FxHashMap;
use shardc_ir::{ShardingId, ValueId};
use smallvec::SmallVec;

/// For values of one region, the shardings in which they can be had besides their own, and as which values: what an
/// earlier operation asked for, or what the operation itself makes before it is resharded as propagation wants it.
#[derive(Default)]
pub(crate) struct AvailableCopies(FxHashMap<ValueId, SmallVec<[(ShardingId, ValueId); 2]>>);

impl AvailableCopies {
    /// Returns a copy of `value` in the sharding `to`, if there is one.
    pub(crate) fn get(&self, value: ValueId, to: ShardingId) -> Option<ValueId> {
        self.0.get(&value)?.iter().find(|(sharding, _)| *sharding == to).map(|&(_, copy)| copy)
    }

    pub(crate) fn insert(&mut self, value: ValueId, to: ShardingId, copy: ValueId) {
        self.0.entry(value).or_default().push((to, copy));
    }

    /// Iterates over the other shardings in which `value` is available.
    pub(crate) fn shardings(&self, value: ValueId) -> impl Iterator<Item = ShardingId> + '_ {
        self.0.get(&value).into_iter().flatten().map(|&(sharding, _)| sharding)
    }
}
