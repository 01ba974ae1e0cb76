//! Searches for the cheapest sequence of collectives between two shardings of one value, as a shortest path.
//!
//! A state consists of the axes and sub-axes by which each dimension is sharded, and those along which the value is still unreduced. An
//! edge is a collective; its cost is the bytes that one device sends, plus a constant per launch. No step may need more memory than source
//! and target together. Exceptions are small values, and reshards that have no other path, for example if two dimensions are all-gathered
//! one after the other.
//!
//! If a dimension does not divide evenly, not every collective is possible: a device's new block must be within the blocks that it holds
//! after the communication. All-gathering a dimension and slicing it again always works, so every target is reachable.

use std::collections::HashMap;

use shardc_ir::{Mesh, MeshCollectiveKind, ReductionKind, TensorSharding, TensorType};
use smallvec::SmallVec;

use super::addends::{Way, Ways};
use super::moves::{Exchanges, Move, PathSearch, State};
use super::path::{Path, ReshardStep, Value};
use super::shortest::Memory;
use crate::cost::{CostModel, Costs};
use crate::sharding::axes::{Part, Parts, hull, parts, refine, to_axes};

/// The bytes of memory that every path may use in addition to source and target: copies of small values cost less than another collective.
const SMALL: f64 = 64.0 * 1024.0;

/// The memory of the last of several all-gathers, as a multiple of its result: the operand is up to half of the result, plus padding of
/// uneven blocks.
const GATHERED: f64 = 1.5 + 1.0 / 64.0;

/// Finds cheapest paths and caches them.
#[derive(Debug)]
pub(crate) struct Planner<'m> {
    mesh: &'m Mesh,
    costs: Costs,
    known: HashMap<(State, State, [ReductionKind; 2], TensorType), Path>,
}

impl<'m> Planner<'m> {
    pub(crate) fn new(mesh: &'m Mesh, model: &CostModel) -> Self {
        Planner { mesh, costs: model.on(mesh), known: HashMap::new() }
    }

    pub(crate) fn mesh(&self) -> &'m Mesh {
        self.mesh
    }

    /// The costs of operations on the mesh.
    pub(crate) fn costs(&self) -> Costs {
        self.costs
    }

    /// Returns the cheapest path from one sharding to another; `None` if their ranks differ or there is no path.
    pub(crate) fn path(
        &mut self,
        from: &TensorSharding,
        to: &TensorSharding,
        ty: &TensorType,
    ) -> Option<&Path> {
        // A maximal sharding (on a mesh of one device) may list no dimensions.
        if from.rank() != to.rank() {
            return None;
        }
        let by = [from.reduction, to.reduction];
        let key = (state_of(self.mesh, from), state_of(self.mesh, to), by, ty.clone());
        if !self.known.contains_key(&key) {
            let is_pending = |s: &TensorSharding| !s.unreduced.is_empty();
            let path = if is_pending(from) && is_pending(to) && by[0] != by[1] {
                // Different reductions do not commute: a maximum of sums is not a sum of maxima. The value is fully reduced by the first
                // reduction, and then converted to the unreduced form of the second.
                let whole = to.completed();
                let mut path = self.path(from, &whole, ty)?.clone();
                let rest = self.path(&whole, to, ty)?;
                path.steps.extend(rest.steps.iter().cloned());
                path.cost += rest.cost;
                path
            } else {
                let pending = if is_pending(from) { from } else { to };
                let value = Value { shape: &ty.shape, element_bytes: f64::from(ty.dtype.bits()) / 8.0 };
                search((self.mesh, self.costs), &key.0, &key.1, pending, value)?
            };
            self.known.insert(key.clone(), path);
        }
        self.known.get(&key)
    }

    /// Returns the cost of [`Planner::path`], in bytes that a device sends; infinite if there is no path.
    pub(crate) fn cost(&mut self, from: &TensorSharding, to: &TensorSharding, ty: &TensorType) -> f64 {
        if from.same_placement(to) {
            return 0.0;
        }
        self.path(from, to, ty).map_or(f64::INFINITY, |p| p.cost)
    }
}

pub(super) fn state_of(mesh: &Mesh, sharding: &TensorSharding) -> State {
    let mut pending = parts(mesh, &sharding.unreduced);
    // The order of unreduced axes is irrelevant. They are sorted, so that equivalent states are one node and one cache key.
    pending.sort_unstable();
    State { dims: sharding.dims.iter().map(|d| parts(mesh, &d.axes)).collect(), pending }
}

/// Returns the cheapest path; `template` has the mesh and the reduction of both shardings.
pub(super) fn search(
    (mesh, costs): (&Mesh, Costs),
    from: &State,
    to: &State,
    template: &TensorSharding,
    value: Value<'_>,
) -> Option<Path> {
    let (from, to) = match refined(mesh, from, to) {
        Some(refined) => refined,
        None => return unnested((mesh, costs), from, to, template, value),
    };
    if !to.pending.iter().all(|p| from.pending.contains(p)) {
        return to_unreduced((mesh, costs), &from, &to, template, value);
    }
    let mut search = path_search((mesh, costs), [&from, &to], value);
    let (before, after) = (search.local_bytes(&from), search.local_bytes(&search.target));
    // Any path needs source and target in memory at the same time, so each move may use at least the memory of both. A second search
    // without a limit finds targets that are reachable only through the replicated value.
    let any = before + after + SMALL;
    let within = Memory { any, gather: any.max(GATHERED * before.max(after) + SMALL) };
    let tries = [within, Memory { any: f64::INFINITY, gather: f64::INFINITY }];
    let found = tries.into_iter().find_map(|memory| search.shortest(&from, memory));
    let (cost, moves) = found.or_else(|| search.through_whole_value(&from))?;
    Some(Path { steps: steps(&search, moves, template), cost })
}

/// Returns the cheapest path between two states whose axes are refined together; the second state is unreduced along more axes than the
/// first.
fn to_unreduced(
    (mesh, costs): (&Mesh, Costs),
    from: &State,
    to: &State,
    template: &TensorSharding,
    value: Value<'_>,
) -> Option<Path> {
    let ways = Ways::new(from, to, value);
    let path_by = |way: &Way| {
        let path = search((mesh, costs), from, &way.before, template, value)?;
        Some(way.finish(path, (mesh, costs), template, value))
    };
    let by_first = path_by(&ways.by_first)?;
    let Some(in_place) = ways.in_place else { return Some(by_first) };
    let in_place = path_by(&in_place)?;
    Some(if in_place.cost <= by_first.cost { in_place } else { by_first })
}

fn path_search<'a>(
    (mesh, costs): (&'a Mesh, Costs),
    [from, to]: [&State; 2],
    value: Value<'a>,
) -> PathSearch<'a> {
    let mut all: Parts = from.dims.iter().chain(&to.dims).flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    let Value { shape, element_bytes } = value;
    PathSearch {
        mesh,
        costs,
        shape,
        element_bytes,
        target: to.clone(),
        parts: all,
        exchanges: Exchanges::default(),
        planned: 0,
        work: 0,
    }
}

/// Returns the path between shardings whose sub-axes have no common refinement, such as the major sub-axes of size 2 and 3 of an axis of
/// size 6. No collective along axes converts one sharding to the other: either pieces are exchanged, or the value is replicated in between.
fn unnested(
    (mesh, costs): (&Mesh, Costs),
    from: &State,
    to: &State,
    template: &TensorSharding,
    value: Value<'_>,
) -> Option<Path> {
    let whole = State { dims: from.dims.iter().map(|_| Parts::new()).collect(), pending: Parts::new() };
    // A sharding whose own sub-axes have no common refinement is invalid, so no path leads to or from it.
    if *from == whole
        || *to == whole
        || refined(mesh, from, from).is_none()
        || refined(mesh, to, to).is_none()
    {
        return None;
    }
    let by_whole = |from: &State| {
        let mut path = search((mesh, costs), from, &whole, template, value)?;
        let rest = search((mesh, costs), &whole, to, template, value)?;
        path.steps.extend(rest.steps);
        path.cost += rest.cost;
        Some(path)
    };
    let exchanged = || {
        // Devices that exchange pieces must hold the same value. A value that is unreduced along an axis by which these devices differ is
        // reduced first.
        let used: Parts = from.dims.iter().chain(&to.dims).flatten().copied().collect();
        let is_apart = |p: &Part| !used.iter().any(|q| hull(&used, q.axis).overlaps(*p));
        let kept = from.pending.iter().copied().filter(|p| to.pending.contains(p) && is_apart(p));
        let before = State { pending: kept.collect(), ..from.clone() };
        let after = State { pending: before.pending.clone(), ..to.clone() };
        let mut path = search((mesh, costs), from, &before, template, value)?;
        if before.dims != after.dims {
            let mut search = path_search((mesh, costs), [&before, &after], value);
            path.cost += search.exchanged(&before, &after)?;
            path.steps.push(search.step(&Move::Exchange, &after, template));
        }
        let rest = search((mesh, costs), &after, to, template, value)?;
        path.steps.extend(rest.steps);
        path.cost += rest.cost;
        Some(path)
    };
    [exchanged(), by_whole(from)].into_iter().flatten().min_by(|a, b| a.cost.total_cmp(&b.cost))
}

fn steps(search: &PathSearch<'_>, moves: Vec<(Move, State)>, template: &TensorSharding) -> Vec<ReshardStep> {
    let mut steps: Vec<ReshardStep> = Vec::new();
    for (mv, after) in moves {
        let step = search.step(&mv, &after, template);
        // The search uses the smallest possible steps, to find more states. Adjacent steps are then merged into one collective.
        match steps.last_mut().filter(|last| can_join(&last.kind, &step.kind)) {
            Some(last) => join(search.mesh, last, step),
            None => steps.push(step),
        }
    }
    steps
}

/// Whether two adjacent steps can be merged into one collective: reduce-scatters of the same dimension, or slices.
fn can_join(first: &MeshCollectiveKind, second: &MeshCollectiveKind) -> bool {
    match (first, second) {
        (MeshCollectiveKind::AllSlice(_), MeshCollectiveKind::AllSlice(_)) => true,
        (MeshCollectiveKind::ReduceScatter(a, _), MeshCollectiveKind::ReduceScatter(b, _)) => {
            a.iter().zip(b).all(|(a, b)| a.is_empty() == b.is_empty())
        }
        _ => false,
    }
}

fn join(mesh: &Mesh, first: &mut ReshardStep, second: ReshardStep) {
    if let (
        MeshCollectiveKind::AllSlice(a) | MeshCollectiveKind::ReduceScatter(a, _),
        MeshCollectiveKind::AllSlice(b) | MeshCollectiveKind::ReduceScatter(b, _),
    ) = (&mut first.kind, &second.kind)
    {
        for (a, b) in a.iter_mut().zip(b) {
            let mut joined = parts(mesh, a);
            joined.extend(parts(mesh, b));
            *a = to_axes(mesh, &joined);
        }
    }
    first.out = second.out;
}

fn refined(mesh: &Mesh, from: &State, to: &State) -> Option<(State, State)> {
    let rank = from.dims.len();
    let mut lists: Vec<Parts> =
        from.dims.iter().chain(&to.dims).chain([&from.pending, &to.pending]).cloned().collect();
    refine(mesh, &mut lists)?;
    let to_pending = lists.pop()?;
    let from_pending = lists.pop()?;
    let to_dims = lists.split_off(rank);
    Some((
        State { dims: lists.into(), pending: from_pending },
        State { dims: to_dims.into(), pending: to_pending },
    ))
}

impl PathSearch<'_> {
    /// Returns the path through the replicated value, which always exists: all-reduce, all-gather each dimension, slice. This path is used
    /// if the search reaches its limit before it finds another one.
    fn through_whole_value(&self, from: &State) -> Option<(f64, Vec<(Move, State)>)> {
        let mut moves: Vec<(Move, State)> = Vec::new();
        let (mut at, mut cost) = (from.clone(), 0.0);
        let mut go = |at: &mut State, mv: Move, after: State| {
            cost += self.cost(at, &mv, &after);
            moves.push((mv, after.clone()));
            *at = after;
        };
        let is_left = |part: &Part| self.target.pending.contains(part);
        let done: Parts = at.pending.iter().copied().filter(|part| !is_left(part)).collect();
        // All-reduces come first: after an all-gather from 4 devices, an all-reduce would send 4 times as many bytes.
        if !done.is_empty() {
            let mut after = at.clone();
            after.pending.retain(|part| is_left(part));
            go(&mut at, Move::AllReduce(done), after);
        }
        for dim in 0..at.dims.len() {
            if !at.dims[dim].is_empty() && at.dims[dim] != self.target.dims[dim] {
                let mut after = at.clone();
                let parts = std::mem::take(&mut after.dims[dim]);
                go(&mut at, Move::Gather { dim, parts }, after);
            }
        }
        let cut: SmallVec<[Parts; 4]> = at.dims.iter().zip(&self.target.dims).map(missing).collect();
        if cut.iter().any(|parts| !parts.is_empty()) {
            let after = State { dims: self.target.dims.clone(), pending: at.pending.clone() };
            go(&mut at, Move::Slice(cut), after);
        }
        (at == self.target).then_some((cost, moves))
    }
}

/// Returns the axes by which to slice a dimension that is either unsharded or already sharded as in the target.
fn missing((have, wanted): (&Parts, &Parts)) -> Parts {
    if have.is_empty() { wanted.clone() } else { Parts::new() }
}

#[cfg(test)]
mod tests {
    use shardc_ir::{AxisList, AxisRef, DType, EntityRef, MeshId, SubAxis};

    use super::*;

    const X: AxisRef = AxisRef { axis: 0, sub: None };
    const Y: AxisRef = AxisRef { axis: 1, sub: None };

    fn sharding(dims: &[&[AxisRef]], pending: &[AxisRef]) -> TensorSharding {
        TensorSharding {
            unreduced: AxisList::from_slice(pending),
            ..TensorSharding::from_axes(MeshId::new(0), dims.iter().copied())
        }
    }

    /// Returns the collectives of the path between two shardings of an `f32` tensor on a mesh `x=2, y=4`.
    fn path(shape: &[i64], from: &TensorSharding, to: &TensorSharding) -> Vec<String> {
        let mesh = Mesh::new([("x", 2), ("y", 4)]);
        let mut planner = Planner::new(&mesh, &CostModel::default());
        let path = planner.path(from, to, &TensorType::new(shape, DType::F32)).cloned().unwrap_or_default();
        let mut at = from.clone();
        for step in &path.steps {
            at = step.out.clone();
        }
        assert!(at.same_placement(to), "the path ends at {}", at.display(&mesh));
        path.steps
            .iter()
            .map(|s| {
                format!(
                    "{} -> {}",
                    s.kind.name().trim_start_matches("sdy.").trim_start_matches("shardc."),
                    s.out.display(&mesh)
                )
            })
            .collect()
    }

    #[test]
    fn an_unreduced_axis_of_the_target_is_reduce_scattered() {
        let steps = path(&[64, 64], &sharding(&[&[X], &[]], &[Y]), &sharding(&[&[X], &[Y]], &[]));
        assert_eq!(steps, ["reduce_scatter -> [{\"x\"}, {\"y\"}]"]);
    }

    #[test]
    fn an_unreduced_axis_not_in_the_target_is_all_reduced() {
        let steps = path(&[64, 64], &sharding(&[&[X], &[]], &[Y]), &sharding(&[&[X], &[]], &[]));
        assert_eq!(steps, ["all_reduce -> [{\"x\"}, {}]"]);
    }

    #[test]
    fn an_axis_that_changes_dimension_is_an_all_to_all() {
        let steps = path(&[64, 64], &sharding(&[&[X], &[]], &[]), &sharding(&[&[], &[X]], &[]));
        assert_eq!(steps, ["all_to_all -> [{}, {\"x\"}]"]);
    }

    #[test]
    fn axes_in_another_order_are_a_permute() {
        let steps = path(&[64, 64], &sharding(&[&[X, Y], &[]], &[]), &sharding(&[&[Y, X], &[]], &[]));
        assert_eq!(steps, ["collective_permute -> [{\"y\", \"x\"}, {}]"]);
    }

    #[test]
    fn large_values_use_a_direct_exchange() {
        let half = AxisRef { axis: 1, sub: Some(SubAxis { pre: 1, size: 2 }) };
        let (from, to) = (sharding(&[&[], &[Y]], &[]), sharding(&[&[half], &[]], &[]));
        assert_eq!(path(&[4096, 4096], &from, &to), [r#"exchange -> [{"y":(1)2}, {}]"#]);
        // For a small value, the chosen path sends more bytes than others, but has fewer launches.
        let steps = path(&[128, 128], &from, &to);
        assert!(!steps.iter().any(|step| step.starts_with("exchange")), "{steps:?}");
        let (from, to) = (sharding(&[&[X], &[Y]], &[]), sharding(&[&[Y], &[X]], &[]));
        assert_eq!(path(&[4096, 4096], &from, &to), [r#"exchange -> [{"y"}, {"x"}]"#]);
    }

    #[test]
    fn slices_are_followed_by_a_permute() {
        let half = AxisRef { axis: 1, sub: Some(SubAxis { pre: 1, size: 2 }) };
        let to = sharding(&[&[half], &[X]], &[]);
        let steps = path(&[4096, 4096], &sharding(&[&[], &[half]], &[]), &to);
        let expected =
            [r#"all_slice -> [{"x"}, {"y":(1)2}]"#, r#"collective_permute -> [{"y":(1)2}, {"x"}]"#];
        assert_eq!(steps, expected);
    }

    #[test]
    fn slices_are_joined_and_gathers_are_partial() {
        let steps = path(&[64, 64], &sharding(&[&[], &[]], &[]), &sharding(&[&[X], &[Y]], &[]));
        assert_eq!(steps, ["all_slice -> [{\"x\"}, {\"y\"}]"]);
        let steps = path(&[64, 64], &sharding(&[&[X, Y], &[]], &[]), &sharding(&[&[X], &[]], &[]));
        assert_eq!(steps, ["all_gather -> [{\"x\"}, {}]"]);
    }

    /// The path through the replicated value is used if the search reaches its limit. It need not be cheap, but it must reach the target.
    #[test]
    fn every_target_is_reached_through_the_replicated_value() {
        let mesh = Mesh::new([("x", 2), ("y", 4), ("z", 2)]);
        const Z: AxisRef = AxisRef { axis: 2, sub: None };
        let cases: &[(TensorSharding, TensorSharding, usize)] = &[
            (sharding(&[&[X, Y], &[Z]], &[]), sharding(&[&[Z], &[Y, X]], &[]), 3),
            (sharding(&[&[X], &[]], &[Y, Z]), sharding(&[&[X], &[Y]], &[Z]), 2),
            (sharding(&[&[X], &[]], &[Y]), sharding(&[&[Y], &[X]], &[]), 3),
            (sharding(&[&[X, Y], &[]], &[]), sharding(&[&[X], &[]], &[]), 2),
        ];
        for (from, to, steps) in cases {
            let (start, target) =
                refined(&mesh, &state_of(&mesh, from), &state_of(&mesh, to)).expect("parts nest");
            let search = path_search(
                (&mesh, Costs::default()),
                [&start, &target],
                Value { shape: &[10, 6], element_bytes: 4.0 },
            );
            let (cost, moves) = search.through_whole_value(&start).expect("a way");
            assert_eq!(
                moves.last().map(|(_, after)| after),
                Some(&search.target),
                "to {}",
                to.display(&mesh)
            );
            assert!(moves.len() <= *steps && cost > 0.0, "{moves:?}");
        }
    }

    #[test]
    fn unaligned_blocks_are_gathered_along_the_whole_dimension() {
        // Over 8 devices, 10 elements are in blocks of 2; over 2 devices, in blocks of 5. A block of 5 does not consist of whole blocks of
        // 2.
        let steps = path(&[10], &sharding(&[&[X, Y]], &[]), &sharding(&[&[X]], &[]));
        assert_eq!(steps, ["all_gather -> [{}]", "all_slice -> [{\"x\"}]"]);
        let steps = path(&[10], &sharding(&[&[]], &[]), &sharding(&[&[X, Y]], &[]));
        assert_eq!(steps, ["all_slice -> [{\"x\", \"y\"}]"]);
    }
}
