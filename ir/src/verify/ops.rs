//! I6 to I8: counts, types, and types of regions.

use smallvec::SmallVec;

use super::Report;
use crate::infer::type_fits;
use crate::{
    BatchNormKind, BroadcastingOp, DType, DynamicOp, Module, Op, OpId, OpKind, RegionId, Type, TypeId,
    ValueId, check_result_types,
};

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
    let name = op.kind.name();
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
        report.hinted("SH0207", id, error.to_string(), hint(module, op));
        return;
    }
    if !op.regions.is_empty() {
        check_regions(report, id);
    }
}

/// Advice where there is a usual mistake.
fn hint(module: &Module, op: &Op) -> Option<&'static str> {
    match &op.kind {
        OpKind::Binary(_) | OpKind::Compare(..) | OpKind::Clamp | OpKind::Select => {
            let (a, b) = (op.operands.first()?, op.operands.last()?);
            let (a, b) = (module.tensor(*a)?, module.tensor(*b)?);
            Some(if a.dtype == b.dtype {
                "elementwise operations do not broadcast: use stablehlo.broadcast_in_dim"
            } else {
                "elementwise operations do not convert: use stablehlo.convert"
            })
        }
        OpKind::AllGather { .. } | OpKind::ReduceScatter { .. } => {
            Some("the size changes by the number of devices in each replica group")
        }
        _ => None,
    }
}

/// The type that a region's argument or returned value has to have.
#[derive(Clone, Copy)]
enum Expect {
    Type(TypeId),
    Scalar(DType),
}

impl Expect {
    fn fits(self, module: &Module, ty: TypeId) -> bool {
        match self {
            Expect::Type(want) => type_fits(module, want, ty),
            Expect::Scalar(dtype) => match module.types.get(ty) {
                Type::Tensor(tensor) => tensor.rank() == 0 && tensor.dtype == dtype,
                // A scalar of a quantized type.
                Type::Quantized(_) | Type::Other(_) => true,
                Type::Token | Type::Tuple(_) => false,
            },
        }
    }

    fn text(self, module: &Module) -> String {
        match self {
            Expect::Type(ty) => module.types.display(ty),
            Expect::Scalar(dtype) => format!("tensor<{dtype}>"),
        }
    }
}

type Expects = SmallVec<[Expect; 4]>;

fn check_regions(report: &mut Report<'_>, id: OpId) {
    use OpKind as K;
    let module = report.module;
    let op = &module.ops[id];
    let types = |values: &[ValueId]| -> Expects {
        values.iter().map(|&v| Expect::Type(module.values[v].ty)).collect()
    };
    // Element types, or nothing where one is not known.
    let scalars = |values: &[ValueId]| -> Option<Expects> {
        values.iter().map(|&v| module.tensor(v).map(|t| Expect::Scalar(t.dtype))).collect()
    };
    let twice = |list: &Expects| -> Expects { list.iter().chain(list).copied().collect() };
    let boolean: Expects = SmallVec::from_slice(&[Expect::Scalar(DType::I1)]);
    let mut expected: SmallVec<[(Expects, Expects); 2]> = SmallVec::new();
    match &op.kind {
        K::While => {
            let carried = types(&op.operands);
            expected.push((carried.clone(), boolean));
            expected.push((carried.clone(), carried));
        }
        K::Case | K::If => {
            let results = types(&op.results);
            expected.extend(op.regions.iter().map(|_| (Expects::new(), results.clone())));
        }
        K::Reduce { .. } | K::ReduceWindow(_) | K::Scatter(_) => {
            if let Some(elements) = scalars(&op.results) {
                expected.push((twice(&elements), elements));
            }
        }
        K::AllReduce(_) | K::ReduceScatter { .. } => {
            if let Some(elements) = scalars(&op.results[..1]) {
                expected.push((twice(&elements), elements));
            }
        }
        K::SelectAndScatter(_) => {
            if let (Some(inputs), Some(outputs)) = (scalars(&op.operands[..1]), scalars(&op.results)) {
                expected.push((twice(&inputs), boolean));
                expected.push((twice(&outputs), outputs));
            }
        }
        K::Sort { .. } => {
            if let Some(elements) = scalars(&op.operands) {
                expected.push((elements.iter().flat_map(|&e| [e, e]).collect(), boolean));
            }
        }
        // `placement` knows the local types; regions of unknown operations are as they are.
        K::ManualComputation(_) | K::Opaque(_) => {}
        // Taken as they are written.
        K::Map { .. }
        | K::Composite(_)
        | K::AsyncStart
        | K::CollectiveReduce(_)
        | K::Scan(_)
        | K::NamedComputation(_) => {}
        // I6: these have no regions.
        K::Unary(_)
        | K::BatchNorm(..)
        | K::Rng(_)
        | K::Dynamic(_)
        | K::GetDimensionSize { .. }
        | K::SetDimensionSize { .. }
        | K::Broadcast { .. }
        | K::Einsum { .. }
        | K::UnaryEinsum { .. }
        | K::TorchIndexSelect { .. }
        | K::UniformQuantize
        | K::UniformDequantize
        | K::AsyncDone
        | K::CreateToken
        | K::Infeed(_)
        | K::Outfeed { .. }
        | K::Send(_)
        | K::Recv(_)
        | K::CrossReplicaSum(_)
        | K::Broadcasting(_)
        | K::ConstantLike(_)
        | K::TopK { .. }
        | K::RaggedDot(_)
        | K::DataFlowEdge(_)
        | K::FuncDataFlowEdge
        | K::Binary(_)
        | K::Compare(..)
        | K::Select
        | K::Clamp
        | K::Convert
        | K::BitcastConvert
        | K::ReducePrecision { .. }
        | K::Constant(_)
        | K::Iota { .. }
        | K::BroadcastInDim { .. }
        | K::Reshape
        | K::Transpose { .. }
        | K::Reverse { .. }
        | K::Slice(_)
        | K::DynamicSlice { .. }
        | K::DynamicUpdateSlice
        | K::Concatenate { .. }
        | K::Pad(_)
        | K::DotGeneral(_)
        | K::Convolution(_)
        | K::Gather(_)
        | K::RngBitGenerator { .. }
        | K::Fft { .. }
        | K::Cholesky { .. }
        | K::TriangularSolve(_)
        | K::OptimizationBarrier
        | K::Call { .. }
        | K::Return
        | K::CustomCall(_)
        | K::Tuple
        | K::GetTupleElement { .. }
        | K::AfterAll
        | K::AllGather { .. }
        | K::AllToAll { .. }
        | K::CollectivePermute(_)
        | K::CollectiveBroadcast(_)
        | K::PartitionId
        | K::ReplicaId
        | K::ShardingConstraint(_)
        | K::Reshard(_)
        | K::MeshCollective(_)
        | K::PropagationBarrier { .. }
        | K::ShardingGroup { .. } => {}
    }
    for (i, (&region, (args, yields))) in op.regions.iter().zip(&expected).enumerate() {
        let what = format!("region {i} of {}", op.kind.name());
        check_values(report, id, &what, "argument", &module.regions[region].args, args);
        check_values(report, id, &what, "returned value", yielded(module, region), yields);
    }
}

/// What a region ends with; I5 reports one without an end.
pub(super) fn yielded(module: &Module, region: RegionId) -> &[ValueId] {
    module.terminator(region).map_or(&[], |end| &module.ops[end].operands)
}

fn check_values(
    report: &mut Report<'_>,
    op: OpId,
    region: &str,
    what: &str,
    have: &[ValueId],
    want: &[Expect],
) {
    let module = report.module;
    if have.len() != want.len() {
        let message = format!("{region} has {} {what}s, it should have {}", have.len(), want.len());
        report.at_op("SH0208", op, message);
        return;
    }
    for (i, (&value, want)) in have.iter().zip(want).enumerate() {
        let ty = module.values[value].ty;
        if !want.fits(module, ty) {
            let (have, want) = (module.types.display(ty), want.text(module));
            report.at_op("SH0208", op, format!("{what} {i} of {region} is {have}, it should be {want}"));
        }
    }
}

/// Like the regions of an operation: values against types.
pub(super) fn check_types(
    report: &mut Report<'_>,
    op: OpId,
    region: &str,
    what: &str,
    have: &[ValueId],
    want: &[TypeId],
) {
    let want: Expects = want.iter().map(|&ty| Expect::Type(ty)).collect();
    check_values(report, op, region, what, have, &want);
}
