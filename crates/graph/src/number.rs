//! Encoding of constant elements as bytes.

use half::{bf16, f16};
use shardc_ir::floats::power_of_two;
use shardc_ir::{DType, DTypeClass, ReductionKind};
use smallvec::SmallVec;

/// A Rust type of constant elements.
pub trait Element: Copy {
    /// The element type of tensors of this Rust type.
    const DTYPE: DType;

    /// Appends the element's bytes, little-endian.
    fn write(self, out: &mut Vec<u8>);
}

macro_rules! element {
    ($($rust:ty => $dtype:ident,)*) => {
        $(impl Element for $rust {
            const DTYPE: DType = DType::$dtype;

            fn write(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        })*
    };
}

element! {
    i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    u8 => UI8, u16 => UI16, u32 => UI32, u64 => UI64,
    f16 => F16, bf16 => BF16, f32 => F32, f64 => F64,
}

impl Element for bool {
    const DTYPE: DType = DType::I1;

    fn write(self, out: &mut Vec<u8>) {
        out.push(u8::from(self));
    }
}

/// Returns the bytes of one element; `None` if the type cannot represent the number.
///
/// Floats are rounded to the type; integers must be in its range.
pub(crate) fn encode(dtype: DType, value: f64) -> Option<SmallVec<[u8; 16]>> {
    let bytes = |b: &[u8]| Some(SmallVec::from_slice(b));
    match dtype {
        DType::F64 => bytes(&value.to_le_bytes()),
        DType::F32 => bytes(&(value as f32).to_le_bytes()),
        DType::F16 => bytes(&f16::from_f64(value).to_le_bytes()),
        DType::BF16 => bytes(&bf16::from_f64(value).to_le_bytes()),
        DType::C64 => bytes(&[(value as f32).to_le_bytes(), [0; 4]].concat()),
        DType::C128 => bytes(&[value.to_le_bytes(), [0; 8]].concat()),
        _ => {
            let bits = dtype.bits() as i32;
            let (low, high) = match dtype.class() {
                DTypeClass::Bool => (0.0, 2.0),
                DTypeClass::Unsigned => (0.0, power_of_two(bits)),
                DTypeClass::Signed => (-power_of_two(bits - 1), power_of_two(bits - 1)),
                DTypeClass::Float | DTypeClass::Complex => return None,
            };
            if value.fract() != 0.0 || value < low || value >= high {
                return None;
            }
            // A sub-byte element is stored as one byte.
            bytes(&(value as i128).to_le_bytes()[..dtype.bytes()])
        }
    }
}

/// Returns the bytes of one element with an integer value; `None` if the type cannot represent the integer.
pub(crate) fn encode_integer(dtype: DType, value: i64) -> Option<SmallVec<[u8; 16]>> {
    if !dtype.is_integer() {
        return encode(dtype, value as f64);
    }
    let (bits, value) = (dtype.bits(), i128::from(value));
    let (low, high) = match dtype.class() {
        DTypeClass::Signed => (-(1i128 << (bits - 1)), 1i128 << (bits - 1)),
        DTypeClass::Bool | DTypeClass::Unsigned | DTypeClass::Float | DTypeClass::Complex => {
            (0, 1i128 << bits)
        }
    };
    let fits = (low..high).contains(&value);
    fits.then(|| SmallVec::from_slice(&value.to_le_bytes()[..dtype.bytes()]))
}

/// Returns the bytes of the smallest or largest value of the type: an infinity if the type has one.
pub(crate) fn extreme(dtype: DType, largest: bool) -> Option<SmallVec<[u8; 16]>> {
    let bits = dtype.bits();
    let value: i128 = match (dtype.class(), largest) {
        (DTypeClass::Float, _) => {
            return encode(dtype, if largest { f64::INFINITY } else { f64::NEG_INFINITY });
        }
        (DTypeClass::Complex, _) => return None,
        (DTypeClass::Bool, _) => i128::from(largest),
        (DTypeClass::Unsigned, true) => (1 << bits) - 1,
        (DTypeClass::Unsigned, false) => 0,
        (DTypeClass::Signed, true) => (1 << (bits - 1)) - 1,
        (DTypeClass::Signed, false) => -(1 << (bits - 1)),
    };
    Some(SmallVec::from_slice(&value.to_le_bytes()[..dtype.bytes()]))
}

/// Returns the bytes of the initial value of a reduction; `None` if the type has no such reduction.
pub(crate) fn start(kind: ReductionKind, dtype: DType) -> Option<SmallVec<[u8; 16]>> {
    let needs_truth = matches!(kind, ReductionKind::And | ReductionKind::Or);
    let start = match kind {
        ReductionKind::Max => extreme(dtype, false),
        ReductionKind::Min => extreme(dtype, true),
        ReductionKind::Mul | ReductionKind::And => encode(dtype, 1.0),
        ReductionKind::Add | ReductionKind::Or | ReductionKind::Xor => encode(dtype, 0.0),
    };
    start.filter(|_| !needs_truth || dtype == DType::I1)
}

/// Returns the largest finite number of `f64`, `f32`, `f16` or `bf16`; `None` for other types.
pub(crate) fn largest_finite(dtype: DType) -> Option<f64> {
    match dtype {
        DType::F64 => Some(f64::MAX),
        DType::F32 => Some(f64::from(f32::MAX)),
        DType::F16 => Some(f16::MAX.to_f64()),
        DType::BF16 => Some(bf16::MAX.to_f64()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_elements_of_types_that_hold_them() {
        let hex = |dtype, value| encode(dtype, value).map(|b| b.to_vec());
        assert_eq!(hex(DType::F32, 1.5), Some(1.5f32.to_le_bytes().to_vec()));
        assert_eq!(hex(DType::BF16, 1.0), Some(vec![0x80, 0x3f]));
        assert_eq!(hex(DType::I8, -128.0), Some(vec![0x80]));
        assert_eq!(hex(DType::I8, 128.0), None);
        assert_eq!(hex(DType::UI8, -1.0), None);
        assert_eq!(hex(DType::I32, 0.5), None);
        assert_eq!(hex(DType::I1, 1.0), Some(vec![1]));
        assert_eq!(hex(DType::I1, 2.0), None);
        assert_eq!(hex(DType::I32, f64::NAN), None);
        assert_eq!(hex(DType::UI64, power_of_two(63)), Some((1u64 << 63).to_le_bytes().to_vec()));
    }

    #[test]
    fn extremes() {
        let hex = |dtype, largest| extreme(dtype, largest).map(|b| b.to_vec());
        assert_eq!(hex(DType::I32, false), Some(i32::MIN.to_le_bytes().to_vec()));
        assert_eq!(hex(DType::UI16, true), Some(u16::MAX.to_le_bytes().to_vec()));
        assert_eq!(hex(DType::F32, false), Some(f32::NEG_INFINITY.to_le_bytes().to_vec()));
        assert_eq!(hex(DType::I64, true), Some(i64::MAX.to_le_bytes().to_vec()));
        assert_eq!(hex(DType::C64, true), None);
    }
}
