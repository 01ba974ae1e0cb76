//! What a reducer region computes, and the value that it leaves unchanged.

use half::{bf16, f16};
use shardc_ir::{DType, DTypeClass, Dense, Module, OpKind, ReductionKind, RegionId, ValueId};
use smallvec::SmallVec;

/// The reduction that `region` does, if it is a single operation on its two arguments that devices can also
/// do among themselves.
#[must_use]
pub fn reduction_of(module: &Module, region: RegionId) -> Option<ReductionKind> {
    let region = &module.regions[region];
    let (&[a, b], &[op, ret]) = (region.args.as_slice(), region.ops.as_slice()) else { return None };
    let (op, ret) = (&module.ops[op], &module.ops[ret]);
    let OpKind::Binary(binary) = op.kind else { return None };
    let on_args = op.operands.as_slice() == [a, b] || op.operands.as_slice() == [b, a];
    (on_args && ret.operands == op.results).then(|| ReductionKind::from_op(binary)).flatten()
}

/// The element that `kind` leaves others unchanged with, little-endian; `None` for types that it is not
/// defined on or that shardc cannot encode.
#[must_use]
pub fn identity(kind: ReductionKind, dtype: DType) -> Option<SmallVec<[u8; 16]>> {
    match kind {
        ReductionKind::Add | ReductionKind::Or | ReductionKind::Xor => {
            Some(SmallVec::from_elem(0, dtype.bytes()))
        }
        ReductionKind::Mul => encode(dtype, 1.0),
        ReductionKind::And => Some(match dtype {
            DType::I1 => SmallVec::from_slice(&[1]),
            _ => SmallVec::from_elem(0xff, dtype.bytes()),
        }),
        ReductionKind::Max => extreme(dtype, false),
        ReductionKind::Min => extreme(dtype, true),
    }
}

/// `value` as an element of type `dtype`, little-endian.
#[must_use]
pub fn encode(dtype: DType, value: f64) -> Option<SmallVec<[u8; 16]>> {
    Some(match dtype {
        DType::F64 => SmallVec::from_slice(&value.to_le_bytes()),
        DType::F32 => SmallVec::from_slice(&(value as f32).to_le_bytes()),
        DType::F16 => SmallVec::from_slice(&f16::from_f64(value).to_le_bytes()),
        DType::BF16 => SmallVec::from_slice(&bf16::from_f64(value).to_le_bytes()),
        DType::C64 => SmallVec::from_slice(&[(value as f32).to_le_bytes(), [0; 4]].concat()),
        DType::C128 => SmallVec::from_slice(&[value.to_le_bytes(), [0; 8]].concat()),
        _ if matches!(dtype.class(), DTypeClass::Bool | DTypeClass::Signed | DTypeClass::Unsigned) => {
            SmallVec::from_slice(&(value as i64).to_le_bytes()[..dtype.bytes()])
        }
        _ => return None,
    })
}

/// The largest or smallest element of a type; infinities where there are some.
fn extreme(dtype: DType, largest: bool) -> Option<SmallVec<[u8; 16]>> {
    match dtype.class() {
        DTypeClass::Float => encode(dtype, if largest { f64::INFINITY } else { f64::NEG_INFINITY }),
        DTypeClass::Bool => Some(SmallVec::from_slice(&[u8::from(largest)])),
        DTypeClass::Unsigned => Some(SmallVec::from_elem(if largest { 0xff } else { 0 }, dtype.bytes())),
        DTypeClass::Signed if dtype.bits() >= 8 => {
            let mut bytes = SmallVec::from_elem(if largest { 0xff } else { 0 }, dtype.bytes());
            if let Some(top) = bytes.last_mut() {
                *top = if largest { 0x7f } else { 0x80 };
            }
            Some(bytes)
        }
        DTypeClass::Signed | DTypeClass::Complex => None,
    }
}

/// Whether `value` is a constant all of whose elements are the identity of `kind`. Broadcasts are looked
/// through. Either zero is an identity of a sum.
#[must_use]
pub fn is_identity(module: &Module, value: ValueId, kind: ReductionKind) -> bool {
    let Some(ty) = module.tensor(value) else { return false };
    let Some(op) = module.def_op(value) else { return false };
    match &module.ops[op].kind {
        OpKind::Constant(Dense::Splat(bytes)) => {
            let negative_zero = kind == ReductionKind::Add && encode(ty.dtype, -0.0).as_ref() == Some(bytes);
            identity(kind, ty.dtype).as_ref() == Some(bytes) || negative_zero
        }
        OpKind::BroadcastInDim { .. } => is_identity(module, module.ops[op].operands[0], kind),
        _ => false,
    }
}

/// Whether combining a value with itself changes nothing.
#[must_use]
pub fn is_idempotent(kind: ReductionKind) -> bool {
    match kind {
        ReductionKind::Max | ReductionKind::Min | ReductionKind::And | ReductionKind::Or => true,
        ReductionKind::Add | ReductionKind::Mul | ReductionKind::Xor => false,
    }
}
