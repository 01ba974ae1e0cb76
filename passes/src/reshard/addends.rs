//! Paths to a sharding that is unreduced along more axes than the current one. The conversion to partial sums itself sends nothing.
//!
//! A value that is replicated along an axis is kept by the first device; the other devices get the identity of the reduction. A value that
//! is sharded along the axis becomes partial sums in place: each device has its block of the full value, and the identity elsewhere.

use shardc_ir::{AxisList, Mesh, MeshCollectiveKind, TensorSharding};

use super::moves::{State, block, sharding_of};
use super::path::{Path, ReshardStep, Value};
use crate::cost::Costs;
use crate::sharding::axes::{Parts, size_of, to_axes};

/// One way to make a value unreduced over `new`: a path to `before`, followed by steps that send nothing.
pub(super) struct Way {
    /// The state at the end of the path.
    pub(super) before: State,
    /// The minor axes of each dimension of `before` along which the value becomes unreduced; empty if there are none in any dimension.
    tails: Vec<Parts>,
    /// All axes along which the value becomes unreduced.
    new: Parts,
}

/// The ways to convert a value between two states whose axes are refined together. The second state is unreduced along more axes than the
/// first.
pub(super) struct Ways {
    /// The way in which the first device keeps the value.
    pub(super) by_first: Way,
    /// The way in which the blocks of the dimensions become partial sums, if there is one.
    pub(super) in_place: Option<Way>,
}

impl Ways {
    pub(super) fn new(from: &State, to: &State, value: Value<'_>) -> Ways {
        let new: Parts = to.pending.iter().copied().filter(|p| !from.pending.contains(p)).collect();
        let mut before = to.clone();
        before.pending.retain(|p| !new.contains(p));
        // The minor axes of each dimension along which the value becomes unreduced.
        let tails: Vec<Parts> = from
            .dims
            .iter()
            .map(|parts| parts[parts.iter().rposition(|p| !new.contains(p)).map_or(0, |i| i + 1)..].into())
            .collect();
        let mut split = before.clone();
        for (parts, tail) in split.dims.iter_mut().zip(&tails) {
            parts.extend(tail.iter().copied());
        }
        let lines_up = tails.iter().enumerate().all(|(dim, tail)| {
            tail.is_empty()
                || block(value.shape[dim], &before.dims[dim])
                    == block(value.shape[dim], &split.dims[dim]) * size_of(tail)
                || before.dims[dim].is_empty()
        });
        let is_in_place = lines_up && !tails.iter().all(|tail| tail.is_empty());
        let by_first = Way { before, tails: Vec::new(), new: new.clone() };
        Ways { by_first, in_place: is_in_place.then_some(Way { before: split, tails, new }) }
    }
}

impl Way {
    /// Appends the steps after the state `before` to the path to that state.
    pub(super) fn finish(
        &self,
        mut path: Path,
        (mesh, costs): (&Mesh, Costs),
        template: &TensorSharding,
        value: Value<'_>,
    ) -> Path {
        let mut at = self.before.clone();
        let mut left: Parts = self.new.clone();
        let end = End { mesh, costs, template, value };
        if !self.tails.is_empty() {
            for (parts, tail) in at.dims.iter_mut().zip(&self.tails) {
                parts.truncate(parts.len() - tail.len());
                at.pending.extend(tail.iter().copied());
                left.retain(|p| !tail.contains(p));
            }
            let axes: Vec<AxisList> = self.tails.iter().map(|tail| to_axes(mesh, tail)).collect();
            end.push(&mut path, MeshCollectiveKind::ShardedToUnreduced(axes), &mut at);
        }
        if !left.is_empty() {
            left.sort_unstable();
            at.pending.extend(left.iter().copied());
            let axes = to_axes(mesh, &left);
            end.push(&mut path, MeshCollectiveKind::ReplicatedToUnreduced(axes), &mut at);
        }
        path
    }
}

/// The context of the last steps of a path.
struct End<'a> {
    mesh: &'a Mesh,
    costs: Costs,
    template: &'a TensorSharding,
    value: Value<'a>,
}

impl End<'_> {
    fn push(&self, path: &mut Path, kind: MeshCollectiveKind, at: &mut State) {
        at.pending.sort_unstable();
        let out = sharding_of(self.mesh, at, self.template);
        let local = out.local_shape(self.mesh, self.value.shape);
        let elements: f64 = local.iter().map(|&n| n as f64).product();
        path.cost += self.costs.local_copy(elements * self.value.element_bytes);
        path.steps.push(ReshardStep { kind, out });
    }
}
