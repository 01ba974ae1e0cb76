//! Transposition of linear element-wise operations.

use shardc_ir::{BinaryOp, DTypeClass, OpId, OpKind, TensorBuild, UnaryOp, ValueId};

use crate::emit::Arithmetic;
use crate::transpose::Transposed;

/// Returns the cotangent of operand `i`, where `ct` is the cotangent of the result. The caller negates the cotangent of a subtracted
/// operand.
pub(super) fn of_operand(t: &mut Transposed<'_, '_>, op: OpId, i: usize, ct: ValueId) -> Option<ValueId> {
    let data = &t.linear.module.ops[op];
    let (kind, operands) = (data.kind.clone(), data.operands.clone());
    let operand = operands[i];
    let mut e = t.emit(op);
    Some(match kind {
        OpKind::Unary(UnaryOp::Conj) => e.unary(UnaryOp::Conj, ct),
        // `Re(c Re(z)) = Re(c z)`, and `Re(c Im(z)) = Re(-i c z)`.
        OpKind::Unary(UnaryOp::Real) => {
            let zero = e.zeros_like(ct);
            e.alike_to(OpKind::Binary(BinaryOp::Complex), &[ct, zero], operand)
        }
        OpKind::Unary(UnaryOp::Imag) => {
            let (zero, minus) = (e.zeros_like(ct), e.neg(ct));
            e.alike_to(OpKind::Binary(BinaryOp::Complex), &[zero, minus], operand)
        }
        OpKind::Binary(BinaryOp::Complex) if i == 0 => {
            e.alike_to(OpKind::Unary(UnaryOp::Real), &[ct], operand)
        }
        OpKind::Binary(BinaryOp::Complex) => {
            let imag = e.alike_to(OpKind::Unary(UnaryOp::Imag), &[ct], operand);
            e.neg(imag)
        }
        // The caller negates the cotangent if necessary.
        OpKind::Unary(UnaryOp::Negate) | OpKind::Binary(BinaryOp::Add | BinaryOp::Subtract) => ct,
        OpKind::Binary(BinaryOp::Multiply) => e.mul(ct, operands[1 - i]),
        OpKind::Binary(BinaryOp::Divide) if i == 0 => e.div(ct, operands[1]),
        OpKind::Select => {
            let zero = e.zeros_like(ct);
            let sides = if i == 1 { [operands[0], ct, zero] } else { [operands[0], zero, ct] };
            e.alike_to(OpKind::Select, &sides, ct)
        }
        OpKind::Convert => {
            let (from, to) = (e.type_of(operand).dtype, e.type_of(ct).dtype);
            debug_assert!(from.class() != DTypeClass::Bool && to.class() != DTypeClass::Bool);
            e.convert(ct, from)
        }
        OpKind::ReducePrecision { .. } => e.alike(kind, &[ct]),
        _ => return None,
    })
}
