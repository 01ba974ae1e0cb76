//! Constraints on quantized elements.
//!
//! Shapes and attributes are checked as for other tensors: a quantized operand or result is replaced by a tensor of its expressed type
//! ([`stand_in`]). Constraints on integers, scales and zero points are checked here, on the quantized types.

use smallvec::SmallVec;

use super::{Ctx, Res, ensure, size_fits};
use crate::{
    Attr, AttrDict, BinaryOp, DType, DimList, DynamicOp, Module, OpKind, Quant, QuantKind, QuantParams,
    QuantTensor, Quantized, SPELLING_ATTR, TensorType, Type, TypeId, UnaryOp,
};

/// For a quantized tensor type, returns the tensor type with the same shape and the expressed element type.
pub(crate) fn stand_in(module: &Module, ty: TypeId) -> Option<TensorType> {
    let tensor = module.types.as_quantized(ty)?;
    let dtype = tensor.element.expressed_dtype().unwrap_or(DType::F32);
    Some(TensorType { shape: tensor.shape.clone(), dtype, encoding: tensor.encoding.clone() })
}

/// Returns the quantized element type of a tensor type; `None` if it is not quantized.
fn element(module: &Module, ty: TypeId) -> Option<&Quant> {
    module.types.as_quantized(ty).map(|tensor| &tensor.element)
}

/// Whether values with element type `a` may be used where `b` is required: both have the same storage and expressed types, and both are
/// per-tensor or both per-axis.
pub(crate) fn element_fits(a: &Quant, b: &Quant) -> bool {
    a.storage == b.storage && a.expressed == b.expressed && a.axis().is_some() == b.axis().is_some()
}

/// Whether a reduction of elements of type `from` may be computed with elements of type `to`.
fn promotes(from: &Quant, to: &Quant) -> bool {
    let bits = |q: &Quant| q.storage.map_or(0, |s| s.bits);
    from.expressed == to.expressed && bits(from) <= bits(to)
}

/// Returns the range of operands whose element types must be equal to the element type of the results. `count` is the number of operands.
fn alike(kind: &OpKind, count: usize) -> std::ops::Range<usize> {
    use OpKind as K;
    match kind {
        K::Unary(op) if !matches!(op, UnaryOp::IsFinite) => 0..1,
        K::Binary(BinaryOp::Add) => 0..0,
        K::Binary(_) | K::Compare(..) | K::DynamicUpdateSlice | K::Pad(_) | K::Dynamic(DynamicOp::Pad) => {
            0..2
        }
        K::Broadcasting(_) | K::Clamp | K::Concatenate { .. } | K::BatchNorm(..) => 0..count,
        K::Select => 1..3,
        K::Slice(_)
        | K::DynamicSlice { .. }
        | K::Gather(_)
        | K::Dynamic(
            DynamicOp::Gather(_) | DynamicOp::RealSlice | DynamicOp::Reshape | DynamicOp::BroadcastInDim(_),
        )
        | K::Reverse { .. }
        | K::ReducePrecision { .. }
        | K::Transpose { .. }
        | K::Reshape
        | K::BroadcastInDim { .. }
        | K::Broadcast { .. }
        | K::Cholesky { .. }
        | K::CollectivePermute(_)
        | K::SetDimensionSize { .. } => 0..1,
        _ => 0..0,
    }
}

/// Checks the quantized element types of an operation.
pub(crate) fn check(cx: &Ctx<'_>, results: &[TypeId], attrs: &AttrDict) -> Res<()> {
    let module = cx.module;
    let operands: SmallVec<[TypeId; 4]> = cx.operands.iter().map(|&v| module.values[v].ty).collect();
    let values = || operands.iter().chain(results).copied();
    let is_si = |ty: &TypeId| element(module, *ty).is_some_and(|q| q.storage.is_some_and(|s| s.si));
    if let Some(ty) = values().find(is_si) {
        return Err(super::Fail::Wrong(format!(
            "{} does not support quantized elements with `si` storage, got {}; write `i`",
            cx.name(),
            module.types.display(ty)
        )));
    }
    match cx.kind.def().quantized {
        Quantized::PerAxis => {}
        takes => {
            if let Some(ty) = values()
                .find(|&ty| element(module, ty).is_some_and(|q| takes == Quantized::No || q.axis().is_some()))
            {
                let which =
                    if takes == Quantized::No { "quantized elements" } else { "per-axis quantized elements" };
                return Err(super::Fail::Wrong(format!(
                    "{} does not support {which}, got {}",
                    cx.name(),
                    module.types.display(ty)
                )));
            }
        }
    }
    let data = operands.get(alike(cx.kind, operands.len())).unwrap_or_default();
    let made: &[TypeId] = if matches!(cx.kind, OpKind::Compare(..)) { &[] } else { results };
    if !data.is_empty() {
        all_alike(cx, data.iter().chain(made).copied())?;
    }
    check_kind(cx, &operands, results, attrs)
}

/// Checks the constraints on quantized elements that are specific to the kind of operation.
fn check_kind(cx: &Ctx<'_>, operands: &[TypeId], results: &[TypeId], attrs: &AttrDict) -> Res<()> {
    let module = cx.module;
    match (cx.kind, operands, results) {
        (OpKind::Binary(BinaryOp::Add), &[a, b], &[c]) => add(cx, a, b, c),
        (OpKind::Transpose { permutation }, &[a], &[c]) => transpose(cx, permutation, a, c),
        (OpKind::Reshape | OpKind::Dynamic(DynamicOp::Reshape), &[a, ..], &[c]) => reshape(cx, a, c),
        (OpKind::BroadcastInDim { dims }, &[a], &[c]) => {
            same_scale(cx, a, c)?;
            broadcast(cx, dims, a, c)
        }
        (OpKind::Dynamic(DynamicOp::BroadcastInDim(spec)), &[a, _], &[c]) => broadcast(cx, &spec.dims, a, c),
        (OpKind::DotGeneral(spec), &[a, b], &[c]) => {
            // The older operation `stablehlo.dot` has no constraint on zero points.
            let is_dot =
                matches!(attrs.get(SPELLING_ATTR), Some(Attr::Str(name)) if &**name == "stablehlo.dot");
            if let Some(rhs) = element(module, b).filter(|_| !is_dot) {
                ensure!(
                    rhs.params().iter().all(|p| p.zero_point == 0),
                    "the right operand of {} must have zero points of 0, got {}",
                    cx.name(),
                    module.types.display(b)
                );
                let contracted = rhs.axis().and_then(|axis| u32::try_from(axis).ok());
                ensure!(
                    !contracted.is_some_and(|axis| spec.rhs_contract.contains(&axis)),
                    "the right operand of {} cannot be quantized along a contracting dimension, got {}",
                    cx.name(),
                    module.types.display(b)
                );
            }
            product(cx, a, b, c)
        }
        (OpKind::Convolution(spec) | OpKind::Dynamic(DynamicOp::Convolution(spec)), &[a, b, ..], &[c]) => {
            for (what, ty, feature) in
                [("kernel", b, spec.kernel.output_feature), ("result", c, spec.output.feature)]
            {
                let axis = element(module, ty).and_then(Quant::axis);
                ensure!(
                    axis.is_none_or(|axis| i64::from(axis) == i64::from(feature)),
                    "the {what} of {} must be quantized along its output feature dimension, {feature}, got {}",
                    cx.name(),
                    module.types.display(ty)
                );
            }
            product(cx, a, b, c)
        }
        (OpKind::UniformQuantize, &[a], &[c]) => {
            let want = expressed(module, a);
            let Some(have) = element(module, c) else {
                return not_quantized(cx, "result", c);
            };
            ensure!(
                have.expressed.as_deref() == want.as_deref(),
                "uniform_quantize of {} gives {}, which has a different expressed type",
                module.types.display(a),
                module.types.display(c)
            );
            same_shape(cx, a, c)
        }
        (OpKind::UniformDequantize, &[a], &[c]) => {
            let Some(from) = element(module, a) else {
                return not_quantized(cx, "operand", a);
            };
            let have = module.types.as_tensor(c).map(|t| t.dtype.as_str());
            ensure!(
                have == from.expressed.as_deref(),
                "uniform_dequantize of {} gives {}, which does not have the expressed type",
                module.types.display(a),
                module.types.display(c)
            );
            same_shape(cx, a, c)
        }
        (
            OpKind::Reduce { .. }
            | OpKind::ReduceWindow(_)
            | OpKind::Scatter(_)
            | OpKind::AllReduce(_)
            | OpKind::ReduceScatter { .. }
            | OpKind::CollectiveReduce(_),
            ..,
        ) => reduction(cx, 0, operands),
        (OpKind::SelectAndScatter(_), ..) => reduction(cx, 1, operands),
        _ => Ok(()),
    }
}

fn not_quantized(cx: &Ctx<'_>, what: &str, ty: TypeId) -> Res<()> {
    Err(super::Fail::Wrong(format!(
        "the {what} of {} must be quantized, got {}",
        cx.name(),
        cx.module.types.display(ty)
    )))
}

fn same_shape(cx: &Ctx<'_>, a: TypeId, c: TypeId) -> Res<()> {
    let types = &cx.module.types;
    let fits = match (types.shape_of(a), types.shape_of(c)) {
        (Some(a), Some(c)) => super::shape_fits(a, c),
        _ => true,
    };
    ensure!(fits, "{} of {} gives {}: the shapes differ", cx.name(), types.display(a), types.display(c));
    Ok(())
}

/// Returns the text of the expressed type; for a tensor that is not quantized, the text of its element type.
fn expressed(module: &Module, ty: TypeId) -> Option<String> {
    match element(module, ty) {
        Some(q) => q.expressed.as_deref().map(str::to_owned),
        None => module.types.as_tensor(ty).map(|t| t.dtype.to_string()),
    }
}

/// Fails unless either none of these types is quantized, or all are, with compatible element types.
fn all_alike(cx: &Ctx<'_>, types: impl Iterator<Item = TypeId> + Clone) -> Res<()> {
    let module = cx.module;
    let Some(first) = types.clone().find(|&ty| element(module, ty).is_some()) else { return Ok(()) };
    let Some(want) = element(module, first) else { return Ok(()) };
    for ty in types {
        let fits = match module.types.get(ty) {
            Type::Quantized(tensor) => element_fits(&tensor.element, want),
            Type::Tensor(_) => false,
            Type::Token | Type::Tuple(_) | Type::Other(_) => true,
        };
        ensure!(
            fits,
            "{} has operands or a result with incompatible element types: {} and {}",
            cx.name(),
            module.types.display(first),
            module.types.display(ty)
        );
    }
    Ok(())
}

fn add(cx: &Ctx<'_>, a: TypeId, b: TypeId, c: TypeId) -> Res<()> {
    let types = &cx.module.types;
    let show = || format!("add of {} and {} gives {}", types.display(a), types.display(b), types.display(c));
    let (Some(l), Some(r), Some(out)) = (element(cx.module, a), element(cx.module, b), element(cx.module, c))
    else {
        return Err(super::Fail::Wrong(format!("{}: either all types or none must be quantized", show())));
    };
    // The storage types must agree in signedness and width, but may be restricted to different ranges.
    let storage = |q: &Quant| q.storage.map(|s| (s.signed, s.bits));
    ensure!(storage(l) == storage(r) && storage(l) == storage(out), "{}: the storage types differ", show());
    ensure!(
        l.expressed == r.expressed && l.expressed == out.expressed,
        "{}: the expressed types differ",
        show()
    );
    for q in [l, r] {
        ensure!(
            q.axis().is_none() || q.axis() == out.axis(),
            "{}: the quantization dimensions differ",
            show()
        );
    }
    ensure!(
        out.axis().is_none() || l.axis().is_some() || r.axis().is_some(),
        "{}: only the result is quantized per axis",
        show()
    );
    Ok(())
}

/// Fails unless an operation that only moves elements preserves scales and zero points.
fn same_scale(cx: &Ctx<'_>, a: TypeId, c: TypeId) -> Res<()> {
    let (Some(from), Some(to)) = (element(cx.module, a), element(cx.module, c)) else { return Ok(()) };
    // If an operation must not mix per-tensor and per-axis types, `element_fits` has already rejected the types.
    if from.axis().is_some() != to.axis().is_some() {
        return Ok(());
    }
    // If the lists of per-axis scales have different lengths, only their common prefix is compared.
    let same = from.params().iter().zip(to.params()).all(|(p, q)| p == q);
    ensure!(
        same || (from.axis().is_some() && matches!(cx.kind, OpKind::BroadcastInDim { .. })),
        "{} of {} gives {}: scales and zero points must not change",
        cx.name(),
        cx.module.types.display(a),
        cx.module.types.display(c)
    );
    Ok(())
}

fn transpose(cx: &Ctx<'_>, permutation: &DimList, a: TypeId, c: TypeId) -> Res<()> {
    same_scale(cx, a, c)?;
    let axis = |ty| element(cx.module, ty).and_then(Quant::axis);
    if let (Some(from), Some(to)) = (axis(a), axis(c)) {
        let source = usize::try_from(to).ok().and_then(|to| permutation.get(to));
        ensure!(
            source.is_some_and(|&d| i64::from(d) == i64::from(from)),
            "transpose of {} gives {}: quantization dimension {from} of the operand is not dimension {to} of the result",
            cx.module.types.display(a),
            cx.module.types.display(c)
        );
    }
    Ok(())
}

/// Returns the index of the quantized dimension of a per-axis type, and its scales and zero points; `None` for other types and for an index
/// out of range.
fn along(tensor: &QuantTensor) -> Option<(usize, &[QuantParams])> {
    let QuantKind::PerAxis { axis, params } = &tensor.element.kind else { return None };
    let axis = usize::try_from(*axis).ok().filter(|&axis| axis < tensor.shape.len())?;
    Some((axis, params))
}

fn reshape(cx: &Ctx<'_>, a: TypeId, c: TypeId) -> Res<()> {
    same_scale(cx, a, c)?;
    let types = &cx.module.types;
    let (Some(from), Some(to)) = (types.as_quantized(a), types.as_quantized(c)) else { return Ok(()) };
    let (Some((i, _)), Some((k, _))) = (along(from), along(to)) else { return Ok(()) };
    ensure!(
        size_fits(from.shape[i], to.shape[k]),
        "reshape of {} gives {}: the quantization dimensions have different sizes",
        types.display(a),
        types.display(c)
    );
    let before = |shape: &[i64]| {
        shape.iter().try_fold(1i64, |n, &size| if size < 0 { None } else { n.checked_mul(size) })
    };
    if let (Some(m), Some(n)) = (before(&from.shape[..i]), before(&to.shape[..k])) {
        ensure!(
            m == n,
            "reshape of {} gives {}: {m} and {n} elements precede the quantization dimensions",
            types.display(a),
            types.display(c)
        );
    }
    Ok(())
}

fn broadcast(cx: &Ctx<'_>, dims: &DimList, a: TypeId, c: TypeId) -> Res<()> {
    let types = &cx.module.types;
    let (Some(from), Some(to)) = (types.as_quantized(a), types.as_quantized(c)) else { return Ok(()) };
    let (Some((i, params)), Some((k, wide))) = (along(from), along(to)) else { return Ok(()) };
    ensure!(
        dims.get(i).is_some_and(|&d| d as usize == k),
        "{} of {} gives {}: quantization dimension {i} of the operand must map to dimension {k} of the result",
        cx.name(),
        types.display(a),
        types.display(c)
    );
    // A dimension of size 1 with one scale is broadcast to size `n` with `n` scales, which must all be equal to the scale of the operand.
    let repeats = from.shape[i] != 1 || params.first().is_none_or(|one| wide.iter().all(|p| p == one));
    ensure!(
        repeats,
        "{} of {} gives {}: the broadcast scale and zero point must not change",
        cx.name(),
        types.display(a),
        types.display(c)
    );
    Ok(())
}

/// Checks a contraction: all operands are quantized, or only the right operand (hybrid: the weights are dequantized).
fn product(cx: &Ctx<'_>, a: TypeId, b: TypeId, c: TypeId) -> Res<()> {
    let types = &cx.module.types;
    let show = || {
        format!("{} of {} and {} gives {}", cx.name(), types.display(a), types.display(b), types.display(c))
    };
    let (lhs, rhs, out) = (element(cx.module, a), element(cx.module, b), element(cx.module, c));
    ensure!(
        lhs.is_none_or(|q| q.axis().is_none()),
        "the left operand of {} cannot be quantized per axis, got {}",
        cx.name(),
        types.display(a)
    );
    let Some(rhs) = rhs.filter(|_| lhs.is_some() == out.is_some()) else {
        return Err(super::Fail::Wrong(format!(
            "{}: either all types or only the right operand must be quantized",
            show()
        )));
    };
    match (lhs, out) {
        (Some(lhs), Some(out)) => {
            let storage = |q: &Quant| q.storage.map(|s| (s.signed, s.bits));
            ensure!(storage(lhs) == storage(rhs), "{}: the storage types differ", show());
            ensure!(
                lhs.expressed == rhs.expressed && lhs.expressed == out.expressed,
                "{}: the expressed types differ",
                show()
            );
            ensure!(
                rhs.axis().is_some() || out.axis().is_none(),
                "{}: only the result is quantized per axis",
                show()
            );
        }
        _ => {
            let want = rhs.expressed.as_deref();
            let real = |ty| types.as_tensor(ty).map(|t| t.dtype.as_str());
            ensure!(
                real(a) == want && real(c) == want,
                "{}: the expressed type of the right operand differs",
                show()
            );
        }
    }
    Ok(())
}

/// Checks a reduction, whose body may use a wider storage type.
fn reduction(cx: &Ctx<'_>, region: usize, operands: &[TypeId]) -> Res<()> {
    let Some(yields) = cx.yields(region) else { return Ok(()) };
    let yields: SmallVec<[TypeId; 2]> = yields.collect();
    for (i, &ty) in operands.iter().enumerate() {
        let (Some(from), false) = (element(cx.module, ty), yields.is_empty()) else { continue };
        // The operands are inputs, then initial values. Inputs and initial values are combined in the types that the body returns.
        let to = yields[i % yields.len()];
        let fits = element(cx.module, to).is_some_and(|to| promotes(from, to));
        ensure!(
            fits,
            "{} combines elements of {} in {}, which cannot represent them",
            cx.name(),
            cx.module.types.display(ty),
            cx.module.types.display(to)
        );
    }
    Ok(())
}
