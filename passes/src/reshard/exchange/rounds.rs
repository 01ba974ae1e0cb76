//! Schedules the edges of an exchange in rounds, by edge colouring.
//!
//! In a round each device sends at most one slab and receives at most one, all of one shape, so the round is one collective-permute. The
//! rounds are an edge colouring of the bipartite graph of senders and receivers. By König's theorem its degree is the number of colours
//! needed, and alternating paths find them. Edges of different shapes share a round if that costs less than another round.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use shardc_ir::SizeList;

use super::world::{Cut, Dim, Interval, World};

/// A box of elements that a receiver needs of a sender's block.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub(super) sender: usize,
    pub(super) receiver: usize,
    /// Where the box begins in each dimension, in indices of the value.
    pub(super) start: SizeList,
    pub(super) size: SizeList,
    /// The block before that the box is in.
    block: usize,
}

impl Edge {
    /// What a device has already.
    pub(super) fn kept(device: usize, start: SizeList, size: SizeList) -> Edge {
        Edge { sender: device, receiver: device, start, size, block: 0 }
    }
}

/// More boxes than this are not looked at.
const MAX_EDGES: usize = 1 << 11;

/// More rounds than this are worse than other ways.
pub(super) const MAX_ROUNDS: usize = 64;

/// Widths that differ by less than this part of them count as one.
pub(super) const ALIKE: i64 = 16;

/// No device.
const NOBODY: u32 = u32::MAX;

pub(super) fn volume(size: &[i64]) -> i64 {
    size.iter().product()
}

/// Returns the boxes that each device needs, cut further along each dimension as `cuts` say. What a device has already it
/// sends to itself where `keeps`, and is left out else. `None` if there are too many, or one device needs more than there are
/// rounds.
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
    // Counted first: a gather over a thousand devices would list very many boxes only to be told that there are too many.
    let mut boxes = 0;
    for receiver in 0..world.devices {
        let count: usize = lists_of(receiver).map(Vec::len).product();
        let is_own = |dim: &Dim, interval: &Interval| interval.old == dim.old[receiver];
        let own: usize = (world.dims.iter().zip(lists_of(receiver)))
            .map(|(dim, list)| list.iter().filter(|interval| is_own(dim, interval)).count())
            .product();
        let wanted = if keeps { count } else { count - own };
        // A round brings a device one box.
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

/// Lets those that hold a block share in sending what others need of it; who needs something of its own block sends it to
/// itself.
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

/// Returns the edges as large as others that are little larger: blocks of 193, 192 and 191 elements go in the same rounds.
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

/// Of more rounds than this in which a device is free no others are tried.
const MOST_TRIED: usize = 4;

/// Edges that change places between two rounds.
struct Turn {
    a: usize,
    b: usize,
    /// Of round `a`, which go to `b`.
    in_a: Vec<u32>,
    /// Of round `b`, which go to `a`.
    in_b: Vec<u32>,
}

/// Rounds so far.
#[derive(Default)]
struct Rounds {
    /// The edge that each device sends in each round.
    sends: Vec<Vec<u32>>,
    /// The edge that each device receives in each round.
    receives: Vec<Vec<u32>>,
    shapes: Vec<SizeList>,
}

/// Puts the edges into rounds; a round costs as much as `start` elements more than what is sent in it. Where `grows`, rounds of
/// small edges become larger rather than more. Returns the edges of each; `None` if it takes too many.
pub(super) fn rounds(edges: &[Edge], devices: usize, start: f64, grows: bool) -> Option<Vec<Vec<usize>>> {
    let edges = alike(edges);
    let mut order: Vec<usize> = (0..edges.len()).collect();
    // The large ones first, so that rounds of small ones stay small.
    order.sort_by_key(|&i| Reverse(volume(&edges[i].size)));
    let mut rounds = Rounds::default();
    for i in order {
        let edge = &edges[i];
        let round = match rounds.cheapest_free(edge) {
            Some((round, 0)) => round,
            // Turning an alternating path frees a round on both sides.
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

    /// Returns the round in which both ends of the edge are free and that grows least with it, and by how much.
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

    /// Frees a round for the edge at no cost, if its sender is free in one and its receiver in another: along the path of
    /// edges that alternate between the two, they change places.
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

    /// Frees a round for the edge like [`Rounds::swap_for`], where rounds grow by less than one more would cost. Among rounds of
    /// the largest edges and some of small ones, each device is free in one of the small ones only, and all in the same.
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

    /// How many elements more a round of these edges too has.
    fn growth<'e>(&self, round: usize, edges: impl Iterator<Item = &'e Edge>) -> f64 {
        let mut grown = self.shapes[round].clone();
        for edge in edges {
            for (most, &n) in grown.iter_mut().zip(&edge.size) {
                *most = (*most).max(n);
            }
        }
        (volume(&grown) - volume(&self.shapes[round])) as f64
    }

    /// Returns the edges of `a` and those of `b` on the path that begins at the receiver of `edge`.
    fn path(&self, edges: &[Edge], edge: &Edge, a: usize, b: usize) -> (Vec<u32>, Vec<u32>) {
        // The receiver is busy in `a`; what it receives then goes to `b`, and so on. The path never comes to the sender of
        // `edge`, which it would reach by an edge of `a`.
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

    /// Puts edges of one round each into the other.
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
