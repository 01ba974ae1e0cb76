//! Tests that simulate paths between random shardings on every device of a small mesh, and check their costs.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use shardc_ir::{
    AxisList, AxisMove, AxisRef, DType, DimSharding, EntityRef, Mesh, MeshCollectiveKind, MeshId, SubAxis,
    TensorSharding, TensorType,
};

use super::exchange::Exchange;
use super::path::{Path, Value};
use super::search::{Planner, search, state_of};
use crate::cost::{CostModel, Costs};
use crate::sharding::axes::{Parts, parts, refine, to_axes};

/// A pseudo-random number generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

/// A device's block: elements in row-major order; `None` for padding and undefined elements.
#[derive(Clone, Debug, PartialEq)]
struct Block {
    shape: Vec<usize>,
    elements: Vec<Option<u64>>,
}

impl Block {
    fn new(shape: &[usize], element: impl Fn(&[usize]) -> Option<u64>) -> Block {
        let count = shape.iter().product();
        let elements = (0..count).map(|i| element(&unravel(i, shape))).collect();
        Block { shape: shape.to_vec(), elements }
    }

    fn at(&self, index: &[usize]) -> Option<u64> {
        let inside = index.iter().zip(&self.shape).all(|(i, n)| i < n);
        let flat = index.iter().zip(&self.shape).fold(0, |flat, (i, n)| flat * n + i);
        inside.then(|| self.elements[flat]).flatten()
    }

    /// Returns a slice of the given shape from `start`; elements beyond the block are padding.
    fn cut(&self, start: &[usize], shape: &[usize]) -> Block {
        Block::new(shape, |index| {
            let from: Vec<usize> = index.iter().zip(start).map(|(i, s)| i + s).collect();
            self.at(&from)
        })
    }

    /// Returns a zero block of shape `shape` with `self` written at `start`; elements of `self` outside of the new block are dropped.
    fn placed(&self, start: &[usize], shape: &[usize]) -> Block {
        Block::new(shape, |index| {
            let inner: Option<Vec<usize>> = index.iter().zip(start).map(|(i, s)| i.checked_sub(*s)).collect();
            let inner = inner.filter(|inner| inner.iter().zip(&self.shape).all(|(i, n)| i < n));
            inner.map_or(Some(0), |inner| self.at(&inner))
        })
    }

    fn concatenated(parts: &[&Block], dim: usize) -> Block {
        let each = parts[0].shape[dim];
        let mut shape = parts[0].shape.clone();
        shape[dim] *= parts.len();
        Block::new(&shape, |index| {
            let mut inner = index.to_vec();
            inner[dim] %= each;
            parts[index[dim] / each].at(&inner)
        })
    }

    /// Returns this block with `other` written at `start`; elements of `other` outside of this block are dropped.
    fn with(&self, other: &Block, start: &[i64]) -> Block {
        Block::new(&self.shape, |index| {
            let inner = index.iter().zip(start).map(|(&i, s)| usize::try_from(i as i64 - s).ok());
            let inner: Option<Vec<usize>> = inner.collect();
            match inner.filter(|inner| inner.iter().zip(&other.shape).all(|(i, n)| i < n)) {
                Some(inner) => other.at(&inner),
                None => self.at(index),
            }
        })
    }

    fn sum(parts: &[&Block]) -> Block {
        Block::new(&parts[0].shape, |index| {
            parts.iter().map(|p| p.at(index)).try_fold(0u64, |sum, v| v.map(|v| sum.wrapping_add(v)))
        })
    }
}

fn unravel(mut flat: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (i, &n) in index.iter_mut().zip(shape).rev() {
        *i = flat % n;
        flat /= n;
    }
    index
}

fn addend(index: &[usize], coordinate: i64) -> u64 {
    let flat =
        index.iter().fold(coordinate as u64 + 1, |h, &i| h.wrapping_mul(1009).wrapping_add(i as u64 + 7));
    flat.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A value that is sharded over simulated devices.
pub(super) struct World<'a> {
    mesh: &'a Mesh,
    shape: Vec<usize>,
    /// The axes along which the value is unreduced at first.
    pending: AxisList,
    element_bytes: f64,
}

impl<'a> World<'a> {
    pub(super) fn new(mesh: &'a Mesh, shape: &[i64], from: &TensorSharding, element_bytes: f64) -> World<'a> {
        let shape = shape.iter().map(|&n| n as usize).collect();
        World { mesh, shape, pending: from.unreduced.clone(), element_bytes }
    }

    /// Executes the path and checks the block of every device. Before the check, the value is reduced along the newly unreduced axes `new`,
    /// since its partial sums along these axes depend on the path.
    pub(super) fn check(&self, [from, to]: [&TensorSharding; 2], new: &[AxisRef], path: &Path, name: &str) {
        let mut got = self.carry_out(from, path);
        let still = to.unreduced.iter().copied().filter(|axis| !new.contains(axis));
        let to = TensorSharding { unreduced: still.collect(), ..to.clone() };
        if !new.is_empty() {
            let addends = got.clone();
            for (position, block) in got.iter_mut().enumerate() {
                let group: Vec<&Block> = self.group(position, new).into_iter().map(|p| &addends[p]).collect();
                *block = Block::sum(&group);
            }
        }
        for (position, block) in got.iter().enumerate() {
            let wanted = self.expected(&to, position);
            assert_eq!(block.shape, wanted.shape, "{name}: {path:?}");
            for (have, want) in block.elements.iter().zip(&wanted.elements) {
                assert!(want.is_none() || have == want, "device {position} of {name}: {path:?}");
            }
        }
    }

    fn local_shape(&self, sharding: &TensorSharding) -> Vec<usize> {
        let global: Vec<i64> = self.shape.iter().map(|&n| n as i64).collect();
        sharding.local_shape(self.mesh, &global).iter().map(|&n| n as usize).collect()
    }

    /// Returns the expected block of the device at `position` under `sharding`. Along axes that are still unreduced, it is a partial sum.
    fn expected(&self, sharding: &TensorSharding, position: usize) -> Block {
        let shape = self.local_shape(sharding);
        let start: Vec<usize> = sharding
            .dims
            .iter()
            .zip(&shape)
            .map(|(dim, n)| self.mesh.linear_coordinate(position, &dim.axes) as usize * n)
            .collect();
        let own = self.mesh.linear_coordinate(position, &sharding.unreduced);
        let mut coordinates: Vec<i64> = (0..self.mesh.num_devices())
            .filter(|&p| self.mesh.linear_coordinate(p, &sharding.unreduced) == own)
            .map(|p| self.mesh.linear_coordinate(p, &self.pending))
            .collect();
        coordinates.sort_unstable();
        coordinates.dedup();
        Block::new(&shape, |index| {
            let global: Vec<usize> = index.iter().zip(&start).map(|(i, s)| i + s).collect();
            let inside = global.iter().zip(&self.shape).all(|(i, n)| i < n);
            inside.then(|| coordinates.iter().fold(0u64, |sum, &c| sum.wrapping_add(addend(&global, c))))
        })
    }

    /// Returns the devices that differ from `position` only along `axes`, in order of their index over `axes`.
    fn group(&self, position: usize, axes: &[AxisRef]) -> Vec<usize> {
        let groups = self.mesh.replica_groups(axes);
        let own = groups.iter().find(|group| group.iter().any(|device| device == position as i64));
        own.unwrap().iter().map(|device| device as usize).collect()
    }

    fn step(
        &self,
        kind: &MeshCollectiveKind,
        from: &TensorSharding,
        to: &TensorSharding,
        blocks: &[Block],
    ) -> Vec<Block> {
        let target = self.local_shape(to);
        let of = |group: &[usize]| group.iter().map(|&p| &blocks[p]).collect::<Vec<_>>();
        let zeros = vec![0; target.len()];
        let mut out = blocks.to_vec();
        match kind {
            MeshCollectiveKind::AllGather(lists) => {
                for (dim, axes) in lists.iter().enumerate().filter(|(_, axes)| !axes.is_empty()) {
                    let before = out.clone();
                    for (position, block) in out.iter_mut().enumerate() {
                        let group = self.group(position, axes);
                        let parts: Vec<&Block> = group.iter().map(|&p| &before[p]).collect();
                        let all = Block::concatenated(&parts, dim);
                        let mut shape = all.shape.clone();
                        shape[dim] = target[dim];
                        *block = all.cut(&zeros, &shape);
                    }
                }
            }
            MeshCollectiveKind::AllSlice(lists) => {
                for (position, block) in out.iter_mut().enumerate() {
                    let index = |axes: &AxisList| self.mesh.linear_coordinate(position, axes) as usize;
                    let start: Vec<usize> =
                        lists.iter().zip(&target).map(|(axes, n)| index(axes) * n).collect();
                    *block = block.cut(&start, &target);
                }
            }
            MeshCollectiveKind::AllToAll(moves) => {
                let [AxisMove { axes, from, to }] = moves.as_slice() else { panic!("{moves:?}") };
                let (from, to) = (*from as usize, *to as usize);
                for (position, block) in out.iter_mut().enumerate() {
                    let group = self.group(position, axes);
                    let mut start = zeros.clone();
                    start[to] = group.iter().position(|&p| p == position).unwrap() * target[to];
                    let mut shape = blocks[position].shape.clone();
                    shape[to] = target[to];
                    let pieces: Vec<Block> = of(&group).into_iter().map(|b| b.cut(&start, &shape)).collect();
                    let all = Block::concatenated(&pieces.iter().collect::<Vec<_>>(), from);
                    *block = all.cut(&zeros, &target);
                }
            }
            MeshCollectiveKind::CollectivePermute => {
                let place = |sharding: &TensorSharding, position: usize| {
                    let dims = sharding.dims.iter().map(|d| self.mesh.linear_coordinate(position, &d.axes));
                    let pending = self.mesh.linear_coordinate(position, &sharding.unreduced);
                    dims.chain([pending]).collect::<Vec<i64>>()
                };
                let holders: BTreeMap<Vec<i64>, usize> =
                    (0..blocks.len()).map(|position| (place(from, position), position)).collect();
                for (position, block) in out.iter_mut().enumerate() {
                    *block = blocks[holders[&place(to, position)]].clone();
                }
            }
            MeshCollectiveKind::Exchange => return self.exchange([from, to], blocks),
            MeshCollectiveKind::AllReduce(axes, _) => {
                for (position, block) in out.iter_mut().enumerate() {
                    *block = Block::sum(&of(&self.group(position, axes)));
                }
            }
            MeshCollectiveKind::ReduceScatter(lists, _) => {
                for (dim, axes) in lists.iter().enumerate().filter(|(_, axes)| !axes.is_empty()) {
                    let before = out.clone();
                    for (position, block) in out.iter_mut().enumerate() {
                        let group = self.group(position, axes);
                        let parts: Vec<&Block> = group.iter().map(|&p| &before[p]).collect();
                        let sum = Block::sum(&parts);
                        let mut start = zeros.clone();
                        start[dim] = group.iter().position(|&p| p == position).unwrap() * target[dim];
                        let mut shape = sum.shape.clone();
                        shape[dim] = target[dim];
                        *block = sum.cut(&start, &shape);
                    }
                }
            }
            MeshCollectiveKind::ShardedToUnreduced(lists) => {
                for (position, block) in out.iter_mut().enumerate() {
                    let start: Vec<usize> = lists
                        .iter()
                        .zip(&block.shape)
                        .map(|(axes, n)| self.mesh.linear_coordinate(position, axes) as usize * n)
                        .collect();
                    *block = block.placed(&start, &target);
                }
            }
            MeshCollectiveKind::ReplicatedToUnreduced(axes) => {
                for (position, block) in out.iter_mut().enumerate() {
                    if self.mesh.linear_coordinate(position, axes) != 0 {
                        block.elements.iter_mut().flatten().for_each(|element| *element = 0);
                    }
                }
            }
        }
        out
    }

    fn exchange(&self, shardings: [&TensorSharding; 2], blocks: &[Block]) -> Vec<Block> {
        let shape: Vec<i64> = self.shape.iter().map(|&n| n as i64).collect();
        let exchange =
            Exchange::between((self.mesh, Costs::default()), shardings, &shape, self.element_bytes).unwrap();
        let sizes = |list: &[i64]| list.iter().map(|&n| n as usize).collect::<Vec<usize>>();
        let mut out = blocks.to_vec();
        for group in self.mesh.replica_groups(&exchange.axes).to_lists() {
            let mut buffers = vec![Block::new(&sizes(&exchange.block), |_| None); group.len()];
            for round in &exchange.rounds {
                let at = |places: &[Vec<Option<i64>>], device: usize| -> Vec<i64> {
                    places.iter().map(|dim| dim[device].unwrap_or(0)).collect()
                };
                let cut = |device: usize| {
                    let (start, size) = (sizes(&at(&round.from, device)), sizes(&round.sizes));
                    let block = &blocks[group[device] as usize];
                    assert!(start.iter().zip(&size).zip(&block.shape).all(|((s, n), m)| s + n <= *m));
                    block.cut(&start, &size)
                };
                let own: Vec<(usize, usize)> = (0..group.len()).map(|i| (i, i)).collect();
                let pairs = if round.pairs.is_empty() { &own } else { &round.pairs };
                for side in [|p: &(usize, usize)| p.0, |p: &(usize, usize)| p.1] {
                    let mut once: Vec<usize> = pairs.iter().map(side).collect();
                    once.sort_unstable();
                    once.dedup();
                    assert_eq!(once.len(), pairs.len(), "{round:?}");
                }
                for &(sender, receiver) in pairs.iter().filter(|p| round.takes()[p.1]) {
                    let start = at(&round.to, receiver);
                    buffers[receiver] = buffers[receiver].with(&cut(sender), &start);
                }
            }
            for (&device, buffer) in group.iter().zip(&buffers) {
                out[device as usize] = buffer.clone();
            }
        }
        out
    }

    fn carry_out(&self, from: &TensorSharding, path: &Path) -> Vec<Block> {
        let mut at = from.clone();
        let mut blocks: Vec<Block> =
            (0..self.mesh.num_devices()).map(|position| self.expected(from, position)).collect();
        for step in &path.steps {
            blocks = self.step(&step.kind, &at, &step.out, &blocks);
            at = step.out.clone();
        }
        blocks
    }
}

/// Returns the sizes of proper sub-axes of an axis: the divisors of its size except 1 and the size itself.
fn cuts(n: u32) -> Vec<u32> {
    (2..n).filter(|&cut| n.is_multiple_of(cut)).collect()
}

/// Returns random axes, or major or minor sub-axes.
fn random_pending(numbers: &mut Numbers, mesh: &Mesh) -> Vec<AxisRef> {
    let mut pending = Vec::new();
    for axis in mesh.all_axes() {
        if numbers.below(4) == 0 {
            let n = mesh.axis_size(axis) as u32;
            let cuts = cuts(n);
            let sub = if cuts.is_empty() || numbers.below(2) == 0 {
                None
            } else {
                let cut = numbers.of(&cuts);
                Some(numbers.of(&[SubAxis { pre: 1, size: cut }, SubAxis { pre: cut, size: n / cut }]))
            };
            pending.push(AxisRef { sub, ..axis });
        }
    }
    pending
}

/// Returns a random sharding by axes and sub-axes of the mesh, in any order; the value is unreduced along `pending`.
fn random_sharding(numbers: &mut Numbers, mesh: &Mesh, rank: usize, pending: &[AxisRef]) -> TensorSharding {
    let mut parts: Vec<AxisRef> = Vec::new();
    for axis in mesh.all_axes() {
        let n = mesh.axis_size(axis) as u32;
        let cuts = cuts(n);
        if let Some(SubAxis { pre, size }) = pending.iter().find(|p| p.axis == axis.axis).and_then(|p| p.sub)
        {
            let others = [SubAxis { pre: 1, size: pre }, SubAxis { pre: pre * size, size: n / pre / size }];
            parts.extend(
                others.into_iter().filter(|sub| sub.size > 1).map(|sub| AxisRef { sub: Some(sub), ..axis }),
            );
        } else if cuts.is_empty() || numbers.below(2) == 0 {
            parts.push(axis);
        } else {
            let cut = numbers.of(&cuts);
            parts.push(AxisRef { sub: Some(SubAxis { pre: 1, size: cut }), ..axis });
            parts.push(AxisRef { sub: Some(SubAxis { pre: cut, size: n / cut }), ..axis });
        }
    }
    for i in (1..parts.len()).rev() {
        parts.swap(i, numbers.below(i + 1));
    }
    let mut dims = vec![AxisList::new(); rank];
    for part in parts {
        // Unreduced axes shard no dimension.
        let is_pending = pending.iter().any(|p| p.axis == part.axis && (p.sub.is_none() || *p == part));
        if is_pending || numbers.below(4) == 0 {
            continue;
        }
        dims[numbers.below(rank)].push(part);
    }
    let mut sharding =
        TensorSharding::from_dims(MeshId::new(0), dims.iter().map(|axes| DimSharding::closed(axes)));
    sharding.unreduced = AxisList::from_slice(pending);
    sharding.tidied()
}

fn random_mesh(numbers: &mut Numbers) -> Mesh {
    let sizes: &[i64] = numbers.of(&[
        &[2][..],
        &[4],
        &[8],
        &[6],
        &[12],
        &[2, 2],
        &[2, 4],
        &[4, 2],
        &[2, 2, 2],
        &[3, 2],
        &[2, 3],
        &[7],
    ]);
    Mesh::new(["x", "y", "z"].into_iter().zip(sizes.iter().copied()))
}

/// Returns a mesh with many axes, up to ten, so that the search cannot try all orders of axes.
fn mesh_of_many_axes(numbers: &mut Numbers) -> Mesh {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let count = 4 + numbers.below(7);
    let size = |numbers: &mut Numbers| numbers.of(&[2, 2, 2, 2, 2, 2, 2, 3]);
    Mesh::new(names.into_iter().take(count).map(|name| (name, size(numbers))))
}

/// The maximum number of devices that are simulated.
const MOST_DEVICES: usize = 96;

/// Returns the value of an environment variable that `cargo xtask fuzz reshards` sets.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The time limit of the search for one path, in milliseconds, in optimized builds, as `cargo xtask fuzz reshards` runs it. The slowest
/// search, with nine axes, takes a tenth of the limit on an idle machine. Unoptimized builds have no limit.
const LIMIT: Option<u128> = if cfg!(debug_assertions) { None } else { Some(500) };

#[test]
fn paths_bring_every_block_where_it_belongs() {
    let seed = setting("SHARDC_SEED").unwrap_or(7);
    let first = setting("SHARDC_FIRST").unwrap_or(0);
    let cases = setting("SHARDC_CASES").unwrap_or(3000);
    let until = setting("SHARDC_MINUTES").map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let (mut moved, mut summed, mut exchanged, mut done) = (0, 0, 0, 0);
    for case in first.. {
        if until.map_or(done == cases, |until| Instant::now() > until) {
            break;
        }
        done += 1;
        let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(case << 20));
        numbers.below(1);
        let mesh = match case % 32 {
            0 => mesh_of_many_axes(&mut numbers),
            _ => random_mesh(&mut numbers),
        };
        let rank = 1 + numbers.below(3);
        let sizes: Vec<i64> = (0..rank).map(|_| numbers.of(&[1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13])).collect();
        let pending = random_pending(&mut numbers, &mesh);
        let from = random_sharding(&mut numbers, &mesh, rank, &pending);
        let still: Vec<AxisRef> = pending.iter().copied().filter(|_| numbers.below(4) == 0).collect();
        // The partial sums of newly unreduced axes depend on the path; their sum does not.
        let is_new = |axis: &AxisRef| case % 4 == 0 && pending.iter().all(|p| p.axis != axis.axis);
        let new: Vec<AxisRef> =
            mesh.all_axes().into_iter().filter(is_new).filter(|_| numbers.below(2) == 0).collect();
        let mut all: Vec<AxisRef> = still.iter().chain(&new).copied().collect();
        all.sort_unstable();
        let to = random_sharding(&mut numbers, &mesh, rank, &all);
        // If elements are large, bytes dominate the cost, and exchanges are chosen.
        let element_bytes = numbers.of(&[4.0, 4096.0, 1048576.0]);
        let show = || {
            let (from, to) = (from.display(&mesh), to.display(&mesh));
            let axes: Vec<i64> = mesh.axes.values().copied().collect();
            format!(
                "case {case} of seed {seed}: {sizes:?} of {element_bytes} bytes on {axes:?} from {from} to {to}"
            )
        };
        let value = Value { shape: &sizes, element_bytes };
        let find = |from: &TensorSharding, to: &TensorSharding| {
            let path =
                search((&mesh, Costs::default()), &state_of(&mesh, from), &state_of(&mesh, to), from, value);
            path.unwrap_or_else(|| panic!("no path: {}", show()))
        };
        let timed = || {
            let start = Instant::now();
            (find(&from, &to), start.elapsed().as_millis())
        };
        let (path, mut time) = timed();
        if let Some(limit) = LIMIT {
            for _ in 0..3 {
                // The search is repeated, since other programs on the machine may have delayed the first one.
                time = if time > limit { timed().1 } else { time };
            }
            assert!(time <= limit, "{time} ms: {}", show());
        }
        let end = path.steps.last().map_or(&from, |step| &step.out);
        let split = |s: &TensorSharding| -> Vec<AxisList> {
            s.dims.iter().map(|dim| to_axes(&mesh, &parts(&mesh, &dim.axes))).collect()
        };
        assert_eq!(split(end), split(&to), "{}: {path:?}", show());
        if mesh.num_devices() <= MOST_DEVICES {
            World::new(&mesh, &sizes, &from, element_bytes).check([&from, &to], &new, &path, &show());
        }
        if to.unreduced.is_empty() {
            let whole = TensorSharding::replicated(MeshId::new(0), rank);
            let by_whole = find(&from, &whole).cost + find(&whole, &to).cost;
            // If the replicated value needs too much memory, a path with more bytes and more launches is chosen.
            let most = 2.0 * by_whole + 16.0 * Costs::default().start();
            assert!(path.cost <= most, "{} > {by_whole}: {}", path.cost, show());
        }
        exchanged += u64::from(path.steps.iter().any(|s| s.kind == MeshCollectiveKind::Exchange));
        moved += u64::from(!path.steps.is_empty());
        summed += u64::from(!from.unreduced.is_empty());
    }
    let counted = format!("of {done} {moved} moved, {summed} summed, {exchanged} exchanged");
    assert!(done < 100 || moved > done / 2 && summed > done / 8 && exchanged > done / 20, "{counted}");
}

fn local_bytes(mesh: &Mesh, sharding: &TensorSharding, ty: &TensorType) -> f64 {
    let elements: i64 = sharding.local_shape(mesh, &ty.shape).iter().product();
    elements as f64 * f64::from(ty.dtype.bits()) / 8.0
}

/// The major sub-axes of size 2 and 3 of an axis have no common refinement, and each of the four minor coordinates has its own partial
/// sums.
#[test]
fn unreduced_sub_axes_are_kept_while_other_sub_axes_change() {
    let mesh = Mesh::new([("x", 24)]);
    let part = |pre, size| AxisRef { axis: 0, sub: Some(SubAxis { pre, size }) };
    let sharding = |dim: AxisRef, pending: &[AxisRef]| TensorSharding {
        unreduced: AxisList::from_slice(pending),
        ..TensorSharding::from_axes(MeshId::new(0), [&[dim][..]])
    };
    for (n, pending) in [(24, &[][..]), (24, &[part(6, 4)]), (7, &[part(6, 4)]), (25, &[part(6, 4)])] {
        let (from, to) = (sharding(part(1, 2), &[part(6, 4)]), sharding(part(1, 3), pending));
        let value = Value { shape: &[n], element_bytes: 1048576.0 };
        let path =
            search((&mesh, Costs::default()), &state_of(&mesh, &from), &state_of(&mesh, &to), &from, value)
                .unwrap();
        let world = World::new(&mesh, value.shape, &from, value.element_bytes);
        world.check([&from, &to], &[], &path, &format!("{n} from {}", from.display(&mesh)));
    }
}

#[test]
fn unreduced_parts_that_do_not_nest_have_a_path() {
    let mesh = Mesh::new([("x", 12)]);
    let part = |pre, size| AxisRef { axis: 0, sub: Some(SubAxis { pre, size }) };
    let sharding = |dim: AxisRef, pending: AxisRef| TensorSharding {
        unreduced: AxisList::from_slice(&[pending]),
        ..TensorSharding::from_axes(MeshId::new(0), [&[dim][..]])
    };
    let (from, to) = (sharding(part(4, 3), part(1, 4)), sharding(part(3, 4), part(1, 3)));
    let value = Value { shape: &[24], element_bytes: 4.0 };
    let path =
        search((&mesh, Costs::default()), &state_of(&mesh, &from), &state_of(&mesh, &to), &from, value)
            .unwrap();
    assert!(path.steps.last().unwrap().out.same_placement(&to), "{path:?}");
}

#[test]
fn paths_need_at_most_source_and_target_memory() {
    let mut numbers = Numbers(11);
    for case in 0..1500 {
        let mesh = random_mesh(&mut numbers);
        let rank = 1 + numbers.below(3);
        // 840 is divisible by all shard counts of the meshes.
        let sizes: Vec<i64> = (0..rank).map(|_| 840 * (1 + numbers.below(2) as i64)).collect();
        let ty = TensorType::new(&sizes, DType::F64);
        let from = random_sharding(&mut numbers, &mesh, rank, &[]);
        let to = random_sharding(&mut numbers, &mesh, rank, &[]);
        // Shardings by sub-axes without a common refinement are skipped: their path may be through the replicated value, which needs more
        // memory.
        let mut lists: Vec<Parts> =
            from.dims.iter().chain(&to.dims).map(|dim| parts(&mesh, &dim.axes)).collect();
        if refine(&mesh, &mut lists).is_none() {
            continue;
        }
        let show = || format!("case {case}: {ty} from {} to {}", from.display(&mesh), to.display(&mesh));
        let mut planner = Planner::new(&mesh, &CostModel::default());
        let path = planner.path(&from, &to, &ty).cloned().unwrap_or_else(|| panic!("no path: {}", show()));
        let whole = TensorSharding::replicated(MeshId::new(0), rank);
        let (gather, slice) = (planner.cost(&from, &whole, &ty), planner.cost(&whole, &to, &ty));
        assert!(path.cost <= gather + slice + 2.0 * Costs::default().start(), "{}: {path:?}", show());
        let (before, after) = (local_bytes(&mesh, &from, &ty), local_bytes(&mesh, &to, &ty));
        let gathered = path.steps.iter().filter(|s| matches!(s.kind, MeshCollectiveKind::AllGather(_)));
        // Several dimensions are all-gathered one after the other.
        let gathers = gathered.count();
        let bound = if gathers > 0 { (before + after).max(1.5 * after) } else { before + after };
        let mut at = from.clone();
        for step in &path.steps {
            let needs = local_bytes(&mesh, &at, &ty) + local_bytes(&mesh, &step.out, &ty);
            assert!(needs <= bound + 65536.0, "{needs} of {bound}, {}: {path:?}", show());
            at = step.out.clone();
        }
    }
}
