//! The edges of the search graph: the collectives that lead from one state to other states, and their costs.

use std::collections::HashMap;

use indexmap::IndexSet;
use shardc_ir::{AxisList, AxisMove, DimSharding, Mesh, MeshCollectiveKind, TensorSharding};
use smallvec::SmallVec;

use super::exchange::Exchange;
use super::path::ReshardStep;
use crate::cost::Costs;
use crate::sharding::axes::{Part, Parts, size_of, to_axes};

/// A node of the search graph: the axes and sub-axes by which each dimension is sharded, major to minor, and those along which the value is
/// unreduced.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) dims: SmallVec<[Parts; 4]>,
    pub(super) pending: Parts,
}

/// The maximum number of states that are reached from one state by slices.
const MAX_SLICES: usize = 1 << 8;

/// The maximum number of cuts (slices of one dimension) that are tried for the slices from one state. With many axes, most cuts lead to
/// states that are already known.
const MAX_CUTS: usize = 1 << 11;

/// The search for one reshard. Axes are refined to common sub-axes (parts), any two of which are equal or disjoint.
pub(super) struct PathSearch<'a> {
    pub(super) mesh: &'a Mesh,
    pub(super) costs: Costs,
    pub(super) shape: &'a [i64],
    pub(super) element_bytes: f64,
    pub(super) target: State,
    /// All sub-axes by which a dimension is sharded before or after.
    pub(super) parts: Parts,
    pub(super) exchanges: Exchanges,
    /// The total number of devices of planned exchanges.
    pub(super) planned: usize,
    /// The number of moves, and of cuts for slices, that were tried.
    pub(super) work: usize,
}

/// The costs of planned exchanges between two states, in bytes that a device sends; `None` if no exchange is possible.
pub(super) type Exchanges = HashMap<(State, State), Option<f64>>;

/// The maximum number of exchanges that are planned for one path: planning an exchange takes longer than trying a move.
const MAX_EXCHANGES: usize = 32;

/// The maximum total number of devices of planned exchanges: planning time grows with the number of devices.
const MAX_PLANNED: usize = 1 << 9;

/// An edge of the search graph: a collective, described by its effect on a state.
#[derive(Clone, Debug)]
pub(super) enum Move {
    Gather {
        dim: usize,
        parts: Parts,
    },
    /// A slice, with the sub-axes that it adds to each dimension.
    Slice(SmallVec<[Parts; 4]>),
    AllToAll {
        from: usize,
        to: usize,
        parts: Parts,
    },
    Permute,
    /// A direct exchange of the pieces of new blocks.
    Exchange,
    AllReduce(Parts),
    ReduceScatter {
        dim: usize,
        parts: Parts,
    },
}

impl PathSearch<'_> {
    pub(super) fn local(&self, state: &State, dim: usize) -> i64 {
        block(self.shape[dim], &state.dims[dim])
    }

    pub(super) fn local_bytes(&self, state: &State) -> f64 {
        (0..self.shape.len()).map(|d| self.local(state, d) as f64).product::<f64>() * self.element_bytes
    }

    /// Whether each block of the dimension sharded by `fewer` (a prefix of `more`) consists of whole blocks of the dimension sharded by
    /// `more`. Counterexample: 10 elements in blocks of 2 (over 8 devices) do not form 2 blocks of 5.
    pub(super) fn aligned(&self, dim: usize, fewer: &[Part], more: &[Part]) -> bool {
        let n = self.shape[dim];
        fewer.is_empty() || block(n, fewer) == block(n, more) * (size_of(more) / size_of(fewer))
    }

    pub(super) fn moves(&mut self, state: &State) -> Vec<(Move, State)> {
        let mut out = Vec::new();
        let target = self.target.clone();
        // The last dimension comes first: among paths of equal cost, those that start with the last dimension more often share steps with
        // the paths of other values.
        for (dim, parts) in state.dims.iter().enumerate().rev() {
            // Only minor sub-axes can be all-gathered or moved: without a major sub-axis, a device's elements would not be a contiguous
            // block.
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
        let first_scatter = out.len();
        for (dim, wanted) in target.dims.iter().enumerate() {
            // Several sub-axes at once are tried as well, since blocks may be aligned only for all of them together.
            for first in 0..wanted.len() {
                for end in first + 1..=wanted.len() {
                    self.add_reduce_scatter(state, dim, &wanted[first..end], &mut out);
                }
            }
        }
        let is_scattered = out[first_scatter..].iter().any(|(mv, after)| match mv {
            Move::ReduceScatter { dim, parts } => {
                let is_padded = self.padded(after, parts) > self.local_bytes(state);
                target.dims[*dim].starts_with(&after.dims[*dim]) && !is_padded
            }
            _ => false,
        });
        self.work += self.add_slices(state, &mut out);
        let done: Parts = state.pending.iter().copied().filter(|p| !target.pending.contains(p)).collect();
        if !done.is_empty() {
            // An all-reduce is tried along the sub-axes that no dimension of the target uses. Along the others, a reduce-scatter sends
            // fewer bytes and needs no more ring steps. An all-reduce along all sub-axes is tried only if blocks are not aligned or need
            // padding.
            let free: Parts =
                done.iter().copied().filter(|p| !target.dims.iter().flatten().any(|t| t == p)).collect();
            for parts in [free, done] {
                let is_left = !is_scattered || !parts.iter().any(|part| self.is_wanted(part));
                if !parts.is_empty() && is_left {
                    let mut after = state.clone();
                    after.pending.retain(|p| !parts.contains(p));
                    out.push((Move::AllReduce(parts), after));
                }
            }
        }
        self.add_permutes(state, &mut out);
        out
    }

    /// Adds the reduce-scatter of dimension `dim` along the sub-axes `run`, if the value is unreduced along all of them.
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

    /// Adds slices of one or more dimensions at once, along unused sub-axes. The sub-axes are those of the target, or others whose size
    /// fits, which a permute then replaces with those of the target. Returns the number of cuts that were tried.
    fn add_slices(&self, state: &State, out: &mut Vec<(Move, State)>) -> usize {
        // The set keeps insertion order, so that ties are resolved deterministically.
        let mut reached: IndexSet<State> = IndexSet::from_iter([state.clone()]);
        let (mut next, mut tried) = (0, 0);
        while next < reached.len() && reached.len() < MAX_SLICES && tried < MAX_CUTS {
            let at = reached[next].clone();
            next += 1;
            let is_free = |part: &Part| {
                !at.pending.contains(part) && !at.dims.iter().flatten().any(|used| used == part)
            };
            let mut cut = |dim: usize, run: &[Part]| {
                tried += 1;
                let mut after = at.clone();
                after.dims[dim].extend(run.iter().copied());
                if self.aligned(dim, &state.dims[dim], &after.dims[dim]) {
                    reached.insert(after);
                }
            };
            for (dim, wanted) in self.target.dims.iter().enumerate() {
                // Several sub-axes at once are tried as well, since blocks may be aligned only for all of them together.
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
        tried
    }

    /// Adds the all-to-alls that move the minor sub-axes `moved` of dimension `from` to a dimension that they shard in the target. From any
    /// other dimension, they would have to be moved again.
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

    /// Whether the sub-axis `part` shards some dimension in the target.
    fn is_wanted(&self, part: &Part) -> bool {
        self.target.dims.iter().flatten().any(|wanted| wanted == part)
    }

    /// Returns the state after a permute that keeps the block shape and gives each dimension as many of the target's major sub-axes as fit,
    /// followed by other sub-axes. `None` if no sub-axes have the required sizes.
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
        // Sub-axes that another dimension of the target uses come last: when they are minor, an all-to-all can move them to that dimension.
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

    /// Adds three kinds of permutes. The first leads to as many of the target's sub-axes as possible, and the second to the target's order
    /// of sub-axes in each dimension. The third replaces one sub-axis by an unused one of equal size. Not all permutes are tried, since
    /// their number is factorial.
    fn add_permutes(&self, state: &State, out: &mut Vec<(Move, State)>) {
        let target = &self.target;
        if let Some(after) = self.permuted_to_target(state).filter(|after| after != state) {
            out.push((Move::Permute, after));
        }
        // Only minor sub-axes can be removed from a dimension. The order is: sub-axes that stay, those that the target does not use, and
        // those that another dimension uses. An all-to-all moves the last group before the second group is all-gathered, while blocks are
        // small.
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

    pub(super) fn cost(&self, before: &State, mv: &Move, after: &State) -> f64 {
        let group = |parts: &[Part]| size_of(parts) as f64;
        let along = |parts: &[Part]| self.costs.along(parts.iter().map(|part| part.axis));
        let padded = |blocks: &State, parts: &[Part]| self.padded(blocks, parts);
        match mv {
            Move::Gather { parts, .. } => along(parts).all_gather(padded(before, parts), group(parts)),
            Move::Slice(_) => self.costs.local_copy(self.local_bytes(after)),
            Move::AllToAll { from, parts, .. } => {
                let grown = self.local(after, *from).max(1) as f64;
                let sent = padded(after, parts) / grown * self.local(before, *from) as f64;
                along(parts).all_to_all(sent, group(parts))
            }
            Move::Permute => self.moved(before, after).permute(self.local_bytes(before)),
            Move::Exchange => {
                let known = self.exchanges.get(&(before.clone(), after.clone())).copied().flatten();
                known.unwrap_or(f64::INFINITY)
            }
            Move::AllReduce(parts) => along(parts).all_reduce(self.local_bytes(before), group(parts)),
            Move::ReduceScatter { parts, .. } => {
                along(parts).reduce_scatter(padded(after, parts), group(parts))
            }
        }
    }

    /// Returns the costs of a permute, which sends along the axes of the dimensions whose sub-axes change.
    fn moved(&self, before: &State, after: &State) -> Costs {
        let changed = before.dims.iter().zip(&after.dims).filter(|(before, after)| before != after);
        self.costs.along(changed.flat_map(|(before, after)| before.iter().chain(after)).map(|part| part.axis))
    }

    /// Returns the bytes of the blocks of all devices along `parts`, including padding, since padding is sent. One row over 8 devices is
    /// all-gathered as 8 blocks of one row.
    fn padded(&self, blocks: &State, parts: &[Part]) -> f64 {
        self.local_bytes(blocks) * size_of(parts) as f64
    }

    /// Returns the bytes of the operand and the result of a move, which are in memory at the same time.
    pub(super) fn memory(&self, before: &State, mv: &Move, after: &State) -> f64 {
        let read = match mv {
            // Two rows over 12 devices are padded to 12 rows.
            Move::ReduceScatter { parts, .. } => self.local_bytes(before).max(self.padded(after, parts)),
            _ => self.local_bytes(before),
        };
        read + self.local_bytes(after)
    }

    /// Returns the cost of a direct exchange; `None` if no exchange is possible, or if too many were already planned.
    pub(super) fn exchanged(&mut self, before: &State, after: &State) -> Option<f64> {
        let key = (before.clone(), after.clone());
        if let Some(&known) = self.exchanges.get(&key) {
            return known;
        }
        if self.exchanges.len() >= MAX_EXCHANGES || self.planned >= MAX_PLANNED {
            return None;
        }
        let bytes = self.element_bytes;
        self.planned += Exchange::devices(self.mesh, &before.dims, &after.dims, self.shape);
        let exchange = Exchange::new((self.mesh, self.costs), &before.dims, &after.dims, self.shape, bytes);
        let cost = exchange.map(|exchange| exchange.cost(bytes, self.costs));
        self.exchanges.insert(key, cost);
        cost
    }

    pub(super) fn step(&self, mv: &Move, after: &State, template: &TensorSharding) -> ReshardStep {
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
            Move::Exchange => MeshCollectiveKind::Exchange,
            Move::AllReduce(parts) => MeshCollectiveKind::AllReduce(axes(parts), template.reduction),
            Move::ReduceScatter { dim, parts } => {
                MeshCollectiveKind::ReduceScatter(only(*dim, axes(parts)), template.reduction)
            }
        };
        ReshardStep { kind, out: sharding_of(self.mesh, after, template) }
    }
}

/// Returns the sharding of a value in the state `state`, on the mesh and with the reduction of `template`.
pub(super) fn sharding_of(mesh: &Mesh, state: &State, template: &TensorSharding) -> TensorSharding {
    let dims = state.dims.iter().map(|parts| DimSharding::closed(&to_axes(mesh, parts)));
    let mut out = TensorSharding::from_dims(template.mesh, dims);
    out.unreduced = to_axes(mesh, &state.pending);
    out.reduction = template.reduction;
    out.tidied()
}

pub(super) fn block(n: i64, parts: &[Part]) -> i64 {
    let k = size_of(parts);
    (n + k - 1) / k
}
