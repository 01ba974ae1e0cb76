//! Element-wise operation expansion: expands element-wise operations that back ends lack to StableHLO operations.
//!
//! * `mhlo.copy`, `mhlo.exp2` and `mhlo.log2` are operations for which XLA's converter from HLO emits no StableHLO. They are expanded
//!   whenever a program is partitioned ([`expand_mhlo`], called by `decompose`).
//! * `chlo.mulhi` is newer than the CHLO dialect of many plugins. Programs in files keep it;
//!   [`expand_for_plugin`] expands it.
//!
//! ```mlir
//! %1 = mhlo.exp2 %0 : tensor<8xf32>
//! %2 = chlo.mulhi %a, %b : tensor<8xui32>, tensor<8xui32> -> tensor<8xui32>
//! ```
//! becomes
//! ```mlir
//! %c = stablehlo.constant dense<0.693147182> : tensor<8xf32>
//! %s = stablehlo.multiply %0, %c : tensor<8xf32>
//! %1 = stablehlo.exponential %s : tensor<8xf32>
//! %wa = stablehlo.convert %a : (tensor<8xui32>) -> tensor<8xui64>
//! %wb = stablehlo.convert %b : (tensor<8xui32>) -> tensor<8xui64>
//! %p = stablehlo.multiply %wa, %wb : tensor<8xui64>
//! %h = stablehlo.shift_right_logical %p, %c32 : tensor<8xui64>
//! %2 = stablehlo.convert %h : (tensor<8xui64>) -> tensor<8xui32>
//! ```

use std::f64::consts::{LN_2, LOG2_E};

use shardc_ir::{
    BinaryOp, CompareDirection, CompareType, DType, DTypeClass, Module, OpId, OpKind, Rewriter, TensorBuild,
    UnaryOp, ValueId,
};

/// Whether [`expand_mhlo`] expands an operation of this kind.
pub(super) fn is_mhlo(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Unary(UnaryOp::Copy | UnaryOp::Exp2 | UnaryOp::Log2))
}

/// Inserts the StableHLO form of an operation of the `mhlo` dialect and returns its value. `None` if the operation has no
/// such form, because it is another operation or because its shape is not static.
pub(super) fn expand_mhlo(rw: &mut Rewriter<'_>, op: OpId) -> Option<ValueId> {
    let data = &rw.module.ops[op];
    let (kind, &operand) = (data.kind.clone(), data.operands.first()?);
    match kind {
        OpKind::Unary(UnaryOp::Copy) => Some(operand),
        OpKind::Unary(UnaryOp::Exp2) => {
            let factor = number(rw, LN_2, operand)?;
            let scaled = rw.binary(BinaryOp::Multiply, operand, factor);
            Some(rw.unary(UnaryOp::Exponential, scaled))
        }
        OpKind::Unary(UnaryOp::Log2) => {
            let factor = number(rw, LOG2_E, operand)?;
            let log = rw.unary(UnaryOp::Log, operand);
            Some(rw.binary(BinaryOp::Multiply, log, factor))
        }
        _ => None,
    }
}

/// Expands every element-wise operation that PJRT plugins may lack, such as `chlo.mulhi`.
pub(super) fn expand_for_plugin(module: &mut Module) {
    let mut rw = Rewriter::new(module);
    for body in rw.module.bodies().collect::<Vec<_>>() {
        rw.each_op(body, &mut |rw, op| {
            let start = rw.checkpoint();
            let expanded = match rw.module.ops[op].kind {
                OpKind::Binary(BinaryOp::Mulhi) => expand_mulhi(rw, op),
                _ => expand_mhlo(rw, op),
            };
            match expanded {
                Some(value) => rw.replace(&[value]),
                None => rw.undo(start),
            }
        });
    }
}

/// Emits the constant `number` with the type of `value`, which may be complex. `None` if the shape of `value` is not static.
fn number(rw: &mut Rewriter<'_>, number: f64, value: ValueId) -> Option<ValueId> {
    rw.module.tensor(value).filter(|ty| ty.is_static())?;
    rw.full(number, value)
}

/// Returns the upper half of the bits of an integer product.
fn expand_mulhi(rw: &mut Rewriter<'_>, op: OpId) -> Option<ValueId> {
    let &[a, b] = rw.module.ops[op].operands.as_slice() else { return None };
    let dtype = rw.module.tensor(a).filter(|ty| ty.is_static() && ty.encoding.is_none())?.dtype;
    let is_signed = dtype.class() == DTypeClass::Signed;
    if dtype.bits() < 64 {
        let wide = if is_signed { DType::I64 } else { DType::UI64 };
        let [wide_a, wide_b] = [a, b].map(|value| rw.convert(value, wide));
        let product = rw.binary(BinaryOp::Multiply, wide_a, wide_b);
        let bits = rw.full(f64::from(dtype.bits()), product)?;
        let high = rw.binary(BinaryOp::ShiftRightLogical, product, bits);
        return Some(rw.convert(high, dtype));
    }
    let [unsigned_a, unsigned_b] = [a, b].map(|value| rw.convert(value, DType::UI64));
    let high = expand_mulhi_u64(rw, unsigned_a, unsigned_b)?;
    if !is_signed {
        return Some(high);
    }
    // The unsigned product interprets a negative operand as 2^64 too large, which adds the other operand to the upper half. It is
    // subtracted again.
    let high = rw.convert(high, dtype);
    let high = subtract_if_negative(rw, high, a, b)?;
    subtract_if_negative(rw, high, b, a)
}

/// Emits `high - (sign < 0 ? other : 0)`, the correction of the upper half for a negative operand `sign`.
fn subtract_if_negative(
    rw: &mut Rewriter<'_>,
    high: ValueId,
    sign: ValueId,
    other: ValueId,
) -> Option<ValueId> {
    let zero = rw.full(0.0, sign)?;
    let shape = rw.module.shape(sign).to_vec();
    let less = OpKind::Compare(CompareDirection::LT, Some(CompareType::Signed));
    let is_negative = rw.tensor(less, &[sign, zero], &shape, DType::I1);
    let excess = rw.alike_to(OpKind::Select, &[is_negative, other, zero], sign);
    Some(rw.binary(BinaryOp::Subtract, high, excess))
}

/// Emits the upper half of a `ui64` product, from four half-width products (Knuth, The Art of Computer Programming, 4.3.1).
fn expand_mulhi_u64(rw: &mut Rewriter<'_>, a: ValueId, b: ValueId) -> Option<ValueId> {
    use BinaryOp as B;
    let half = rw.full(32.0, a)?;
    let mask = rw.full(f64::from(u32::MAX), a)?;
    let [(low_a, high_a), (low_b, high_b)] =
        [a, b].map(|value| (rw.binary(B::And, value, mask), rw.binary(B::ShiftRightLogical, value, half)));
    let low = rw.binary(B::Multiply, low_a, low_b);
    let carry = rw.binary(B::ShiftRightLogical, low, half);
    let cross = rw.binary(B::Multiply, high_a, low_b);
    let cross = rw.binary(B::Add, cross, carry);
    let (cross_low, cross_high) =
        (rw.binary(B::And, cross, mask), rw.binary(B::ShiftRightLogical, cross, half));
    let other = rw.binary(B::Multiply, low_a, high_b);
    let middle = rw.binary(B::Add, other, cross_low);
    let middle = rw.binary(B::ShiftRightLogical, middle, half);
    let high = rw.binary(B::Multiply, high_a, high_b);
    let high = rw.binary(B::Add, high, cross_high);
    Some(rw.binary(B::Add, high, middle))
}
