//! The search for the cheapest way between two shardings of one value.
//!
//! A state is the parts of axes that split each dimension, and the parts over which the value is still a
//! pending sum. The moves are the collectives; each costs the bytes that one device sends, plus a constant
//! for its start. The states that moves reach from the source make a graph, and the answer is its shortest
//! path to the target. No move may need more memory than source and target together, unless there is no other way (two
//! dimensions are gathered one after the other) or the value is small.
//!
//! A dimension that does not divide evenly restricts the moves: a device must be able to take its new block
//! from the blocks that the collective brings. Gathering a dimension whole and cutting it anew always works,
//! so every target is reachable.

use std::collections::HashMap;

use indexmap::IndexSet;
use petgraph::{
    algo::astar,
    graph::{DiGraph, NodeIndex},
};
use shardc_ir::{
    AxisList, AxisMove, DimSharding, Mesh, MeshCollectiveKind, ReductionKind, TensorSharding, TensorType,
};
use smallvec::SmallVec;

use super::addends;
use crate::cost;
use crate::sharding::axes::{Part, Parts, parts, refine, size_of, to_axes};

/// One collective of a path, and the sharding after it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReshardStep {
    pub(crate) kind: MeshCollectiveKind,
    pub(crate) out: TensorSharding,
}

/// A path and what it costs, in bytes that a device sends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path {
    pub(crate) steps: Vec<ReshardStep>,
    pub(crate) cost: f64,
}

/// A node of the search: what splits each dimension, major first, and what the value is a pending sum over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) dims: SmallVec<[Parts; 4]>,
    pub(super) pending: Parts,
}

/// Memory that every path may use beyond source and target, in bytes: copies of small values cost less than another
/// collective would.
const SMALL: f64 = 64.0 * 1024.0;

/// More states than this are not looked at; what was found by then stands.
const MAX_STATES: usize = 4000;

/// More moves than this are not looked at either: over many axes there are very many ways to slice a whole value.
const MAX_MOVES: usize = 1 << 17;

/// No more ways to slice than this are looked at from one state.
const MAX_SLICES: usize = 1 << 14;

/// Finds paths and remembers them.
#[derive(Debug)]
pub(crate) struct Planner<'m> {
    mesh: &'m Mesh,
    known: HashMap<(State, State, [ReductionKind; 2], TensorType), Path>,
}

impl<'m> Planner<'m> {
    pub(crate) fn new(mesh: &'m Mesh) -> Self {
        Planner { mesh, known: HashMap::new() }
    }

    pub(crate) fn mesh(&self) -> &'m Mesh {
        self.mesh
    }

    /// Returns the cheapest path from one sharding to the other; `None` if one of them says nothing of some dimensions.
    pub(crate) fn path(
        &mut self,
        from: &TensorSharding,
        to: &TensorSharding,
        ty: &TensorType,
    ) -> Option<&Path> {
        // The sharding of a mesh of one device may say nothing of dimensions.
        if from.rank() != to.rank() {
            return None;
        }
        let by = [from.reduction, to.reduction];
        let key = (state_of(self.mesh, from), state_of(self.mesh, to), by, ty.clone());
        if !self.known.contains_key(&key) {
            let is_pending = |s: &TensorSharding| !s.unreduced.is_empty();
            let path = if is_pending(from) && is_pending(to) && by[0] != by[1] {
                // The largest of sums is no sum of the largest: the one is complete before the other begins.
                let whole = to.completed();
                let mut path = self.path(from, &whole, ty)?.clone();
                let rest = self.path(&whole, to, ty)?;
                path.steps.extend(rest.steps.iter().cloned());
                path.cost += rest.cost;
                path
            } else {
                let pending = if is_pending(from) { from } else { to };
                search(self.mesh, &key.0, &key.1, pending, ty)?
            };
            self.known.insert(key.clone(), path);
        }
        self.known.get(&key)
    }

    /// Returns the cost of [`Planner::path`], in bytes that a device sends; infinite where there is no path.
    pub(crate) fn cost(&mut self, from: &TensorSharding, to: &TensorSharding, ty: &TensorType) -> f64 {
        if from.same_placement(to) {
            return 0.0;
        }
        self.path(from, to, ty).map_or(f64::INFINITY, |p| p.cost)
    }
}

fn state_of(mesh: &Mesh, sharding: &TensorSharding) -> State {
    let mut pending = parts(mesh, &sharding.unreduced);
    // The order of what is pending has no meaning for a sum; sorted, equal states are one node and one key.
    pending.sort_unstable();
    State { dims: sharding.dims.iter().map(|d| parts(mesh, &d.axes)).collect(), pending }
}

/// What the search needs to know of one reshard: parts are refined, so that any two are equal or disjoint.
struct PathSearch<'a> {
    mesh: &'a Mesh,
    shape: &'a [i64],
    element_bytes: f64,
    target: State,
    /// All parts that split something before or after.
    parts: Parts,
}

pub(super) fn search(
    mesh: &Mesh,
    from: &State,
    to: &State,
    template: &TensorSharding,
    ty: &TensorType,
) -> Option<Path> {
    let Some((from, to)) = refined(mesh, from, to) else {
        // Parts that do not nest share no blocks, such as the major half and the major third of an axis of 6: by way of
        // the whole value.
        let whole = State { dims: from.dims.iter().map(|_| Parts::new()).collect(), pending: Parts::new() };
        if *from == whole || *to == whole {
            return None;
        }
        let mut path = search(mesh, from, &whole, template, ty)?;
        let rest = search(mesh, &whole, to, template, ty)?;
        path.steps.extend(rest.steps);
        path.cost += rest.cost;
        return Some(path);
    };
    if !to.pending.iter().all(|p| from.pending.contains(p)) {
        return addends::path(mesh, &from, &to, template, ty);
    }
    let mut all: Parts = from.dims.iter().chain(&to.dims).flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    let element_bytes = f64::from(ty.dtype.bits()) / 8.0;
    let search = PathSearch { mesh, shape: &ty.shape, element_bytes, target: to, parts: all };
    let (before, after) = (search.local_bytes(&from), search.local_bytes(&search.target));
    // Source and target exist at once whatever the path, so that much memory there is. The last of several gathers reads up
    // to half of what it makes, hence the second bound; the third is for values that only the whole leads to.
    let memory = [before + after + SMALL, 1.5 * before.max(after) + SMALL, f64::INFINITY];
    let found = memory.into_iter().find_map(|memory| search.shortest(&from, memory));
    let (cost, moves) = found.or_else(|| search.through_whole_value(&from))?;
    let mut steps: Vec<ReshardStep> = Vec::new();
    for (mv, after) in moves {
        let step = search.step(&mv, &after, template);
        // The search splits what it can to find more states; what remains next to each other is one collective again.
        match steps.last_mut().filter(|last| can_join(&last.kind, &step.kind)) {
            Some(last) => join(mesh, last, step),
            None => steps.push(step),
        }
    }
    Some(Path { steps, cost })
}

/// Whether two steps that follow each other are one collective: reduce-scatters of the same dimension, or slices.
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

/// An edge of the search: a collective, by what it does to a state.
#[derive(Clone, Debug)]
enum Move {
    Gather {
        dim: usize,
        parts: Parts,
    },
    /// What is cut off each dimension.
    Slice(SmallVec<[Parts; 4]>),
    AllToAll {
        from: usize,
        to: usize,
        parts: Parts,
    },
    Permute,
    AllReduce(Parts),
    ReduceScatter {
        dim: usize,
        parts: Parts,
    },
}

impl PathSearch<'_> {
    /// Returns the cheapest moves to the target of which none takes more than `memory` bytes for what it reads and writes,
    /// with the state after each.
    fn shortest(&self, from: &State, memory: f64) -> Option<(f64, Vec<(Move, State)>)> {
        // Breadth first, so that where the limits cut the graph off, the states that few moves lead to are in it.
        let mut graph: DiGraph<State, (Move, f64)> = DiGraph::new();
        let mut nodes: HashMap<State, NodeIndex> = HashMap::new();
        let start = graph.add_node(from.clone());
        nodes.insert(from.clone(), start);
        let mut next = 0;
        while next < graph.node_count() && graph.node_count() < MAX_STATES && graph.edge_count() < MAX_MOVES {
            let node = NodeIndex::new(next);
            let state = graph[node].clone();
            next += 1;
            let before = self.local_bytes(&state);
            for (mv, after) in self.moves(&state) {
                if before + self.local_bytes(&after) > memory {
                    continue;
                }
                let cost = self.cost(&state, &mv, &after);
                let target = *nodes.entry(after.clone()).or_insert_with(|| graph.add_node(after));
                graph.add_edge(node, target, (mv, cost));
            }
        }
        let goal = *nodes.get(&self.target)?;
        // Without a lower bound of what is left to pay this is Dijkstra's algorithm.
        let (cost, path) = astar(&graph, start, |n| n == goal, |e| e.weight().1, |_| 0.0)?;
        let mut moves = Vec::with_capacity(path.len().saturating_sub(1));
        for pair in path.windows(2) {
            // Moves may be offered twice: two of the permutes can lead to one state.
            let edges = graph.edges_connecting(pair[0], pair[1]);
            let edge = edges.min_by(|a, b| a.weight().1.total_cmp(&b.weight().1))?;
            moves.push((edge.weight().0.clone(), graph[pair[1]].clone()));
        }
        Some((cost, moves))
    }

    /// Returns the moves by way of the whole value, which always exist: what is pending is completed, each dimension gathered,
    /// and the whole cut anew. For where the search ends before it finds another path.
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
        // Sums are completed before the gathers: the all-reduce of what was gathered from 4 devices would send 4
        // times as much.
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

    fn local(&self, state: &State, dim: usize) -> i64 {
        block(self.shape[dim], &state.dims[dim])
    }

    fn local_bytes(&self, state: &State) -> f64 {
        (0..self.shape.len()).map(|d| self.local(state, d) as f64).product::<f64>() * self.element_bytes
    }

    /// Whether the blocks of `fewer` (a prefix of `more`) are made of whole blocks of `more`: 10 elements in 8 blocks of 2
    /// are not 2 blocks of 5.
    fn aligned(&self, dim: usize, fewer: &[Part], more: &[Part]) -> bool {
        let n = self.shape[dim];
        fewer.is_empty() || block(n, fewer) == block(n, more) * (size_of(more) / size_of(fewer))
    }

    fn moves(&self, state: &State) -> Vec<(Move, State)> {
        let mut out = Vec::new();
        let target = &self.target;
        for (dim, parts) in state.dims.iter().enumerate() {
            // Only minor parts can be gathered or moved: without a major one the rest would be no contiguous block.
            for count in 1..=parts.len() {
                let (keep, moved) = parts.split_at(parts.len() - count);
                if self.aligned(dim, keep, parts) {
                    let mut after = state.clone();
                    after.dims[dim].truncate(keep.len());
                    out.push((Move::Gather { dim, parts: moved.into() }, after));
                    self.add_all_to_alls(state, dim, moved, &mut out);
                }
            }
        }
        for (dim, wanted) in target.dims.iter().enumerate() {
            // Several parts at once: where blocks do not line up one by one, they may all together.
            for first in 0..wanted.len() {
                for end in first + 1..=wanted.len() {
                    self.add_reduce_scatter(state, dim, &wanted[first..end], &mut out);
                }
            }
        }
        self.add_slices(state, &mut out);
        let done: Parts = state.pending.iter().copied().filter(|p| !target.pending.contains(p)).collect();
        if !done.is_empty() {
            // Either all at once, or those that no dimension of the target wants: the others reduce-scatter.
            let free: Parts =
                done.iter().copied().filter(|p| !target.dims.iter().flatten().any(|t| t == p)).collect();
            for parts in [free, done] {
                if !parts.is_empty() {
                    let mut after = state.clone();
                    after.pending.retain(|p| !parts.contains(p));
                    out.push((Move::AllReduce(parts), after));
                }
            }
        }
        self.add_permutes(state, &mut out);
        out
    }

    /// Adds the reduce-scatter of dimension `dim` along `run`, if the value is a pending sum over all of that.
    fn add_reduce_scatter(&self, state: &State, dim: usize, run: &[Part], out: &mut Vec<(Move, State)>) {
        if !run.iter().all(|part| state.pending.contains(part)) {
            return;
        }
        let mut after = state.clone();
        after.dims[dim].extend(run.iter().copied());
        if self.aligned(dim, &state.dims[dim], &after.dims[dim]) {
            after.pending.retain(|p| !run.contains(p));
            out.push((Move::ReduceScatter { dim, parts: run.into() }, after));
        }
    }

    /// Adds slices of one or more dimensions at once, along parts that nothing uses: those of the target, or others of the
    /// size that those have, which a permute then exchanges for them.
    fn add_slices(&self, state: &State, out: &mut Vec<(Move, State)>) {
        // In order of insertion, so that equal costs are decided alike in each run.
        let mut reached: IndexSet<State> = IndexSet::from_iter([state.clone()]);
        let mut next = 0;
        while next < reached.len() && reached.len() < MAX_SLICES {
            let at = reached[next].clone();
            next += 1;
            let is_free = |part: &Part| {
                !at.pending.contains(part) && !at.dims.iter().flatten().any(|used| used == part)
            };
            let mut cut = |dim: usize, run: &[Part]| {
                let mut after = at.clone();
                after.dims[dim].extend(run.iter().copied());
                if self.aligned(dim, &state.dims[dim], &after.dims[dim]) {
                    reached.insert(after);
                }
            };
            for (dim, wanted) in self.target.dims.iter().enumerate() {
                // Several parts at once: where blocks do not line up one by one, they may all together.
                for first in 0..wanted.len() {
                    for end in first + 1..=wanted.len() {
                        if wanted[first..end].iter().all(is_free) {
                            cut(dim, &wanted[first..end]);
                        }
                    }
                }
                let missing = size_of(wanted) / size_of(&at.dims[dim]);
                for &part in self.parts.iter().filter(|&p| is_free(p) && !wanted.contains(p)) {
                    if missing > 0 && missing % i64::from(part.size) == 0 {
                        cut(dim, &[part]);
                    }
                }
            }
        }
        for after in reached.into_iter().skip(1) {
            let cut = after.dims.iter().zip(&state.dims).map(|(a, s)| a[s.len()..].into()).collect();
            out.push((Move::Slice(cut), after));
        }
    }

    /// Adds the all-to-alls that take the last parts of dimension `from`, `moved`, to a dimension that the target splits by
    /// them; to any other they would have to move once more.
    fn add_all_to_alls(&self, state: &State, from: usize, moved: &[Part], out: &mut Vec<(Move, State)>) {
        for to in 0..state.dims.len() {
            if to == from || !moved.iter().all(|p| self.target.dims[to].contains(p)) {
                continue;
            }
            let mut after = state.clone();
            after.dims[from].truncate(state.dims[from].len() - moved.len());
            after.dims[to].extend(moved.iter().copied());
            if self.aligned(to, &state.dims[to], &after.dims[to]) {
                out.push((Move::AllToAll { from, to, parts: moved.into() }, after));
            }
        }
    }

    /// Whether the target splits some dimension by `part`.
    fn is_wanted(&self, part: &Part) -> bool {
        self.target.dims.iter().flatten().any(|wanted| wanted == part)
    }

    /// Returns the state that one permute leads to, with blocks of this state's shape, in which each dimension begins with as
    /// much of the target as it can hold; what else it needs is filled with other parts.
    fn permuted_to_target(&self, state: &State) -> Option<State> {
        let is_free = |part: &Part| !state.pending.contains(part);
        let mut rest: SmallVec<[i64; 4]> = state.dims.iter().map(|parts| size_of(parts)).collect();
        let mut after =
            State { dims: rest.iter().map(|_| Parts::new()).collect(), pending: state.pending.clone() };
        for ((parts, wanted), rest) in after.dims.iter_mut().zip(&self.target.dims).zip(&mut rest) {
            for &part in wanted {
                let n = i64::from(part.size);
                if *rest % n != 0 || !is_free(&part) {
                    break;
                }
                parts.push(part);
                *rest /= n;
            }
        }
        let is_used = |after: &State, part: &Part| after.dims.iter().flatten().any(|used| used == part);
        let mut others: Parts =
            self.parts.iter().copied().filter(|part| is_free(part) && !is_used(&after, part)).collect();
        // Those that another dimension wants come last, so that they are minor and an all-to-all can take them there.
        others.sort_by_key(|part| self.is_wanted(part));
        for (parts, rest) in after.dims.iter_mut().zip(&mut rest) {
            others.retain(|part| {
                let fits = *rest > 1 && *rest % i64::from(part.size) == 0;
                if fits {
                    parts.push(*part);
                    *rest /= i64::from(part.size);
                }
                !fits
            });
        }
        rest.iter().all(|&n| n == 1).then_some(after)
    }

    /// Adds permutes: towards the target; the parts of each dimension in the target's order; one part for an unused one of
    /// the same size. All permutes between states of one shape would be factorially many.
    fn add_permutes(&self, state: &State, out: &mut Vec<(Move, State)>) {
        let target = &self.target;
        if let Some(after) = self.permuted_to_target(state).filter(|after| after != state) {
            out.push((Move::Permute, after));
        }
        // Only minor parts can leave a dimension. After those that stay, in their order, come those that the target has
        // nowhere, and last those that another dimension wants: an all-to-all takes these there before the rest is
        // gathered, while blocks are small.
        let mut ordered = state.clone();
        for (parts, wanted) in ordered.dims.iter_mut().zip(&target.dims) {
            parts.sort_by_key(|p| {
                let here = wanted.iter().position(|w| w == p);
                here.unwrap_or(usize::MAX - usize::from(!self.is_wanted(p)))
            });
        }
        if ordered != *state {
            out.push((Move::Permute, ordered));
        }
        for (dim, wanted) in target.dims.iter().enumerate() {
            for &part in wanted {
                let used = |p: &Part| state.dims.iter().flatten().any(|q| q == p);
                if used(&part) || state.pending.contains(&part) {
                    continue;
                }
                for (i, old) in state.dims[dim].iter().enumerate() {
                    if old.size == part.size && !wanted.contains(old) {
                        let mut after = state.clone();
                        after.dims[dim][i] = part;
                        out.push((Move::Permute, after));
                    }
                }
            }
        }
    }

    fn cost(&self, before: &State, mv: &Move, after: &State) -> f64 {
        let group = |parts: &[Part]| size_of(parts) as f64;
        // Blocks are sent with their padding: one row over 8 devices is gathered as 8 blocks of a row.
        let padded = |blocks: &State, parts: &[Part]| self.local_bytes(blocks) * group(parts);
        match mv {
            Move::Gather { parts, .. } => cost::all_gather(padded(before, parts), group(parts)),
            Move::Slice(_) => cost::local_copy(self.local_bytes(after)),
            Move::AllToAll { from, parts, .. } => {
                let grown = self.local(after, *from).max(1) as f64;
                let sent = padded(after, parts) / grown * self.local(before, *from) as f64;
                cost::all_to_all(sent, group(parts))
            }
            Move::Permute => cost::permute(self.local_bytes(before)),
            Move::AllReduce(parts) => cost::all_reduce(self.local_bytes(before), group(parts)),
            Move::ReduceScatter { parts, .. } => cost::reduce_scatter(padded(after, parts), group(parts)),
        }
    }

    fn step(&self, mv: &Move, after: &State, template: &TensorSharding) -> ReshardStep {
        let axes = |parts: &[Part]| to_axes(self.mesh, parts);
        let rank = self.shape.len();
        let only = |dim: usize, list: AxisList| {
            let mut lists = vec![AxisList::new(); rank];
            lists[dim] = list;
            lists
        };
        let kind = match mv {
            Move::Gather { dim, parts } => MeshCollectiveKind::AllGather(only(*dim, axes(parts))),
            Move::Slice(cut) => MeshCollectiveKind::AllSlice(cut.iter().map(|parts| axes(parts)).collect()),
            Move::AllToAll { from, to, parts } => {
                let (axes, from, to) = (axes(parts), *from as u32, *to as u32);
                MeshCollectiveKind::AllToAll(vec![AxisMove { axes, from, to }])
            }
            Move::Permute => MeshCollectiveKind::CollectivePermute,
            Move::AllReduce(parts) => MeshCollectiveKind::AllReduce(axes(parts), template.reduction),
            Move::ReduceScatter { dim, parts } => {
                MeshCollectiveKind::ReduceScatter(only(*dim, axes(parts)), template.reduction)
            }
        };
        ReshardStep { kind, out: sharding_of(self.mesh, after, template) }
    }
}

/// Returns the sharding of a value in this state, on the mesh and with the reduction of `template`.
pub(super) fn sharding_of(mesh: &Mesh, state: &State, template: &TensorSharding) -> TensorSharding {
    let dims = state.dims.iter().map(|parts| DimSharding::closed(&to_axes(mesh, parts)));
    let mut out = TensorSharding::from_dims(template.mesh, dims);
    out.unreduced = to_axes(mesh, &state.pending);
    out.reduction = template.reduction;
    out.tidied()
}

/// Returns what a dimension lacks that is whole, or split as it should be.
fn missing((have, wanted): (&Parts, &Parts)) -> Parts {
    if have.is_empty() { wanted.clone() } else { Parts::new() }
}

pub(super) fn block(n: i64, parts: &[Part]) -> i64 {
    let k = size_of(parts);
    (n + k - 1) / k
}

#[cfg(test)]
mod tests {
    use shardc_ir::{AxisRef, DType, EntityRef, MeshId, SubAxis};

    use super::*;

    const X: AxisRef = AxisRef { axis: 0, sub: None };
    const Y: AxisRef = AxisRef { axis: 1, sub: None };

    fn sharding(dims: &[&[AxisRef]], pending: &[AxisRef]) -> TensorSharding {
        TensorSharding {
            unreduced: AxisList::from_slice(pending),
            ..TensorSharding::from_axes(MeshId::new(0), dims.iter().copied())
        }
    }

    /// The collectives between two shardings of an `f32` tensor on a mesh `x=2, y=4`.
    fn path(shape: &[i64], from: &TensorSharding, to: &TensorSharding) -> Vec<String> {
        let mesh = Mesh::new([("x", 2), ("y", 4)]);
        let mut planner = Planner::new(&mesh);
        let path = planner.path(from, to, &TensorType::new(shape, DType::F32)).cloned().unwrap_or_default();
        let mut at = from.clone();
        for step in &path.steps {
            at = step.out.clone();
        }
        assert!(at.same_placement(to), "the path ends at {}", at.display(&mesh));
        path.steps
            .iter()
            .map(|s| format!("{} -> {}", s.kind.name().trim_start_matches("sdy."), s.out.display(&mesh)))
            .collect()
    }

    #[test]
    fn a_pending_sum_whose_axis_is_wanted_reduce_scatters() {
        let steps = path(&[64, 64], &sharding(&[&[X], &[]], &[Y]), &sharding(&[&[X], &[Y]], &[]));
        assert_eq!(steps, ["reduce_scatter -> [{\"x\"}, {\"y\"}]"]);
    }

    #[test]
    fn a_pending_sum_whose_axis_is_not_wanted_all_reduces() {
        let steps = path(&[64, 64], &sharding(&[&[X], &[]], &[Y]), &sharding(&[&[X], &[]], &[]));
        assert_eq!(steps, ["all_reduce -> [{\"x\"}, {}]"]);
    }

    #[test]
    fn an_axis_that_changes_dimension_goes_by_all_to_all() {
        let steps = path(&[64, 64], &sharding(&[&[X], &[]], &[]), &sharding(&[&[], &[X]], &[]));
        assert_eq!(steps, ["all_to_all -> [{}, {\"x\"}]"]);
    }

    #[test]
    fn axes_in_another_order_are_a_permute() {
        let steps = path(&[64, 64], &sharding(&[&[X, Y], &[]], &[]), &sharding(&[&[Y, X], &[]], &[]));
        assert_eq!(steps, ["collective_permute -> [{\"y\", \"x\"}, {}]"]);
    }

    #[test]
    fn little_moves_before_much_is_gathered() {
        let half = AxisRef { axis: 1, sub: Some(SubAxis { pre: 1, size: 2 }) };
        let steps = path(&[4096, 4096], &sharding(&[&[], &[Y]], &[]), &sharding(&[&[half], &[]], &[]));
        let expected = [
            r#"collective_permute -> [{}, {"y":(2)2, "y":(1)2}]"#,
            r#"all_to_all -> [{"y":(1)2}, {"y":(2)2}]"#,
            r#"all_gather -> [{"y":(1)2}, {}]"#,
        ];
        assert_eq!(steps, expected);
    }

    #[test]
    fn blocks_are_cut_so_that_a_permute_puts_them_right() {
        let half = AxisRef { axis: 1, sub: Some(SubAxis { pre: 1, size: 2 }) };
        let to = sharding(&[&[half], &[X]], &[]);
        let steps = path(&[4096, 4096], &sharding(&[&[], &[half]], &[]), &to);
        let expected =
            [r#"all_slice -> [{"x"}, {"y":(1)2}]"#, r#"collective_permute -> [{"y":(1)2}, {"x"}]"#];
        assert_eq!(steps, expected);
    }

    #[test]
    fn slices_join_and_gathers_take_what_they_need() {
        let steps = path(&[64, 64], &sharding(&[&[], &[]], &[]), &sharding(&[&[X], &[Y]], &[]));
        assert_eq!(steps, ["all_slice -> [{\"x\"}, {\"y\"}]"]);
        let steps = path(&[64, 64], &sharding(&[&[X, Y], &[]], &[]), &sharding(&[&[X], &[]], &[]));
        assert_eq!(steps, ["all_gather -> [{\"x\"}, {}]"]);
    }

    /// The way that is taken where the search ends too early. It need not be good, but it must arrive.
    #[test]
    fn every_target_is_reached_by_the_whole() {
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
            let parts = Parts::new();
            let search = PathSearch { mesh: &mesh, shape: &[10, 6], element_bytes: 4.0, target, parts };
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
    fn blocks_that_do_not_line_up_go_by_the_whole_dimension() {
        // 10 over 8 devices is blocks of 2; over 2 devices, blocks of 5: neither is made of the other.
        let steps = path(&[10], &sharding(&[&[X, Y]], &[]), &sharding(&[&[X]], &[]));
        assert_eq!(steps, ["all_gather -> [{}]", "all_slice -> [{\"x\"}]"]);
        let steps = path(&[10], &sharding(&[&[]], &[]), &sharding(&[&[X, Y]], &[]));
        assert_eq!(steps, ["all_slice -> [{\"x\", \"y\"}]"]);
    }
}
