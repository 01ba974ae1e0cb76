//! Checks the result types of operations.

use smallvec::SmallVec;

use super::broadcast::broadcast_in_dim;
use super::{
    Ctx, Fail, InferError, Res, Ty, bounds::one_bounded_at_most, bounds_fit, dynamic, ensure, infer, quant,
    shape_fits, size_fits, transfer, type_fits,
};
use crate::{
    DType, DTypeClass, DYNAMIC, Dense, DynamicOp, Module, OpId, OpKind, QuantTensor, TensorType, Type,
    TypeId, Work,
};

/// Checks the result types of an operation: they must equal the inferred types, if these are determined by the operands (except the
/// element type of a matmul or convolution). Other result types must satisfy the specification's constraints.
///
/// # Errors
/// Returns the violated constraint.
pub fn check_result_types(module: &Module, op: OpId) -> Result<(), InferError> {
    let data = &module.ops[op];
    let types = || data.operands.iter().chain(&data.results).map(|&v| module.values[v].ty);
    let (mut quantized, mut foreign) = (false, None);
    for ty in types() {
        match module.types.get(ty) {
            Type::Quantized(_) => quantized = true,
            Type::Other(text) if text.starts_with("tensor<") => foreign = foreign.or(Some(text)),
            Type::Tensor(_) | Type::Token | Type::Tuple(_) | Type::Other(_) => {}
        }
    }
    // A type that starts with `tensor<` but was not parsed as a tensor has an element type that shardc does not know.
    if let Some(ty) = foreign
        && computes(&data.kind)
    {
        return Err(InferError(format!("{} does not support values of type {ty}", data.kind.title())));
    }
    let stand_ins: Vec<Option<TensorType>> =
        if quantized { types().map(|ty| quant::stand_in(module, ty)).collect() } else { Vec::new() };
    let cx = Ctx {
        module,
        kind: &data.kind,
        operands: &data.operands,
        regions: &data.regions,
        stand_ins: &stand_ins,
    };
    let results: SmallVec<[TypeId; 2]> = data.results.iter().map(|&v| module.values[v].ty).collect();
    if quantized {
        match quant::check(&cx, &results, &data.attrs) {
            Err(Fail::Wrong(message)) => return Err(InferError(message)),
            Ok(()) | Err(Fail::Free | Fail::Unknown) => {}
        }
    }
    let checked = match infer(&cx) {
        Ok(types) => compare(&cx, &types, &results),
        Err(Fail::Free) => free(&cx, &results),
        Err(fail) => Err(fail),
    };
    match checked {
        Ok(()) | Err(Fail::Free | Fail::Unknown) => Ok(()),
        Err(Fail::Wrong(message)) => Err(InferError(message)),
    }
}

/// Whether an operation computes on elements, so that their type must be known.
fn computes(kind: &OpKind) -> bool {
    use OpKind as K;
    let carries = matches!(
        kind,
        K::Call { .. }
            | K::Return
            | K::CustomCall(_)
            | K::Opaque(_)
            | K::Composite(_)
            | K::While
            | K::Case
            | K::If
            | K::Tuple
            | K::GetTupleElement { .. }
            | K::OptimizationBarrier
            | K::Constant(_)
    );
    !carries && kind.name().starts_with("stablehlo.")
}

/// Whether the result may have a different element type than the operands, as for a matmul that accumulates in a wider
/// type.
fn accumulates(kind: &OpKind) -> bool {
    kind.def().work == Work::Contraction
}

/// Checks the dimension that an all-gather or reduce-scatter changes: the larger of its sizes in operand and result must be a multiple of
/// the smaller. Returns the index of the dimension. The exact factor is not checked, since a group of replicas may represent more devices
/// than it lists.
fn exchanged(cx: &Ctx<'_>, written: &[TypeId]) -> Res<Option<usize>> {
    let (dim, gathers) = match cx.kind {
        OpKind::AllGather { dim, .. } => (*dim as usize, true),
        OpKind::ReduceScatter { dim, .. } => (*dim as usize, false),
        _ => return Ok(None),
    };
    for (i, &result) in written.iter().enumerate() {
        let (operand, Some(result)) = (cx.tensor(i)?, cx.module.types.as_tensor(result)) else { continue };
        let (Some(&n), Some(&m)) = (operand.shape.get(dim), result.shape.get(dim)) else { continue };
        if n == DYNAMIC || m == DYNAMIC {
            continue;
        }
        let (small, large) = if gathers { (n, m) } else { (m, n) };
        ensure!(
            small != 0 && large != 0,
            "{} of {operand} gives {result}: dimension {dim} must not have size 0",
            cx.name()
        );
        ensure!(
            large % small == 0,
            "{} of {operand} gives {result}: size {large} of dimension {dim} is not a multiple of {small}",
            cx.name()
        );
    }
    Ok(Some(dim))
}

fn compare(cx: &Ctx<'_>, inferred: &[Ty], written: &[TypeId]) -> Res<()> {
    ensure!(
        inferred.len() == written.len(),
        "{} has {} results, expected {}",
        cx.name(),
        written.len(),
        inferred.len()
    );
    let free_dim = exchanged(cx, written)?;
    let fits_shape = |want: &[i64], have: &[i64]| {
        want.len() == have.len()
            && want.iter().zip(have).enumerate().all(|(d, (&n, &m))| Some(d) == free_dim || size_fits(n, m))
    };
    let types = &cx.module.types;
    for (i, (want, &have)) in inferred.iter().zip(written).enumerate() {
        let (fits, text) = match want {
            Ty::Same(want) => (type_fits(cx.module, *want, have), None),
            Ty::Tensor(want) => match types.get(have) {
                Type::Tensor(have) => (
                    (want.dtype == have.dtype || accumulates(cx.kind))
                        && fits_shape(&want.shape, &have.shape)
                        && bounds_fit(want, have),
                    Some(want.to_string()),
                ),
                Type::Quantized(have) => {
                    let fits = fits_shape(&want.shape, &have.shape);
                    let text = (!fits).then(|| QuantTensor { shape: want.shape.clone(), ..(**have).clone() });
                    (fits, text.map(|tensor| tensor.to_string()))
                }
                Type::Other(_) => (true, None),
                Type::Token | Type::Tuple(_) => (false, Some(want.to_string())),
            },
            Ty::Token => (matches!(types.get(have), Type::Token), Some("!stablehlo.token".to_owned())),
            Ty::Tuple(want) => (
                matches!(types.get(have), Type::Tuple(have)
                    if want.len() == have.len()
                        && want.iter().zip(have).all(|(&a, &b)| type_fits(cx.module, a, b))),
                Some("the tuple of its operands".to_owned()),
            ),
        };
        if !fits {
            let want = match (text, want) {
                (None, Ty::Same(id)) => types.display(*id),
                (text, _) => text.unwrap_or_default(),
            };
            return Err(Fail::Wrong(format!(
                "result {i} of {} is {}, expected {want}",
                cx.name(),
                types.display(have)
            )));
        }
    }
    Ok(())
}

/// Checks the constraints on result types that are not determined by the operands.
fn free(cx: &Ctx<'_>, results: &[TypeId]) -> Res<()> {
    use OpKind as K;
    match cx.kind {
        K::Convert => {
            let (operand, result) = (cx.tensor(0)?, only(cx, results)?);
            ensure!(
                shape_fits(&operand.shape, &result.shape),
                "convert of {operand} gives {result}: the shape must not change"
            );
            Ok(())
        }
        K::BitcastConvert => bitcast_convert(cx, results),
        K::Constant(dense) => constant(cx, dense, results),
        K::Iota { dim } => {
            let result = only(cx, results)?;
            ensure!(
                result.is_static(),
                "iota gives {result}, whose shape is dynamic (stablehlo.dynamic_iota takes the shape as an operand)"
            );
            ensure!((*dim as usize) < result.rank(), "dimension {dim} of iota is out of range for {result}");
            ensure!(result.dtype != DType::I1, "iota does not support the element type i1");
            Ok(())
        }
        K::BroadcastInDim { dims } => {
            let result = only(cx, results)?;
            known_size(cx, result, "dynamic_broadcast_in_dim")?;
            broadcast_in_dim(cx, dims, result)
        }
        K::Reshape => {
            let (operand, result) = (cx.tensor(0)?, only(cx, results)?);
            known_size(cx, result, "dynamic_reshape")?;
            if let (Some(from), Some(to)) = (operand.num_elements(), result.num_elements()) {
                ensure!(
                    from == to,
                    "reshape of {operand} gives {result}: the number of elements changes from {from} to {to}"
                );
            }
            ensure!(
                operand.dtype == result.dtype,
                "reshape of {operand} gives {result}: the element type must not change"
            );
            Ok(())
        }
        K::RngBitGenerator { .. } => {
            ensure!(results.len() == 2, "rng_bit_generator has {} results, expected 2", results.len());
            let state = cx.ty(0)?;
            ensure!(
                type_fits(cx.module, state, results[0]),
                "the state operand of rng_bit_generator is {}, but its state result is {}",
                cx.module.types.display(state),
                cx.module.types.display(results[0])
            );
            Ok(())
        }
        K::Dynamic(op) => {
            let result = only(cx, results)?;
            match op {
                DynamicOp::Reshape => dynamic::reshape(cx, result),
                DynamicOp::BroadcastInDim(spec) => dynamic::broadcast_in_dim(cx, spec, result),
                DynamicOp::Iota { dim } => dynamic::iota(cx, *dim, result),
                DynamicOp::Pad => dynamic::pad(cx, result),
                DynamicOp::RealSlice => dynamic::real_slice(cx, result),
                // Type inference has already checked the result, except for dimensions that depend on a padding operand with unknown
                // values.
                DynamicOp::Gather(_) | DynamicOp::Convolution(_) => Ok(()),
            }
        }
        K::Infeed(spec) => transfer::infeed(cx, spec, results),
        K::Recv(spec) => transfer::recv(cx, spec, results),
        K::AsyncStart => transfer::async_start(cx, results),
        K::AsyncDone => transfer::async_done(cx, results),
        K::NamedComputation(_) => transfer::body_like(cx, results),
        // The back end or the region determines the result types.
        _ => Ok(()),
    }
}

/// Returns the only result, which must be a tensor.
fn only<'m>(cx: &Ctx<'m>, results: &[TypeId]) -> Res<&'m TensorType> {
    let &[result] = results else {
        return Err(Fail::Wrong(format!("{} has {} results, expected 1", cx.name(), results.len())));
    };
    match cx.module.types.get(result) {
        Type::Tensor(tensor) => Ok(tensor),
        Type::Quantized(_) => {
            cx.stand_ins.get(cx.operands.len()).and_then(Option::as_ref).ok_or(Fail::Unknown)
        }
        Type::Other(_) => Err(Fail::Unknown),
        Type::Token | Type::Tuple(_) => {
            Err(Fail::Wrong(format!("{} gives {}", cx.name(), cx.module.types.display(result))))
        }
    }
}

/// Returns the bits of one element; for a quantized type, the bits of its storage type.
fn width(cx: &Ctx<'_>, ty: TypeId) -> Option<i64> {
    match cx.module.types.get(ty) {
        Type::Tensor(tensor) => Some(i64::from(tensor.dtype.bits())),
        Type::Quantized(tensor) => Some(i64::from(tensor.element.storage?.bits)),
        Type::Token | Type::Tuple(_) | Type::Other(_) => None,
    }
}

fn bitcast_convert(cx: &Ctx<'_>, results: &[TypeId]) -> Res<()> {
    let (operand, result) = (cx.tensor(0)?, only(cx, results)?);
    let complex = |t: &TensorType| t.dtype.class() == DTypeClass::Complex;
    ensure!(
        complex(operand) == complex(result),
        "bitcast_convert of {operand} gives {result}: one is complex, the other is not"
    );
    let (Some(from), Some(to)) = (width(cx, cx.ty(0)?), results.first().and_then(|&ty| width(cx, ty))) else {
        return Err(Fail::Unknown);
    };
    // The tensor with the narrower elements has an additional last dimension, with one index for each narrow element in a wide element.
    let fits = match from.cmp(&to) {
        std::cmp::Ordering::Equal => shape_fits(&operand.shape, &result.shape),
        std::cmp::Ordering::Greater => split_fits(&operand.shape, from, &result.shape, to),
        std::cmp::Ordering::Less => split_fits(&result.shape, to, &operand.shape, from),
    };
    ensure!(
        fits,
        "bitcast_convert of {operand} gives {result}: for {from}-bit to {to}-bit elements, {}",
        match from.cmp(&to) {
            std::cmp::Ordering::Equal => "the shape must not change".to_owned(),
            std::cmp::Ordering::Greater =>
                format!("the result must have an additional last dimension of size {}", from / to),
            std::cmp::Ordering::Less =>
                format!("the last dimension must have size {} and be removed", to / from),
        }
    );
    Ok(())
}

fn split_fits(wide: &[i64], wide_bits: i64, narrow: &[i64], narrow_bits: i64) -> bool {
    match narrow.split_last() {
        Some((&last, rest)) => {
            shape_fits(wide, rest) && wide_bits % narrow_bits == 0 && size_fits(last, wide_bits / narrow_bits)
        }
        None => false,
    }
}

fn constant(cx: &Ctx<'_>, dense: &Dense, results: &[TypeId]) -> Res<()> {
    let result = only(cx, results)?;
    ensure!(result.is_static(), "a constant must have a static shape, got {result}");
    if results.first().is_some_and(|&ty| cx.module.types.as_quantized(ty).is_some()) {
        // The elements of the operand have the storage type, so they are not compared with `result`, a tensor of the expressed type.
        return Ok(());
    }
    match dense {
        Dense::Splat(bytes) => {
            ensure!(
                bytes.len() == result.dtype.bytes(),
                "a constant of type {result} has {} bytes per element, expected {}",
                bytes.len(),
                result.dtype.bytes()
            );
        }
        Dense::Elements(bytes) => {
            ensure!(
                i64::try_from(bytes.len()).ok() == result.num_bytes(),
                "a constant of type {result} has {} bytes in total, expected {}",
                bytes.len(),
                result.num_bytes().unwrap_or(0)
            );
        }
        Dense::Resource(_) | Dense::Raw(_) => {}
    }
    Ok(())
}

/// Fails unless the shape of the result is static, except for one bounded dimension.
fn known_size(cx: &Ctx<'_>, result: &TensorType, dynamic: &str) -> Res<()> {
    ensure!(
        one_bounded_at_most(result),
        "{} gives {result}, whose shape is dynamic (stablehlo.{dynamic} takes the shape as an operand)",
        cx.name()
    );
    Ok(())
}
