//! Transposition of FFTs and triangular systems.

use shardc_ir::{
    CompareDirection, DType, DTypeClass, FftKind, OpId, OpKind, SizeList, TensorBuild, Transposition,
    TriangularSpec, UnaryOp, ValueId,
};

use crate::emit::{Arithmetic, Emit};
use crate::transpose::Transposed;

/// The cotangent of the right-hand side: the solution for the transposed matrix.
pub(super) fn triangular_solve(
    t: &mut Transposed<'_, '_>,
    op: OpId,
    spec: &TriangularSpec,
    ct: ValueId,
) -> Option<ValueId> {
    let a = t.linear.module.ops[op].operands[0];
    let mut e = t.emit(op);
    let mut back = spec.clone();
    let matrix = match spec.transpose_a {
        Transposition::Transpose => {
            back.transpose_a = Transposition::None;
            a
        }
        // The transpose of the adjoint is the conjugate.
        Transposition::Adjoint => {
            back.transpose_a = Transposition::None;
            let is_complex = e.type_of(a).dtype.class() == DTypeClass::Complex;
            if is_complex { e.unary(UnaryOp::Conj, a) } else { a }
        }
        Transposition::None => {
            back.transpose_a = Transposition::Transpose;
            a
        }
    };
    Some(e.alike_to(OpKind::TriangularSolve(Box::new(back)), &[matrix, ct], ct))
}

/// A discrete Fourier transform is a symmetric matrix, so it is its own transpose; real transforms omit half of the spectrum.
pub(super) fn fft(
    t: &mut Transposed<'_, '_>,
    op: OpId,
    kind: FftKind,
    length: &SizeList,
    ct: ValueId,
) -> Option<ValueId> {
    let operand = t.linear.module.ops[op].operands[0];
    let mut e = t.emit(op);
    let (input, output) = (e.type_of(operand), e.type_of(ct));
    let whole = |kind: FftKind| OpKind::Fft { kind, length: length.clone() };
    match kind {
        FftKind::Fft | FftKind::Ifft => Some(e.alike(whole(kind), &[ct])),
        FftKind::Rfft => {
            // The inverse transform counts each element of the spectrum twice, except the first and, for an even length, the middle one.
            let count: i64 = length.iter().product();
            let twice = halves(&mut e, &output.shape, *length.last()?);
            let (whole_of, half_of) = (count as f64, count as f64 / 2.0);
            let (whole_of, half_of) = (e.number(whole_of, ct), e.number(half_of, ct));
            let scale = e.alike_to(OpKind::Select, &[twice, half_of, whole_of], ct);
            let scaled = e.mul(ct, scale);
            let conj = e.unary(UnaryOp::Conj, scaled);
            Some(e.alike_to(whole(FftKind::Irfft), &[conj], operand))
        }
        FftKind::Irfft => {
            // Each element of the spectrum represents two, except the first and, for an even length, the middle one.
            let turned = e.alike_to(whole(FftKind::Rfft), &[ct], operand);
            let conj = e.unary(UnaryOp::Conj, turned);
            let count: i64 = length.iter().product();
            let n = *length.last()?;
            let twice = halves(&mut e, &input.shape, n);
            let (one, two) = (1.0 / count as f64, 2.0 / count as f64);
            let (one, two) = (e.number(one, operand), e.number(two, operand));
            let scale = e.alike_to(OpKind::Select, &[twice, two, one], operand);
            Some(e.mul(conj, scale))
        }
    }
}

/// Returns a mask of the elements of a half spectrum that represent two elements of the full spectrum, whose last dimension has `n`
/// elements.
fn halves(e: &mut Emit<'_>, shape: &[i64], n: i64) -> ValueId {
    let place = e.tensor(OpKind::Iota { dim: shape.len() as u32 - 1 }, &[], shape, DType::I32);
    let (first, middle) = (e.number(0.0, place), e.number((n as f64) / 2.0, place));
    let differs = |e: &mut Emit<'_>, other: ValueId| {
        e.tensor(OpKind::Compare(CompareDirection::NE, None), &[place, other], shape, DType::I1)
    };
    let inner = differs(e, first);
    if n % 2 == 1 {
        return inner;
    }
    let not_middle = differs(e, middle);
    e.binary(shardc_ir::BinaryOp::And, inner, not_middle)
}
