//! Recognizes values that are a known number.

use half::{bf16, f16};
use shardc_ir::{DType, Dense, Module, OpKind, UnaryOp, ValueId};

/// If a value is a constant whose elements are all equal, returns their number.
pub(crate) fn number(module: &Module, mut value: ValueId) -> Option<f64> {
    loop {
        let data = &module.ops[module.def_op(value)?];
        match &data.kind {
            OpKind::BroadcastInDim { .. } | OpKind::Reshape | OpKind::Convert => value = data.operands[0],
            OpKind::Constant(Dense::Splat(bytes)) => return decode(module.tensor(value)?.dtype, bytes),
            _ => return None,
        }
    }
}

/// Whether a value is a constant, possibly after broadcasts, reshapes, conversions, negations and absolute values.
pub(super) fn is_constant(module: &Module, mut value: ValueId) -> bool {
    while let Some(op) = module.def_op(value) {
        match &module.ops[op].kind {
            OpKind::Constant(_) => return true,
            OpKind::BroadcastInDim { .. }
            | OpKind::Reshape
            | OpKind::Convert
            | OpKind::Unary(UnaryOp::Abs | UnaryOp::Negate) => value = module.ops[op].operands[0],
            _ => return false,
        }
    }
    false
}

/// Decodes one element of a constant; `None` if its type is not used for constants of floating-point programs.
fn decode(dtype: DType, bytes: &[u8]) -> Option<f64> {
    match dtype {
        DType::BF16 => Some(bf16::from_le_bytes(bytes.try_into().ok()?).into()),
        DType::F16 => Some(f16::from_le_bytes(bytes.try_into().ok()?).into()),
        DType::F32 => Some(f32::from_le_bytes(bytes.try_into().ok()?).into()),
        DType::F64 => Some(f64::from_le_bytes(bytes.try_into().ok()?)),
        DType::I32 => Some(i32::from_le_bytes(bytes.try_into().ok()?).into()),
        DType::I64 => {
            let integer = i64::from_le_bytes(bytes.try_into().ok()?);
            // Integers of more than 53 bits are not exact in `f64`.
            (integer.unsigned_abs() < 1 << 53).then_some(integer as f64)
        }
        _ => None,
    }
}
