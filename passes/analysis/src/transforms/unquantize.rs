//! Quantization lowering: replaces quantized tensors by tensors of their storage type, for back ends without quantized types.
//!
//! * Operations that only move elements move the storage integers.
//! * Other operations are computed on dequantized operands, and their results are requantized: `dequantize_op_quantize` of the StableHLO
//!   specification ("Quantization computations"). The body of a reduction dequantizes and requantizes at each step.
//!
//! Afterwards no value has a quantized type. Results have the storage types that the manifest specifies.
//!
//! ```mlir
//! %0 = stablehlo.uniform_dequantize %q : (tensor<4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<4xf32>
//! ```
//! becomes
//! ```mlir
//! %i = stablehlo.convert %q : (tensor<4xi8>) -> tensor<4xi32>
//! %d = stablehlo.subtract %i, %zero_point : tensor<4xi32>
//! %f = stablehlo.convert %d : (tensor<4xi32>) -> tensor<4xf32>
//! %0 = stablehlo.multiply %f, %scale : tensor<4xf32>
//! ```

use shardc_ir::{
    BinaryOp, Build, DType, DYNAMIC, Diagnostic, DimList, Elements, EntityRef, Module, OpId, OpKind, Quant,
    QuantKind, QuantParams, QuantTensor, Rewriter, TensorBuild, Type, TypeId, UnaryOp, ValueId,
};
use smallvec::SmallVec;

use crate::analysis::reducer::encode;

/// Whether the module has quantized values.
#[must_use]
pub fn is_needed(module: &Module) -> bool {
    let in_body = |op: &OpId| {
        let data = &module.ops[*op];
        data.operands.iter().chain(&data.results).any(|&v| module.is_quantized(v))
    };
    module.bodies().any(|body| module.walk(body).iter().any(in_body))
}

/// Lowers all quantized values of the module.
///
/// # Errors
/// Returns `SH0371` if a quantized type is incomplete, and `SH0370` if the semantics of an operation on a quantized value is
/// unknown.
pub fn unquantize(module: &mut Module) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let mut rw = Rewriter::new(module);
    for body in rw.module.bodies().collect::<Vec<_>>() {
        rw.each_op(body, &mut |rw, op| errors.extend(unquantize_op(rw, op).err()));
    }
    drop(rw);
    if !errors.is_empty() {
        return Err(errors);
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

/// Returns the storage type of a quantized type, and any other type unchanged.
fn stored(module: &mut Module, ty: TypeId) -> TypeId {
    match module.types.stored(ty) {
        Some(tensor) if module.types.as_quantized(ty).is_some() => {
            let tensor = tensor.clone();
            module.types.intern(Type::Tensor(tensor))
        }
        _ => ty,
    }
}

fn unquantize_op(rw: &mut Rewriter<'_>, op: OpId) -> Result<(), Diagnostic> {
    let module = &*rw.module;
    let data = &module.ops[op];
    let values = data.operands.iter().chain(&data.results);
    let mut quantized = values.filter_map(|&v| module.types.as_quantized(module.values[v].ty));
    let works = match quantized.next() {
        None => Elements::Stored,
        Some(first) => match data.kind.def().elements {
            Elements::Moved if quantized.all(|other| is_alike(&first.element, &other.element)) => {
                Elements::Stored
            }
            works => works,
        },
    };
    match works {
        Elements::Stored => Ok(()),
        Elements::Moved | Elements::Real => {
            let (span, title) = (module.ops[op].span, module.ops[op].kind.title().to_string());
            in_real_numbers(rw, op).ok_or_else(|| {
                let message = format!("{title} is not supported for this quantized type");
                Diagnostic::unsupported("SH0371", message)
                    .at(span)
                    .hint("use `!quant.uniform` types of static shapes, with an expressed type")
            })
        }
        Elements::Unknown => {
            let message = format!("{} does not support quantized types", module.ops[op].kind.title());
            Err(Diagnostic::unsupported("SH0370", message)
                .at(module.ops[op].span)
                .hint("use `uniform_dequantize` before it and `uniform_quantize` after it"))
        }
    }
}

/// Whether equal storage integers of two quantized types represent equal real numbers. The quantized dimension may differ.
fn is_alike(a: &Quant, b: &Quant) -> bool {
    a.storage == b.storage && a.expressed == b.expressed && a.params() == b.params()
}

/// Computes an operation on dequantized operands, and quantizes its results.
fn in_real_numbers(rw: &mut Rewriter<'_>, op: OpId) -> Option<()> {
    let module = &*rw.module;
    let (kind, attrs) = (module.ops[op].kind.clone(), module.ops[op].attrs.clone());
    let (mut operands, results) = (module.ops[op].operands.clone(), module.ops[op].results.clone());
    for operand in &mut operands {
        *operand = dequantized(rw, *operand)?;
    }
    let types: SmallVec<[TypeId; 2]> =
        results.iter().map(|&v| real_type(rw.module, v)).collect::<Option<_>>()?;
    let computed: SmallVec<[ValueId; 2]> = match kind {
        OpKind::UniformQuantize | OpKind::UniformDequantize => {
            let real = rw.module.types.as_tensor(*types.first()?)?.dtype;
            SmallVec::from_elem(rw.convert(*operands.first()?, real), 1)
        }
        _ => {
            let again = rw.op(kind, &operands, &types, &[]);
            let data = &mut rw.module.ops[again];
            data.attrs = attrs;
            data.results.iter().copied().collect()
        }
    };
    let values = results.iter().zip(computed).map(|(&result, value)| quantized(rw, value, result));
    let values: SmallVec<[ValueId; 2]> = values.collect::<Option<_>>()?;
    rw.replace(&values);
    Some(())
}

/// Returns the expressed (real) type of a quantized value, or the type of any other value.
fn real_type(module: &mut Module, value: ValueId) -> Option<TypeId> {
    let ty = module.values[value].ty;
    let Some(tensor) = module.types.as_quantized(ty) else { return Some(ty) };
    let (shape, dtype) = (tensor.shape.clone(), tensor.element.expressed_dtype()?);
    Some(module.types.tensor(&shape, dtype))
}

/// Emits the real numbers that `value` represents: `(value - zero_point) * scale`.
fn dequantized(rw: &mut Rewriter<'_>, value: ValueId) -> Option<ValueId> {
    let ty = rw.module.values[value].ty;
    let Some(tensor) = rw.module.types.as_quantized(ty).cloned() else { return Some(value) };
    let (real, storage) = (tensor.element.expressed_dtype()?, tensor.element.storage?);
    let params = tensor.element.params();
    // The storage type may be unable to represent the difference.
    let wide = if storage.bits < 32 { DType::I32 } else { DType::I64 };
    let mut integers = rw.tensor(OpKind::Convert, &[value], &tensor.shape, wide);
    if params.iter().any(|p| p.zero_point != 0) {
        let zero_points = each(rw, &tensor, wide, |p| p.zero_point as f64)?;
        integers = rw.binary(BinaryOp::Subtract, integers, zero_points);
    }
    let numbers = rw.convert(integers, real);
    let scales = each(rw, &tensor, real, |p| p.scale.value())?;
    Some(rw.binary(BinaryOp::Multiply, numbers, scales))
}

/// Emits `value` in the quantized type of `like`: `value / scale + zero_point`, clamped and rounded.
fn quantized(rw: &mut Rewriter<'_>, value: ValueId, like: ValueId) -> Option<ValueId> {
    let ty = rw.module.values[like].ty;
    let Some(tensor) = rw.module.types.as_quantized(ty).cloned() else { return Some(value) };
    let (real, storage) = (tensor.element.expressed_dtype()?, tensor.element.storage?);
    let scales = each(rw, &tensor, real, |p| p.scale.value())?;
    let mut numbers = rw.binary(BinaryOp::Divide, value, scales);
    if tensor.element.params().iter().any(|p| p.zero_point != 0) {
        let zero_points = each(rw, &tensor, real, |p| p.zero_point as f64)?;
        numbers = rw.binary(BinaryOp::Add, numbers, zero_points);
    }
    let (min, max) = (rw.full(storage.min as f64, numbers)?, rw.full(storage.max as f64, numbers)?);
    let least = rw.binary(BinaryOp::Maximum, numbers, min);
    let kept = rw.binary(BinaryOp::Minimum, least, max);
    let rounded = rw.unary(UnaryOp::RoundNearestEven, kept);
    Some(rw.op1(OpKind::Convert, &[rounded], ty))
}

/// Emits a tensor with one number for each element of a quantized tensor. `number` computes it from the quantization parameters of the
/// element, for example the scale.
fn each(
    rw: &mut Rewriter<'_>,
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
        QuantKind::PerTensor(_) => Some(rw.splat(bytes.first()?, shape, dtype)),
        QuantKind::PerAxis { axis, .. } => {
            let line = rw.elements(bytes.concat(), &[bytes.len() as i64], dtype);
            let dims = std::iter::once(u32::try_from(*axis).ok()?).collect::<DimList>();
            rw.spread(line, dims, shape)
        }
        QuantKind::SubChannel { counts, .. } => {
            // The parameters of each block are broadcast to its elements, in a shape that splits each dimension into the number of blocks
            // and the block size.
            let blocks = rw.elements(bytes.concat(), counts, dtype);
            let sizes = shape.iter().zip(counts).flat_map(|(&n, &count)| [count, n / count.max(1)]);
            let dims = (0..counts.len() as u32).map(|d| 2 * d).collect::<DimList>();
            let sizes: Vec<i64> = sizes.collect();
            let spread = rw.spread(blocks, dims, &sizes)?;
            Some(rw.tensor(OpKind::Reshape, &[spread], shape, dtype))
        }
        QuantKind::Any | QuantKind::Calibrated { .. } => None,
    }
}
