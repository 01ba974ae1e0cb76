//! I6 and I7: counts and types.

use super::hints;
use super::{Report, regions};
use crate::{BatchNormKind, BroadcastingOp, DynamicOp, OpId, OpKind, check_result_types};

/// How many.
#[derive(Clone, Copy)]
enum Count {
    Exactly(usize),
    AtLeast(usize),
}

impl Count {
    fn fits(self, n: usize) -> bool {
        match self {
            Count::Exactly(want) => n == want,
            Count::AtLeast(want) => n >= want,
        }
    }

    fn text(self) -> String {
        match self {
            Count::Exactly(n) => n.to_string(),
            Count::AtLeast(n) => format!("at least {n}"),
        }
    }
}

const ANY: Count = Count::AtLeast(0);
const NONE: Count = Count::Exactly(0);

/// Operands and regions that an operation takes.
fn arity(kind: &OpKind) -> (Count, Count) {
    use Count::{AtLeast, Exactly};
    use OpKind as K;
    match kind {
        K::Unary(_)
        | K::Convert
        | K::BitcastConvert
        | K::ReducePrecision { .. }
        | K::BroadcastInDim { .. }
        | K::Reshape
        | K::Transpose { .. }
        | K::Reverse { .. }
        | K::Slice(_)
        | K::RngBitGenerator { .. }
        | K::Fft { .. }
        | K::Cholesky { .. }
        | K::GetTupleElement { .. }
        | K::CollectivePermute(_)
        | K::ShardingConstraint(_)
        | K::Reshard(_)
        | K::MeshCollective(_)
        | K::PropagationBarrier { .. }
        | K::ShardingGroup { .. }
        | K::GetDimensionSize { .. }
        | K::Broadcast { .. }
        | K::UnaryEinsum { .. }
        | K::UniformQuantize
        | K::UniformDequantize
        | K::AsyncDone
        | K::Infeed(_)
        | K::Recv(_)
        | K::CrossReplicaSum(_)
        | K::ConstantLike(_)
        | K::TopK { .. }
        | K::DataFlowEdge(_)
        | K::FuncDataFlowEdge => (Exactly(1), NONE),
        K::Binary(_)
        | K::Compare(..)
        | K::Pad(_)
        | K::DotGeneral(_)
        | K::Convolution(_)
        | K::Gather(_)
        | K::TriangularSolve(_)
        | K::SetDimensionSize { .. }
        | K::Einsum { .. }
        | K::TorchIndexSelect { .. } => (Exactly(2), NONE),
        K::Select | K::Clamp | K::Rng(_) | K::RaggedDot(_) => (Exactly(3), NONE),
        K::BatchNorm(BatchNormKind::Training, _) => (Exactly(3), NONE),
        K::BatchNorm(BatchNormKind::Inference | BatchNormKind::Grad, _) => (Exactly(5), NONE),
        K::Dynamic(op) => {
            let count = match op {
                DynamicOp::Iota { .. } => 1,
                DynamicOp::Reshape | DynamicOp::BroadcastInDim(_) => 2,
                DynamicOp::Gather(_) | DynamicOp::Convolution(_) => 3,
                DynamicOp::RealSlice => 4,
                DynamicOp::Pad => 5,
            };
            (Exactly(count), NONE)
        }
        K::Broadcasting(spec) => match spec.op {
            BroadcastingOp::Binary(_) | BroadcastingOp::Compare(..) => (Exactly(2), NONE),
            BroadcastingOp::Select => (Exactly(3), NONE),
        },
        K::Constant(_) | K::Iota { .. } | K::PartitionId | K::ReplicaId | K::CreateToken => (NONE, NONE),
        K::DynamicSlice { .. } | K::Concatenate { .. } => (AtLeast(1), NONE),
        K::DynamicUpdateSlice => (AtLeast(2), NONE),
        K::Reduce { .. } | K::ReduceWindow(_) => (AtLeast(2), Exactly(1)),
        K::SelectAndScatter(_) => (Exactly(3), Exactly(2)),
        K::Sort { .. } => (AtLeast(1), Exactly(1)),
        K::Scatter(_) => (AtLeast(3), Exactly(1)),
        K::While => (ANY, Exactly(2)),
        K::Case => (Exactly(1), AtLeast(1)),
        K::If => (Exactly(1), Exactly(2)),
        K::OptimizationBarrier | K::Call { .. } | K::Return | K::CustomCall(_) | K::Tuple | K::AfterAll => {
            (ANY, NONE)
        }
        K::Outfeed { .. } | K::Send(_) | K::CollectiveBroadcast(_) => (AtLeast(1), NONE),
        K::Map { .. } | K::CollectiveReduce(_) => (AtLeast(1), Exactly(1)),
        K::AsyncStart | K::Scan(_) | K::NamedComputation(_) => (ANY, Exactly(1)),
        K::AllReduce(_) => (AtLeast(1), Exactly(1)),
        K::ReduceScatter { .. } => (Exactly(1), Exactly(1)),
        K::AllGather { .. } | K::AllToAll { .. } => (AtLeast(1), NONE),
        K::ManualComputation(_) => (ANY, Exactly(1)),
        K::Composite(_) | K::Opaque(_) => (ANY, ANY),
    }
}

pub(super) fn check(report: &mut Report<'_>, id: OpId) {
    let module = report.module;
    let op = &module.ops[id];
    let name = op.kind.title();
    let (operands, regions) = arity(&op.kind);
    for (what, want, have) in
        [("operands", operands, op.operands.len()), ("regions", regions, op.regions.len())]
    {
        if !want.fits(have) {
            report.at_op("SH0206", id, format!("{name} has {have} {what}, it takes {}", want.text()));
            return;
        }
    }
    if let Err(error) = check_result_types(module, id) {
        let message = error.to_string();
        let hint = hints::hint(module, op, &message);
        report.hinted("SH0207", id, message, hint.as_deref());
        return;
    }
    if !op.regions.is_empty() {
        regions::check(report, id);
    }
}
