//! The values that stay in on-chip memory between kernels, so that they cause no traffic of main memory.
//!
//! Values that one kernel of a region writes and other kernels read are candidates. Those with the smallest product of size and lifetime are
//! placed first, as far as there is room during their whole lifetime. XLA's memory-space assignment (MSA) also weighs benefits by size and
//! lifetime. Arguments that it copies ahead of their use are read from main memory all the same.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::ValueId;

/// A candidate: its size, and the first and the last item that touch it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) bytes: u64,
    pub(super) first: u32,
    pub(super) last: u32,
}

/// Returns the candidates that fit in `capacity` bytes. `items` is the number of items.
pub(super) fn place(
    candidates: &FxHashMap<ValueId, Candidate>,
    items: usize,
    capacity: u64,
) -> FxHashSet<ValueId> {
    let mut order: Vec<(ValueId, Candidate)> = candidates.iter().map(|(&value, &of)| (value, of)).collect();
    order.retain(|(_, of)| of.bytes <= capacity && of.bytes > 0);
    let area = |of: &Candidate| of.bytes.saturating_mul(u64::from(of.last - of.first) + 1);
    order.sort_by_key(|(value, of)| (area(of), *value));
    let mut used = Peaks::new(items);
    let mut placed = FxHashSet::default();
    for (value, Candidate { bytes, first, last }) in order {
        if used.most(first, last) + bytes <= capacity {
            used.add(first, last, bytes);
            placed.insert(value);
        }
    }
    placed
}

/// The bytes in use during each item: a segment tree with the maximum of each range.
struct Peaks {
    /// The number of leaves, a power of two.
    leaves: u32,
    /// For each node, the bytes of values that cover its whole range, and the maximum in its range, including these bytes.
    nodes: Vec<(u64, u64)>,
}

impl Peaks {
    fn new(items: usize) -> Peaks {
        let leaves = items.next_power_of_two();
        Peaks { leaves: leaves as u32, nodes: vec![(0, 0); 2 * leaves] }
    }

    fn most(&self, first: u32, last: u32) -> u64 {
        self.most_in(1, 0, self.leaves, first, last)
    }

    fn most_in(&self, node: usize, from: u32, to: u32, first: u32, last: u32) -> u64 {
        if last < from || first >= to {
            return 0;
        }
        if first <= from && to <= last + 1 {
            return self.nodes[node].1;
        }
        let middle = from.midpoint(to);
        let inside = self.most_in(2 * node, from, middle, first, last).max(self.most_in(
            2 * node + 1,
            middle,
            to,
            first,
            last,
        ));
        self.nodes[node].0 + inside
    }

    fn add(&mut self, first: u32, last: u32, bytes: u64) {
        self.add_in(1, (0, self.leaves), (first, last), bytes);
    }

    fn add_in(&mut self, node: usize, (from, to): (u32, u32), (first, last): (u32, u32), bytes: u64) {
        if last < from || first >= to {
            return;
        }
        if first <= from && to <= last + 1 {
            self.nodes[node].0 += bytes;
            self.nodes[node].1 += bytes;
            return;
        }
        let middle = from.midpoint(to);
        self.add_in(2 * node, (from, middle), (first, last), bytes);
        self.add_in(2 * node + 1, (middle, to), (first, last), bytes);
        self.nodes[node].1 = self.nodes[node].0 + self.nodes[2 * node].1.max(self.nodes[2 * node + 1].1);
    }
}

#[cfg(test)]
mod tests {
    use shardc_ir::EntityRef;

    use super::*;

    #[test]
    fn short_lived_values_come_first() {
        let of = |bytes, first, last| Candidate { bytes, first, last };
        let all = [of(60, 0, 9), of(50, 2, 3), of(50, 4, 5), of(40, 3, 4), of(101, 0, 0)];
        let candidates = (0..).zip(all).map(|(i, of)| (ValueId::new(i), of)).collect();
        let placed = place(&candidates, 10, 100);
        let mut placed: Vec<usize> = placed.into_iter().map(EntityRef::index).collect();
        placed.sort_unstable();
        // The long-lived value does not fit beside the others, and the last one is larger than the memory.
        assert_eq!(placed, [1, 2, 3]);
    }
}
