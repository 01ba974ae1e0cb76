//! Inference of matmuls, FFT and factorizations.

use super::{Ctx, Fail, Res, Types, distinct_dims, ensure, on_size, same, shape_fits, size_fits, tensor};
use crate::{DType, DimList, DotSpec, FftKind, Shape, SizeList, TensorType, TriangularSpec};

pub(crate) fn dot_general(cx: &Ctx<'_>, spec: &DotSpec) -> Res<Types> {
    let (lhs, rhs) = (cx.tensor(0)?, cx.tensor(1)?);
    ensure!(
        spec.precision.len() <= 2,
        "dot_general must have at most one precision per operand, got {}",
        spec.precision.len()
    );
    let (left, right) = check_contraction(
        cx,
        (lhs, rhs),
        (&spec.lhs_batch, &spec.rhs_batch),
        (&spec.lhs_contract, &spec.rhs_contract),
    )?;
    let batch = spec.lhs_batch.iter().map(|&d| lhs.shape[d as usize]);
    let free = |t: &TensorType, roles: &DimList| super::without(&t.shape, roles);
    let shape: Shape = batch.chain(free(lhs, &left)).chain(free(rhs, &right)).collect();
    // This element type is only the default: a matmul may have a result of another type (`accumulates`).
    let dtype = if rhs.dtype.bits() > lhs.dtype.bits() { rhs.dtype } else { lhs.dtype };
    Ok(tensor(&shape, dtype))
}

/// Fails unless two operands can be contracted along pairs of dimensions. Returns the batching and contracting dimensions of each.
pub(crate) fn check_contraction(
    cx: &Ctx<'_>,
    (lhs, rhs): (&TensorType, &TensorType),
    batch: (&DimList, &DimList),
    contract: (&DimList, &DimList),
) -> Res<(DimList, DimList)> {
    let name = cx.name();
    let roles =
        |batch: &DimList, contract: &DimList| -> DimList { batch.iter().chain(contract).copied().collect() };
    let (left, right) = (roles(batch.0, contract.0), roles(batch.1, contract.1));
    distinct_dims(name, "left batching and contracting dimensions", &left, lhs.rank())?;
    distinct_dims(name, "right batching and contracting dimensions", &right, rhs.rank())?;
    for (what, (l, r)) in [("batching", batch), ("contracting", contract)] {
        ensure!(l.len() == r.len(), "{name} has {} left and {} right {what} dimensions", l.len(), r.len());
        for (&l, &r) in l.iter().zip(r) {
            let (m, n) = (lhs.shape[l as usize], rhs.shape[r as usize]);
            ensure!(
                size_fits(m, n),
                "{what} dimensions of {name} differ: dimension {l} of {lhs} and dimension {r} of {rhs}"
            );
        }
    }
    Ok((left, right))
}

pub(crate) fn fft(cx: &Ctx<'_>, kind: FftKind, length: &SizeList) -> Res<Types> {
    let operand = cx.tensor(0)?;
    let rank = operand.rank();
    ensure!(
        (1..=3).contains(&length.len()) && length.len() <= rank,
        "fft_length {length:?} of fft must have 1 to 3 entries, at most one per dimension of {operand}"
    );
    let mut shape = operand.shape.clone();
    let tail = rank - length.len();
    let last = length[length.len() - 1];
    let complex = |dtype| match dtype {
        DType::F32 => Some(DType::C64),
        DType::F64 => Some(DType::C128),
        _ => None,
    };
    let (fits, dtype) = match kind {
        FftKind::Fft | FftKind::Ifft => (
            shape_fits(&shape[tail..], length),
            matches!(operand.dtype, DType::C64 | DType::C128).then_some(operand.dtype),
        ),
        FftKind::Rfft => {
            let fits = shape_fits(&shape[tail..], length);
            // The spectrum of real numbers is symmetric, so `n / 2 + 1` values determine it. If `n` is zero, there are no values.
            shape[rank - 1] = on_size(shape[rank - 1], |n| n / 2 + i64::from(n > 0));
            (fits, complex(operand.dtype))
        }
        FftKind::Irfft => {
            // The inverse of `Rfft`: the attribute gives the length of the result, since `n / 2 + 1` is the same for 6 and 7.
            let half = last / 2 + i64::from(last > 0);
            let fits = shape_fits(&shape[tail..rank - 1], &length[..length.len() - 1])
                && size_fits(shape[rank - 1], half);
            shape[rank - 1] = last;
            let dtype = match operand.dtype {
                DType::C64 => Some(DType::F32),
                DType::C128 => Some(DType::F64),
                _ => None,
            };
            (fits, dtype)
        }
    };
    let kind = kind.as_str();
    ensure!(fits, "{kind} of length {length:?} does not match the last dimensions of {operand}");
    let Some(dtype) = dtype else {
        return Err(Fail::Wrong(format!("{kind} does not support the element type {}", operand.dtype)));
    };
    Ok(tensor(&shape, dtype))
}

/// Fails unless the last two dimensions have the same size.
fn square(cx: &Ctx<'_>, t: &TensorType) -> Res<()> {
    let rank = t.rank();
    ensure!(
        rank >= 2 && size_fits(t.shape[rank - 2], t.shape[rank - 1]),
        "{} expects square matrices, got {t}",
        cx.name()
    );
    Ok(())
}

pub(crate) fn cholesky(cx: &Ctx<'_>) -> Res<Types> {
    square(cx, cx.tensor(0)?)?;
    same(cx, 0)
}

pub(crate) fn triangular_solve(cx: &Ctx<'_>, spec: &TriangularSpec) -> Res<Types> {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    square(cx, a)?;
    let rank = a.rank();
    let fits = b.rank() == rank && a.dtype == b.dtype && {
        let side = if spec.left_side { rank - 2 } else { rank - 1 };
        shape_fits(&a.shape[..rank - 2], &b.shape[..rank - 2]) && size_fits(a.shape[rank - 1], b.shape[side])
    };
    ensure!(
        fits,
        "triangular_solve of {a} and {b} with left_side = {}: the second operand must have as many {} as the matrices of the first, and the same batch dimensions and element type",
        spec.left_side,
        if spec.left_side { "rows" } else { "columns" }
    );
    same(cx, 1)
}
