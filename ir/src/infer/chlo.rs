//! Inference of `chlo` operations, except element-wise operations on operands of the same shape.

use smallvec::smallvec;

use super::bounds::encoding;
use super::elementwise::{check_binary, complex_of};
use super::{Ctx, Fail, Res, Ty, Types, ensure, on_size, size_fits, tensor};
use crate::{
    Attr, BinaryOp, BroadcastingOp, BroadcastingSpec, DType, DYNAMIC, DimList, Encoding, RaggedDotSpec,
    ScanSpec, Shape, TensorType,
};

/// Returns the size to which two sizes broadcast, if they are compatible. A dynamic size may be 1.
fn broadcast_size(a: i64, b: i64) -> Option<i64> {
    match (a, b) {
        (1, n) | (n, 1) => Some(n),
        // If the other size is 4, `?` is 4 or 1 at run time, so the result is 4. The size 1, which results in `?`, is handled above.
        (DYNAMIC, n) | (n, DYNAMIC) => Some(n),
        (a, b) => (a == b).then_some(a),
    }
}

/// Returns the shape and bounds to which these operands broadcast, aligned at the last dimension, as in NumPy.
fn aligned(cx: &Ctx<'_>, operands: std::ops::Range<usize>) -> Res<(Shape, Option<Encoding>)> {
    let mut rank = 0;
    for i in operands.clone() {
        rank = rank.max(cx.tensor(i)?.rank());
    }
    let mut shape = Shape::from_elem(1, rank);
    let mut limits = Shape::from_elem(DYNAMIC, rank);
    for i in operands {
        let operand = cx.tensor(i)?;
        let bounds = operand.bounds();
        let first = rank - operand.rank();
        for (d, &n) in operand.shape.iter().enumerate() {
            let at = first + d;
            let Some(size) = broadcast_size(shape[at], n) else {
                return Err(Fail::Wrong(format!(
                    "operand {i} of {}, {operand}, does not broadcast with the others: size {n} of dimension {d} conflicts with {}",
                    cx.name(),
                    shape[at]
                )));
            };
            shape[at] = size;
            if let Some(&bound) = bounds.and_then(|list| list.get(d))
                && bound != DYNAMIC
            {
                limits[at] = if limits[at] == DYNAMIC { bound } else { limits[at].min(bound) };
            }
        }
    }
    // A size that another operand makes static gets no bound: the verifier (I17) rejects a dimension with a static size and a bound.
    for (limit, &size) in limits.iter_mut().zip(&shape) {
        if size != DYNAMIC {
            *limit = DYNAMIC;
        }
    }
    Ok((shape, encoding(&limits)))
}

/// Returns the shape to which two operands broadcast. Dimension `i` of the operand of lower rank is dimension `dims[i]` of the other
/// operand.
fn along(cx: &Ctx<'_>, dims: &DimList) -> Res<Shape> {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    let (large, small) = if a.rank() > b.rank() { (a, b) } else { (b, a) };
    let fits = dims.len() == small.rank() && dims.iter().all(|&d| (d as usize) < large.rank());
    if !fits {
        // MLIR's verifier accepts invalid `dims` too; its lowering to StableHLO rejects them.
        return Err(Fail::Free);
    }
    let mut shape = large.shape.clone();
    for (&d, &n) in dims.iter().zip(&small.shape) {
        let to = &mut shape[d as usize];
        let Some(size) = broadcast_size(*to, n) else {
            return Err(Fail::Wrong(format!(
                "{} along dimensions {dims:?}: size {n} of {small} does not broadcast to dimension {d} of {large}",
                cx.name()
            )));
        };
        *to = size;
    }
    Ok(shape)
}

pub(crate) fn broadcasting(cx: &Ctx<'_>, spec: &BroadcastingSpec) -> Res<Types> {
    let select = spec.op == BroadcastingOp::Select;
    let (first, last) = if select { (1, 2) } else { (0, 1) };
    let (a, b) = (cx.tensor(first)?, cx.tensor(last)?);
    ensure!(a.dtype == b.dtype, "operands of {} have different element types: {a} and {b}", cx.name());
    let dtype = match spec.op {
        BroadcastingOp::Binary(op) => {
            // The element types of other operations, such as shifts, are checked only after their expansion to operands of equal shapes.
            let logic = matches!(op.op(), BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
            if logic {
                check_binary(cx, op.op(), a.dtype)?;
            }
            if op.op() == BinaryOp::Complex { complex_of(cx, a.dtype)? } else { a.dtype }
        }
        BroadcastingOp::Compare(..) => DType::I1,
        BroadcastingOp::Select => {
            let pred = cx.tensor(0)?;
            ensure!(pred.dtype == DType::I1, "the predicate of {} must be i1, got {pred}", cx.name());
            a.dtype
        }
    };
    let (shape, encoding) = match &spec.dims {
        Some(dims) if !select => (along(cx, dims)?, None),
        _ => aligned(cx, 0..cx.operands.len())?,
    };
    Ok(smallvec![Ty::Tensor(TensorType { shape, dtype, encoding })])
}

pub(crate) fn constant_like(cx: &Ctx<'_>, value: &Attr) -> Res<Types> {
    let operand = cx.tensor(0)?;
    let text = match value {
        Attr::Int(_, ty) => Some(&**ty),
        Attr::Raw(text) => text.rsplit_once(" : ").map(|(_, ty)| ty),
        _ => None,
    };
    // The default type is `f64` for floats and `i64` for integers.
    let dtype = match text {
        Some("") => Some(DType::I64),
        Some(ty) => DType::parse(ty.trim()),
        None => None,
    };
    match dtype {
        Some(dtype) => Ok(smallvec![Ty::Tensor(TensorType { dtype, ..operand.clone() })]),
        None => Err(Fail::Free),
    }
}

pub(crate) fn top_k(cx: &Ctx<'_>, k: i64) -> Res<Types> {
    let operand = cx.tensor(0)?;
    let Some(&last) = operand.shape.last() else {
        return Err(Fail::Wrong(format!("top_k needs an operand of at least one dimension, got {operand}")));
    };
    ensure!(k >= 0, "top_k must select at least 0 values, got {k}");
    ensure!(
        last == DYNAMIC || last >= k,
        "top_k must select at most {last} values, the size of the last dimension of {operand}, got {k}"
    );
    let mut shape = operand.shape.clone();
    if let Some(size) = shape.last_mut() {
        *size = k;
    }
    let result = |dtype| Ty::Tensor(TensorType::new(&shape, dtype));
    Ok([result(operand.dtype), result(DType::I32)].into_iter().collect())
}

pub(crate) fn ragged_dot(cx: &Ctx<'_>, spec: &RaggedDotSpec) -> Res<Types> {
    let (lhs, rhs, groups) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    ensure!(
        spec.precision.len() <= 2,
        "ragged_dot must have at most one precision per operand, got {}",
        spec.precision.len()
    );
    ensure!(groups.dtype.is_integer(), "the group sizes of ragged_dot must be integers, got {groups}");
    let (left, right) = super::linalg::check_contraction(
        cx,
        (lhs, rhs),
        (&spec.lhs_batch, &spec.rhs_batch),
        (&spec.lhs_contract, &spec.rhs_contract),
    )?;
    let &[ragged] = spec.lhs_ragged.as_slice() else {
        return Err(Fail::Wrong(format!(
            "ragged_dot must have one ragged dimension in its left operand, got {:?}",
            spec.lhs_ragged
        )));
    };
    ensure!(
        (ragged as usize) < lhs.rank(),
        "the ragged dimension {ragged} of ragged_dot is out of range for {lhs}"
    );
    let of_rhs: DimList = spec.rhs_group.iter().chain(&right).copied().collect();
    super::distinct_dims(cx.name(), "right batching, contracting and group dimensions", &of_rhs, rhs.rank())?;
    let before = |list: &DimList| list.iter().take_while(|&&d| d != ragged).copied().collect::<DimList>();
    let is_batch = spec.lhs_batch.contains(&ragged);
    let is_contracting = spec.lhs_contract.contains(&ragged);
    // The group sizes are one list for the whole tensor, or one list for each index of the dimensions that precede the ragged dimension.
    let mut prefix = before(&spec.lhs_batch);
    if is_contracting {
        prefix.extend(before(&spec.lhs_contract));
    } else if !is_batch {
        prefix.extend((0..ragged).filter(|d| !left.contains(d)));
    }
    let Some((&count, sizes)) = groups.shape.split_last() else {
        return Err(Fail::Wrong(
            "the group sizes of ragged_dot must have at least one dimension, got a scalar".to_owned(),
        ));
    };
    if groups.rank() != 1 {
        let want: Shape = prefix.iter().map(|&d| lhs.shape[d as usize]).collect();
        ensure!(
            super::shape_fits(&want, sizes),
            "the group sizes of ragged_dot are {groups}, expected shape {}",
            super::shape_text(&want.iter().copied().chain([count]).collect::<Shape>())
        );
    }
    if is_batch || is_contracting {
        ensure!(
            spec.rhs_group.is_empty(),
            "ragged_dot along a batching or contracting dimension cannot have a group dimension in its right operand"
        );
    } else {
        let &[group] = spec.rhs_group.as_slice() else {
            return Err(Fail::Wrong(format!(
                "ragged_dot must have one group dimension in its right operand, got {:?}",
                spec.rhs_group
            )));
        };
        let size = rhs.shape[group as usize];
        ensure!(
            size_fits(count, size),
            "ragged_dot of {count} groups: dimension {group} of {rhs} has size {size}, expected {count}"
        );
    }
    let batch = spec.lhs_batch.iter().map(|&d| lhs.shape[d as usize]);
    let shape: Shape = is_contracting
        .then_some(count)
        .into_iter()
        .chain(batch)
        .chain(super::without(&lhs.shape, &left))
        .chain(super::without(&rhs.shape, &of_rhs))
        .collect();
    let dtype = if rhs.dtype.bits() > lhs.dtype.bits() { rhs.dtype } else { lhs.dtype };
    Ok(tensor(&shape, dtype))
}

pub(crate) fn scan(cx: &Ctx<'_>, spec: &ScanSpec) -> Res<Types> {
    let (inputs, outputs) = (spec.inputs as usize, spec.outputs as usize);
    ensure!(inputs + outputs > 0, "scan needs at least one input or output");
    let dim = spec.dim as usize;
    let mut size = spec.dim_size.unwrap_or(DYNAMIC);
    for i in 0..inputs {
        let input = cx.tensor(i)?;
        ensure!(dim < input.rank(), "dimension {dim} of scan is out of range for operand {i}, {input}");
        let n = input.shape[dim];
        ensure!(
            size_fits(size, n),
            "scan along dimension {dim} of size {size}: operand {i}, {input}, has a different size"
        );
        size = if size == DYNAMIC { n } else { size };
    }
    let Some(yields) = cx.yields(0) else { return Err(Fail::Free) };
    ensure!(
        yields.len() == outputs + spec.carries as usize,
        "the region of scan returns {} values for {outputs} outputs and {} carried values",
        yields.len(),
        spec.carries
    );
    let result = |(i, ty)| -> Res<Ty> {
        let Some(item) = cx.module.types.as_tensor(ty) else { return Ok(Ty::Same(ty)) };
        if i >= outputs {
            return Ok(Ty::Same(ty));
        }
        ensure!(
            dim <= item.rank(),
            "dimension {dim} of scan is out of range for output {i}, whose slices are {item}"
        );
        let mut shape = item.shape.clone();
        shape.insert(dim, on_size(size, |n| n));
        Ok(Ty::Tensor(TensorType::new(&shape, item.dtype)))
    };
    yields.enumerate().map(result).collect()
}
