//! The edges of an exchange (ranges of elements that one device needs from another device's block), in runs of
//! consecutive devices with the same pattern.
//!
//! Most devices along a dimension have the same edges as their neighbors, shifted by one device. For example, a shift along 65,536
//! devices has one run of devices that keep elements, one run of devices that send their last element, and the two ends. Computing the
//! cost takes time linear in the number of runs; only emitting an exchange lists devices.

use smallvec::SmallVec;

use super::MAX_ROUNDS;
use super::held::{Held, Span, Window};

/// A run of edges between consecutive devices: for each `i` below `count`, device `receiver + i` needs elements from the block of device
/// `sender + i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edges {
    pub(super) sender: u32,
    pub(super) receiver: u32,
    pub(super) count: u32,
    /// The index of the view whose elements the edges transfer.
    pub(super) view: u32,
    /// The number of elements that each edge transfers.
    pub(super) length: i64,
    /// The offset of the elements in the first sender's block.
    pub(super) from: i64,
    /// The increase of the offset `from` from one sender to the next.
    pub(super) step: i64,
    /// The offset of the elements in the window of every receiver.
    pub(super) to: i64,
}

impl Edges {
    /// Whether the elements that each device needs are in its own block.
    pub(super) fn is_own(&self) -> bool {
        self.sender == self.receiver
    }

    /// Returns the index of the sender minus that of the receiver.
    pub(super) fn distance(&self) -> i64 {
        i64::from(self.sender) - i64::from(self.receiver)
    }

    /// Returns the offset of the elements in the last sender's block.
    pub(super) fn last_from(&self) -> i64 {
        self.from + self.step * i64::from(self.count.saturating_sub(1))
    }

    /// Returns `count` edges of the run from index `first`.
    pub(super) fn part(&self, first: u32, count: u32) -> Edges {
        Edges {
            sender: self.sender + first,
            receiver: self.receiver + first,
            count,
            from: self.from + self.step * i64::from(first),
            ..*self
        }
    }

    /// Returns each edge as a run of one edge.
    pub(super) fn each(self) -> impl Iterator<Item = Edges> {
        (0..self.count).map(move |i| self.part(i, 1))
    }

    /// Appends `edge` to the run if it continues the run. Returns whether it was appended.
    pub(super) fn takes(&mut self, edge: &Edges) -> bool {
        let is_next = self.sender + self.count == edge.sender
            && self.receiver + self.count == edge.receiver
            && (self.view, self.length, self.to) == (edge.view, edge.length, edge.to);
        let step = edge.from - self.last_from();
        // A run gets a step other than 0 only if devices slice a replicated dimension, at increasing offsets in their own blocks.
        // Otherwise, the step would join unrelated edges.
        let may_begin = self.count == 1 && self.is_own();
        if !is_next || step != self.step && !may_begin {
            return false;
        }
        self.step = step;
        self.count += 1;
        true
    }
}

/// Returns the edges of a view, grouped into runs that are ordered by their first receiver. Returns `None` if a device needs elements from
/// more blocks than the maximum number of rounds, since it receives one slab per round. The time is `O(k log k)` for `k` devices, and
/// `O(k)` if window offsets increase like block offsets.
pub(super) fn edges(view: usize, held: &Held, window: &Window) -> Option<Vec<Edges>> {
    let mut all: Vec<Edges> = Vec::new();
    // The indices of the runs that have an edge to the preceding receiver, so that the next edge may continue them.
    let mut open: SmallVec<[usize; 4]> = SmallVec::new();
    let mut first = 0;
    for (receiver, need) in window.needs.iter().enumerate() {
        let before = std::mem::take(&mut open);
        if need.is_empty() {
            continue;
        }
        let senders = if held.is_whole {
            receiver..(receiver + 1).min(held.spans.len())
        } else {
            first = first_sender(&held.spans, need, first);
            first..held.spans.len()
        };
        for sender in senders {
            let span = &held.spans[sender];
            if !held.is_whole && span.start >= need.end {
                break;
            }
            let met = span.start.max(need.start)..span.end.min(need.end);
            if met.is_empty() {
                continue;
            }
            if open.len() == MAX_ROUNDS as usize {
                return None;
            }
            let edge = Edges {
                sender: sender as u32,
                receiver: receiver as u32,
                count: 1,
                view: view as u32,
                length: met.end - met.start,
                from: met.start - held.origins[sender],
                step: 0,
                to: met.start - window.origins[receiver],
            };
            let number = before.iter().copied().find(|&run| all[run].takes(&edge)).unwrap_or_else(|| {
                all.push(edge);
                all.len() - 1
            });
            open.push(number);
        }
    }
    Some(all)
}

/// Returns the first device that holds elements at or after the start of `need`. This is usually `known` (the first sender of the preceding
/// receiver) or the next device. The ends of spans never decrease; spans may be empty if there are fewer elements than devices.
fn first_sender(spans: &[Span], need: &Span, known: usize) -> usize {
    let is_first = |&at: &usize| {
        let is_behind = |at: usize| spans.get(at).is_none_or(|span| span.end > need.start);
        at <= spans.len() && is_behind(at) && (at == 0 || !is_behind(at - 1))
    };
    let near = [known + 1, known].into_iter().find(is_first);
    near.unwrap_or_else(|| spans.partition_point(|span| span.end <= need.start))
}

/// Calls `each` for each edge of one view, ordered by receiver, then by sender. `runs` are ordered by first receiver. Stops and returns
/// `None` if a call returns `None`.
pub(super) fn in_order<'a>(
    runs: impl Iterator<Item = &'a Edges>,
    mut each: impl FnMut(&Edges) -> Option<()>,
) -> Option<()> {
    let mut runs = runs.peekable();
    // The rest of each run that has an edge to the next receiver, ordered by sender. For each receiver, all of them advance by one edge.
    let mut active: SmallVec<[Edges; 4]> = SmallVec::new();
    while let Some(receiver) = active.first().or(runs.peek().copied()).map(|run| run.receiver) {
        let known = active.len();
        while let Some(run) = runs.next_if(|run| run.receiver == receiver) {
            active.push(*run);
        }
        if active.len() > known {
            active.sort_by_key(|run| run.sender);
        }
        for run in &mut active {
            each(&run.part(0, 1))?;
            *run = run.part(1, run.count - 1);
        }
        active.retain(|run| run.count > 0);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(k: i64, start: i64, step: i64, size: i64) -> Window {
        let origins: Vec<i64> = (0..k).map(|i| start + i * step).collect();
        let needs = origins.iter().map(|&o| o..o + size).collect();
        Window { size, origins, needs }
    }

    #[test]
    fn runs_are_few_however_many_devices_there_are() {
        for k in [64, 4096] {
            let halos = edges(0, &Held::blocks(0, k * 4, k, 0), &window(k, -1, 4, 6)).unwrap();
            assert_eq!(halos.len(), 3, "{halos:?}");
            let shift = edges(0, &Held::blocks(0, k * 4 - 2, k, 0), &window(k, -1, 4, 4)).unwrap();
            assert!(shift.len() <= 6, "{shift:?}");
            let whole = edges(0, &Held::whole(0, k * 4, k, 0), &window(k, 0, 4, 4)).unwrap();
            assert_eq!(whole.len(), 1, "{whole:?}");
        }
    }

    #[test]
    fn edges_come_by_receiver_and_then_sender() {
        let runs = edges(0, &Held::blocks(0, 61, 16, 0), &window(16, -3, 4, 9)).unwrap();
        let mut seen = Vec::new();
        in_order(runs.iter(), |edge| {
            seen.push((edge.receiver, edge.sender));
            Some(())
        });
        assert_eq!(seen.len(), runs.iter().map(|run| run.count as usize).sum::<usize>());
        assert!(seen.windows(2).all(|pair| pair[0] < pair[1]), "{seen:?}");
    }

    /// Compares the runs with edges computed directly for every pair of devices.
    #[test]
    fn runs_list_what_any_two_devices_share() {
        let listed = |held: &Held, window: &Window| {
            let mut all: Vec<_> = edges(0, held, window).unwrap().into_iter().flat_map(Edges::each).collect();
            all.sort_by_key(|edge| (edge.receiver, edge.sender));
            let seen = all
                .iter()
                .map(|edge| (edge.receiver as usize, edge.sender as usize, edge.from, edge.to, edge.length));
            seen.collect::<Vec<_>>()
        };
        for (k, size) in (1..=9).flat_map(|k| (1..=20).map(move |size| (k, size))) {
            for (start, step, length) in
                [(0, 0, 3), (-2, 1, 5), (3, 2, 4), (1, 3, 7), (40, -4, 9), (-9, 4, 4)]
            {
                let window = window(k, start, step, length);
                for held in [Held::blocks(0, size, k, 0), Held::blocks(0, size, k, 5).only(&(6..17))] {
                    let mut shared = Vec::new();
                    for (receiver, need) in window.needs.iter().enumerate() {
                        for (sender, span) in held.spans.iter().enumerate() {
                            let both = span.start.max(need.start)..span.end.min(need.end);
                            if !both.is_empty() {
                                let from = both.start - held.origins[sender];
                                let to = both.start - window.origins[receiver];
                                shared.push((receiver, sender, from, to, both.end - both.start));
                            }
                        }
                    }
                    assert_eq!(listed(&held, &window), shared, "{held:?} {window:?}");
                }
            }
        }
    }
}
