//! Carries out paths between random shardings, on every device of a small mesh, and looks at what they cost.

use std::collections::BTreeMap;

use shardc_ir::{
    AxisList, AxisMove, AxisRef, DType, DimSharding, EntityRef, Mesh, MeshCollectiveKind, MeshId, SubAxis,
    TensorSharding, TensorType,
};

use super::search::{Path, Planner};
use crate::cost;
use crate::sharding::axes::{Parts, parts, refine};

/// Numbers that look random.
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

/// What a device has: elements in row-major order; `None` for padding and what means nothing.
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

    /// From `start`, in the given shape; what is beyond the block is padding.
    fn cut(&self, start: &[usize], shape: &[usize]) -> Block {
        Block::new(shape, |index| {
            let from: Vec<usize> = index.iter().zip(start).map(|(i, s)| i + s).collect();
            self.at(&from)
        })
    }

    /// In a block of this shape from `start` on, with zeros around it; what reaches beyond is cut off.
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

/// A value of which every device has its part.
struct World<'a> {
    mesh: &'a Mesh,
    shape: Vec<usize>,
    /// Along what the value was a pending sum at first.
    pending: AxisList,
}

impl World<'_> {
    fn local_shape(&self, sharding: &TensorSharding) -> Vec<usize> {
        let global: Vec<i64> = self.shape.iter().map(|&n| n as i64).collect();
        sharding.local_shape(self.mesh, &global).iter().map(|&n| n as usize).collect()
    }

    /// What the device at `position` has under `sharding`: addends that differ along what is still pending.
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

    /// The devices that differ from each along `axes` only, in order of their index over these.
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

/// Axes of the mesh and parts of them, in any order, on dimensions or pending.
fn random_sharding(numbers: &mut Numbers, mesh: &Mesh, rank: usize, pending: &[AxisRef]) -> TensorSharding {
    let mut parts: Vec<AxisRef> = Vec::new();
    for axis in mesh.all_axes() {
        let n = mesh.axis_size(axis) as u32;
        let cuts: Vec<u32> = (2..n).filter(|&cut| n.is_multiple_of(cut)).collect();
        if cuts.is_empty() || numbers.below(2) == 0 {
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
        // What is pending splits nothing.
        if pending.iter().any(|p| p.axis == part.axis) || numbers.below(4) == 0 {
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

#[test]
fn paths_bring_every_block_where_it_belongs() {
    let mut numbers = Numbers(7);
    let (mut moved, mut summed, mut spread) = (0, 0, 0);
    for case in 0..4000 {
        let mesh = random_mesh(&mut numbers);
        let rank = 1 + numbers.below(3);
        let shape: Vec<usize> =
            (0..rank).map(|_| numbers.of(&[1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13])).collect();
        let pending: Vec<AxisRef> = mesh.all_axes().into_iter().filter(|_| numbers.below(4) == 0).collect();
        let from = random_sharding(&mut numbers, &mesh, rank, &pending);
        let still: Vec<AxisRef> = pending.iter().copied().filter(|_| numbers.below(4) == 0).collect();
        // What becomes pending has addends that depend on the path; their sum does not.
        let is_new = |axis: &AxisRef| case % 4 == 0 && !pending.contains(axis);
        let new: Vec<AxisRef> =
            mesh.all_axes().into_iter().filter(is_new).filter(|_| numbers.below(2) == 0).collect();
        let mut all: Vec<AxisRef> = still.iter().chain(&new).copied().collect();
        all.sort_unstable();
        let to = random_sharding(&mut numbers, &mesh, rank, &all);
        let sizes: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
        let ty = TensorType::new(&sizes, DType::F32);
        let show = || format!("case {case}: {ty} from {} to {}", from.display(&mesh), to.display(&mesh));
        let mut planner = Planner::new(&mesh);
        let path = planner.path(&from, &to, &ty).cloned().unwrap_or_else(|| panic!("no way: {}", show()));
        let world = World { mesh: &mesh, shape, pending: from.unreduced.clone() };
        let mut got = world.carry_out(&from, &path);
        let to = TensorSharding { unreduced: AxisList::from_slice(&still), ..to.clone() };
        if !new.is_empty() {
            let addends = got.clone();
            for (position, block) in got.iter_mut().enumerate() {
                let group: Vec<&Block> =
                    world.group(position, &new).into_iter().map(|p| &addends[p]).collect();
                *block = Block::sum(&group);
            }
        }
        for (position, block) in got.iter().enumerate() {
            let wanted = world.expected(&to, position);
            assert_eq!(block.shape, wanted.shape, "{}: {path:?}", show());
            for (have, want) in block.elements.iter().zip(&wanted.elements) {
                assert!(want.is_none() || have == want, "device {position} of {}: {path:?}", show());
            }
        }
        moved += usize::from(!path.steps.is_empty());
        summed += usize::from(!from.unreduced.is_empty());
        spread += usize::from(!new.is_empty());
    }
    assert!(
        moved > 2000 && summed > 500 && spread > 300,
        "{moved} moved, {summed} summed, {spread} became addends"
    );
}

fn local_bytes(mesh: &Mesh, sharding: &TensorSharding, ty: &TensorType) -> f64 {
    let elements: i64 = sharding.local_shape(mesh, &ty.shape).iter().product();
    elements as f64 * f64::from(ty.dtype.bits()) / 8.0
}

#[test]
fn paths_need_no_more_than_what_is_there_before_and_after() {
    let mut numbers = Numbers(11);
    for case in 0..1500 {
        let mesh = random_mesh(&mut numbers);
        let rank = 1 + numbers.below(3);
        // 840 divides by all that the meshes can split.
        let sizes: Vec<i64> = (0..rank).map(|_| 840 * (1 + numbers.below(2) as i64)).collect();
        let ty = TensorType::new(&sizes, DType::F64);
        let from = random_sharding(&mut numbers, &mesh, rank, &[]);
        let to = random_sharding(&mut numbers, &mesh, rank, &[]);
        // Parts that do not nest share no blocks: there is no way but by the whole.
        let mut lists: Vec<Parts> =
            from.dims.iter().chain(&to.dims).map(|dim| parts(&mesh, &dim.axes)).collect();
        if refine(&mesh, &mut lists).is_none() {
            continue;
        }
        let show = || format!("case {case}: {ty} from {} to {}", from.display(&mesh), to.display(&mesh));
        let mut planner = Planner::new(&mesh);
        let path = planner.path(&from, &to, &ty).cloned().unwrap_or_else(|| panic!("no way: {}", show()));
        let whole = TensorSharding::replicated(MeshId::new(0), rank);
        let (gather, slice) = (planner.cost(&from, &whole, &ty), planner.cost(&whole, &to, &ty));
        assert!(path.cost <= gather + slice + 2.0 * cost::START, "{}: {path:?}", show());
        let (before, after) = (local_bytes(&mesh, &from, &ty), local_bytes(&mesh, &to, &ty));
        let gathered = path.steps.iter().filter(|s| matches!(s.kind, MeshCollectiveKind::AllGather(_)));
        // Several dimensions are gathered one after the other.
        let gathers = gathered.count();
        let bound = if gathers > 1 { (before + after).max(1.5 * after) } else { before + after };
        let mut at = from.clone();
        for step in &path.steps {
            let needs = local_bytes(&mesh, &at, &ty) + local_bytes(&mesh, &step.out, &ty);
            assert!(needs <= bound + 65536.0, "{needs} of {bound}, {}: {path:?}", show());
            at = step.out.clone();
        }
    }
}
