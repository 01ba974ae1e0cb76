//! Direct exchange: each device receives its new block in pieces from devices that hold them, by collective-permutes.
//!
//! A new block is cut into boxes, each within one old block. Every box that a device lacks is an *edge* from a device that holds it. Edges
//! in which no device sends or receives twice form a *round*: one collective-permute of slabs of one shape. A device so receives hardly
//! more than it lacks, however the blocks of the two shardings overlap, at the cost of a start for each round. All-gathers and all-to-alls
//! that bring as little are better.
//!
//! A slab is as large as the largest edge of its round. Beyond its own edge it holds the next elements of the sender's block. Its place in
//! the receiver's block is where these elements belong, so they are correct too; elements outside the new block are cut off. A device that
//! takes no part in a round receives zeros, and keeps its elements.

mod rounds;
mod world;

use shardc_ir::{AxisList, Mesh, SizeList, TensorSharding};

use self::rounds::{ALIKE, Edge, MAX_ROUNDS, edges, rounds, volume};
use self::world::{Cut, World};
use crate::cost;
use crate::sharding::axes::{Parts, parts};

/// A number for each device of a world; `None` where any will do.
type PerDevice = Vec<Option<i64>>;

/// One round: the slab that each sender cuts from its block, and where a receiver puts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    /// Shape of the slab.
    pub(crate) sizes: SizeList,
    /// Where the slab begins in a sender's block, by dimension.
    pub(crate) from: Vec<PerDevice>,
    /// Where the slab begins in a receiver's block, by dimension; `None` for who receives nothing. It may stick out.
    pub(crate) to: Vec<PerDevice>,
    /// How far slabs stick out before the block.
    pub(crate) low: SizeList,
    /// How far slabs stick out behind the block.
    pub(crate) high: SizeList,
    /// Senders and receivers; none where each device takes what it has already.
    pub(crate) pairs: Vec<(usize, usize)>,
}

impl Round {
    /// Whether slabs stick out of the new block.
    pub(crate) fn sticks_out(&self) -> bool {
        self.low.iter().chain(&self.high).any(|&n| n > 0)
    }

    /// Returns whether each device takes the slab.
    pub(crate) fn takes(&self) -> Vec<bool> {
        self.to.first().map(|to| to.iter().map(Option::is_some).collect()).unwrap_or_default()
    }
}

/// How devices get their new blocks from those that have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// The axes that the devices which exchange among themselves differ along. Devices are numbered by them.
    pub(crate) axes: AxisList,
    /// Shape of the new block.
    pub(crate) block: SizeList,
    /// What is put into the block one after the other: first what devices keep, if that is not sent.
    pub(crate) rounds: Vec<Round>,
}

/// Once boxes were put into so many rounds, each box counted once for each round, no other cuts are tried: what they bring is
/// little, and among many devices each takes long.
const MAX_WORK: usize = 1 << 19;

/// Sent bytes more than what devices lack, in which case other cuts are tried.
const CLOSE: f64 = 1.001;

impl Exchange {
    /// Plans the exchange of a value of this shape whose dimensions are split by `from` before and by `to` after. `None` if
    /// that takes too many rounds or too long to find.
    pub(crate) fn new(
        mesh: &Mesh,
        from: &[Parts],
        to: &[Parts],
        shape: &[i64],
        element_bytes: f64,
    ) -> Option<Exchange> {
        let world = World::new(mesh, from, to, shape)?;
        let start = cost::START / element_bytes;
        let whole = vec![Cut::NOT; world.dims.len()];
        let lacking = world.lacking() as f64 * element_bytes;
        let mut work = 0;
        let mut best = Exchange::cut(&world, &whole, start, element_bytes, &mut work);
        for cuts in finer(&world) {
            let is_close = best.as_ref().is_some_and(|best| best.sent(element_bytes) <= CLOSE * lacking);
            if is_close || work >= MAX_WORK {
                break;
            }
            let other = Exchange::cut(&world, &cuts, start, element_bytes, &mut work);
            let cost = |exchange: &Option<Exchange>| {
                exchange.as_ref().map_or(f64::INFINITY, |exchange| exchange.cost(element_bytes))
            };
            if cost(&other) < cost(&best) {
                best = other;
            }
        }
        best
    }

    /// Returns the number of devices that exchange; 0 if they are too many.
    pub(crate) fn devices(mesh: &Mesh, from: &[Parts], to: &[Parts], shape: &[i64]) -> usize {
        World::new(mesh, from, to, shape).map_or(0, |world| world.devices)
    }

    /// Plans the exchange between two shardings; see [`Exchange::new`].
    pub(crate) fn between(
        mesh: &Mesh,
        shardings: [&TensorSharding; 2],
        shape: &[i64],
        element_bytes: f64,
    ) -> Option<Exchange> {
        let [from, to] =
            shardings.map(|s| s.dims.iter().map(|dim| parts(mesh, &dim.axes)).collect::<Vec<Parts>>());
        Exchange::new(mesh, &from, &to, shape, element_bytes)
    }

    /// Plans with boxes that are cut further along each dimension, and counts the work.
    fn cut(
        world: &World,
        cuts: &[Cut],
        start: f64,
        element_bytes: f64,
        work: &mut usize,
    ) -> Option<Exchange> {
        // Sending what one has to oneself is no worse where someone has nothing of its block, and the rounds then bring
        // every device as much.
        let close = CLOSE * world.lacking() as f64;
        let ways = [true, false].into_iter().filter_map(|keeps| {
            let edges = edges(world, cuts, keeps)?;
            let mut best: Option<(f64, Exchange)> = None;
            for grows in [false, true] {
                let is_close = best.as_ref().is_some_and(|(_, best)| best.sent(1.0) <= close);
                if grows && (is_close || *work >= MAX_WORK) {
                    break;
                }
                let rounds = rounds(&edges, world.devices, start, grows);
                *work += edges.len() * rounds.as_ref().map_or(MAX_ROUNDS, Vec::len);
                let Some(rounds) = rounds else { continue };
                let exchange = Exchange::of(world, &edges, &rounds, keeps);
                let cost = exchange.cost(element_bytes);
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, exchange));
                }
            }
            best
        });
        ways.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, exchange)| exchange)
    }

    fn of(world: &World, edges: &[Edge], rounds: &[Vec<usize>], keeps: bool) -> Exchange {
        let mut exchange = Exchange {
            axes: world.axes.clone(),
            block: world.dims.iter().map(|dim| dim.new_block).collect(),
            rounds: Vec::with_capacity(rounds.len() + 1),
        };
        if !keeps {
            let kept: Vec<Edge> = (0..world.devices).filter_map(|device| kept(world, device)).collect();
            if !kept.is_empty() {
                let all: Vec<&Edge> = kept.iter().collect();
                exchange.add(world, &all, false);
            }
        }
        for round in rounds {
            let round: Vec<&Edge> = round.iter().map(|&i| &edges[i]).collect();
            exchange.add(world, &round, true);
        }
        exchange
    }

    /// Adds the round of these edges.
    fn add(&mut self, world: &World, edges: &[&Edge], is_sent: bool) {
        let mut round = Round {
            sizes: SizeList::new(),
            from: Vec::new(),
            to: Vec::new(),
            low: SizeList::new(),
            high: SizeList::new(),
            pairs: edges.iter().filter(|_| is_sent).map(|e| (e.sender, e.receiver)).collect(),
        };
        for (d, dim) in world.dims.iter().enumerate() {
            let width = edges.iter().map(|e| e.size[d]).max().unwrap_or(0);
            let ends = |e: &Edge| {
                let start = e.start[d] - dim.old[e.sender] * dim.old_block;
                // Where the slab may begin without leaving the sender's block.
                ((start + e.size[d] - width).max(0), start.min(dim.old_block - width))
            };
            // How far elements are further on in the receiver's block than in the sender's.
            let shift = |e: &Edge| dim.old[e.sender] * dim.old_block - dim.new[e.receiver] * dim.new_block;
            // One place in all blocks, if there is one: a slice whose start is known.
            let latest = edges.iter().map(|e| ends(e).0).max().unwrap_or(0);
            let is_one = edges.iter().all(|e| latest <= ends(e).1);
            let (mut from, mut to) = (vec![None; world.devices], vec![None; world.devices]);
            let (mut low, mut high) = (0, 0);
            for e in edges {
                let (first, last) = ends(e);
                let inside = (-shift(e)).max(0).min(dim.new_block - width - shift(e));
                let at = if is_one && width == dim.old_block { latest } else { inside.clamp(first, last) };
                let place = at + shift(e);
                from[e.sender] = Some(at);
                to[e.receiver] = Some(place);
                low = low.max(-place);
                high = high.max(place + width - dim.new_block);
            }
            round.sizes.push(width);
            round.from.push(from);
            round.to.push(to);
            round.low.push(low);
            round.high.push(high);
        }
        self.rounds.push(round);
    }

    /// Whether what the first round brings is the block.
    pub(crate) fn is_one_slab(&self) -> bool {
        self.rounds.len() == 1 && !self.rounds[0].sticks_out() && self.rounds[0].sizes == self.block
    }

    /// Returns the number of collective-permutes.
    pub(crate) fn starts(&self) -> usize {
        self.rounds.iter().filter(|round| !round.pairs.is_empty()).count()
    }

    /// Returns the bytes that one device sends.
    pub(crate) fn sent(&self, element_bytes: f64) -> f64 {
        let rounds = self.rounds.iter().filter(|round| !round.pairs.is_empty());
        rounds.map(|round| volume(&round.sizes) as f64 * element_bytes).sum()
    }

    /// Returns what the exchange costs, in bytes that a device sends.
    pub(crate) fn cost(&self, element_bytes: f64) -> f64 {
        let starts = self.starts() as f64;
        // Slabs are cut, and the edges of those that stick out cut off. That they are written into the block is part of receiving
        // them, as it is in other collectives. One byte more, since of ways that cost the same those by axes are plainer.
        let copies = |round: &Round| if round.sticks_out() { 2 } else { 1 };
        let copied: i64 = self.rounds.iter().map(|round| volume(&round.sizes) * copies(round)).sum();
        self.sent(element_bytes)
            + starts * cost::START
            + cost::local_copy(copied as f64 * element_bytes)
            + 1.0
    }
}

/// Returns what a device has of its new block, as what it sends to itself.
fn kept(world: &World, device: usize) -> Option<Edge> {
    let (mut start, mut size) = (SizeList::new(), SizeList::new());
    for dim in &world.dims {
        let (old, new) = (dim.old[device], dim.new[device]);
        start.push((old * dim.old_block).max(new * dim.new_block));
        size.push(dim.overlap(old, new));
    }
    size.iter().all(|&n| n > 0).then(|| Edge::kept(device, start, size))
}

/// Returns finer cuts. Where several devices need the same box of few, its parts can be sent to all at the same time; and parts
/// that are cut alike in all blocks go in the same rounds, however blocks before and after lie to each other.
fn finer(world: &World) -> Vec<Vec<Cut>> {
    // Blocks of 4 and of 6 are both made of blocks of 2.
    let common: SizeList = world
        .dims
        .iter()
        .map(|dim| {
            let count = dim.old_count / gcd(dim.old_count, dim.new_count) * dim.new_count;
            ((dim.size + count - 1) / count).max(1)
        })
        .collect();
    let cut = |parts: i64| {
        let mut most = common.clone();
        // Along the largest dimension, whose parts are the least uneven.
        if let Some(largest) = most.iter_mut().max_by_key(|n| **n) {
            *largest = (*largest + parts - 1) / parts;
        }
        // Of uneven blocks some are a little larger, and not to be cut for that.
        for n in &mut most {
            *n += *n / ALIKE;
        }
        most.into_iter().map(Cut::Most).collect()
    };
    let mut cuts: Vec<Vec<Cut>> = (1..=3).map(cut).collect();
    for of_new in [false, true] {
        let offsets: Vec<Option<Cut>> = world.dims.iter().map(|dim| dim.offsets(of_new)).collect();
        if offsets.iter().any(Option::is_some) {
            cuts.push(offsets.into_iter().map(|cut| cut.unwrap_or(Cut::NOT)).collect());
        }
    }
    cuts
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Returns the most elements that a device lacks of its new block: no way brings fewer. `None` if there are too many devices.
pub(crate) fn lacking(mesh: &Mesh, from: &[Parts], to: &[Parts], shape: &[i64]) -> Option<i64> {
    World::new(mesh, from, to, shape).map(|world| world.lacking())
}
