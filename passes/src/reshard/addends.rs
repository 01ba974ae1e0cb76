//! Paths to a value that is unreduced along more axes than before; nothing is sent.
//!
//! A value that is replicated along an axis is kept by the first device, and is the identity of the reduction on the others. A value that
//! is split along the axis becomes partial sums in place: each device has its block of the full value, and the identity elsewhere.

use shardc_ir::{AxisList, Mesh, MeshCollectiveKind, TensorSharding};

use super::moves::{State, block, sharding_of};
use super::search::{Path, ReshardStep, Value, search};
use crate::cost;
use crate::sharding::axes::{Parts, size_of, to_axes};

/// Returns the cheapest path between two states of refined parts. The second is unreduced over parts over which the first is not.
pub(super) fn path(
    mesh: &Mesh,
    from: &State,
    to: &State,
    template: &TensorSharding,
    value: Value<'_>,
) -> Option<Path> {
    let new: Parts = to.pending.iter().copied().filter(|p| !from.pending.contains(p)).collect();
    let way = Way { mesh, template, value };
    let mut before = to.clone();
    before.pending.retain(|p| !new.contains(p));
    // The minor parts of each dimension that become unreduced.
    let tails: Vec<Parts> = from
        .dims
        .iter()
        .map(|parts| parts[parts.iter().rposition(|p| !new.contains(p)).map_or(0, |i| i + 1)..].into())
        .collect();
    let by_first = way.to_pending(search(mesh, from, &before, template, value)?, &before, &[], &new);
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
    if !lines_up || tails.iter().all(|tail| tail.is_empty()) {
        return Some(by_first);
    }
    let in_place = search(mesh, from, &split, template, value)?;
    let in_place = way.to_pending(in_place, &split, &tails, &new);
    Some(if in_place.cost <= by_first.cost { in_place } else { by_first })
}

struct Way<'a> {
    mesh: &'a Mesh,
    template: &'a TensorSharding,
    value: Value<'a>,
}

impl Way<'_> {
    /// Appends the steps that make the value in state `at` unreduced over `new`. `tails` are the parts that dimensions lose.
    fn to_pending(
        &self,
        mut path: Path,
        at: &State,
        tails: &[Parts],
        new: &[crate::sharding::axes::Part],
    ) -> Path {
        let mut at = at.clone();
        let mut left: Parts = new.into();
        if !tails.is_empty() {
            for (parts, tail) in at.dims.iter_mut().zip(tails) {
                parts.truncate(parts.len() - tail.len());
                at.pending.extend(tail.iter().copied());
                left.retain(|p| !tail.contains(p));
            }
            let axes: Vec<AxisList> = tails.iter().map(|tail| to_axes(self.mesh, tail)).collect();
            self.push(&mut path, MeshCollectiveKind::ShardedToUnreduced(axes), &mut at);
        }
        if !left.is_empty() {
            left.sort_unstable();
            at.pending.extend(left.iter().copied());
            let axes = to_axes(self.mesh, &left);
            self.push(&mut path, MeshCollectiveKind::ReplicatedToUnreduced(axes), &mut at);
        }
        path
    }

    fn push(&self, path: &mut Path, kind: MeshCollectiveKind, at: &mut State) {
        at.pending.sort_unstable();
        let out = sharding_of(self.mesh, at, self.template);
        let local = out.local_shape(self.mesh, self.value.shape);
        let elements: f64 = local.iter().map(|&n| n as f64).product();
        path.cost += cost::local_copy(elements * self.value.element_bytes);
        path.steps.push(ReshardStep { kind, out });
    }
}
