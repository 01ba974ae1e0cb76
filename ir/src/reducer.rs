//! Recognition of reducer regions, and identities of reductions.

use half::{bf16, f16};
use smallvec::SmallVec;

use crate::{DType, DTypeClass, Dense, Module, OpId, OpKind, ReductionKind, RegionId, ValueId};

/// Returns the reduction that `region` applies to its arguments: argument `i` is combined with argument `n + i`, for each `i` below `n`.
/// `None` unless all pairs are combined by the same single operation.
#[must_use]
pub fn reduction_of(module: &Module, region: RegionId, n: usize) -> Option<ReductionKind> {
    let body = &module.regions[region];
    let returned = &module.ops[module.terminator(region)?].operands;
    if body.args.len() != 2 * n || returned.len() != n {
        return None;
    }
    let mut found = None;
    for (i, &value) in returned.iter().enumerate() {
        let mut op = &module.ops[module.def_op(value)?];
        // Programs with a mesh may have a sharding constraint on every value, including scalars.
        while let (OpKind::ShardingConstraint(_), &[inner]) = (&op.kind, op.operands.as_slice()) {
            op = &module.ops[module.def_op(inner)?];
        }
        let OpKind::Binary(binary) = op.kind else { return None };
        let (a, b) = (body.args[i], body.args[n + i]);
        // The operands may be in either order, since all operations of `from_op` are commutative.
        let on_both = op.operands.as_slice() == [a, b] || op.operands.as_slice() == [b, a];
        if !on_both || found.is_some_and(|f| f != binary) {
            return None;
        }
        found = Some(binary);
    }
    ReductionKind::from_op(found?)
}

/// Returns the reduction of the region of `op`, if collectives support it: XLA's back ends support bitwise reductions across devices only
/// for booleans, and no exclusive or.
#[must_use]
pub fn collective_reduction(module: &Module, op: OpId) -> Option<ReductionKind> {
    let data = &module.ops[op];
    let kind = reduction_of(module, *data.regions.first()?, data.results.len())?;
    let is_bool = |&v: &ValueId| module.tensor(v).is_some_and(|t| t.dtype == DType::I1);
    let possible = match kind {
        ReductionKind::Add | ReductionKind::Mul => !data.results.iter().any(is_bool),
        ReductionKind::Max | ReductionKind::Min => true,
        ReductionKind::And | ReductionKind::Or => data.results.iter().all(is_bool),
        ReductionKind::Xor => false,
    };
    possible.then_some(kind)
}

/// Adds a region that combines two scalars of type `dtype` with the reduction `kind`.
pub fn reducer(module: &mut Module, kind: ReductionKind, dtype: DType) -> RegionId {
    let ty = module.types.tensor(&[], dtype);
    let region = module.add_region(&[ty, ty]);
    let args = module.regions[region].args.clone();
    let combine = module.add_op(OpKind::Binary(kind.op()), &args, &[ty], &[]);
    let results = module.ops[combine].results.clone();
    let ret = module.add_op(OpKind::Return, &results, &[], &[]);
    module.set_ops(region, vec![combine, ret]);
    region
}

/// Returns the identity of a reduction as an element, little-endian; `None` for types that the reduction is not
/// defined on or that shardc cannot encode.
#[must_use]
pub fn identity(kind: ReductionKind, dtype: DType) -> Option<SmallVec<[u8; 16]>> {
    match kind {
        // Elements of `f8E8M0FNU` are powers of two, never zero.
        ReductionKind::Add if dtype == DType::F8E8M0FNU => None,
        ReductionKind::Add | ReductionKind::Or | ReductionKind::Xor => {
            Some(SmallVec::from_elem(0, dtype.bytes()))
        }
        ReductionKind::Mul => encode(dtype, 1.0),
        // A boolean is a byte with value 0 or 1: 0xff is not an element of `i1`.
        ReductionKind::And => Some(match dtype {
            DType::I1 => SmallVec::from_slice(&[1]),
            _ => SmallVec::from_elem(0xff, dtype.bytes()),
        }),
        ReductionKind::Max => extreme(dtype, false),
        ReductionKind::Min => extreme(dtype, true),
    }
}

/// Returns the bytes of the zero whose addition leaves every value bit-identical: `-0.0` for floats, since `0.0 + -0.0` is `0.0`.
pub fn exact_zero(dtype: DType) -> SmallVec<[u8; 16]> {
    let part = match dtype {
        DType::C64 => DType::F32,
        DType::C128 => DType::F64,
        _ => dtype,
    };
    let zero = match part.class() {
        DTypeClass::Float => encode(part, -0.0),
        _ => None,
    };
    let zero = zero.unwrap_or_else(|| SmallVec::from_elem(0, part.bytes()));
    zero.iter().copied().cycle().take(dtype.bytes()).collect()
}

/// Encodes `value` as an element of type `dtype`, little-endian.
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

/// Returns the largest or smallest element of a type; infinities if it has them.
fn extreme(dtype: DType, largest: bool) -> Option<SmallVec<[u8; 16]>> {
    match dtype.class() {
        DTypeClass::Float => encode(dtype, if largest { f64::INFINITY } else { f64::NEG_INFINITY }),
        DTypeClass::Bool => Some(SmallVec::from_slice(&[u8::from(largest)])),
        DTypeClass::Unsigned => Some(SmallVec::from_elem(if largest { 0xff } else { 0 }, dtype.bytes())),
        // An `i4` is stored in a byte, and its largest value is 0x07, not 0x7f.
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

/// Whether `value` is a constant whose elements are all the identity of `kind`, perhaps broadcast. Both `0.0` and `-0.0` count as
/// identities of a sum.
#[must_use]
pub fn is_identity(module: &Module, value: ValueId, kind: ReductionKind) -> bool {
    let Some(ty) = module.tensor(value) else { return false };
    let Some(op) = module.def_op(value) else { return false };
    match &module.ops[op].kind {
        OpKind::Constant(Dense::Splat(bytes)) => {
            // `-0.0 + x` is `x` for every `x`, while `0.0 + -0.0` is `0.0`; programs use either as the initial value of sums.
            let negative_zero = kind == ReductionKind::Add && encode(ty.dtype, -0.0).as_ref() == Some(bytes);
            identity(kind, ty.dtype).as_ref() == Some(bytes) || negative_zero
        }
        OpKind::BroadcastInDim { .. } => is_identity(module, module.ops[op].operands[0], kind),
        _ => false,
    }
}

/// Whether the result of `op` (a `reduce_window`, for example) does not depend on how often the initial values are used. In the
/// specification, operands are padded with initial values, but XLA's back ends skip padding positions.
pub fn init_counts_for_nothing(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let inits = &data.operands[data.operands.len() / 2..];
    let kind = data.regions.first().and_then(|&region| reduction_of(module, region, inits.len()));
    kind.is_some_and(|kind| is_idempotent(kind) || inits.iter().all(|&init| is_identity(module, init, kind)))
}

/// Whether the reduction is idempotent: combining a value with itself does not change it.
#[must_use]
pub fn is_idempotent(kind: ReductionKind) -> bool {
    match kind {
        ReductionKind::Max | ReductionKind::Min | ReductionKind::And | ReductionKind::Or => true,
        ReductionKind::Add | ReductionKind::Mul | ReductionKind::Xor => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_zero_is_negative_where_there_are_two() {
        assert_eq!(exact_zero(DType::F32).as_slice(), (-0.0f32).to_le_bytes());
        assert_eq!(exact_zero(DType::C64).as_slice(), [[0, 0, 0, 0x80]; 2].concat());
        assert_eq!(exact_zero(DType::I16).as_slice(), [0, 0]);
        assert_eq!(exact_zero(DType::F8E4M3FNUZ).as_slice(), [0], "what would be minus zero is no number");
    }

    #[test]
    fn a_bare_exponent_has_no_zero() {
        assert_eq!(identity(ReductionKind::Add, DType::F8E8M0FNU), None);
    }
}
