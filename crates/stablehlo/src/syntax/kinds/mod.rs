//! Inherent attributes <-> payloads of [`OpKind`].

mod given;
mod read;
mod write;

use shardc_ir::{BatchNormKind, BroadcastingOp, DynamicOp, Module, OpKind};

pub(crate) use given::Given;
pub(crate) use read::kind_of;

use super::values::Attrs;

/// Inherent attributes of an operation of this kind, sorted by name as MLIR prints them. Those of a custom call
/// and of an unknown operation, which are kept as they were read, are not among them.
pub(crate) fn attrs_of(module: &Module, kind: &OpKind) -> Attrs {
    let mut out = Attrs::new();
    write::push_attrs(&mut out, module, kind);
    out.sort_by_key(|(name, _)| *name);
    out
}

/// How many operands an operation of this kind takes, where that is a fixed number.
pub(crate) fn operand_count(kind: &OpKind) -> Option<usize> {
    use OpKind as K;
    match kind {
        K::Constant(_) | K::Iota { .. } | K::PartitionId | K::ReplicaId | K::CreateToken => Some(0),
        K::Unary(_)
        | K::Convert
        | K::BitcastConvert
        | K::ReducePrecision { .. }
        | K::BroadcastInDim { .. } => Some(1),
        K::Reshape | K::Transpose { .. } | K::Reverse { .. } | K::Slice(_) | K::RngBitGenerator { .. } => {
            Some(1)
        }
        K::Fft { .. } | K::Cholesky { .. } | K::Case | K::If | K::GetTupleElement { .. } => Some(1),
        K::CollectivePermute(_) | K::ShardingConstraint(_) | K::Reshard(_) => Some(1),
        K::MeshCollective(_) | K::PropagationBarrier { .. } | K::ShardingGroup { .. } => Some(1),
        K::ReduceScatter { .. } => Some(1),
        K::GetDimensionSize { .. } | K::Broadcast { .. } | K::UnaryEinsum { .. } | K::TopK { .. } => Some(1),
        K::UniformQuantize | K::UniformDequantize | K::AsyncDone | K::Infeed(_) | K::Recv(_) => Some(1),
        K::CrossReplicaSum(_) | K::ConstantLike(_) | K::DataFlowEdge(_) | K::FuncDataFlowEdge => Some(1),
        K::Binary(_) | K::Compare(..) | K::Pad(_) | K::DotGeneral(_) | K::Convolution(_) | K::Gather(_) => {
            Some(2)
        }
        K::TriangularSolve(_) | K::SetDimensionSize { .. } | K::Einsum { .. } => Some(2),
        K::TorchIndexSelect { .. } => Some(2),
        K::Select | K::Clamp | K::SelectAndScatter(_) | K::Rng(_) | K::RaggedDot(_) => Some(3),
        K::BatchNorm(BatchNormKind::Training, _) => Some(3),
        K::BatchNorm(BatchNormKind::Inference | BatchNormKind::Grad, _) => Some(5),
        K::Dynamic(op) => Some(match op {
            DynamicOp::Iota { .. } => 1,
            DynamicOp::Reshape | DynamicOp::BroadcastInDim(_) => 2,
            DynamicOp::Gather(_) | DynamicOp::Convolution(_) => 3,
            DynamicOp::RealSlice => 4,
            DynamicOp::Pad => 5,
        }),
        K::Broadcasting(spec) => Some(match spec.op {
            BroadcastingOp::Binary(_) | BroadcastingOp::Compare(..) => 2,
            BroadcastingOp::Select => 3,
        }),
        K::DynamicSlice { .. } | K::DynamicUpdateSlice | K::Concatenate { .. } | K::Reduce { .. } => None,
        K::ReduceWindow(_) | K::Sort { .. } | K::Scatter(_) | K::While | K::OptimizationBarrier => None,
        K::Call { .. } | K::Return | K::CustomCall(_) | K::Tuple | K::AfterAll | K::AllReduce(_) => None,
        K::Map { .. } | K::Composite(_) | K::AsyncStart | K::Outfeed { .. } | K::Send(_) => None,
        K::Scan(spec) => (spec.inputs as usize).checked_add(spec.carries as usize),
        K::CollectiveReduce(_) | K::NamedComputation(_) => None,
        K::AllGather { .. }
        | K::AllToAll { .. }
        | K::CollectiveBroadcast(_)
        | K::ManualComputation(_)
        | K::Opaque(_) => None,
    }
}
