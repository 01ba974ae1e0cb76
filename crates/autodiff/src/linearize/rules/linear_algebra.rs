//! FFT, triangular systems, Cholesky factors.

use shardc_ir::{
    BinaryOp, Build, CompareDirection, DType, DTypeClass, Diagnostic, DimList, DotSpec, OpKind, TensorBuild,
    Transposition, TriangularSpec, UnaryOp, ValueId,
};

use super::compare::compare;
use super::{on_tape, unsupported};
use crate::emit::{Arithmetic, Emit};
use crate::linearize::At;

/// The tangent of `A x = b` follows from `dA x + A dx = db`, and likewise for `x A = b`.
pub(super) fn triangular_solve(
    at: &mut At<'_, '_>,
    spec: &TriangularSpec,
) -> Result<Option<ValueId>, Box<Diagnostic>> {
    let (a, x) = (at.operand(0), at.result());
    let product = match at.tangent(0) {
        Some(da) => {
            let error = unsupported(at);
            let masked = triangle(at, da, spec.lower, spec.unit_diagonal).ok_or(error)?;
            let turned = match spec.transpose_a {
                Transposition::Transpose => matrix_transposed(&mut at.tape(), masked),
                Transposition::Adjoint => {
                    let conj = conjugated(&mut at.tape(), masked);
                    matrix_transposed(&mut at.tape(), conj)
                }
                Transposition::None => masked,
            };
            let mut tape = at.tape();
            Some(if spec.left_side { matmul(&mut tape, turned, x) } else { matmul(&mut tape, x, turned) })
        }
        None => None,
    };
    // One triangular solve computes the contributions of both tangents.
    let right = match (at.tangent(1), product) {
        (Some(db), Some(product)) => at.tape().sub(db, product),
        (None, Some(product)) => at.tape().neg(product),
        (Some(db), None) => db,
        (None, None) => return Ok(None),
    };
    Ok(Some(at.tape().alike_to(solve_kind(spec.clone()), &[a, right], x)))
}

/// `L L^H = A` has the tangent `dL = L phi(L^-1 dA L^-H)`, where `phi` takes the lower triangle and half of the diagonal.
pub(super) fn cholesky(
    at: &mut At<'_, '_>,
    factor: ValueId,
    lower: bool,
) -> Result<Option<ValueId>, Box<Diagnostic>> {
    let Some(da) = at.tangent(0) else { return Ok(None) };
    let error = unsupported(at);
    // For the upper factor, `U = L^H`.
    let l = if lower {
        factor
    } else {
        let mut e = at.primal();
        let turned = matrix_transposed(&mut e, factor);
        conjugated(&mut e, turned)
    };
    let solve = |left_side: bool, transpose_a: Transposition| {
        solve_kind(TriangularSpec { left_side, lower: true, unit_diagonal: false, transpose_a })
    };
    // Cholesky reads one triangle of `A` and assumes that `A` is Hermitian, so `dA` is assumed to be Hermitian, too.
    let whole = da;
    let right = at.tape().alike_to(solve(false, Transposition::Adjoint), &[l, whole], da);
    let both = at.tape().alike_to(solve(true, Transposition::None), &[l, right], da);
    let mask = half_triangle(&mut at.primal(), l).ok_or(error)?;
    let mut tape = at.tape();
    let phi = tape.mul(both, mask);
    let change = matmul(&mut tape, l, phi);
    Ok(Some(if lower {
        change
    } else {
        let turned = matrix_transposed(&mut tape, change);
        conjugated(&mut tape, turned)
    }))
}

/// Linearizes `fft`: applies the same transform to the tangent.
pub(super) fn fft(at: &mut At<'_, '_>) -> Option<ValueId> {
    let tangent = at.tangent(0)?;
    Some(on_tape(at, &[tangent]))
}

fn is_complex(e: &mut Emit<'_>, value: ValueId) -> bool {
    e.type_of(value).dtype.class() == DTypeClass::Complex
}

fn conjugated(e: &mut Emit<'_>, value: ValueId) -> ValueId {
    if is_complex(e, value) { e.unary(UnaryOp::Conj, value) } else { value }
}

fn matrix_transposed(e: &mut Emit<'_>, value: ValueId) -> ValueId {
    let ty = e.type_of(value);
    let rank = ty.shape.len();
    let mut permutation: DimList = (0..rank as u32).collect();
    permutation.swap(rank - 1, rank - 2);
    let mut shape = ty.shape.to_vec();
    shape.swap(rank - 1, rank - 2);
    e.tensor(OpKind::Transpose { permutation }, &[value], &shape, ty.dtype)
}

/// The matmul of two matrices, or of batches of them.
pub(super) fn matmul(e: &mut Emit<'_>, a: ValueId, b: ValueId) -> ValueId {
    let (left, right) = (e.type_of(a), e.type_of(b));
    let rank = left.shape.len() as u32;
    let batch: DimList = (0..rank - 2).collect();
    let spec = DotSpec {
        lhs_batch: batch.clone(),
        rhs_batch: batch,
        lhs_contract: DimList::from_slice(&[rank - 1]),
        rhs_contract: DimList::from_slice(&[rank - 2]),
        ..DotSpec::default()
    };
    let mut shape = left.shape.to_vec();
    shape[rank as usize - 1] = right.shape[rank as usize - 1];
    e.tensor(OpKind::DotGeneral(Box::new(spec)), &[a, b], &shape, left.dtype)
}

/// The conjugate transpose.
pub(super) fn adjoint(e: &mut Emit<'_>, value: ValueId) -> ValueId {
    let conj = conjugated(e, value);
    matrix_transposed(e, conj)
}

/// The operation that solves a triangular system.
pub(super) fn solve_kind(spec: TriangularSpec) -> OpKind {
    OpKind::TriangularSolve(Box::new(spec))
}

/// The lower or upper triangle of the first result of an operation.
pub(super) fn part(at: &mut At<'_, '_>, lower: bool) -> ValueId {
    let factor = at.result();
    let direction = if lower { CompareDirection::GE } else { CompareDirection::LE };
    masked(&mut at.primal(), factor, direction)
}

/// A mask that is true for elements whose row index compares with their column index as `direction` specifies.
fn mask(e: &mut Emit<'_>, like: ValueId, direction: CompareDirection) -> ValueId {
    let (rows, columns) = numbers(e, like);
    let shape = e.type_of(like).shape;
    e.tensor(OpKind::Compare(direction, None), &[rows, columns], &shape, DType::I1)
}

/// The matrix `value`, with zeros where the [`mask`] is false.
pub(super) fn masked(e: &mut Emit<'_>, value: ValueId, direction: CompareDirection) -> ValueId {
    let (mask, zero) = (mask(e, value, direction), e.zeros_like(value));
    e.alike_to(OpKind::Select, &[mask, value, zero], value)
}

/// The matrix `tangent`, with zeros where the [`mask`] is false.
pub(super) fn masked_tangent(at: &mut At<'_, '_>, tangent: ValueId, direction: CompareDirection) -> ValueId {
    let (mask, zero) = {
        let mut e = at.primal();
        (mask(&mut e, tangent, direction), e.zeros_like(tangent))
    };
    at.tape().alike_to(OpKind::Select, &[mask, tangent, zero], tangent)
}

/// A square matrix with ones on the diagonal from row `first` on, and zeros elsewhere.
pub(super) fn diagonal(e: &mut Emit<'_>, like: ValueId, first: i64) -> ValueId {
    let ty = e.type_of(like);
    let mut is_one = mask(e, like, CompareDirection::EQ);
    if first > 0 {
        let (rows, _) = numbers(e, like);
        let first = e.splat(&(first as i32).to_le_bytes(), &ty.shape, DType::I32);
        let is_behind = compare(e, CompareDirection::GE, rows, first);
        is_one = e.binary(BinaryOp::And, is_one, is_behind);
    }
    e.convert(is_one, ty.dtype)
}

/// The identity matrix with the type of a square matrix.
pub(super) fn identity_like(e: &mut Emit<'_>, like: ValueId) -> ValueId {
    diagonal(e, like, 0)
}

/// The real part of the diagonal of the tangent of a square matrix.
pub(super) fn diagonal_of(at: &mut At<'_, '_>, tangent: ValueId) -> Option<ValueId> {
    let real = if at.is_complex(tangent) {
        let ty = at.primal().type_of(tangent);
        let part = if ty.dtype == DType::C128 { DType::F64 } else { DType::F32 };
        at.tape().tensor(OpKind::Unary(UnaryOp::Real), &[tangent], &ty.shape, part)
    } else {
        tangent
    };
    let kept = masked_tangent(at, real, CompareDirection::EQ);
    let rank = at.linear.module.rank(kept) as u32;
    at.tape().sum(kept, DimList::from_slice(&[rank - 1]))
}

/// Two tensors with the shape of a matrix: the row index and the column index of each element.
fn numbers(e: &mut Emit<'_>, like: ValueId) -> (ValueId, ValueId) {
    let shape = e.type_of(like).shape;
    let rank = shape.len() as u32;
    let rows = e.tensor(OpKind::Iota { dim: rank - 2 }, &[], &shape, DType::I32);
    let columns = e.tensor(OpKind::Iota { dim: rank - 1 }, &[], &shape, DType::I32);
    (rows, columns)
}

/// Returns the tangent with zeros outside of the triangle that the operation reads. If `is_unit` is true, the diagonal is also zero.
fn triangle(at: &mut At<'_, '_>, tangent: ValueId, lower: bool, is_unit: bool) -> Option<ValueId> {
    let a = at.operand(0);
    let (mask, zero) = {
        let mut e = at.primal();
        let (rows, columns) = numbers(&mut e, a);
        let direction = match (lower, is_unit) {
            (true, false) => CompareDirection::GE,
            (true, true) => CompareDirection::GT,
            (false, false) => CompareDirection::LE,
            (false, true) => CompareDirection::LT,
        };
        let shape = e.type_of(a).shape;
        let mask = e.tensor(OpKind::Compare(direction, None), &[rows, columns], &shape, DType::I1);
        (mask, e.zeros_like(a))
    };
    Some(at.tape().alike_to(OpKind::Select, &[mask, tangent, zero], a))
}

/// A matrix with the shape of `like` that is 1 below the diagonal, 1/2 on it, and 0 above it.
fn half_triangle(e: &mut Emit<'_>, like: ValueId) -> Option<ValueId> {
    let (rows, columns) = numbers(e, like);
    let shape = e.type_of(like).shape;
    let below = e.tensor(OpKind::Compare(CompareDirection::GT, None), &[rows, columns], &shape, DType::I1);
    let on = e.tensor(OpKind::Compare(CompareDirection::EQ, None), &[rows, columns], &shape, DType::I1);
    let (zero, half, one) = (e.number(0.0, like), e.number(0.5, like), e.number(1.0, like));
    let rest = e.alike_to(OpKind::Select, &[on, half, zero], like);
    let mask = e.alike_to(OpKind::Select, &[below, one, rest], like);
    Some(mask)
}
