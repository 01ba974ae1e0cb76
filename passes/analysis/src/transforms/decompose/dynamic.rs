//! Dynamic operation canonicalization: replaces operations with shapes, sizes or paddings as operands by their static forms.
//!
//! A static result type determines the value of a shape operand, and the sizes of slices. Paddings and starts must be constants or follow
//! from constants; a slice with stride 1 may start at an index known only at run time.
//!
//! ```mlir
//! %0 = stablehlo.dynamic_reshape %a, %shape : (tensor<6x5xf32>, tensor<1xi32>) -> tensor<30xf32>
//! // becomes
//! %0 = stablehlo.reshape %a : (tensor<6x5xf32>) -> tensor<30xf32>
//! ```

use shardc_ir::{
    Build, DType, DTypeClass, DynamicOp, GatherSpec, Module, OpId, OpKind, PadSpec, Rewriter, SizeList,
    SliceSpec, TensorBuild, TensorType, ValueId, infer_types,
};
use smallvec::smallvec;

/// The maximum number of operations that are visited to evaluate an operand.
const LOOKS: u32 = 64;

/// Appends the static form of an operation and returns its result; `None` if the operation has no static form.
pub(in crate::transforms) fn decompose(rw: &mut Rewriter<'_>, op: OpId, kind: &DynamicOp) -> Option<ValueId> {
    let module = &*rw.module;
    let operands = module.ops[op].operands.clone();
    let &result = module.ops[op].results.first()?;
    let is_static = |v: ValueId| {
        module.stored(v).is_some_and(|ty| ty.is_static())
            && module.tensor(v).is_none_or(|t| t.encoding.is_none())
    };
    if !operands.iter().chain([&result]).all(|&v| is_static(v)) {
        return None;
    }
    let list = |i: usize| integers(module, *operands.get(i)?, &mut { LOOKS });
    let (form, inputs) = match kind {
        DynamicOp::Reshape => (OpKind::Reshape, 1),
        DynamicOp::BroadcastInDim(spec) => (OpKind::BroadcastInDim { dims: spec.dims.clone() }, 1),
        DynamicOp::Iota { dim } => (OpKind::Iota { dim: *dim }, 0),
        DynamicOp::Pad => {
            let spec = PadSpec { low: list(2)?, high: list(3)?, interior: list(4)? };
            (OpKind::Pad(Box::new(spec)), 2)
        }
        DynamicOp::RealSlice => {
            let stride = list(3)?;
            match (list(1), list(2)) {
                (Some(start), Some(limit)) => {
                    (OpKind::Slice(Box::new(SliceSpec { start, limit, stride })), 1)
                }
                _ if stride.iter().all(|&n| n == 1) => return slice_at(rw, op),
                _ => return None,
            }
        }
        DynamicOp::Gather(spec) => {
            let mut spec = spec.clone();
            spec.slice_sizes = list(2).or_else(|| slice_sizes(module, &spec, *operands.first()?, result))?;
            (OpKind::Gather(spec), 2)
        }
        DynamicOp::Convolution(spec) => {
            let mut spec = spec.clone();
            spec.padding = list(2)?.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            (OpKind::Convolution(spec), 2)
        }
    };
    let ty = rw.module.values[result].ty;
    // For these three kinds, the result type was already compared with the shape operand, as far as its value is known.
    if !matches!(kind, DynamicOp::Reshape | DynamicOp::BroadcastInDim(_) | DynamicOp::Iota { .. }) {
        let inferred = infer_types(rw.module, &form, operands.get(..inputs)?, &[]).ok()?;
        let shape = |ty| rw.module.types.shape_of(ty);
        if inferred.first().is_none_or(|&inferred| shape(inferred) != shape(ty)) {
            return None;
        }
    }
    let value = rw.op1(form, operands.get(..inputs)?, ty);
    Some(value)
}

/// Returns the slice sizes of a gather, derived from the static shape of its result.
fn slice_sizes(module: &Module, spec: &GatherSpec, operand: ValueId, result: ValueId) -> Option<SizeList> {
    let mut kept = spec.offset_dims.iter().map(|&d| module.shape(result).get(d as usize).copied());
    let sizes = (0..module.rank(operand) as u32).map(|d| {
        let is_one = spec.collapsed_slice_dims.contains(&d) || spec.operand_batching_dims.contains(&d);
        if is_one { Some(1) } else { kept.next()? }
    });
    sizes.collect()
}

/// Builds the static form of a `real_dynamic_slice` with stride 1, whose slice sizes the result type determines.
fn slice_at(rw: &mut Rewriter<'_>, op: OpId) -> Option<ValueId> {
    let module = &*rw.module;
    let &[operand, starts, ..] = module.ops[op].operands.as_slice() else { return None };
    let ty = module.values[*module.ops[op].results.first()?].ty;
    let sizes = SizeList::from_slice(module.types.shape_of(ty)?);
    let dtype = module.tensor(starts)?.dtype;
    if module.shape(starts) != [sizes.len() as i64]
        || sizes.iter().zip(module.shape(operand)).any(|(m, n)| m > n)
    {
        return None;
    }
    let mut operands = vec![operand];
    for d in 0..sizes.len() as i64 {
        let at = SliceSpec { start: smallvec![d], limit: smallvec![d + 1], stride: smallvec![1] };
        let start = rw.tensor(OpKind::Slice(Box::new(at)), &[starts], &[1], dtype);
        operands.push(rw.tensor(OpKind::Reshape, &[start], &[], dtype));
    }
    let value = rw.op1(OpKind::DynamicSlice { sizes }, &operands, ty);
    Some(value)
}

/// Builds the constant that replaces `get_dimension_size` of a static dimension.
pub(super) fn dimension_size(rw: &mut Rewriter<'_>, op: OpId, dim: u32) -> Option<ValueId> {
    let module = &*rw.module;
    let &operand = module.ops[op].operands.first()?;
    let size = *module.shape(operand).get(dim as usize)?;
    let size = i32::try_from(size).ok().filter(|&size| size >= 0)?;
    let value = rw.splat(&size.to_le_bytes(), &[], DType::I32);
    Some(value)
}

/// Returns the elements, row-major, of an integer value of rank 0 or 1 that is a constant or computed from constants. `None` if more than
/// `looks` operations would have to be visited.
fn integers(module: &Module, value: ValueId, looks: &mut u32) -> Option<SizeList> {
    *looks = looks.checked_sub(1)?;
    let ty = module.tensor(value).filter(|ty| ty.dtype.class() == DTypeClass::Signed && ty.is_static())?;
    let op = &module.ops[module.def_op(value)?];
    let mut operand = |i: usize| integers(module, *op.operands.get(i)?, looks);
    let values = match &op.kind {
        OpKind::Constant(_) => return module.constant_integers(value),
        OpKind::Reshape | OpKind::Convert => operand(0)?,
        OpKind::BroadcastInDim { .. } if ty.rank() <= 1 => match operand(0)?.as_slice() {
            &[n] => SizeList::from_elem(n, usize::try_from(ty.num_elements()?).ok()?),
            all => SizeList::from_slice(all),
        },
        OpKind::Concatenate { .. } if ty.rank() == 1 => {
            let mut all = SizeList::new();
            for i in 0..op.operands.len() {
                all.extend(operand(i)?);
            }
            all
        }
        OpKind::Slice(spec) if ty.rank() == 1 => {
            let (start, limit) =
                (usize::try_from(*spec.start.first()?), usize::try_from(*spec.limit.first()?));
            let stride = usize::try_from(*spec.stride.first()?).ok().filter(|&n| n > 0)?;
            operand(0)?.get(start.ok()?..limit.ok()?)?.iter().step_by(stride).copied().collect()
        }
        OpKind::Binary(binary) => {
            let (a, b) = (operand(0)?, operand(1)?);
            a.iter().zip(&b).map(|(&a, &b)| binary.on_integers(a, b)).collect::<Option<_>>()?
        }
        _ => return None,
    };
    let fits = values.iter().all(|&n| represents(ty, n)) && Some(values.len() as i64) == ty.num_elements();
    fits.then_some(values)
}

/// Whether the element type can represent a number: arithmetic that wraps around is not evaluated.
fn represents(ty: &TensorType, n: i64) -> bool {
    let bits = ty.dtype.bits();
    bits >= 64 || (-(1i64 << (bits - 1))..1i64 << (bits - 1)).contains(&n)
}
