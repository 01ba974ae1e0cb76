//! Which regions hold values of the program, and which hold only the scalar arithmetic of a reducer.

use shardc_ir::{Module, OpId, OpKind, RegionId};

/// Whether the regions of this operation hold tensors of the program, so that shardings reach into them.
/// The regions of the others combine or compare single elements.
#[must_use]
pub fn has_program_regions(kind: &OpKind) -> bool {
    match kind {
        OpKind::While | OpKind::Case | OpKind::If | OpKind::ManualComputation(_) => true,
        OpKind::Reduce { .. }
        | OpKind::ReduceWindow(_)
        | OpKind::SelectAndScatter(_)
        | OpKind::Sort { .. }
        | OpKind::Scatter(_)
        | OpKind::AllReduce(_)
        | OpKind::ReduceScatter { .. }
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
        | OpKind::Opaque(_)
        | OpKind::CustomCall(_) => false,
        // These have no regions.
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
        | OpKind::Gather(_)
        | OpKind::RngBitGenerator { .. }
        | OpKind::Fft { .. }
        | OpKind::Cholesky { .. }
        | OpKind::TriangularSolve(_)
        | OpKind::OptimizationBarrier
        | OpKind::Call { .. }
        | OpKind::Return
        | OpKind::Tuple
        | OpKind::GetTupleElement { .. }
        | OpKind::AfterAll
        | OpKind::AllGather { .. }
        | OpKind::AllToAll { .. }
        | OpKind::CollectivePermute(_)
        | OpKind::CollectiveBroadcast(_)
        | OpKind::PartitionId
        | OpKind::ReplicaId
        | OpKind::ShardingConstraint(_)
        | OpKind::Reshard(_)
        | OpKind::MeshCollective(_)
        | OpKind::PropagationBarrier { .. }
        | OpKind::ShardingGroup { .. } => false,
    }
}

/// Every operation under `region` whose values carry shardings, in order.
#[must_use]
pub fn program_ops(module: &Module, region: RegionId) -> Vec<OpId> {
    let mut out = Vec::new();
    let mut stack: Vec<(RegionId, usize)> = vec![(region, 0)];
    while let Some((region, at)) = stack.pop() {
        let Some(&op) = module.regions[region].ops.get(at) else { continue };
        out.push(op);
        stack.push((region, at + 1));
        let op = &module.ops[op];
        if has_program_regions(&op.kind) {
            stack.extend(op.regions.iter().rev().map(|&r| (r, 0)));
        }
    }
    out
}

/// Every region under and including `region` whose arguments carry shardings.
#[must_use]
pub fn program_regions(module: &Module, region: RegionId) -> Vec<RegionId> {
    let mut out = vec![region];
    for op in program_ops(module, region) {
        let op = &module.ops[op];
        if has_program_regions(&op.kind) {
            out.extend(op.regions.iter().copied());
        }
    }
    out
}
