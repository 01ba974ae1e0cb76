//! Quantized numbers as the integers that are stored, for back ends that know no others.
//!
//! What moves elements moves the integers. What computes with them computes with the real numbers that they stand for, and
//! rounds what comes out: `dequantize_op_quantize` of StableHLO's specification ("Quantization computations"). A reducer computes
//! so at each step.
//!
//! Afterwards no value has a quantized type, and results have the storage types that a manifest names.

use shardc_ir::{
    BinaryOp, DType, DYNAMIC, Diagnostic, DimList, EntityRef, Module, OpId, OpKind, Quant, QuantKind,
    QuantParams, QuantTensor, RegionId, Type, TypeId, UnaryOp, ValueId,
};
use smallvec::SmallVec;

use crate::analysis::reducer::encode;
use crate::transforms::decompose::replacement::Parts;
use crate::transforms::forward::Forward;

/// Whether there are quantized values.
#[must_use]
pub fn is_needed(module: &Module) -> bool {
    let in_body = |op: &OpId| {
        let data = &module.ops[*op];
        data.operands.iter().chain(&data.results).any(|&v| module.is_quantized(v))
    };
    module.bodies().any(|body| module.walk(body).iter().any(in_body))
}

/// Rewrites the whole module.
///
/// # Errors
/// A quantized value is of a type that says too little (`SH0371`), or an operation with one is opaque to shardc (`SH0370`).
pub fn unquantize(module: &mut Module) -> Result<(), Vec<Diagnostic>> {
    let mut pass = Pass { forward: Forward::default(), errors: Vec::new() };
    for body in module.bodies().collect::<Vec<_>>() {
        pass.region(module, body);
    }
    if !pass.errors.is_empty() {
        return Err(pass.errors);
    }
    let stored: Vec<TypeId> = (0..module.types.len()).map(|i| stored(module, TypeId::new(i))).collect();
    let of = |ty: TypeId| stored.get(ty.index()).copied().unwrap_or(ty);
    for value in module.values.values_mut() {
        value.ty = of(value.ty);
    }
    for func in module.funcs.values_mut() {
        for ty in func.params.iter_mut().chain(&mut func.results) {
            *ty = of(*ty);
        }
    }
    Ok(())
}

/// The type of what is stored.
fn stored(module: &mut Module, ty: TypeId) -> TypeId {
    match module.types.stored(ty) {
        Some(tensor) if module.types.as_quantized(ty).is_some() => {
            let tensor = tensor.clone();
            module.types.intern(Type::Tensor(tensor))
        }
        _ => ty,
    }
}

/// What an operation works on where its operands or results are quantized.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Works {
    /// The integers that are stored, as they are.
    Stored,
    /// The same, as long as all of them stand for real numbers in one way.
    StoredIfAlike,
    /// The real numbers.
    Real,
    /// Nobody knows.
    Unknown,
}

fn works_on(kind: &OpKind) -> Works {
    match kind {
        OpKind::Reshape
        | OpKind::Transpose { .. }
        | OpKind::BroadcastInDim { .. }
        | OpKind::Broadcast { .. }
        | OpKind::Reverse { .. }
        | OpKind::Slice(_)
        | OpKind::DynamicSlice { .. }
        | OpKind::DynamicUpdateSlice
        | OpKind::Concatenate { .. }
        | OpKind::Pad(_)
        | OpKind::Gather(_)
        | OpKind::TorchIndexSelect { .. }
        | OpKind::Dynamic(_)
        | OpKind::Select => Works::StoredIfAlike,
        // What these compute is in their regions.
        OpKind::Reduce { .. }
        | OpKind::ReduceWindow(_)
        | OpKind::SelectAndScatter(_)
        | OpKind::Sort { .. }
        | OpKind::Scatter(_)
        | OpKind::Map { .. }
        | OpKind::Scan(_)
        | OpKind::AllReduce(_)
        | OpKind::ReduceScatter { .. }
        | OpKind::CollectiveReduce(_)
        | OpKind::While
        | OpKind::Case
        | OpKind::If
        | OpKind::ManualComputation(_)
        | OpKind::NamedComputation(_)
        | OpKind::OptimizationBarrier
        | OpKind::Call { .. }
        | OpKind::Return
        | OpKind::Tuple
        | OpKind::GetTupleElement { .. }
        | OpKind::AsyncStart
        | OpKind::AsyncDone
        | OpKind::Constant(_)
        | OpKind::BitcastConvert
        | OpKind::GetDimensionSize { .. }
        | OpKind::SetDimensionSize { .. }
        | OpKind::AllGather { .. }
        | OpKind::AllToAll { .. }
        | OpKind::CollectivePermute(_)
        | OpKind::CollectiveBroadcast(_)
        | OpKind::Reshard(_)
        | OpKind::ShardingConstraint(_)
        | OpKind::MeshCollective(_)
        | OpKind::PropagationBarrier { .. }
        | OpKind::ShardingGroup { .. }
        | OpKind::DataFlowEdge(_)
        | OpKind::FuncDataFlowEdge
        | OpKind::AfterAll
        | OpKind::CreateToken
        | OpKind::Infeed(_)
        | OpKind::Outfeed { .. }
        | OpKind::Send(_)
        | OpKind::Recv(_)
        | OpKind::PartitionId
        | OpKind::ReplicaId => Works::Stored,
        OpKind::UniformQuantize
        | OpKind::UniformDequantize
        | OpKind::Unary(_)
        | OpKind::Binary(_)
        | OpKind::Compare(..)
        | OpKind::Clamp
        | OpKind::Convert
        | OpKind::ReducePrecision { .. }
        | OpKind::Iota { .. }
        | OpKind::DotGeneral(_)
        | OpKind::Convolution(_)
        | OpKind::Einsum { .. }
        | OpKind::UnaryEinsum { .. }
        | OpKind::RngBitGenerator { .. }
        | OpKind::Rng(_)
        | OpKind::Fft { .. }
        | OpKind::Cholesky { .. }
        | OpKind::TriangularSolve(_)
        | OpKind::BatchNorm(..)
        | OpKind::CrossReplicaSum(_)
        | OpKind::Broadcasting(_)
        | OpKind::ConstantLike(_)
        | OpKind::TopK { .. }
        | OpKind::RaggedDot(_) => Works::Real,
        OpKind::CustomCall(_) | OpKind::Composite(_) | OpKind::Opaque(_) => Works::Unknown,
    }
}

struct Pass {
    forward: Forward,
    errors: Vec<Diagnostic>,
}

impl Pass {
    fn region(&mut self, module: &mut Module, region: RegionId) {
        let ops = std::mem::take(&mut module.regions[region].ops);
        let mut out = Vec::with_capacity(ops.len());
        for op in ops {
            self.forward.rewrite(&mut module.ops[op].operands);
            for inner in module.ops[op].regions.clone() {
                self.region(module, inner);
            }
            self.op(module, op, &mut out);
        }
        module.regions[region].ops = out;
    }

    fn op(&mut self, module: &mut Module, op: OpId, out: &mut Vec<OpId>) {
        let data = &module.ops[op];
        let values = data.operands.iter().chain(&data.results);
        let mut quantized = values.filter_map(|&v| module.types.as_quantized(module.values[v].ty));
        let works = match quantized.next() {
            None => Works::Stored,
            Some(first) => match works_on(&data.kind) {
                Works::StoredIfAlike if quantized.all(|other| is_alike(&first.element, &other.element)) => {
                    Works::Stored
                }
                works => works,
            },
        };
        match works {
            Works::Stored => out.push(op),
            Works::StoredIfAlike | Works::Real => {
                if in_real_numbers(module, op, &mut self.forward, out).is_none() {
                    let kind = module.ops[op].kind.title();
                    let message = format!("{kind} on quantized numbers whose type says too little");
                    self.errors.push(
                        Diagnostic::unsupported("SH0371", message).at(module.ops[op].span).hint(
                            "use `!quant.uniform` types of static shapes, with the type of the real numbers",
                        ),
                    );
                }
            }
            Works::Unknown => {
                let message =
                    format!("what {} does with quantized numbers is not known", module.ops[op].kind.title());
                self.errors.push(
                    Diagnostic::unsupported("SH0370", message)
                        .at(module.ops[op].span)
                        .hint("use `uniform_dequantize` before it and `uniform_quantize` after it"),
                );
            }
        }
    }
}

/// Whether the same integers stand for the same real numbers. Positions with scales of their own may be along another
/// dimension.
fn is_alike(a: &Quant, b: &Quant) -> bool {
    a.storage == b.storage && a.expressed == b.expressed && a.params() == b.params()
}

/// The operation between conversions from and to quantized numbers.
fn in_real_numbers(module: &mut Module, op: OpId, forward: &mut Forward, out: &mut Vec<OpId>) -> Option<()> {
    let (kind, attrs) = (module.ops[op].kind.clone(), module.ops[op].attrs.clone());
    let (mut operands, results) = (module.ops[op].operands.clone(), module.ops[op].results.clone());
    let mut parts = Parts::new(module, op);
    for operand in &mut operands {
        *operand = dequantized(&mut parts, *operand)?;
    }
    let types: SmallVec<[TypeId; 2]> =
        results.iter().map(|&v| real_type(parts.module(), v)).collect::<Option<_>>()?;
    let computed: SmallVec<[ValueId; 2]> = match kind {
        OpKind::UniformQuantize | OpKind::UniformDequantize => {
            let real = parts.module().types.as_tensor(*types.first()?)?.dtype;
            SmallVec::from_elem(parts.convert(*operands.first()?, real), 1)
        }
        _ => {
            let again = parts.with_results(kind, &operands, &types);
            let data = &mut parts.module().ops[again];
            data.attrs = attrs;
            data.results.iter().copied().collect()
        }
    };
    for (&result, value) in results.iter().zip(computed) {
        let value = quantized(&mut parts, value, result)?;
        forward.set(result, value);
    }
    parts.finish(out);
    Some(())
}

/// The type of the real numbers of a quantized value; that of any other.
fn real_type(module: &mut Module, value: ValueId) -> Option<TypeId> {
    let ty = module.values[value].ty;
    let Some(tensor) = module.types.as_quantized(ty) else { return Some(ty) };
    let (shape, dtype) = (tensor.shape.clone(), tensor.element.expressed_dtype()?);
    Some(module.types.tensor(&shape, dtype))
}

/// The real numbers that `value` stands for: `(value - zero_point) * scale`.
fn dequantized(parts: &mut Parts<'_>, value: ValueId) -> Option<ValueId> {
    let ty = parts.module().values[value].ty;
    let Some(tensor) = parts.module().types.as_quantized(ty).cloned() else { return Some(value) };
    let (real, storage) = (tensor.element.expressed_dtype()?, tensor.element.storage?);
    let params = tensor.element.params();
    // The difference may be larger than what is stored.
    let wide = if storage.bits < 32 { DType::I32 } else { DType::I64 };
    let mut integers = parts.op(OpKind::Convert, &[value], &tensor.shape, wide);
    if params.iter().any(|p| p.zero_point != 0) {
        let zero_points = each(parts, &tensor, wide, |p| p.zero_point as f64)?;
        integers = parts.binary(BinaryOp::Subtract, integers, zero_points);
    }
    let numbers = parts.convert(integers, real);
    let scales = each(parts, &tensor, real, |p| p.scale.value())?;
    Some(parts.binary(BinaryOp::Multiply, numbers, scales))
}

/// What stands for `value` in the type of `like`: `value / scale + zero_point`, rounded and kept in range.
fn quantized(parts: &mut Parts<'_>, value: ValueId, like: ValueId) -> Option<ValueId> {
    let ty = parts.module().values[like].ty;
    let Some(tensor) = parts.module().types.as_quantized(ty).cloned() else { return Some(value) };
    let (real, storage) = (tensor.element.expressed_dtype()?, tensor.element.storage?);
    let scales = each(parts, &tensor, real, |p| p.scale.value())?;
    let mut numbers = parts.binary(BinaryOp::Divide, value, scales);
    if tensor.element.params().iter().any(|p| p.zero_point != 0) {
        let zero_points = each(parts, &tensor, real, |p| p.zero_point as f64)?;
        numbers = parts.binary(BinaryOp::Add, numbers, zero_points);
    }
    let (min, max) = (parts.full(storage.min as f64, numbers)?, parts.full(storage.max as f64, numbers)?);
    let least = parts.binary(BinaryOp::Maximum, numbers, min);
    let kept = parts.binary(BinaryOp::Minimum, least, max);
    let rounded = parts.unary(UnaryOp::RoundNearestEven, kept);
    Some(parts.of_type(OpKind::Convert, &[rounded], ty))
}

/// A number for each element of a quantized tensor, which its type says.
fn each(
    parts: &mut Parts<'_>,
    tensor: &QuantTensor,
    dtype: DType,
    number: impl Fn(&QuantParams) -> f64,
) -> Option<ValueId> {
    let shape = &tensor.shape;
    if shape.contains(&DYNAMIC) {
        return None;
    }
    let bytes =
        tensor.element.params().iter().map(|p| encode(dtype, number(p))).collect::<Option<Vec<_>>>()?;
    match &tensor.element.kind {
        QuantKind::PerTensor(_) => Some(parts.splat(bytes.first()?, shape, dtype)),
        QuantKind::PerAxis { axis, .. } => {
            let line = parts.elements(bytes.concat(), &[bytes.len() as i64], dtype);
            let dims = std::iter::once(u32::try_from(*axis).ok()?).collect::<DimList>();
            parts.spread(line, dims, shape)
        }
        QuantKind::SubChannel { counts, .. } => {
            // A block of each dimension follows the number of blocks.
            let blocks = parts.elements(bytes.concat(), counts, dtype);
            let sizes = shape.iter().zip(counts).flat_map(|(&n, &count)| [count, n / count.max(1)]);
            let dims = (0..counts.len() as u32).map(|d| 2 * d).collect::<DimList>();
            let sizes: Vec<i64> = sizes.collect();
            let spread = parts.spread(blocks, dims, &sizes)?;
            Some(parts.op(OpKind::Reshape, &[spread], shape, dtype))
        }
        QuantKind::Any | QuantKind::Calibrated { .. } => None,
    }
}
