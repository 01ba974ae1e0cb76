//! Direct exchange: each device receives the pieces of its new block from devices that hold them, by collective-permutes.
//!
//! A new block is cut into boxes, each within one old block. Every box that a device lacks is an *edge* from a device that holds it. A set
//! of edges in which no device sends or receives twice forms a *round*: one collective-permute of slabs of the same shape. Each device
//! receives little more than it lacks, however the blocks of the two shardings overlap, but each round costs a launch. An all-gather or
//! all-to-all that sends no more bytes is therefore cheaper.
//!
//! A slab is as large as the largest edge of its round. If a sender's edge is smaller, its slab also contains adjacent elements of the
//! sender's block. They are written to their correct positions in the receiver's block; elements outside the new block are cut off. A
//! device that does not participate in a round receives zeros, and ignores them.

mod rounds;
mod world;

use shardc_ir::{AxisList, AxisRef, Mesh, SizeList, TensorSharding};

use self::rounds::{ALIKE, Edge, MAX_ROUNDS, edges, rounds, volume};
use self::world::{Cut, World};
use crate::cost::Costs;
use crate::sharding::axes::{Parts, parts};

/// An integer for each device that takes part in an exchange; `None` for a device that does not use it.
type PerDevice = Vec<Option<i64>>;

/// One round: the slab that each sender cuts from its block, and its position in the receiver's block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    /// The shape of the slab.
    pub(crate) sizes: SizeList,
    /// The start of the slab in each sender's block, by dimension.
    pub(crate) from: Vec<PerDevice>,
    /// The start of the slab in each receiver's block, by dimension; `None` for devices that receive nothing. A slab may extend
    /// beyond the block.
    pub(crate) to: Vec<PerDevice>,
    /// The maximum number of elements by which slabs extend before the start of the receiver's block.
    pub(crate) low: SizeList,
    /// The maximum number of elements by which slabs extend beyond the end of the receiver's block.
    pub(crate) high: SizeList,
    /// The pairs of sender and receiver; empty if each device copies from its own block.
    pub(crate) pairs: Vec<(usize, usize)>,
}

impl Round {
    /// Whether slabs extend beyond the new block.
    pub(crate) fn sticks_out(&self) -> bool {
        self.low.iter().chain(&self.high).any(|&n| n > 0)
    }

    /// Returns for each device whether it receives the slab.
    pub(crate) fn takes(&self) -> Vec<bool> {
        self.to.first().map(|to| to.iter().map(Option::is_some).collect()).unwrap_or_default()
    }
}

/// A plan to assemble the new blocks of all devices from pieces that other devices hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// The axes along which exchanging devices differ. The index of a device is its position along these axes.
    pub(crate) axes: AxisList,
    /// The shape of the new block.
    pub(crate) block: SizeList,
    /// The rounds, in order. The first one copies the elements that devices already have, unless these are sent as well.
    pub(crate) rounds: Vec<Round>,
}

/// The limit on the planning work, which is the sum of edges times rounds over all plans. Beyond the limit, no finer cuts of boxes are
/// tried, since they gain little and take long with many devices.
const MAX_WORK: usize = 1 << 19;

/// Finer cuts of boxes are tried only if the bytes sent are more than this factor times the bytes that devices lack.
const CLOSE: f64 = 1.001;

impl Exchange {
    /// Plans the exchange of a value of shape `shape` whose dimensions are sharded by `from` before and by `to` after. Returns `None` if
    /// the exchange needs too many rounds or involves too many devices.
    pub(crate) fn new(
        (mesh, costs): (&Mesh, Costs),
        from: &[Parts],
        to: &[Parts],
        shape: &[i64],
        element_bytes: f64,
    ) -> Option<Exchange> {
        let world = World::new(mesh, from, to, shape)?;
        let whole = vec![Cut::NOT; world.dims.len()];
        let lacking = world.lacking() as f64 * element_bytes;
        let mut work = 0;
        let mut best = Exchange::cut(&world, &whole, costs, element_bytes, &mut work);
        for cuts in finer(&world) {
            let is_close = best.as_ref().is_some_and(|best| best.sent(element_bytes) <= CLOSE * lacking);
            if is_close || work >= MAX_WORK {
                break;
            }
            let other = Exchange::cut(&world, &cuts, costs, element_bytes, &mut work);
            let cost = |exchange: &Option<Exchange>| {
                exchange.as_ref().map_or(f64::INFINITY, |exchange| exchange.cost(element_bytes, costs))
            };
            if cost(&other) < cost(&best) {
                best = other;
            }
        }
        best
    }

    /// Returns the number of devices that exchange; 0 if there are too many.
    pub(crate) fn devices(mesh: &Mesh, from: &[Parts], to: &[Parts], shape: &[i64]) -> usize {
        World::new(mesh, from, to, shape).map_or(0, |world| world.devices)
    }

    /// Plans the exchange between two shardings; see [`Exchange::new`].
    pub(crate) fn between(
        on: (&Mesh, Costs),
        shardings: [&TensorSharding; 2],
        shape: &[i64],
        element_bytes: f64,
    ) -> Option<Exchange> {
        let [from, to] =
            shardings.map(|s| s.dims.iter().map(|dim| parts(on.0, &dim.axes)).collect::<Vec<Parts>>());
        Exchange::new(on, &from, &to, shape, element_bytes)
    }

    /// Plans an exchange of boxes that are cut further by `cuts`, and adds the planning work to `work`.
    fn cut(
        world: &World,
        cuts: &[Cut],
        costs: Costs,
        element_bytes: f64,
        work: &mut usize,
    ) -> Option<Exchange> {
        // A device may also send to itself the elements that it keeps. If some device keeps nothing, sending them does not increase the
        // maximum number of received elements over all devices. All devices then receive the same amount in the rounds.
        let close = CLOSE * world.lacking() as f64;
        // The elements whose transfer takes as long as a launch.
        let start = costs.start() / along(costs, &world.axes).sent(element_bytes);
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
                let cost = exchange.cost(element_bytes, costs);
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

    /// Adds the round that consists of `edges`.
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
                // The first and the last start at which the slab contains the edge and is inside the sender's block.
                ((start + e.size[d] - width).max(0), start.min(dim.old_block - width))
            };
            // The position of an element in the receiver's block minus its position in the sender's block.
            let shift = |e: &Edge| dim.old[e.sender] * dim.old_block - dim.new[e.receiver] * dim.new_block;
            // If possible, the slab starts at the same position in all senders' blocks, so that the slice has a static start.
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

    /// Whether the exchange has only one round, whose slabs are whole blocks.
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

    /// Returns the cost of the exchange.
    pub(crate) fn cost(&self, element_bytes: f64, costs: Costs) -> f64 {
        let starts = self.starts() as f64;
        // Each slab is copied once when it is cut out of the sender's block, and again to trim it if it extends beyond the receiver's
        // block. Writing slabs to the block is part of receiving, as in other collectives. One byte is added so that collectives over axes
        // are preferred at equal cost.
        let copies = |round: &Round| if round.sticks_out() { 2 } else { 1 };
        let copied: i64 = self.rounds.iter().map(|round| volume(&round.sizes) * copies(round)).sum();
        along(costs, &self.axes).sent(self.sent(element_bytes))
            + starts * costs.start()
            + costs.local_copy(copied as f64 * element_bytes)
            + 1.0
    }
}

/// Returns the costs of collectives along these axes.
fn along(costs: Costs, axes: &[AxisRef]) -> Costs {
    costs.along(axes.iter().map(|axis| axis.axis))
}

/// Returns those elements of a device's new block that the device already has, as an edge from the device to itself.
fn kept(world: &World, device: usize) -> Option<Edge> {
    let (mut start, mut size) = (SizeList::new(), SizeList::new());
    for dim in &world.dims {
        let (old, new) = (dim.old[device], dim.new[device]);
        start.push((old * dim.old_block).max(new * dim.new_block));
        size.push(dim.overlap(old, new));
    }
    size.iter().all(|&n| n > 0).then(|| Edge::kept(device, start, size))
}

/// Returns finer cuts of the boxes. If several devices need the same box and few have it, pieces of the box can be sent to different
/// devices at the same time. If all pieces have the same size, they can share rounds, however old and new blocks overlap.
fn finer(world: &World) -> Vec<Vec<Cut>> {
    // For example, blocks of 4 and blocks of 6 elements both consist of pieces of 2.
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
        // The pieces are cut further along the dimension in which they are largest, since their sizes differ least there.
        if let Some(largest) = most.iter_mut().max_by_key(|n| **n) {
            *largest = (*largest + parts - 1) / parts;
        }
        // With uneven sharding, some blocks are slightly larger than others; this difference alone must not cause a box to be cut.
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

/// Returns the maximum number of elements of its new block that a device lacks: a lower bound of the elements that it receives. `None` if
/// there are too many devices.
pub(crate) fn lacking(mesh: &Mesh, from: &[Parts], to: &[Parts], shape: &[i64]) -> Option<i64> {
    World::new(mesh, from, to, shape).map(|world| world.lacking())
}
