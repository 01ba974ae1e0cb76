//! Values that stand ready in other shardings than their own.

use std::collections::HashMap;

use shardc_ir::{ShardingId, ValueId};
use smallvec::SmallVec;

/// For values of one region, the shardings in which they can be had besides their own, and as which values: what an
/// earlier operation asked for, or what the operation itself makes before it is resharded as propagation wants it.
#[derive(Default)]
pub(super) struct Ready(HashMap<ValueId, SmallVec<[(ShardingId, ValueId); 2]>>);

impl Ready {
    /// `value` in the sharding `to`.
    pub(super) fn get(&self, value: ValueId, to: ShardingId) -> Option<ValueId> {
        self.0.get(&value)?.iter().find(|(sharding, _)| *sharding == to).map(|&(_, copy)| copy)
    }

    pub(super) fn insert(&mut self, value: ValueId, to: ShardingId, copy: ValueId) {
        self.0.entry(value).or_default().push((to, copy));
    }

    /// The other shardings of `value`.
    pub(super) fn shardings(&self, value: ValueId) -> impl Iterator<Item = ShardingId> + '_ {
        self.0.get(&value).into_iter().flatten().map(|&(sharding, _)| sharding)
    }
}
