//! Removes operations whose results nobody uses.

use shardc_ir::{Module, Op, OpId, OpKind, RegionId, SecondaryMap, UseCounts};

/// Removes, under `region`, every operation without effect whose results are not used.
pub fn sweep(module: &mut Module, region: RegionId) {
    sweep_where(module, region, |_, op| is_pure(&op.kind));
}

/// Removes, under `region`, every operation that `can_go` and whose results are not used, with what is in its regions.
/// Tells whether there was any.
pub(crate) fn sweep_where(
    module: &mut Module,
    region: RegionId,
    can_go: impl Fn(&Module, &Op) -> bool,
) -> bool {
    let order = module.walk(region);
    let mut uses = UseCounts::of(module, &order);
    let mut dead: SecondaryMap<OpId, bool> = SecondaryMap::new();
    let mut any = false;
    // Last to first, what reads a value has gone before what makes it is looked at.
    for &op in order.iter().rev() {
        let data = &module.ops[op];
        if !dead[op] && uses.are_unused(&data.results) && can_go(module, data) {
            any = true;
            let inner = data.regions.iter().flat_map(|&region| module.walk(region));
            for gone in inner.chain([op]) {
                // Some of what is inside may be gone already.
                if !std::mem::replace(&mut dead[gone], true) {
                    uses.remove(&module.ops[gone].operands);
                }
            }
        }
    }
    if any {
        for region in module.regions_under(region) {
            module.retain_ops(region, |op| !dead[op]);
        }
    }
    any
}

/// Whether an operation does nothing but make its results.
pub(crate) fn is_pure(kind: &OpKind) -> bool {
    match kind {
        OpKind::Unary(_)
        | OpKind::Binary(_)
        | OpKind::Compare(..)
        | OpKind::Select
        | OpKind::Clamp
        | OpKind::Convert
        | OpKind::BitcastConvert
        | OpKind::ReducePrecision { .. }
        | OpKind::Constant(_)
        | OpKind::Iota { .. }
        | OpKind::BroadcastInDim { .. }
        | OpKind::Reshape
        | OpKind::Transpose { .. }
        | OpKind::Reverse { .. }
        | OpKind::Slice(_)
        | OpKind::DynamicSlice { .. }
        | OpKind::DynamicUpdateSlice
        | OpKind::Concatenate { .. }
        | OpKind::Pad(_)
        | OpKind::DotGeneral(_)
        | OpKind::Convolution(_)
        | OpKind::Reduce { .. }
        | OpKind::ReduceWindow(_)
        | OpKind::SelectAndScatter(_)
        | OpKind::Sort { .. }
        | OpKind::Gather(_)
        | OpKind::Scatter(_)
        | OpKind::RngBitGenerator { .. }
        | OpKind::Fft { .. }
        | OpKind::Cholesky { .. }
        | OpKind::TriangularSolve(_)
        | OpKind::Tuple
        | OpKind::GetTupleElement { .. }
        | OpKind::PartitionId
        | OpKind::ReplicaId
        | OpKind::Reshard(_)
        | OpKind::ShardingConstraint(_)
        | OpKind::MeshCollective(_) => true,
        // Loops may not end, barriers hold others in place, collectives and calls meet other devices, and the
        // rest is unknown.
        OpKind::While
        | OpKind::Case
        | OpKind::If
        | OpKind::OptimizationBarrier
        | OpKind::Call { .. }
        | OpKind::Return
        | OpKind::CustomCall(_)
        | OpKind::AfterAll
        | OpKind::AllReduce(_)
        | OpKind::AllGather { .. }
        | OpKind::ReduceScatter { .. }
        | OpKind::AllToAll { .. }
        | OpKind::CollectivePermute(_)
        | OpKind::CollectiveBroadcast(_)
        | OpKind::ManualComputation(_)
        | OpKind::PropagationBarrier { .. }
        | OpKind::ShardingGroup { .. }
        | OpKind::BatchNorm(..)
        | OpKind::Map { .. }
        | OpKind::Rng(_)
        | OpKind::Dynamic(_)
        | OpKind::GetDimensionSize { .. }
        | OpKind::SetDimensionSize { .. }
        | OpKind::Broadcast { .. }
        | OpKind::Einsum { .. }
        | OpKind::UnaryEinsum { .. }
        | OpKind::TorchIndexSelect { .. }
        | OpKind::UniformQuantize
        | OpKind::UniformDequantize
        | OpKind::Composite(_)
        | OpKind::AsyncStart
        | OpKind::AsyncDone
        | OpKind::CreateToken
        | OpKind::Infeed(_)
        | OpKind::Outfeed { .. }
        | OpKind::Send(_)
        | OpKind::Recv(_)
        | OpKind::CollectiveReduce(_)
        | OpKind::CrossReplicaSum(_)
        | OpKind::Broadcasting(_)
        | OpKind::ConstantLike(_)
        | OpKind::TopK { .. }
        | OpKind::RaggedDot(_)
        | OpKind::Scan(_)
        | OpKind::DataFlowEdge(_)
        | OpKind::FuncDataFlowEdge
        | OpKind::NamedComputation(_)
        | OpKind::Opaque(_) => false,
    }
}
