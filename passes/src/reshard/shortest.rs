//! A* search over states for the cheapest sequence of collectives to the target.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use indexmap::IndexMap;

use super::moves::{Move, PathSearch, State};
use crate::sharding::axes::Parts;

/// The maximum number of visited states. At the limit, the best path found so far is used.
const MAX_STATES: usize = 512;

/// The maximum number of moves and of cuts for slices that are tried: with many axes, a replicated value can be sliced in very many ways.
const MAX_WORK: usize = 1 << 15;

/// A state that was reached.
struct Reached {
    cost: f64,
    /// The index of the previous state, and the move from that state to this one; `None` for the start.
    by: Option<(usize, Move)>,
}

/// Limits on the memory of one move of a reshard: the total size of its operand and result, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    pub(super) any: f64,
    /// The limit for all-gathers. In a sequence of all-gathers, the operand of the last one is up to half of its result. The last
    /// all-gather may therefore need more memory than source and target together.
    pub(super) gather: f64,
}

/// The states that were reached, and the queue of states and exchanges to visit.
struct Frontier {
    states: IndexMap<State, Reached>,
    /// For each entry, a lower bound of the cost of any path through it (as the bits of the `f64`, which order like the number), and the
    /// entry. At equal bounds, a state comes before an exchange.
    queue: BinaryHeap<Reverse<(u64, Next)>>,
    /// Exchanges that are not planned yet: the index of the state before the exchange, the cost of that state when the entry was queued,
    /// and the state after the exchange.
    exchanges: Vec<(usize, f64, State)>,
    /// The cost of the cheapest known path to the target.
    best: f64,
}

/// An entry of the queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    /// The index of a state whose moves are to be tried.
    State(usize),
    /// The index of an exchange. Planning an exchange takes longer than trying a move, and the time grows with the number of devices.
    /// Planning is therefore delayed until no other entry has a smaller bound.
    Exchange(usize),
}

impl PathSearch<'_> {
    /// Returns the cheapest moves to the target within `memory`, with the state after each.
    pub(super) fn shortest(&mut self, from: &State, memory: Memory) -> Option<(f64, Vec<(Move, State)>)> {
        let mut frontier = Frontier {
            states: IndexMap::new(),
            queue: BinaryHeap::new(),
            exchanges: Vec::new(),
            best: f64::INFINITY,
        };
        frontier.states.insert(from.clone(), Reached { cost: 0.0, by: None });
        frontier.queue.push(Reverse((self.left(from).to_bits(), Next::State(0))));
        let mut looked_at = 0;
        self.work = 0;
        while let Some(Reverse((bits, next))) = frontier.queue.pop() {
            if f64::from_bits(bits) >= frontier.best || looked_at == MAX_STATES || self.work >= MAX_WORK {
                break;
            }
            let number = match next {
                Next::State(number) => number,
                Next::Exchange(number) => {
                    self.plan_exchange(&mut frontier, number);
                    continue;
                }
            };
            let Some((state, reached)) = frontier.states.get_index(number) else { break };
            let (state, cost) = (state.clone(), reached.cost);
            // The entry is stale if the state has been reached at a lower cost since the entry was queued.
            if cost + self.left(&state) < f64::from_bits(bits) {
                continue;
            }
            looked_at += 1;
            for (mv, after) in self.moves(&state) {
                self.work += 1;
                let most = if matches!(mv, Move::Gather { .. }) { memory.gather } else { memory.any };
                if self.memory(&state, &mv, &after) <= most {
                    let cost = cost + self.cost(&state, &mv, &after);
                    self.reach(&mut frontier, number, mv, after, cost);
                }
            }
            let before = self.local_bytes(&state);
            for after in self.exchange_targets(&state) {
                let least = cost + self.left_between(&state, &after) + self.left(&after);
                if least < frontier.best && before + self.local_bytes(&after) <= memory.any {
                    let exchange = Next::Exchange(frontier.exchanges.len());
                    frontier.queue.push(Reverse((least.to_bits(), exchange)));
                    frontier.exchanges.push((number, cost, after));
                }
            }
        }
        let goal = frontier.states.get_index_of(&self.target)?;
        let mut way = Vec::new();
        let mut at = goal;
        while let Some((state, Reached { by: Some((before, mv)), .. })) = frontier.states.get_index(at) {
            way.push((mv.clone(), state.clone()));
            at = *before;
        }
        way.reverse();
        Some((frontier.states[goal].cost, way))
    }

    /// Plans an exchange that may be part of the cheapest path.
    fn plan_exchange(&mut self, frontier: &mut Frontier, number: usize) {
        let (from, cost, after) = frontier.exchanges[number].clone();
        let Some((state, reached)) = frontier.states.get_index(from) else { return };
        // The entry is stale if the state has been reached at a lower cost since the entry was queued: the state is then visited again.
        if reached.cost < cost {
            return;
        }
        if let Some(more) = self.exchanged(&state.clone(), &after) {
            self.reach(frontier, from, Move::Exchange, after, cost + more);
        }
    }

    /// Records that a move reaches the state `after`, if this is the cheapest path to that state so far and may be part of the cheapest
    /// path to the target.
    fn reach(&self, frontier: &mut Frontier, by: usize, mv: Move, after: State, cost: f64) {
        let least = cost + self.left(&after);
        if least >= frontier.best {
            return;
        }
        if after == self.target {
            frontier.best = cost;
        }
        let reached = Reached { cost, by: Some((by, mv)) };
        let number = match frontier.states.get_full(&after) {
            Some((_, _, known)) if known.cost <= cost => return,
            Some((number, _, _)) => {
                frontier.states[number] = reached;
                number
            }
            None => frontier.states.insert_full(after, reached).0,
        };
        frontier.queue.push(Reverse((least.to_bits(), Next::State(number))));
    }

    /// Returns a lower bound of the cost from a state to the target.
    fn left(&self, state: &State) -> f64 {
        if *state == self.target { 0.0 } else { self.left_between(state, &self.target) }
    }

    /// Returns a lower bound on the cost of reaching state `to` from state `from`: the bytes of its new block that a device does not
    /// have yet. The cost of a launch is added if such bytes exist, or if the unreduced axes differ.
    fn left_between(&self, from: &State, to: &State) -> f64 {
        let wanted = self.local_bytes(to);
        let (mut kept, mut is_apart) = (self.element_bytes, false);
        for (dim, (old, new)) in from.dims.iter().zip(&to.dims).enumerate() {
            // If both lists of sub-axes continue differently after their common prefix, some device holds the first old block and needs the
            // last new block.
            let alike = old.iter().zip(new).take_while(|(a, b)| a == b).count();
            is_apart |= alike < old.len().min(new.len());
            kept *= self.local(from, dim).min(self.local(to, dim)) as f64;
        }
        let lacks = if is_apart { wanted } else { wanted - kept };
        let pending = from.pending != to.pending;
        if lacks > 0.0 || pending { lacks.max(0.0) + self.costs.start() } else { 0.0 }
    }

    /// Returns the states to which an exchange may lead: the target, and states from which all-gathers lead to the target. Exchanges to
    /// the latter states need fewer pieces.
    fn exchange_targets(&self, state: &State) -> Vec<State> {
        let target = &self.target;
        if state.pending != target.pending {
            return Vec::new();
        }
        let is_free = |part: &&_| {
            !target.pending.contains(part) && !target.dims.iter().flatten().any(|used| used == *part)
        };
        // Sub-axes by which the value is already sharded come first, so that more elements stay on their device.
        let used: Parts = state.dims.iter().flatten().filter(is_free).copied().collect();
        let unused: Parts =
            self.parts.iter().filter(is_free).filter(|part| !used.contains(part)).copied().collect();
        let mut found = vec![target.clone()];
        let mut add = |after: State| {
            let fits = (0..after.dims.len()).all(|d| self.aligned(d, &target.dims[d], &after.dims[d]));
            if fits && after != *state && !found.contains(&after) {
                found.push(after);
            }
        };
        let mut kept = target.clone();
        for (dim, parts) in state.dims.iter().enumerate() {
            kept.dims[dim].extend(parts.iter().filter(is_free).copied());
        }
        add(kept);
        for dim in 0..target.dims.len() {
            let mut after = target.clone();
            after.dims[dim].extend(used.iter().copied());
            add(after.clone());
            after.dims[dim].extend(unused.iter().copied());
            add(after);
        }
        found
    }
}
