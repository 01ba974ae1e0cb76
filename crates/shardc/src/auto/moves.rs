//! The candidates that a search begins with, and the neighbors of a candidate.

use std::collections::BTreeMap;

use shardc_ir::Mesh;
use shardc_strategy::{Role, Sharding};
use shardc_target::{DeviceKind, Target};

use super::candidate::{Candidate, Dims, Purpose};
use super::problem::Problem;

/// The number of groups, those with the most bytes, that are moved one by one.
const GROUPS: usize = 16;

/// The strategies that a search begins with.
const BASES: [Sharding; 2] = [Sharding::FullShard, Sharding::NoShard];

/// The sharding strategies of a training step without node axis.
const SHARDINGS: [Sharding; 4] =
    [Sharding::NoShard, Sharding::Zero1, Sharding::ShardGradOp, Sharding::FullShard];

/// The candidates that a search begins with: the program as it is annotated; meshes with one or two axes, or all purposes of the axes of a given
/// mesh; and a replicated program.
pub(super) fn seeds(problem: &Problem) -> Vec<Candidate> {
    let meshes = match problem.mesh {
        Some(mesh) => assigned(&problem.purposes, &problem.module.meshes[mesh]),
        None => meshes(&problem.purposes, problem.target.num_devices() as i64),
    };
    let mut seeds: Vec<Candidate> = problem.as_annotated().into_iter().collect();
    // Parameters are all-gathered before their use, or kept whole; forward programs have both choices too.
    for axes in &meshes {
        seeds.extend(BASES.map(|sharding| Candidate::new(axes.clone(), sharding)));
    }
    if let Some(axes) = meshes.into_iter().next() {
        let free = problem.groups.iter().enumerate().filter(|(_, group)| !group.is_fixed);
        let placed = free.map(|(i, group)| (i, vec![Vec::new(); group.shape.len()])).collect();
        seeds.push(Candidate { placed, ..Candidate::new(axes, Sharding::NoShard) });
    }
    seeds
}

/// The fully sharded ones of these candidates, with activation checkpointing.
pub(super) fn checkpointed(seeds: Vec<Candidate>) -> Vec<Candidate> {
    let sharded = seeds.into_iter().filter(|seed| seed.sharding == Sharding::FullShard);
    sharded.map(|seed| Candidate { activation_checkpointing: true, ..seed }).collect()
}

/// Meshes with one axis, or with an axis of data parallelism and another one.
fn meshes(purposes: &[Purpose], devices: i64) -> Vec<Vec<(Purpose, i64)>> {
    let mut meshes: Vec<_> = purposes.iter().map(|&purpose| vec![(purpose, devices)]).collect();
    for size in (2..devices).filter(|size| devices % size == 0) {
        let others = purposes.iter().filter(|&&purpose| purpose != Purpose::Data);
        meshes.extend(others.map(|&purpose| vec![(Purpose::Data, devices / size), (purpose, size)]));
    }
    meshes
}

/// All purposes of the axes of a mesh. The first assignment is the one by the names of the axes, or data parallelism for unknown names.
fn assigned(purposes: &[Purpose], mesh: &Mesh) -> Vec<Vec<(Purpose, i64)>> {
    /// The number of axes that get all purposes; further ones keep that of their name.
    const FREE: usize = 3;
    let named: Vec<(Purpose, i64)> =
        mesh.axes.iter().map(|(name, &size)| (Purpose::of_name(name), size)).collect();
    let mut all = vec![named.clone()];
    for at in 0..named.len().min(FREE) {
        for i in 0..all.len() {
            for &purpose in purposes.iter().filter(|&&purpose| purpose != named[at].0) {
                let mut other = all[i].clone();
                other[at].0 = purpose;
                all.push(other);
            }
        }
    }
    all
}

/// Candidates that differ in the strategy or in a factor of the mesh.
pub(super) fn neighbors(problem: &Problem, candidate: &Candidate, fits: bool) -> Vec<Candidate> {
    if candidate.as_annotated {
        return Vec::new();
    }
    let mut found = strategies(problem, candidate, fits);
    if problem.mesh.is_none() {
        found.extend(split_nodes(&problem.target, candidate));
        found.extend(resized(&problem.purposes, candidate));
    }
    found
}

fn strategies(problem: &Problem, candidate: &Candidate, fits: bool) -> Vec<Candidate> {
    let mut found = Vec::new();
    if problem.trains() {
        found.extend(SHARDINGS.map(|sharding| Candidate { sharding, ..candidate.clone() }));
        if !fits || candidate.activation_checkpointing {
            let activation_checkpointing = !candidate.activation_checkpointing;
            found.push(Candidate { activation_checkpointing, ..candidate.clone() });
        }
    }
    found.extend(candidate.with_other_priorities());
    if candidate.size(Purpose::Tensor) > 1 {
        found.push(Candidate { sequence_parallel: !candidate.sequence_parallel, ..candidate.clone() });
    }
    found
}

/// Splits the axis of data parallelism into nodes and the devices of a node, for the hybrid strategies.
fn split_nodes(target: &Target, candidate: &Candidate) -> Vec<Candidate> {
    if candidate.size(Purpose::Node) > 1 {
        return Vec::new();
    }
    let Some(at) = candidate.axes.iter().position(|axis| axis.0 == Purpose::Data) else { return Vec::new() };
    let size = candidate.axes[at].1;
    let hosts = match (target.spec().kind, target.grid()) {
        (DeviceKind::Gpu, &[hosts, _]) => i64::from(hosts),
        _ => 1,
    };
    let mut nodes = vec![hosts, i64::from(target.slices()), 2, 4];
    nodes.sort_unstable();
    nodes.dedup();
    let mut found = Vec::new();
    for count in nodes.into_iter().filter(|&count| count > 1 && size > count && size % count == 0) {
        for sharding in [Sharding::HybridShard, Sharding::HybridShardZero2] {
            let mut next = Candidate { sharding, placed: BTreeMap::new(), ..candidate.clone() };
            next.axes[at].1 = size / count;
            next.axes.insert(0, (Purpose::Node, count));
            found.push(next);
        }
    }
    found
}

/// Splits the axis of data parallelism into two; `None` if its size is a prime number.
pub(super) fn split_data(candidate: &Candidate) -> Option<Candidate> {
    let at = candidate.axes.iter().position(|axis| axis.0 == Purpose::Data)?;
    let size = candidate.axes[at].1;
    let factor = (2..size).find(|factor| size % factor == 0)?;
    let mut next = Candidate { placed: BTreeMap::new(), ..candidate.clone() };
    next.axes[at].1 = factor;
    next.axes.insert(at + 1, (Purpose::Data, size / factor));
    Some(next)
}

/// Moves a prime factor from one axis of the mesh to another, or to a new axis. Shardings of single groups are dropped, because they depend on
/// the axes.
fn resized(purposes: &[Purpose], candidate: &Candidate) -> Vec<Candidate> {
    let mut found = Vec::new();
    for (from, &(of, size)) in candidate.axes.iter().enumerate().filter(|(_, axis)| axis.0 != Purpose::Node) {
        let Some(factor) = (2..=size).find(|factor| size % factor == 0) else { continue };
        for &purpose in purposes.iter().filter(|&&purpose| purpose != of) {
            let mut axes = candidate.axes.clone();
            axes[from].1 /= factor;
            match axes.iter_mut().find(|axis| axis.0 == purpose) {
                Some(to) => to.1 *= factor,
                None => axes.push((purpose, factor)),
            }
            axes.retain(|axis| axis.1 > 1);
            axes.sort_unstable_by_key(|axis| axis.0);
            found.push(Candidate { axes, placed: BTreeMap::new(), ..candidate.clone() });
        }
    }
    found
}

/// Shardings of groups of arguments that differ from the shardings `dims` of a candidate: along one axis more or less, along another dimension,
/// or along all dimensions of a class. Each has the groups that it changes.
pub(super) fn placements(
    problem: &Problem,
    candidate: &Candidate,
    dims: &[Option<Dims>],
) -> Vec<BTreeMap<usize, Dims>> {
    // A group that the annotations leave open may also be replicated.
    let is_open = |i: usize| candidate.as_annotated && dims.get(i).is_some_and(Option::is_none);
    let open: Vec<bool> = (0..problem.groups.len()).map(is_open).collect();
    let dims: Vec<Dims> = problem
        .groups
        .iter()
        .zip(dims)
        .map(|(group, dims)| dims.clone().unwrap_or_else(|| vec![Vec::new(); group.shape.len()]))
        .collect();
    let mut found: Vec<BTreeMap<usize, Dims>> = Vec::new();
    let free = || problem.groups.iter().enumerate().filter(|(_, group)| !group.is_fixed);
    let axes = 0..candidate.axes.len();
    // Dimensions of one class are sharded together: a matmul then contracts without moving an operand.
    let mut classes: Vec<u32> = free().flat_map(|(_, group)| group.classes.iter().copied()).collect();
    classes.sort_unstable();
    classes.dedup();
    for axis in axes.clone() {
        for &class in &classes {
            let with = free().filter_map(|(i, group)| {
                let at = group.classes.iter().position(|&other| other == class)?;
                Some((i, along(&dims[i], &group.shape, (axis, at), candidate)?))
            });
            let with: BTreeMap<usize, Dims> = with.filter(|(i, next)| *next != dims[*i]).collect();
            if with.len() > 1 {
                found.push(with);
            }
        }
    }
    let largest = free().filter(|(_, group)| group.role != Some(Role::OptimizerState)).take(GROUPS);
    for (i, group) in largest {
        for axis in axes.clone() {
            let without = without(&dims[i], axis);
            let along =
                (0..group.shape.len()).filter_map(|at| along(&dims[i], &group.shape, (axis, at), candidate));
            let changed = along.chain([without]).filter(|next| open[i] || *next != dims[i]);
            found.extend(changed.map(|next| BTreeMap::from([(i, next)])));
        }
    }
    found
}

/// All shardings of a group along whole axes of the mesh that divide its dimensions.
pub(super) fn all_placements(candidate: &Candidate, shape: &[i64]) -> Vec<Dims> {
    let mut all = vec![vec![Vec::new(); shape.len()]];
    for axis in 0..candidate.axes.len() {
        for i in 0..all.len() {
            let next = (0..shape.len()).filter_map(|at| along(&all[i], shape, (axis, at), candidate));
            all.extend(next.collect::<Vec<_>>());
        }
    }
    all
}

fn without(dims: &Dims, axis: usize) -> Dims {
    dims.iter().map(|axes| axes.iter().copied().filter(|&other| other != axis).collect()).collect()
}

/// The sharding with `axis` on dimension `at` instead of where it is; `None` if the shards would be uneven.
fn along(dims: &Dims, shape: &[i64], (axis, at): (usize, usize), candidate: &Candidate) -> Option<Dims> {
    let mut next = without(dims, axis);
    next.get_mut(at)?.push(axis);
    let shards: i64 = next[at].iter().map(|&axis| candidate.axes[axis].1).product();
    (shape[at] % shards == 0 && shape[at] > 0).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Purpose; 4] = [Purpose::Data, Purpose::Expert, Purpose::Context, Purpose::Tensor];

    #[test]
    fn a_factor_moves_between_axes() {
        let candidate = Candidate::new(vec![(Purpose::Data, 4), (Purpose::Tensor, 2)], Sharding::FullShard);
        let meshes: Vec<_> = resized(&ALL, &candidate).into_iter().map(|next| next.axes).collect();
        assert!(meshes.contains(&vec![(Purpose::Data, 2), (Purpose::Tensor, 4)]));
        assert!(meshes.contains(&vec![(Purpose::Data, 8)]));
        assert!(meshes.contains(&vec![(Purpose::Data, 2), (Purpose::Context, 2), (Purpose::Tensor, 2)]));
    }

    #[test]
    fn nodes_keep_the_number_of_devices() {
        let target: Target = "h100:2x8".parse().unwrap();
        let candidate = Candidate::new(vec![(Purpose::Data, 8), (Purpose::Tensor, 2)], Sharding::FullShard);
        let split = split_nodes(&target, &candidate);
        assert!(split.iter().any(|next| next.axes[0] == (Purpose::Node, 2)));
        for next in &split {
            assert_eq!(next.axes.iter().map(|axis| axis.1).product::<i64>(), 16);
            assert!(split_nodes(&target, next).is_empty());
        }
    }

    #[test]
    fn uneven_shards_are_left_out() {
        let candidate = Candidate::new(vec![(Purpose::Data, 4)], Sharding::FullShard);
        assert_eq!(all_placements(&candidate, &[6, 8]), [vec![vec![], vec![]], vec![vec![], vec![0]]]);
    }
}
