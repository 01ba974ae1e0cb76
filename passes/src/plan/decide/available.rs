//! Common subexpression elimination for reshards: records the other shardings in which values are available.

use rustc_hash::FxHashMap;
use shardc_ir::{ShardingId, ValueId};
use smallvec::SmallVec;

/// For each value of a region, its copies in other shardings. A copy is the result of an earlier reshard, or the result of an operation
/// before it is resharded to the propagated sharding.
#[derive(Default)]
pub(crate) struct AvailableCopies(FxHashMap<ValueId, SmallVec<[(ShardingId, ValueId); 2]>>);

impl AvailableCopies {
    /// Returns the copy of `value` in the sharding `to`, if there is one.
    pub(crate) fn get(&self, value: ValueId, to: ShardingId) -> Option<ValueId> {
        self.0.get(&value)?.iter().find(|(sharding, _)| *sharding == to).map(|&(_, copy)| copy)
    }

    pub(crate) fn insert(&mut self, value: ValueId, to: ShardingId, copy: ValueId) {
        self.0.entry(value).or_default().push((to, copy));
    }

    /// Iterates over the shardings of the copies of `value`.
    pub(crate) fn shardings(&self, value: ValueId) -> impl Iterator<Item = ShardingId> + '_ {
        self.0.get(&value).into_iter().flatten().map(|&(sharding, _)| sharding)
    }
}

#[cfg(test)]
mod tests {
    use shardc_ir::EntityRef;

    use super::*;

    #[test]
    fn a_copy_is_found_by_its_value_and_its_sharding() {
        let (value, copy, other) = (ValueId::new(0), ValueId::new(1), ValueId::new(2));
        let [rows, columns] = [0, 1].map(ShardingId::new);
        let mut copies = AvailableCopies::default();
        assert_eq!(copies.get(value, rows), None);
        copies.insert(value, rows, copy);
        assert_eq!(copies.get(value, rows), Some(copy));
        assert_eq!(copies.get(value, columns), None);
        assert_eq!(copies.get(other, rows), None);
        assert_eq!(copies.shardings(value).collect::<Vec<_>>(), [rows]);
    }
}
