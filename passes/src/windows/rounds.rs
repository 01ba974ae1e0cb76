//! Assigns the edges of an exchange (its transfers between devices) to rounds: the edges of a round share a collective-permute.
//!
//! The assignment is an edge coloring of the bipartite graph of senders and receivers; the colors are the rounds. By König's theorem, as
//! many colors are needed as the maximum degree. But the cost of a round depends on its widest edge, so the minimum number of rounds is not
//! the goal.
//!
//! The cost of a candidate assignment is computed before its rounds are built. The search stops at a candidate that reaches the lower
//! bound.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::MAX_ROUNDS;
use super::edges::{Edges, in_order};
use super::held::Held;
use crate::cost::Costs;

/// A set of edges in which no device sends or receives twice.
pub(super) type Round = Vec<Edges>;

/// The common slab of a round: each sender cuts a slab of this size, which contains the elements of its edge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slab {
    longest: i64,
    /// The offset of an element in the window minus its offset in the block, if that is the same for all edges (`is_one_shift`).
    shift: Option<i64>,
    is_one_shift: bool,
    /// The start of the range of block offsets that the edges cover.
    first: i64,
    end: i64,
    pub(super) least_block: i64,
}

impl Slab {
    fn new() -> Slab {
        Slab {
            longest: 0,
            shift: None,
            is_one_shift: true,
            first: i64::MAX,
            end: i64::MIN,
            least_block: i64::MAX,
        }
    }

    pub(super) fn of(views: &[Held], edges: &[Edges]) -> Slab {
        let mut slab = Slab::new();
        for run in edges {
            slab.add(views, run);
        }
        slab
    }

    fn add(&mut self, views: &[Held], run: &Edges) {
        self.longest = self.longest.max(run.length);
        let shift = run.to - run.from;
        self.is_one_shift &=
            (run.step == 0 || run.count == 1) && self.shift.is_none_or(|known| known == shift);
        self.shift = Some(shift);
        for from in [run.from, run.last_from()] {
            self.first = self.first.min(from);
            self.end = self.end.max(from + run.length);
        }
        self.least_block = self.least_block.min(views[run.view as usize].block);
    }

    /// If the slabs can have the same offset in all blocks and the same offset in all windows, returns the offset in blocks, and its
    /// difference to the offset in windows. Some devices then send more than is needed. In exchange, slices and a concatenation with
    /// constant offsets replace dynamic slices with tables of offsets and a mask.
    pub(super) fn one_place(&self) -> Option<(i64, i64)> {
        let shift = self.shift.filter(|_| self.is_one_shift && self.end <= self.least_block)?;
        Some((self.first, shift))
    }

    pub(super) fn width(&self) -> i64 {
        if self.one_place().is_some() { self.end - self.first } else { self.longest }
    }
}

/// A candidate assignment of edges to rounds, with its cost.
struct Way {
    cost: f64,
    rounds: Vec<Round>,
}

/// Assigns the edges of all views to rounds: each view separately, or all together if that costs less. Returns `None`
/// if there would be too many rounds.
pub(super) fn rounds(
    views: &[Held],
    edges: &[Vec<Edges>],
    devices: usize,
    row_bytes: f64,
    costs: Costs,
) -> Option<Vec<Round>> {
    let exchange = Pricing { views, devices, row_bytes, costs };
    let seen: Vec<&[Edges]> = edges.iter().map(Vec::as_slice).filter(|edges| !edges.is_empty()).collect();
    let of_each = seen.iter().map(|edges| exchange.cheapest(&[edges], false, None));
    let apart: Option<Vec<Round>> =
        of_each.collect::<Option<Vec<_>>>().map(|ways| ways.into_iter().flat_map(|way| way.rounds).collect());
    if seen.len() < 2 {
        return apart;
    }
    let apart = apart.map(|rounds| Way { cost: exchange.cost_of(&rounds), rounds });
    exchange.cheapest(&seen, true, apart).map(|way| way.rounds)
}

/// The data that determines the cost of candidates.
struct Pricing<'a> {
    views: &'a [Held],
    devices: usize,
    row_bytes: f64,
    costs: Costs,
}

impl Pricing<'_> {
    /// Returns the cheapest candidate; among equals, the first one. `edges` has a list for each view. The candidates are:
    ///
    /// * `known`;
    /// * one round per distance between sender and receiver (modulo the number of devices if views may wrap around). If windows are shifted
    ///   in the same way as blocks, all slabs of a round have the same offset;
    /// * first fit, with the edges in two orders.
    fn cheapest(&self, edges: &[&[Edges]], may_wrap: bool, known: Option<Way>) -> Option<Way> {
        let least = self.least(edges);
        let mut best = known;
        let is_best = |best: &Option<Way>| best.as_ref().is_some_and(|best| best.cost <= least);
        if is_best(&best) {
            return best;
        }
        if let Some(rounds) = self.by_distance(edges, may_wrap) {
            let cost = self.cost_of(&rounds);
            if best.as_ref().is_none_or(|best| cost < best.cost) {
                best = Some(Way { cost, rounds });
            }
        }
        let mut order: Vec<&Edges> = edges.iter().copied().flatten().collect();
        for is_longest_first in [false, true] {
            if is_longest_first {
                // Wide edges come first, so that they share rounds, and rounds of narrow edges stay narrow.
                order.sort_by_key(|run| Reverse(run.length));
            }
            let is_known = is_longest_first && edges.len() == 1 && is_one_length(&order);
            if is_known || is_best(&best) {
                break;
            }
            let mut slabs: Vec<Slab> = Vec::new();
            let done = self.first_fit(&order, is_longest_first, |round, edge| {
                slabs.resize(slabs.len().max(round + 1), Slab::new());
                slabs[round].add(self.views, edge);
            });
            let cost = self.cost_of_slabs(slabs.iter());
            if done.is_none() || best.as_ref().is_some_and(|best| best.cost <= cost) {
                continue;
            }
            let mut rounds: Vec<Round> = vec![Round::new(); slabs.len()];
            self.first_fit(&order, is_longest_first, |round, edge| {
                let round = &mut rounds[round];
                if !round.last_mut().is_some_and(|run| run.takes(edge)) {
                    round.push(*edge);
                }
            });
            best = Some(Way { cost, rounds });
        }
        best
    }

    fn cost_of(&self, rounds: &[Round]) -> f64 {
        let slabs: Vec<Slab> = rounds.iter().map(|round| Slab::of(self.views, round)).collect();
        self.cost_of_slabs(slabs.iter())
    }

    fn cost_of_slabs<'s>(&self, slabs: impl Iterator<Item = &'s Slab>) -> f64 {
        slabs.map(|slab| self.costs.permute(slab.width() as f64 * self.row_bytes)).sum()
    }

    /// Returns a lower bound of the cost of these edges: a device that sends or receives several edges needs as many rounds, and each round
    /// is at least as wide as its edge.
    fn least(&self, edges: &[&[Edges]]) -> f64 {
        let most = |of: fn(&Edges) -> u32| {
            let mut ends: Vec<(u32, i64, i64)> = Vec::new();
            for run in edges.iter().copied().flatten() {
                ends.extend([(of(run), 1, run.length), (of(run) + run.count, -1, -run.length)]);
            }
            ends.sort_unstable();
            let (mut rounds, mut length, mut most) = (0, 0, (0, 0));
            for (_, more, longer) in ends {
                (rounds, length) = (rounds + more, length + longer);
                most = (rounds.max(most.0), length.max(most.1));
            }
            most
        };
        let (sends, receives) = (most(|run| run.sender), most(|run| run.receiver));
        let (rounds, length) = (sends.0.max(receives.0), sends.1.max(receives.1));
        self.costs.permute(length as f64 * self.row_bytes) + (rounds - 1).max(0) as f64 * self.costs.start()
    }

    /// Assigns all edges with the same distance between sender and receiver to one round, which is valid in one view: each sender has one
    /// receiver at a distance. If several views have edges between the same devices, each of these edges gets its own round.
    fn by_distance(&self, edges: &[&[Edges]], may_wrap: bool) -> Option<Vec<Round>> {
        let mut rounds = BTreeMap::<(i64, u32), Round>::new();
        let mut met = FxHashMap::<i64, Met>::default();
        for run in edges.iter().copied().flatten() {
            let distance = run.distance();
            let round = if may_wrap { distance.rem_euclid(self.devices as i64) } else { distance };
            let mut put = |times: u32, part: Edges| {
                rounds.entry((round, times)).or_default().push(part);
                (rounds.len() <= MAX_ROUNDS as usize).then_some(())
            };
            if edges.len() == 1 {
                put(0, *run)?;
                continue;
            }
            for (times, part) in met.entry(distance).or_default().meet(run) {
                put(times, part)?;
            }
        }
        Some(rounds.into_values().collect())
    }

    /// Assigns each edge to the first round in which its sender and its receiver are free. Needs at most `2d - 1` rounds if devices send
    /// and receive at most `d` edges.
    fn first_fit(
        &self,
        order: &[&Edges],
        is_by_length: bool,
        mut put: impl FnMut(usize, &Edges),
    ) -> Option<()> {
        let (mut sends, mut receives) = (vec![0u16; self.devices], vec![0u16; self.devices]);
        let is_alike = |a: &&Edges, b: &&Edges| a.view == b.view && (!is_by_length || a.length == b.length);
        for alike in order.chunk_by(is_alike) {
            in_order(alike.iter().copied(), |edge| {
                let (sends, receives) =
                    (&mut sends[edge.sender as usize], &mut receives[edge.receiver as usize]);
                // Bit `r` is set if a device is busy in round `r`. The number of bits is the maximum number of rounds.
                let round = (*sends | *receives).trailing_ones();
                if round >= MAX_ROUNDS {
                    return None;
                }
                *sends |= 1 << round;
                *receives |= 1 << round;
                put(round as usize, edge);
                Some(())
            })?;
        }
        Some(())
    }
}

fn is_one_length(edges: &[&Edges]) -> bool {
    edges.windows(2).all(|pair| pair[0].length == pair[1].length)
}

/// For the edges at one distance, the number of edges that were added so far for each sender. The map has an entry for each range of
/// senders with the same number: its key is the first sender, and its value is the end of the range and the number.
#[derive(Default)]
struct Met(BTreeMap<u32, (u32, u32)>);

impl Met {
    /// Adds a run of edges. Returns it in parts, each with the number of earlier edges of its senders.
    fn meet(&mut self, run: &Edges) -> Vec<(u32, Edges)> {
        let (start, end) = (run.sender, run.sender + run.count);
        self.split(start);
        self.split(end);
        let known: Vec<(u32, u32, u32)> = self.0.range(start..end).map(|(&a, &(b, n))| (a, b, n)).collect();
        let mut parts = Vec::with_capacity(known.len() + 1);
        let mut at = start;
        for (a, b, times) in known.into_iter().chain([(end, end, 0)]) {
            if at < a {
                parts.push((0, at, a));
            }
            if a < b {
                parts.push((times, a, b));
            }
            at = b;
        }
        let mut met = Vec::with_capacity(parts.len());
        for (times, a, b) in parts {
            self.0.insert(a, (b, times + 1));
            met.push((times, run.part(a - start, b - a)));
        }
        met
    }

    /// Splits the range that contains sender `at` into two ranges, so that one begins at `at`.
    fn split(&mut self, at: u32) {
        if let Some((_, &mut (ref mut end, times))) = self.0.range_mut(..at).next_back()
            && *end > at
        {
            let behind = std::mem::replace(end, at);
            self.0.insert(at, (behind, times));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(view: u32, sender: u32, count: u32) -> Edges {
        Edges { sender, receiver: sender + 1, count, view, length: 1, from: 0, step: 0, to: 0 }
    }

    #[test]
    fn edges_are_counted_by_sender() {
        let mut met = Met::default();
        let mut of = |edges: Edges| -> Vec<(u32, u32, u32)> {
            met.meet(&edges).into_iter().map(|(times, part)| (times, part.sender, part.count)).collect()
        };
        assert_eq!(of(run(0, 4, 8)), [(0, 4, 8)]);
        assert_eq!(of(run(1, 2, 4)), [(0, 2, 2), (1, 4, 2)]);
        assert_eq!(of(run(2, 0, 16)), [(0, 0, 2), (1, 2, 2), (2, 4, 2), (1, 6, 6), (0, 12, 4)]);
        assert_eq!(of(run(3, 20, 1)), [(0, 20, 1)]);
    }
}
