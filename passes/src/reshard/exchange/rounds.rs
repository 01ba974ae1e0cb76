//! Assigns the edges of an exchange to rounds, by edge coloring of a bipartite graph.
//!
//! In a round, each device sends at most one slab and receives at most one, all of the same shape, so the round is one collective-permute.
//! The rounds are an edge coloring of the bipartite graph of senders and receivers. By König's theorem, the number of colors needed is the
//! maximum degree; the coloring is found with alternating paths. Edges of different shapes share a round if padding the smaller edges costs
//! less than another round.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use shardc_ir::SizeList;

use super::world::{Cut, Dim, Interval, World};

/// A box of elements that a receiver needs from a sender's block.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub(super) sender: usize,
    pub(super) receiver: usize,
    /// The start of the box in each dimension, in global indices.
    pub(super) start: SizeList,
    pub(super) size: SizeList,
    /// The old block that contains the box.
    block: usize,
}

impl Edge {
    /// Returns an edge for elements that a device already has.
    pub(super) fn kept(device: usize, start: SizeList, size: SizeList) -> Edge {
        Edge { sender: device, receiver: device, start, size, block: 0 }
    }
}

/// The maximum number of boxes that all devices together need.
const MAX_EDGES: usize = 1 << 11;

/// The maximum number of rounds. With more rounds, other collectives are cheaper.
pub(super) const MAX_ROUNDS: usize = 64;

/// Widths that differ by at most 1/16 are treated as equal.
pub(super) const ALIKE: i64 = 16;

/// Denotes that a device sends or receives no edge in a round.
const NOBODY: u32 = u32::MAX;

pub(super) fn volume(size: &[i64]) -> i64 {
    size.iter().product()
}

/// Returns the boxes that each device needs, cut further along each dimension by `cuts`. A box that a device already has is sent to the
/// device itself if `keeps` is true, and omitted otherwise. `None` if there are too many boxes, or if a device needs more than
/// [`MAX_ROUNDS`].
pub(super) fn edges(world: &World, cuts: &[Cut], keeps: bool) -> Option<Vec<Edge>> {
    let lists: Vec<Vec<_>> = world
        .dims
        .iter()
        .zip(cuts)
        .map(|(dim, cut)| (0..dim.new_count).map(|new| dim.intervals(new, cut)).collect())
        .collect();
    let lists_of = |receiver: usize| {
        world.dims.iter().zip(&lists).map(move |(dim, lists)| &lists[dim.new[receiver] as usize])
    };
    // The boxes are counted before they are listed: for an all-gather over a thousand devices, the list would be very long, only for the
    // function to return `None`.
    let mut boxes = 0;
    for receiver in 0..world.devices {
        let count: usize = lists_of(receiver).map(Vec::len).product();
        let is_own = |dim: &Dim, interval: &Interval| interval.old == dim.old[receiver];
        let own: usize = (world.dims.iter().zip(lists_of(receiver)))
            .map(|(dim, list)| list.iter().filter(|interval| is_own(dim, interval)).count())
            .product();
        let wanted = if keeps { count } else { count - own };
        // A device receives at most one box per round.
        if boxes + count > MAX_EDGES || wanted > MAX_ROUNDS {
            return None;
        }
        boxes += wanted;
    }
    let mut edges = Vec::with_capacity(boxes);
    for receiver in 0..world.devices {
        let own = world.old_block(receiver);
        let lists: Vec<_> = lists_of(receiver).collect();
        let count: usize = lists.iter().map(|list| list.len()).product();
        for number in 0..count {
            let mut rest = number;
            let mut at = SizeList::from_elem(0, lists.len());
            for (at, list) in at.iter_mut().zip(&lists).rev() {
                *at = (rest % list.len()) as i64;
                rest /= list.len();
            }
            let intervals = || at.iter().zip(&lists).map(|(&i, list)| list[i as usize]);
            let block = world.block(intervals().map(|interval| interval.old));
            if block == own && !keeps {
                continue;
            }
            edges.push(Edge {
                sender: receiver,
                receiver,
                start: intervals().map(|interval| interval.start).collect(),
                size: intervals().map(|interval| interval.end - interval.start).collect(),
                block,
            });
        }
    }
    choose_senders(world, &mut edges);
    Some(edges)
}

/// Chooses the sender of each box: distributes the boxes of a block over the devices that hold the block. A device sends boxes of its own
/// block to itself.
fn choose_senders(world: &World, edges: &mut [Edge]) {
    let blocks = world.dims.iter().map(|dim| dim.old_count as usize).product();
    let mut holders: Vec<Vec<usize>> = vec![Vec::new(); blocks];
    for device in 0..world.devices {
        holders[world.old_block(device)].push(device);
    }
    let mut wanted: Vec<Vec<usize>> = vec![Vec::new(); blocks];
    let mut load = vec![0; world.devices];
    for (i, edge) in edges.iter().enumerate() {
        if world.old_block(edge.receiver) == edge.block {
            load[edge.receiver] += volume(&edge.size);
        } else {
            wanted[edge.block].push(i);
        }
    }
    for (mut wanted, holders) in wanted.into_iter().zip(holders) {
        wanted.sort_by_key(|&i| Reverse(volume(&edges[i].size)));
        let mut free: BinaryHeap<_> = holders.iter().map(|&device| Reverse((load[device], device))).collect();
        for i in wanted {
            let Some(Reverse((sent, device))) = free.pop() else { break };
            edges[i].sender = device;
            free.push(Reverse((sent + volume(&edges[i].size), device)));
        }
    }
}

/// Rounds the size of each edge up to the size of a slightly larger edge, if there is one. Boxes of 193, 192 and 191 elements can then
/// share rounds.
fn alike(edges: &[Edge]) -> Vec<Edge> {
    let mut edges = edges.to_vec();
    for d in 0..edges.first().map_or(0, |edge| edge.size.len()) {
        let mut widths: Vec<i64> = edges.iter().map(|edge| edge.size[d]).collect();
        widths.sort_unstable_by_key(|&n| Reverse(n));
        widths.dedup();
        let mut most: Vec<(i64, i64)> = Vec::with_capacity(widths.len());
        for n in widths {
            let class = most.last().map_or(n, |&(_, class)| class);
            most.push((n, if n * ALIKE >= class * (ALIKE - 1) { class } else { n }));
        }
        for edge in &mut edges {
            let class = most.iter().find(|(n, _)| *n == edge.size[d]).map(|&(_, class)| class);
            edge.size[d] = class.unwrap_or(edge.size[d]);
        }
    }
    edges
}

/// The maximum number of rounds with a free sender, and of rounds with a free receiver, that are tried for an edge.
const MOST_TRIED: usize = 4;

/// The edges that are swapped between rounds `a` and `b`.
struct Turn {
    a: usize,
    b: usize,
    /// The edges of round `a` that move to `b`.
    in_a: Vec<u32>,
    /// The edges of round `b` that move to `a`.
    in_b: Vec<u32>,
}

/// The rounds to which edges are assigned so far.
#[derive(Default)]
struct Rounds {
    /// For each round, the edge that each device sends.
    sends: Vec<Vec<u32>>,
    /// For each round, the edge that each device receives.
    receives: Vec<Vec<u32>>,
    shapes: Vec<SizeList>,
}

/// Assigns the edges to rounds and returns the edges of each; `None` if there are too many rounds. The cost of a round is its slab size
/// plus `start` (the cost of a launch), in elements. If `grows` is true, rounds of small edges may grow to avoid another round.
pub(super) fn rounds(edges: &[Edge], devices: usize, start: f64, grows: bool) -> Option<Vec<Vec<usize>>> {
    let edges = alike(edges);
    let mut order: Vec<usize> = (0..edges.len()).collect();
    // Large edges come first, so that rounds of small edges stay small.
    order.sort_by_key(|&i| Reverse(volume(&edges[i].size)));
    let mut rounds = Rounds::default();
    for i in order {
        let edge = &edges[i];
        let round = match rounds.cheapest_free(edge) {
            Some((round, 0)) => round,
            // Flipping an alternating path frees a round for both the sender and the receiver.
            _ if rounds.swap_for(&edges, edge) => rounds.cheapest_free(edge)?.0,
            Some((round, more)) if (more as f64) < start + volume(&edge.size) as f64 => round,
            _ if grows && rounds.grow_for(&edges, edge, start) => rounds.cheapest_free(edge)?.0,
            _ if rounds.shapes.len() < MAX_ROUNDS => rounds.open(edge.size.len(), devices),
            _ => return None,
        };
        rounds.put(&edges, round, i);
    }
    let listed = |round: &Vec<u32>| round.iter().filter(|&&e| e != NOBODY).map(|&e| e as usize).collect();
    Some(rounds.receives.iter().map(listed).collect())
}

impl Rounds {
    fn open(&mut self, rank: usize, devices: usize) -> usize {
        self.shapes.push(SizeList::from_elem(0, rank));
        self.sends.push(vec![NOBODY; devices]);
        self.receives.push(vec![NOBODY; devices]);
        self.shapes.len() - 1
    }

    fn put(&mut self, edges: &[Edge], round: usize, i: usize) {
        let edge = &edges[i];
        self.sends[round][edge.sender] = i as u32;
        self.receives[round][edge.receiver] = i as u32;
        for (most, &n) in self.shapes[round].iter_mut().zip(&edge.size) {
            *most = (*most).max(n);
        }
    }

    fn fits(&self, round: usize, edge: &Edge) -> bool {
        edge.size.iter().zip(&self.shapes[round]).all(|(n, most)| n <= most)
    }

    /// Returns the round whose slab grows least if the edge is added, and by how many elements it grows. Only rounds in which both the
    /// sender and the receiver of the edge are free are considered.
    fn cheapest_free(&self, edge: &Edge) -> Option<(usize, i64)> {
        let free = (0..self.shapes.len()).filter(|&round| {
            self.sends[round][edge.sender] == NOBODY && self.receives[round][edge.receiver] == NOBODY
        });
        let more = |round: usize| {
            let grown = self.shapes[round].iter().zip(&edge.size).map(|(&a, &b)| a.max(b));
            grown.product::<i64>() - volume(&self.shapes[round])
        };
        let costs = free.map(|round| (round, more(round)));
        costs.min_by_key(|&(round, more)| (more, volume(&self.shapes[round])))
    }

    /// Frees a round for the edge without additional cost. If the sender is free in one round and the receiver in another, flips the
    /// alternating path between the two rounds.
    fn swap_for(&mut self, edges: &[Edge], edge: &Edge) -> bool {
        let rounds = || (0..self.shapes.len()).filter(|&round| self.fits(round, edge));
        let sender_free = rounds().find(|&round| self.sends[round][edge.sender] == NOBODY);
        let receiver_free = rounds().find(|&round| self.receives[round][edge.receiver] == NOBODY);
        let (Some(a), Some(b)) = (sender_free, receiver_free) else { return false };
        let (in_a, in_b) = self.path(edges, edge, a, b);
        let fit = |list: &[u32], round: usize| list.iter().all(|&e| self.fits(round, &edges[e as usize]));
        if !fit(&in_a, b) || !fit(&in_b, a) {
            return false;
        }
        self.turn(edges, (a, &in_a), (b, &in_b));
        true
    }

    /// Frees a round for the edge like [`Rounds::swap_for`], but lets rounds grow if the growth costs less than another round. Growing
    /// helps if the sender or the receiver is free only in rounds of small edges.
    fn grow_for(&mut self, edges: &[Edge], edge: &Edge, start: f64) -> bool {
        let of = |free: &dyn Fn(usize) -> bool| -> Vec<usize> {
            (0..self.shapes.len()).rev().filter(|&round| free(round)).take(MOST_TRIED).collect()
        };
        let sender_free = of(&|round| self.sends[round][edge.sender] == NOBODY);
        let receiver_free = of(&|round| self.receives[round][edge.receiver] == NOBODY);
        let mut best: Option<(f64, Turn)> = None;
        for &a in &sender_free {
            for &b in &receiver_free {
                let (in_a, in_b) = self.path(edges, edge, a, b);
                let of_a = in_b.iter().map(|&e| &edges[e as usize]).chain([edge]);
                let more = self.growth(a, of_a) + self.growth(b, in_a.iter().map(|&e| &edges[e as usize]));
                if best.as_ref().is_none_or(|(least, _)| more < *least) {
                    best = Some((more, Turn { a, b, in_a, in_b }));
                }
            }
        }
        let one_more = start + volume(&edge.size) as f64;
        let Some((_, Turn { a, b, in_a, in_b })) = best.filter(|(more, _)| *more < one_more) else {
            return false;
        };
        self.turn(edges, (a, &in_a), (b, &in_b));
        true
    }

    /// Returns by how many elements the slab of a round grows if `edges` are added to the round.
    fn growth<'e>(&self, round: usize, edges: impl Iterator<Item = &'e Edge>) -> f64 {
        let mut grown = self.shapes[round].clone();
        for edge in edges {
            for (most, &n) in grown.iter_mut().zip(&edge.size) {
                *most = (*most).max(n);
            }
        }
        (volume(&grown) - volume(&self.shapes[round])) as f64
    }

    /// Returns the edges of round `a` and those of round `b` on the alternating path that begins at the receiver of `edge`.
    fn path(&self, edges: &[Edge], edge: &Edge, a: usize, b: usize) -> (Vec<u32>, Vec<u32>) {
        // If the receiver already receives an edge in `a`, that edge moves to `b`. If the sender of the moved edge already sends an edge in
        // `b`, the latter edge moves to `a`, and so on. The path never reaches the sender of `edge`, since it could do so only by an edge of
        // `a`, and the sender is free in `a`.
        let (mut in_a, mut in_b) = (Vec::new(), Vec::new());
        let mut receiver = edge.receiver;
        loop {
            let first = self.receives[a][receiver];
            if first == NOBODY {
                break;
            }
            in_a.push(first);
            let second = self.sends[b][edges[first as usize].sender];
            if second == NOBODY {
                break;
            }
            in_b.push(second);
            receiver = edges[second as usize].receiver;
        }
        (in_a, in_b)
    }

    /// Swaps edges between two rounds.
    fn turn(&mut self, edges: &[Edge], (a, in_a): (usize, &[u32]), (b, in_b): (usize, &[u32])) {
        for (list, round) in [(in_a, a), (in_b, b)] {
            for &e in list {
                let edge = &edges[e as usize];
                self.sends[round][edge.sender] = NOBODY;
                self.receives[round][edge.receiver] = NOBODY;
            }
        }
        for (list, round) in [(in_a, b), (in_b, a)] {
            for &e in list {
                self.put(edges, round, e as usize);
            }
        }
    }
}
