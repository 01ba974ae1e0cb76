//! Conversions between reduced and unreduced values at a use.

use shardc_ir::{
    AxisList, InsertionPoint, Mesh, MeshCollective, MeshCollectiveKind, OpId, OpKind, ShardingId,
    TensorSharding, ValueId,
};
use shardc_passes::internal::sub_axes::{Prefix, minus, part, pre, prefix_of, push_merged};

use super::{Inserter, Use};

/// Returns the axes of `axes` without the parts (sub-axes) that overlap an axis of `others`.
pub(super) fn difference(
    mesh: &Mesh,
    axes: &[shardc_ir::AxisRef],
    others: &[shardc_ir::AxisRef],
) -> AxisList {
    axes.iter().flat_map(|&axis| minus(mesh, axis, others)).collect()
}

/// Sorts axes in mesh order, and merges adjacent sub-axes.
pub(super) fn sorted(mesh: &Mesh, mut axes: AxisList) -> AxisList {
    axes.sort_unstable_by_key(|&axis| (axis.axis, pre(axis)));
    let mut out = AxisList::new();
    for axis in axes {
        push_merged(mesh, &mut out, axis);
    }
    out
}

impl Inserter<'_> {
    /// Inserts, for one use, an all-reduce along the unreduced axes that `target` does not have.
    pub(super) fn complete(&mut self, used: Use, target: Option<ShardingId>, at: &mut InsertionPoint) {
        let value = self.value(used);
        let Some(id) = self.sharding(value) else { return };
        let source = self.module.shardings.get(id);
        if source.unreduced.is_empty() {
            return;
        }
        let mesh = &self.module.meshes[source.mesh];
        let target =
            target.map(|id| self.module.shardings.get(id)).filter(|target| target.mesh == source.mesh);
        let kept = target.map_or(&[][..], |target| target.unreduced.as_slice());
        let axes = difference(mesh, &source.unreduced, kept);
        if axes.is_empty() {
            return;
        }
        let left = difference(mesh, &source.unreduced, &axes);
        let kind = source.reduction;
        let out = TensorSharding { unreduced: left, ..source.clone() }.tidied();
        self.collective(used, value, MeshCollectiveKind::AllReduce(axes, kind), out, at);
    }

    /// Makes one use of a value unreduced along the unreduced axes of `target`; returns whether anything was inserted.
    pub(super) fn make_pending(
        &mut self,
        used: Use,
        target: Option<ShardingId>,
        at: &mut InsertionPoint,
    ) -> bool {
        let value = self.value(used);
        let (Some(from), Some(to)) = (self.sharding(value), target) else { return false };
        let (from, to) = (self.module.shardings.get(from).clone(), self.module.shardings.get(to).clone());
        if from.mesh != to.mesh || to.unreduced.is_empty() || from.rank() != to.rank() {
            return false;
        }
        let mesh = self.module.meshes[from.mesh].clone();
        let new = difference(&mesh, &to.unreduced, &from.unreduced);
        if new.is_empty() || !difference(&mesh, &from.unreduced, &to.unreduced).is_empty() {
            return false;
        }
        let (mut between, mut by_dim) = (to.clone(), vec![AxisList::new(); to.rank()]);
        let mut reshard = false;
        for (d, by_dim) in by_dim.iter_mut().enumerate() {
            let (have, want) = (&from.dims[d].axes, &to.dims[d].axes);
            match prefix_of(want, have) {
                Prefix::Equal => {}
                Prefix::No => reshard = true,
                Prefix::Strict => {
                    let rest = rest_behind(&mesh, have, want);
                    if difference(&mesh, &rest, &new).is_empty() {
                        *by_dim = rest;
                        between.dims[d] = from.dims[d].clone();
                    } else {
                        reshard = true;
                    }
                }
            }
        }
        if reshard {
            let sharding = TensorSharding { dims: between.dims.clone(), ..from.clone() };
            self.reshard(used, self.value(used), sharding, at);
        }
        let from_dims: AxisList = by_dim.iter().flatten().copied().collect();
        let alike = difference(&mesh, &new, &from_dims);
        if !alike.is_empty() {
            let unreduced = from.unreduced.iter().chain(&alike).copied().collect();
            let out = TensorSharding {
                unreduced: sorted(&mesh, unreduced),
                replicated: to.replicated.clone(),
                reduction: to.reduction,
                ..between
            };
            self.collective(
                used,
                self.value(used),
                MeshCollectiveKind::ReplicatedToUnreduced(alike),
                out,
                at,
            );
        }
        if !from_dims.is_empty() {
            self.collective(used, self.value(used), MeshCollectiveKind::ShardedToUnreduced(by_dim), to, at);
        }
        true
    }

    /// Inserts all-reduces of an operation's results along the axes `reduced`, which shard its reduction factors, except axes along which
    /// the first result stays unreduced.
    pub(super) fn complete_results(
        &mut self,
        op: OpId,
        mesh: shardc_ir::MeshId,
        reduced: &[shardc_ir::AxisRef],
    ) {
        let results = self.module.ops[op].results.clone();
        let Some(&first) = results.first().filter(|_| !reduced.is_empty()) else { return };
        let pending = self.unreduced(first);
        let axes = difference(&self.module.meshes[mesh], reduced, &pending);
        if axes.is_empty() {
            return;
        }
        let axes = sorted(&self.module.meshes[mesh], axes);
        let mut at = InsertionPoint::After(op, 0);
        for result in results {
            if self.module.stored(result).is_none() {
                continue;
            }
            let sharding = match self.sharding(result) {
                Some(id) => self.module.shardings.get(id).clone(),
                None => TensorSharding::replicated(mesh, self.module.rank(result)),
            };
            let kind = MeshCollectiveKind::AllReduce(axes.clone(), sharding.reduction);
            let new = self.new_collective(result, kind, sharding);
            self.insertions.insert(&mut at, new);
            self.replace(result, new);
        }
    }

    /// The unreduced axes of a value.
    pub(super) fn unreduced(&mut self, value: ValueId) -> AxisList {
        self.sharding(value).map_or_else(AxisList::new, |id| self.module.shardings.get(id).unreduced.clone())
    }

    fn collective(
        &mut self,
        used: Use,
        value: ValueId,
        kind: MeshCollectiveKind,
        out: TensorSharding,
        at: &mut InsertionPoint,
    ) {
        let new = self.new_collective(value, kind, out);
        self.insertions.insert(at, new);
        self.set_value(used, new);
    }

    fn new_collective(&mut self, value: ValueId, kind: MeshCollectiveKind, out: TensorSharding) -> OpId {
        let mesh = out.mesh;
        let out = self.module.shardings.intern(out);
        self.new_op(value, OpKind::MeshCollective(Box::new(MeshCollective { mesh, kind, out })))
    }
}

/// Returns `axes` without their prefix `first`, whose last axis may be a sub-axis of the corresponding axis of `axes`.
fn rest_behind(mesh: &Mesh, axes: &[shardc_ir::AxisRef], first: &[shardc_ir::AxisRef]) -> AxisList {
    let mut out = AxisList::new();
    if let Some(&last) = first.last()
        && let Some(&whole) = axes.get(first.len() - 1)
        && whole != last
    {
        let from = pre(last) * mesh.axis_size(last) as u32;
        let end = pre(whole) * mesh.axis_size(whole) as u32;
        out.push(part(whole, from, end / from));
    }
    out.extend(axes.iter().skip(first.len()).copied());
    out
}
