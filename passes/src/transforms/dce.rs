//! Removes operations whose results nobody uses.

use shardc_ir::{EntityRef, Module, OpKind, RegionId};

/// Removes, under `region`, every operation without effect whose results are not used.
pub fn sweep(module: &mut Module, region: RegionId) {
    sweep_where(module, region, is_pure);
}

/// The same for every operation of a kind that `can_go` where its results are not used.
pub(crate) fn sweep_where(module: &mut Module, region: RegionId, can_go: impl Fn(&OpKind) -> bool) {
    let mut uses = vec![0u32; module.values.len()];
    for op in module.walk(region) {
        for v in &module.ops[op].operands {
            uses[v.index()] += 1;
        }
    }
    sweep_region(module, region, &mut uses, &can_go);
}

fn sweep_region(module: &mut Module, region: RegionId, uses: &mut [u32], can_go: &impl Fn(&OpKind) -> bool) {
    let ops = std::mem::take(&mut module.regions[region].ops);
    let mut kept = Vec::with_capacity(ops.len());
    for op in ops.into_iter().rev() {
        let data = &module.ops[op];
        if can_go(&data.kind) && data.results.iter().all(|v| uses[v.index()] == 0) {
            let inner = data.regions.iter().flat_map(|&r| module.walk(r)).collect::<Vec<_>>();
            for dead in inner.into_iter().chain([op]) {
                for v in &module.ops[dead].operands {
                    uses[v.index()] -= 1;
                }
            }
            continue;
        }
        for inner in data.regions.clone() {
            sweep_region(module, inner, uses, can_go);
        }
        kept.push(op);
    }
    kept.reverse();
    module.regions[region].ops = kept;
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
