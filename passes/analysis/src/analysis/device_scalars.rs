//! Per-device constant folding of scalar integers that are computed from the device ID.

use shardc_ir::{BinaryOp, DType, DTypeClass, Dense, Module, OpId, OpKind, UnaryOp, ValueId};

/// One integer per device.
pub type PerDevice = std::rc::Rc<[i64]>;

/// Returns the result of `op` on each device. Every operand must be a constant or a key of `known` (the values that are already evaluated),
/// and at least one must be a key of `known`.
pub fn evaluate(
    module: &Module,
    op: OpId,
    devices: usize,
    known: impl Fn(ValueId) -> Option<PerDevice>,
) -> Option<PerDevice> {
    let data = &module.ops[op];
    let &[result] = data.results.as_slice() else { return None };
    let ty = module.tensor(result)?;
    if ty.num_elements() != Some(1) || !is_integer(ty.dtype) || !data.regions.is_empty() {
        return None;
    }
    let any_known = data.operands.iter().any(|&v| known(v).is_some());
    if !any_known {
        return None;
    }
    let operand = |i: usize| -> Option<PerDevice> {
        let value = *data.operands.get(i)?;
        known(value).or_else(|| Some(vec![constant(module, value)?; devices].into()))
    };
    let each = |f: &dyn Fn(usize) -> Option<i64>| -> Option<PerDevice> {
        (0..devices).map(|d| f(d).map(|n| wrap(n, ty.dtype))).collect::<Option<Vec<i64>>>().map(Into::into)
    };
    match &data.kind {
        // A conversion to a boolean tests for nonzero. Keeping only the lowest bit, as for other narrow types, would turn 2 into false.
        OpKind::Convert if ty.dtype == DType::I1 => {
            let from = operand(0)?;
            each(&|d| Some(i64::from(from[d] != 0)))
        }
        OpKind::Convert | OpKind::Reshape | OpKind::BroadcastInDim { .. } => {
            let from = operand(0)?;
            each(&|d| Some(from[d]))
        }
        OpKind::Unary(UnaryOp::Not) if ty.dtype == DType::I1 => {
            let from = operand(0)?;
            each(&|d| Some(1 - from[d]))
        }
        // Boolean arithmetic differs from `i64` arithmetic: `add` is "or", and `multiply` is "and".
        OpKind::Binary(binary)
            if ty.dtype != DType::I1 || matches!(binary, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor) =>
        {
            let (a, b) = (operand(0)?, operand(1)?);
            each(&|d| combine(*binary, a[d], b[d]))
        }
        OpKind::Compare(direction, _) => {
            let (a, b) = (operand(0)?, operand(1)?);
            each(&|d| Some(i64::from(direction.holds(a[d], b[d]))))
        }
        OpKind::Select => {
            let (pred, yes, no) = (operand(0)?, operand(1)?, operand(2)?);
            each(&|d| Some(if pred[d] != 0 { yes[d] } else { no[d] }))
        }
        // The operand is a table with an entry per device. Indices are clamped, as in `dynamic_slice`.
        OpKind::DynamicSlice { .. } if data.operands.len() == 2 => {
            let table = elements(module, data.operands[0])?;
            let last = table.len().checked_sub(1)? as i64;
            let at = operand(1)?;
            each(&|d| table.get(at[d].clamp(0, last) as usize).copied())
        }
        _ => None,
    }
}

fn is_integer(dtype: DType) -> bool {
    // All arithmetic uses `i64`, which cannot represent all 64-bit unsigned integers.
    dtype == DType::I1 || dtype.is_integer() && dtype != DType::UI64
}

/// Returns the common value of all elements of a constant, if they are equal.
pub fn constant(module: &Module, value: ValueId) -> Option<i64> {
    let ty = module.tensor(value)?;
    if !is_integer(ty.dtype) {
        return None;
    }
    match &module.ops[module.def_op(value)?].kind {
        OpKind::Constant(Dense::Splat(bytes)) => Some(integer(bytes, ty.dtype)),
        OpKind::Constant(Dense::Elements(bytes)) if ty.num_elements() == Some(1) => {
            Some(integer(bytes, ty.dtype))
        }
        _ => None,
    }
}

/// Returns the elements of an integer constant that has one dimension.
fn elements(module: &Module, value: ValueId) -> Option<Vec<i64>> {
    let ty = module.tensor(value)?;
    if !is_integer(ty.dtype) || ty.rank() != 1 {
        return None;
    }
    match &module.ops[module.def_op(value)?].kind {
        OpKind::Constant(Dense::Splat(bytes)) => {
            Some(vec![integer(bytes, ty.dtype); usize::try_from(ty.shape[0]).ok()?])
        }
        OpKind::Constant(Dense::Elements(bytes)) => {
            Some(bytes.chunks_exact(ty.dtype.bytes()).map(|b| integer(b, ty.dtype)).collect())
        }
        _ => None,
    }
}

fn integer(bytes: &[u8], dtype: DType) -> i64 {
    let mut whole = [0; 8];
    let n = bytes.len().min(8);
    whole[..n].copy_from_slice(&bytes[..n]);
    wrap(i64::from_le_bytes(whole), dtype)
}

/// Wraps `n` to the bits of a type, sign-extended if it is signed.
fn wrap(n: i64, dtype: DType) -> i64 {
    let bits = dtype.bits();
    if bits >= 64 {
        return n;
    }
    let unused = 64 - bits;
    match dtype.class() {
        DTypeClass::Signed => (n << unused) >> unused,
        _ => ((n as u64) << unused >> unused) as i64,
    }
}

fn combine(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    match op {
        BinaryOp::Add => Some(a.wrapping_add(b)),
        BinaryOp::Subtract => Some(a.wrapping_sub(b)),
        BinaryOp::Multiply => Some(a.wrapping_mul(b)),
        _ => op.on_integers(a, b),
    }
}
