//! Transposition of collectives: data returns to the device that it came from.

use shardc_ir::reducer::reducer;
use shardc_ir::{Build, CollectiveSpec, OpId, OpKind, ReductionKind, ReplicaGroups, ValueId};

use crate::linearize::collectives::like;
use crate::transpose::Transposed;

/// The cotangent of a collective's operand.
pub(super) fn of_operand(t: &mut Transposed<'_, '_>, op: OpId, ct: ValueId) -> Option<ValueId> {
    let (kind, operand) = {
        let data = &t.linear.module.ops[op];
        (data.kind.clone(), data.operands[0])
    };
    let mut like = |spec: &CollectiveSpec| like(t.linear, spec);
    let (back, adds) = match kind {
        // Each device's partial sum contributes to the results of all devices in its group, so the cotangent of the partial sum is the sum
        // of the cotangents of these results.
        OpKind::AllReduce(spec) => (OpKind::AllReduce(like(&spec)), true),
        OpKind::CrossReplicaSum(spec) => (OpKind::CrossReplicaSum(spec), false),
        OpKind::AllGather { dim, spec } => (OpKind::ReduceScatter { dim, spec: like(&spec) }, true),
        OpKind::ReduceScatter { dim, spec } => (OpKind::AllGather { dim, spec: like(&spec) }, false),
        OpKind::AllToAll { split_dim, concat_dim, split_count, spec } => (
            OpKind::AllToAll { split_dim: concat_dim, concat_dim: split_dim, split_count, spec: like(&spec) },
            false,
        ),
        OpKind::CollectivePermute(spec) => {
            let mut back = like(&spec);
            let pairs = spec.groups.iter().filter_map(|pair| pair.pair());
            back.groups = ReplicaGroups::pairs(pairs.map(|(from, to)| (to, from)));
            (OpKind::CollectivePermute(back), false)
        }
        _ => return None,
    };
    let module = &mut *t.linear.module;
    let (ty, dtype) = (module.values[operand].ty, module.tensor(operand)?.dtype);
    let regions = if adds { vec![reducer(module, ReductionKind::Add, dtype)] } else { Vec::new() };
    let made = t.emit(op).op(back, &[ct], &[ty], &regions);
    t.linear.module.ops[made].results.first().copied()
}
