//! Simplification of collectives: removes collectives without effect, cancels inverse pairs, and merges other pairs.
//!
//! ```mlir
//! %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}]>
//! %2 = sdy.all_slice [{"x"}, {"y"}] %1 out_sharding=<@mesh, [{"x"}, {"y"}]>
//! // becomes
//! %1 = sdy.reduce_scatter [{"x"}, {}] %0 out_sharding=<@mesh, [{"x"}, {}]>
//! %2 = sdy.all_slice [{}, {"y"}] %1 out_sharding=<@mesh, [{"x"}, {"y"}]>
//! ```

use shardc_ir::{
    AxisList, AxisRef, InsertionPoint, MeshCollective, MeshCollectiveKind, OpId, TensorSharding, ValueId,
};
use shardc_passes::internal::sub_axes::{pre, push_merged};

use super::Round;
use crate::shardings::equivalent;

impl Round<'_> {
    /// Simplifies a collective.
    pub(super) fn collective(&mut self, op: OpId, collective: &MeshCollective) {
        use MeshCollectiveKind as K;
        let Some(&input) = self.module.ops[op].operands.first() else { return };
        match &collective.kind {
            K::AllGather(axes) | K::ReduceScatter(axes, _) if is_empty(axes) => self.replace(op, input),
            K::AllSlice(axes) if is_empty(axes) => self.replace(op, input),
            K::AllReduce(axes, _) if axes.is_empty() => self.replace(op, input),
            K::CollectivePermute | K::Exchange => {
                let before = self.places.get(self.module, input);
                if equivalent(self.module, before, Some(collective.out)) {
                    self.replace(op, input);
                }
            }
            K::AllSlice(axes) => self.slice(op, input, collective, axes),
            K::AllReduce(axes, _) => self.all_reduce(op, input, collective, axes),
            K::AllToAll(_) => self.all_to_all(op, input, collective),
            K::AllGather(_)
            | K::ReduceScatter(..)
            | K::ShardedToUnreduced(_)
            | K::ReplicatedToUnreduced(_) => {}
        }
    }

    fn slice(&mut self, op: OpId, input: ValueId, collective: &MeshCollective, axes: &[AxisList]) {
        let Some((source, before)) = self.collective_of(input) else { return };
        match &before.kind {
            // The slice is the inverse of the all-gather.
            MeshCollectiveKind::AllGather(gathered) if gathered == axes => {
                let value = self.module.ops[source].operands[0];
                self.replace(op, value);
            }
            MeshCollectiveKind::AllReduce(..) => self.reduce_scatter(op, source, &before, collective),
            _ => {}
        }
    }

    /// Replaces an all-reduce and a slice of its result by a reduce-scatter.
    fn reduce_scatter(&mut self, op: OpId, source: OpId, reduce: &MeshCollective, slice: &MeshCollective) {
        let (MeshCollectiveKind::AllReduce(reduced, kind), MeshCollectiveKind::AllSlice(sliced)) =
            (&reduce.kind, &slice.kind)
        else {
            return;
        };
        let (value, sum) = (self.module.ops[source].operands[0], self.module.ops[source].results[0]);
        // The all-reduce can only be replaced if all its users are equal slices.
        let users: Vec<OpId> = self.uses.of(sum).iter().map(|&(user, _)| user).collect();
        let same = |user: &OpId| match &self.module.ops[*user].kind {
            shardc_ir::OpKind::MeshCollective(other) => other.kind == slice.kind,
            _ => false,
        };
        if self.touched[source] || users.first() != Some(&op) || !users.iter().all(same) {
            return;
        }
        let Some((scattered, rest)) = split(reduced, sliced) else { return };
        let mesh = self.module.meshes[reduce.mesh].clone();
        let out = self.module.shardings.get(slice.out).clone();
        let before = match self.places.get(self.module, value) {
            Some(id) => self.module.shardings.get(id).clone(),
            None => TensorSharding::replicated(reduce.mesh, out.rank()),
        };
        let mut dims = before.closed().dims;
        for (dim, axes) in dims.iter_mut().zip(&scattered) {
            for &axis in axes {
                push_merged(&mesh, &mut dim.axes, axis);
            }
        }
        let made = TensorSharding { mesh: reduce.mesh, dims, ..out };
        let made = self.module.shardings.intern(made);
        let kind = MeshCollectiveKind::ReduceScatter(scattered, *kind);
        self.set_collective(source, MeshCollective { mesh: reduce.mesh, kind, out: made });
        if !is_empty(&rest) {
            let kind = MeshCollectiveKind::AllSlice(rest);
            self.set_collective(op, MeshCollective { kind, ..slice.clone() });
            let value = self.module.ops[op].results[0];
            users.into_iter().skip(1).for_each(|user| self.replace(user, value));
        } else {
            users.into_iter().for_each(|user| self.replace(user, sum));
        }
    }

    fn all_reduce(&mut self, op: OpId, input: ValueId, collective: &MeshCollective, axes: &AxisList) {
        let Some((source, before)) = self.collective_of(input) else { return };
        let value = self.module.ops[source].operands[0];
        match &before.kind {
            MeshCollectiveKind::ReplicatedToUnreduced(pending) if pending == axes => self.replace(op, value),
            MeshCollectiveKind::ShardedToUnreduced(pending) => {
                let mesh = &self.module.meshes[before.mesh];
                let mut all: Vec<AxisRef> = pending.iter().flatten().copied().collect();
                all.sort_unstable_by_key(|&axis| (axis.axis, pre(axis)));
                let mut merged = AxisList::new();
                all.into_iter().for_each(|axis| push_merged(mesh, &mut merged, axis));
                if merged == *axes {
                    let kind = MeshCollectiveKind::AllGather(pending.clone());
                    self.set_collective(op, MeshCollective { kind, ..collective.clone() });
                    self.set_operand(op, value);
                }
            }
            _ => {}
        }
    }

    fn all_to_all(&mut self, op: OpId, input: ValueId, collective: &MeshCollective) {
        if self.module.ops[op].results.iter().all(|&v| self.uses_of(v) == 0) {
            self.erase(op);
            return;
        }
        let Some((source, before)) = self.collective_of(input) else { return };
        let (MeshCollectiveKind::AllToAll(first), MeshCollectiveKind::AllToAll(second)) =
            (&before.kind, &collective.kind)
        else {
            return;
        };
        let mut moves = [first.as_slice(), second.as_slice()].concat();
        let mut dims: Vec<u32> = moves.iter().flat_map(|m| [m.from, m.to]).collect();
        dims.sort_unstable();
        if self.uses_of(input) != 1 || dims.windows(2).any(|pair| pair[0] == pair[1]) {
            return;
        }
        moves.sort_by_key(|m| m.from);
        let value = self.module.ops[source].operands[0];
        self.set_collective(
            op,
            MeshCollective { kind: MeshCollectiveKind::AllToAll(moves), ..collective.clone() },
        );
        self.set_operand(op, value);
        self.erase(source);
    }

    /// The insertion point directly after the producer of a value.
    pub(super) fn behind(&self, value: ValueId) -> InsertionPoint {
        InsertionPoint::behind(self.module, value)
    }
}

fn is_empty(axes: &[AxisList]) -> bool {
    axes.iter().all(|axes| axes.is_empty())
}

/// Splits the axes that slice each dimension into a prefix of reduced axes and the rest. Returns `None` if a reduced axis is
/// not in a prefix.
fn split(reduced: &AxisList, sliced: &[AxisList]) -> Option<(Vec<AxisList>, Vec<AxisList>)> {
    let mut left: Vec<AxisRef> = reduced.to_vec();
    let mut out = (Vec::new(), Vec::new());
    for axes in sliced {
        let mut n = 0;
        for axis in axes {
            let Some(at) = left.iter().position(|other| other == axis) else { break };
            left.swap_remove(at);
            n += 1;
        }
        out.0.push(AxisList::from_slice(&axes[..n]));
        out.1.push(AxisList::from_slice(&axes[n..]));
    }
    left.is_empty().then_some(out)
}
