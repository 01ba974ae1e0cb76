//! Values that are an iota along their first dimension: `value[i, ...] = i`.

use shardc_ir::{CompareDirection, DTypeClass, Dense, Module, OpKind, TensorType, ValueId};

/// Whether element `[i, ...]` of a value is `i`, derived from the operations that compute it.
///
/// The analysis looks through reshapes and broadcasts that keep the first dimension, and through the index normalization of front ends: a
/// clamp without effect, and `select(i < 0, i + n, i)`.
pub(super) fn counts(module: &Module, value: ValueId) -> bool {
    let mut value = value;
    loop {
        let Some((op, tensor)) = module.def_op(value).zip(module.tensor(value)) else { return false };
        let op = &module.ops[op];
        let Some(&size) = tensor.shape.first() else { return false };
        let same_size = |operand: ValueId| module.shape(operand).first() == Some(&size);
        value = match (&op.kind, op.operands.as_slice()) {
            (OpKind::Iota { dim: 0 }, _) => return fits(tensor, size),
            (OpKind::Reshape, &[operand]) if same_size(operand) => operand,
            (OpKind::BroadcastInDim { dims }, &[operand])
                if dims.first() == Some(&0) && same_size(operand) =>
            {
                operand
            }
            (OpKind::Clamp, &[min, operand, max])
                if constant(module, min).is_some_and(|min| min <= 0)
                    && constant(module, max).is_some_and(|max| max >= size - 1) =>
            {
                operand
            }
            (OpKind::Select, &[wraps, _, otherwise]) if is_never(module, wraps) => otherwise,
            _ => return false,
        };
    }
}

/// Whether the tensor's element type can represent every integer from 0 to `size - 1`.
fn fits(tensor: &TensorType, size: i64) -> bool {
    let bits = match tensor.dtype.class() {
        DTypeClass::Signed => tensor.dtype.bits() - 1,
        DTypeClass::Unsigned => tensor.dtype.bits(),
        _ => return false,
    };
    size >= 0 && (bits >= 63 || size <= 1 << bits)
}

/// Whether a predicate is always false, because it compares an iota as `i < c` with a constant `c <= 0`.
fn is_never(module: &Module, value: ValueId) -> bool {
    let Some(op) = module.def_op(value).map(|op| &module.ops[op]) else { return false };
    match (&op.kind, op.operands.as_slice()) {
        (OpKind::Compare(CompareDirection::LT, _), &[left, right]) => {
            constant(module, right).is_some_and(|right| right <= 0) && counts(module, left)
        }
        (OpKind::Reshape | OpKind::BroadcastInDim { .. }, &[operand]) => is_never(module, operand),
        _ => false,
    }
}

/// The integer that all elements of a value are equal to.
fn constant(module: &Module, value: ValueId) -> Option<i64> {
    let mut value = value;
    loop {
        let op = &module.ops[module.def_op(value)?];
        match (&op.kind, op.operands.as_slice()) {
            (OpKind::Constant(Dense::Splat(bytes)), _) => {
                let class = module.tensor(value)?.dtype.class();
                let negative = class == DTypeClass::Signed && bytes.last().is_some_and(|&byte| byte >= 0x80);
                let mut wide = [if negative { 0xff } else { 0 }; 8];
                wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
                let number = i64::from_le_bytes(wide);
                let fits = class == DTypeClass::Signed || (class == DTypeClass::Unsigned && number >= 0);
                return fits.then_some(number);
            }
            (OpKind::Reshape | OpKind::BroadcastInDim { .. }, &[operand]) => value = operand,
            _ => return None,
        }
    }
}
