//! A* search over states for the cheapest sequence of collectives to the target.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use indexmap::IndexMap;

use super::moves::{Move, PathSearch, State};
use crate::cost;
use crate::sharding::axes::Parts;

/// No more states than this are looked at; what was found by then stands.
const MAX_STATES: usize = 512;

/// No more than this is tried either, of moves and of the cuts that slices are made of: over many axes there are very many ways
/// to slice a whole value.
const MAX_WORK: usize = 1 << 15;

/// A state that was reached.
struct Reached {
    cost: f64,
    /// The state before, by its number, and the move from there.
    by: Option<(usize, Move)>,
}

/// The memory that moves may take for what they read and write, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    pub(super) any: f64,
    /// The last of several gathers reads up to half of what it makes, so that it takes more than source and target together.
    pub(super) gather: f64,
}

/// The states that were reached, and which to look at next.
struct Frontier {
    states: IndexMap<State, Reached>,
    /// What the way through a state costs at least, as ordered bits, and what to look at: at the same cost a state comes before
    /// an exchange.
    queue: BinaryHeap<Reverse<(u64, Next)>>,
    /// Exchanges that have not been planned: from which state, by its number, and what this cost then, to which.
    exchanges: Vec<(usize, f64, State)>,
    /// What the cheapest way to the target that is known costs.
    best: f64,
}

/// What to look at next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    /// The moves from a state, by its number.
    State(usize),
    /// An exchange, by its number: to plan one takes longer than a move the more devices there are, so it waits until no way
    /// is left that may cost less.
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
            // Reached at less since it was put there.
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

    /// Plans an exchange that may be part of the cheapest way.
    fn plan_exchange(&mut self, frontier: &mut Frontier, number: usize) {
        let (from, cost, after) = frontier.exchanges[number].clone();
        let Some((state, reached)) = frontier.states.get_index(from) else { return };
        // Reached at less since, the state has been looked at again.
        if reached.cost < cost {
            return;
        }
        if let Some(more) = self.exchanged(&state.clone(), &after) {
            self.reach(frontier, from, Move::Exchange, after, cost + more);
        }
    }

    /// Notes that a state is reached, if that is the cheapest way to it so far and may be part of the cheapest to the target.
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

    /// Returns what the way from a state to the target costs at least.
    fn left(&self, state: &State) -> f64 {
        if *state == self.target { 0.0 } else { self.left_between(state, &self.target) }
    }

    /// Returns what any way from one state to the other costs at least: what some device lacks of its new block, and a start if
    /// that is anything.
    fn left_between(&self, from: &State, to: &State) -> f64 {
        let wanted = self.local_bytes(to);
        let (mut kept, mut is_apart) = (self.element_bytes, false);
        for (dim, (old, new)) in from.dims.iter().zip(&to.dims).enumerate() {
            // Where the first parts that differ are different ones, some device has the first part of one and wants the last
            // of the other.
            let alike = old.iter().zip(new).take_while(|(a, b)| a == b).count();
            is_apart |= alike < old.len().min(new.len());
            kept *= self.local(from, dim).min(self.local(to, dim)) as f64;
        }
        let lacks = if is_apart { wanted } else { wanted - kept };
        let pending = from.pending != to.pending;
        if lacks > 0.0 || pending { lacks.max(0.0) + cost::START } else { 0.0 }
    }

    /// Returns the states that an exchange may lead to: the target, and those that only gathers are missing to, which takes
    /// fewer pieces.
    fn exchange_targets(&self, state: &State) -> Vec<State> {
        let target = &self.target;
        if state.pending != target.pending {
            return Vec::new();
        }
        let is_free = |part: &&_| {
            !target.pending.contains(part) && !target.dims.iter().flatten().any(|used| used == *part)
        };
        // Those that split the value already come first: they keep more where it is.
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
