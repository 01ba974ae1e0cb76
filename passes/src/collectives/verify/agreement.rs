//! Equivalence relations over devices: which devices agree on a value.

use std::hash::Hash;

use indexmap::IndexSet;
use rustc_hash::FxHashMap;

/// An equivalence relation over the devices of a program, in a form that is cheap to compare. It is either a handle into [`Agreements`],
/// or a set of mixed-radix digits of the device ID: devices are equivalent if these digits are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Agreement(u32);

impl Agreement {
    /// All devices are equivalent.
    pub(super) const ALIKE: Agreement = Agreement(0);
    /// No two devices are equivalent. Valid only for relations that are handles into [`Agreements`].
    pub(super) const APART: Agreement = Agreement(1);

    /// Returns this set of digits with the digit of index `digit` added.
    pub(super) fn with_digit(self, digit: usize) -> Agreement {
        Agreement(self.0 | 1 << digit)
    }

    /// Whether the digit of index `digit` is in the set.
    pub(super) fn has_digit(self, digit: usize) -> bool {
        self.0 >> digit & 1 == 1
    }

    /// Returns the union of two sets of digits.
    pub(super) fn and(self, other: Agreement) -> Agreement {
        Agreement(self.0 | other.0)
    }

    /// Returns the set difference: the digits of device IDs (see above) that are in this set and not in the other.
    pub(super) fn without(self, other: Agreement) -> Agreement {
        Agreement(self.0 & !other.0)
    }
}

/// The few distinct relations of a program. Each lists the equivalence class of every device; classes are numbered in the order of their
/// first device.
pub(super) struct Agreements {
    pool: IndexSet<Box<[u32]>>,
    refined: FxHashMap<(Agreement, Agreement), Agreement>,
}

impl Agreements {
    pub(super) fn new(devices: usize) -> Self {
        let mut all = Agreements { pool: IndexSet::new(), refined: FxHashMap::default() };
        all.pool.insert(vec![0; devices].into());
        // With one device, `APART` equals `ALIKE`: the pool has no entry 1, and `classes` falls back to entry 0.
        all.pool.insert((0..devices as u32).collect());
        all
    }

    /// Returns the relation of devices with equal keys, one key per device. Numbering classes by their first device
    /// makes the form canonical, so that equal relations get the same handle.
    pub(super) fn by_key<K: Hash + Eq>(&mut self, keys: impl IntoIterator<Item = K>) -> Agreement {
        let mut numbers: FxHashMap<K, u32> = FxHashMap::default();
        let mut classes = Vec::with_capacity(self.pool[0].len());
        for key in keys {
            let next = numbers.len() as u32;
            classes.push(*numbers.entry(key).or_insert(next));
        }
        Agreement(self.pool.insert_full(classes.into()).0 as u32)
    }

    /// Returns the intersection of two relations: devices that are equivalent in both. Results are memoized: the computation takes time
    /// linear in the number of devices, and the same few pairs occur at most operations.
    pub(super) fn refine(&mut self, a: Agreement, b: Agreement) -> Agreement {
        if a == b || b == Agreement::ALIKE {
            return a;
        }
        if a == Agreement::ALIKE {
            return b;
        }
        let pair = (a.min(b), a.max(b));
        if let Some(&known) = self.refined.get(&pair) {
            return known;
        }
        let (one, other) = (self.classes(a).to_vec(), self.classes(b).to_vec());
        let refined = self.by_key(one.into_iter().zip(other));
        self.refined.insert(pair, refined);
        refined
    }

    /// Returns the equivalence class of each device.
    pub(super) fn classes(&self, a: Agreement) -> &[u32] {
        self.pool.get_index(a.0 as usize).unwrap_or(&self.pool[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refinement_separates_what_either_separates() {
        let mut all = Agreements::new(4);
        let rows = all.by_key([0, 0, 1, 1]);
        let columns = all.by_key(["a", "b", "a", "b"]);
        assert_eq!(all.refine(rows, columns), Agreement::APART);
        assert_eq!(all.refine(rows, Agreement::ALIKE), rows);
        assert_eq!(all.refine(rows, rows), rows);
        assert_eq!(all.by_key([7, 7, 3, 3]), rows);
        assert_eq!(all.by_key([1; 4]), Agreement::ALIKE);
        assert_eq!(all.classes(columns), [0, 1, 0, 1]);
    }

    #[test]
    fn one_device_agrees_with_itself() {
        let mut all = Agreements::new(1);
        let apart = all.refine(Agreement::APART, Agreement::ALIKE);
        assert_eq!(all.classes(apart), [0]);
    }
}
