//! List scheduling of the kernels and collectives of a region.
//!
//! The device runs one kernel at a time: of those whose operands are ready, the first in program order. One overlapped collective runs
//! beside the kernels, also the first in program order that is ready. XLA's latency-hiding scheduler moves the starts of collectives forward
//! and their ends backward to the same effect, within its limit on memory, which is not modelled.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// The unit on which an item runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// The arithmetic units, including collectives that do not overlap.
    Compute = 0,
    /// The links.
    Link = 1,
}

/// A kernel or collective.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) seconds: f64,
    pub(super) lane: Lane,
    /// Whether the item occupies the links. Collectives do not overlap each other.
    pub(super) uses_link: bool,
    /// The indices of the items that produce operands; all are less than the item's own index.
    pub(super) needs: Vec<u32>,
}

/// When an item ran.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Ran {
    pub(super) start: f64,
    /// Seconds in which nothing was computed because this item had not ended.
    pub(super) exposed: f64,
}

/// A time that can be ordered.
#[derive(Clone, Copy, PartialEq)]
struct Time(f64);

impl Eq for Time {}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Schedules the items, and returns when each ran and the time of the end.
pub(super) fn schedule(items: &[Item]) -> (Vec<Ran>, f64) {
    let mut missing: Vec<u32> = items.iter().map(|item| item.needs.len() as u32).collect();
    let mut users: Vec<Vec<u32>> = vec![Vec::new(); items.len()];
    let mut ready = [BTreeSet::new(), BTreeSet::new()];
    for (i, item) in (0..).zip(items) {
        for &need in &item.needs {
            users[need as usize].push(i);
        }
        if item.needs.is_empty() {
            ready[item.lane as usize].insert(i);
        }
    }
    let mut ran = vec![Ran::default(); items.len()];
    let mut running: BinaryHeap<Reverse<(Time, u32)>> = BinaryHeap::new();
    let mut is_busy = [false, false];
    let (mut now, mut idle_since) = (0.0, 0.0);
    loop {
        // Overlapped collectives start first, so that kernels can run beside them.
        for (lane, queue) in ready.iter_mut().enumerate().rev() {
            let waits_for_link = |item: u32| items[item as usize].uses_link && is_busy[Lane::Link as usize];
            let can_start = |&item: &u32| !(is_busy[lane] || waits_for_link(item));
            let Some(item) = queue.iter().copied().find(can_start) else { continue };
            queue.remove(&item);
            is_busy[lane] = true;
            is_busy[Lane::Link as usize] |= items[item as usize].uses_link;
            ran[item as usize].start = now;
            running.push(Reverse((Time(now + items[item as usize].seconds), item)));
        }
        let Some(Reverse((Time(end), item))) = running.pop() else { break };
        now = end;
        let lane = items[item as usize].lane as usize;
        is_busy[lane] = false;
        if items[item as usize].uses_link {
            is_busy[Lane::Link as usize] = false;
        }
        for &user in &users[item as usize] {
            missing[user as usize] -= 1;
            if missing[user as usize] == 0 {
                ready[items[user as usize].lane as usize].insert(user);
            }
        }
        if lane == Lane::Compute as usize {
            idle_since = now;
        } else if !is_busy[Lane::Compute as usize] {
            // Nothing was computed since `idle_since`: the device waited for this collective.
            ran[item as usize].exposed = now - idle_since;
            idle_since = now;
        }
    }
    (ran, now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(seconds: f64, lane: Lane, needs: &[u32]) -> Item {
        Item { seconds, lane, uses_link: lane == Lane::Link, needs: needs.to_vec() }
    }

    #[test]
    fn independent_kernels_hide_a_collective() {
        let items = [
            item(1.0, Lane::Compute, &[]),
            item(3.0, Lane::Link, &[0]),
            item(1.0, Lane::Compute, &[1]),
            item(2.0, Lane::Compute, &[0]),
        ];
        let (ran, end) = schedule(&items);
        assert_eq!(end, 5.0);
        assert_eq!(ran[3].start, 1.0, "the last kernel runs during the collective");
        assert_eq!(ran[1].exposed, 1.0);
    }

    #[test]
    fn collectives_at_the_end_are_exposed() {
        let items = [item(1.0, Lane::Compute, &[]), item(2.0, Lane::Link, &[0]), item(1.0, Lane::Link, &[0])];
        let (ran, end) = schedule(&items);
        assert_eq!(end, 4.0);
        assert_eq!(ran.iter().map(|ran| ran.exposed).collect::<Vec<_>>(), [0.0, 2.0, 1.0]);
    }

    #[test]
    fn collectives_do_not_overlap_each_other() {
        let mut items =
            [item(2.0, Lane::Link, &[]), item(3.0, Lane::Compute, &[]), item(1.0, Lane::Compute, &[])];
        items[1].uses_link = true;
        let (ran, end) = schedule(&items);
        assert_eq!((ran[1].start, ran[2].start, end), (2.0, 0.0, 5.0));
    }

    #[test]
    fn no_items_take_no_time() {
        assert_eq!(schedule(&[]).1, 0.0);
    }
}
