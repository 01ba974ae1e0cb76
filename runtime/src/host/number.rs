//! Conversion of elements between bytes and numbers.

use half::{bf16, f16};
use shardc_ir::floats::power_of_two;
use shardc_ir::{DType, DTypeClass};

/// The encoding of special values in a small float format.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Special {
    /// IEEE: the largest exponent encodes infinities and NaNs.
    Ieee,
    /// Only the largest bit pattern of each sign is NaN; there are no infinities.
    LastIsNan,
    /// The bit pattern of minus zero is the only NaN; there are no infinities.
    MinusZeroIsNan,
    /// Every bit pattern is a finite number.
    Finite,
}

/// A float of at most 8 bits: sign, exponent, mantissa.
struct SmallFloat {
    mantissa_bits: u32,
    exponent_bits: u32,
    bias: i32,
    special: Special,
}

impl SmallFloat {
    /// Returns the format of an element type; `None` if it is not a float of at most 8 bits.
    fn of(dtype: DType) -> Option<SmallFloat> {
        let format = |exponent_bits, mantissa_bits, bias, special| {
            Some(SmallFloat { mantissa_bits, exponent_bits, bias, special })
        };
        match dtype {
            DType::F4E2M1FN => format(2, 1, 1, Special::Finite),
            DType::F6E2M3FN => format(2, 3, 1, Special::Finite),
            DType::F6E3M2FN => format(3, 2, 3, Special::Finite),
            DType::F8E3M4 => format(3, 4, 3, Special::Ieee),
            DType::F8E4M3 => format(4, 3, 7, Special::Ieee),
            DType::F8E4M3B11FNUZ => format(4, 3, 11, Special::MinusZeroIsNan),
            DType::F8E4M3FN => format(4, 3, 7, Special::LastIsNan),
            DType::F8E4M3FNUZ => format(4, 3, 8, Special::MinusZeroIsNan),
            DType::F8E5M2 => format(5, 2, 15, Special::Ieee),
            DType::F8E5M2FNUZ => format(5, 2, 16, Special::MinusZeroIsNan),
            _ => None,
        }
    }

    fn decode(&self, pattern: u8) -> f64 {
        let sign_bit = self.exponent_bits + self.mantissa_bits;
        let magnitude = u32::from(pattern) & ((1 << sign_bit) - 1);
        let negative = (u32::from(pattern) >> sign_bit) & 1 == 1;
        let mantissa = magnitude & ((1 << self.mantissa_bits) - 1);
        let exponent = magnitude >> self.mantissa_bits;
        let top = (1 << self.exponent_bits) - 1;
        let special = match self.special {
            Special::Ieee if exponent == top => Some(if mantissa == 0 { f64::INFINITY } else { f64::NAN }),
            Special::LastIsNan if magnitude == (1 << sign_bit) - 1 => Some(f64::NAN),
            Special::MinusZeroIsNan if negative && magnitude == 0 => Some(f64::NAN),
            Special::Ieee | Special::LastIsNan | Special::MinusZeroIsNan | Special::Finite => None,
        };
        let value = special.unwrap_or_else(|| {
            let unit = f64::from(mantissa) / f64::from(1u32 << self.mantissa_bits);
            match exponent {
                0 => unit * power_of_two(1 - self.bias),
                e => (1.0 + unit) * power_of_two(e as i32 - self.bias),
            }
        });
        if negative { -value } else { value }
    }

    /// Encodes a number as the nearest finite number of the format, to even on a tie; out-of-range values become the largest finite number.
    /// NaN becomes NaN, or zero if the format has no NaN.
    fn encode(&self, value: f64) -> u8 {
        let patterns = 0..=((1u32 << (1 + self.exponent_bits + self.mantissa_bits)) - 1) as u8;
        if value.is_nan() {
            return patterns.into_iter().find(|&p| self.decode(p).is_nan()).unwrap_or(0);
        }
        let distance = |pattern: u8| (self.decode(pattern) - value).abs();
        let same_sign = |pattern: u8| self.decode(pattern).is_sign_negative() == value.is_sign_negative();
        patterns.filter(|&p| self.decode(p).is_finite() && same_sign(p)).fold(0, |best, pattern| {
            let (old, new) = (distance(best), distance(pattern));
            if new < old || (new == old && (!same_sign(best) || pattern & 1 == 0)) { pattern } else { best }
        })
    }
}

/// Decodes an element from its bytes; for complex types, the bytes of one part (real or imaginary).
fn decode(dtype: DType, bytes: &[u8]) -> f64 {
    let mut wide = [0u8; 8];
    let size = bytes.len().min(8);
    wide[..size].copy_from_slice(&bytes[..size]);
    let bits = u64::from_le_bytes(wide);
    match dtype {
        DType::F64 | DType::C128 => f64::from_bits(bits),
        DType::F32 | DType::TF32 | DType::C64 => f64::from(f32::from_bits(bits as u32)),
        DType::BF16 => bf16::from_bits(bits as u16).to_f64(),
        DType::F16 => f16::from_bits(bits as u16).to_f64(),
        DType::F8E8M0FNU if bits == 0xff => f64::NAN,
        DType::F8E8M0FNU => power_of_two(bits as i32 - 127),
        _ if dtype.class() == DTypeClass::Float => {
            SmallFloat::of(dtype).map_or(f64::NAN, |f| f.decode(bits as u8))
        }
        DType::I1 => f64::from(u8::from(bits != 0)),
        _ => match (integer(dtype, bits), dtype.class()) {
            (value, DTypeClass::Signed) => value as i64 as f64,
            (value, _) => value as f64,
        },
    }
}

/// Extends an integer of this type to 64 bits, with sign extension if the type is signed.
pub(super) fn integer(dtype: DType, bits: u64) -> u64 {
    let unused = 64 - dtype.bits().clamp(1, 64);
    match dtype.class() {
        DTypeClass::Signed => (((bits << unused) as i64) >> unused) as u64,
        _ => (bits << unused) >> unused,
    }
}

/// Returns the size in bytes of one part of an element. A complex element has two parts (real and imaginary), any other element has one.
pub(super) fn part_bytes(dtype: DType) -> usize {
    match dtype.class() {
        DTypeClass::Complex => dtype.bytes() / 2,
        DTypeClass::Bool | DTypeClass::Signed | DTypeClass::Unsigned | DTypeClass::Float => dtype.bytes(),
    }
}

/// Decodes all elements; a complex element becomes two numbers, its real and imaginary part.
pub(super) fn decode_all(dtype: DType, data: &[u8]) -> Vec<f64> {
    data.chunks_exact(part_bytes(dtype)).map(|bytes| decode(dtype, bytes)).collect()
}

/// Rounds a number to the element type, and appends its bytes to `out`. For complex types, the number is one part (real or imaginary).
pub(super) fn encode(dtype: DType, value: f64, out: &mut Vec<u8>) {
    match dtype {
        DType::F64 | DType::C128 => out.extend_from_slice(&value.to_le_bytes()),
        DType::F32 | DType::TF32 | DType::C64 => out.extend_from_slice(&(value as f32).to_le_bytes()),
        DType::BF16 => out.extend_from_slice(&bf16::from_f64(value).to_le_bytes()),
        DType::F16 => out.extend_from_slice(&f16::from_f64(value).to_le_bytes()),
        DType::F8E8M0FNU if value.is_nan() => out.push(0xff),
        DType::F8E8M0FNU => out.push((value.log2().round().clamp(-127.0, 127.0) + 127.0) as u8),
        _ if dtype.class() == DTypeClass::Float => {
            out.push(SmallFloat::of(dtype).map_or(0, |f| f.encode(value)))
        }
        DType::I1 => out.push(u8::from(value != 0.0)),
        _ => {
            // A cast saturates at 64 bits only, so the value is first clamped to the range of the narrower type.
            let bits = dtype.bits();
            let integer = match dtype.class() {
                DTypeClass::Signed => {
                    let most = i64::MAX >> (64 - bits.clamp(1, 64));
                    (value as i64).clamp(-most - 1, most) as u64
                }
                _ => (value as u64).min(u64::MAX >> (64 - bits.clamp(1, 64))),
            };
            // The unused high bits of a narrow value are zero, whatever its sign.
            let kept = if bits < 8 { integer & ((1 << bits) - 1) } else { integer };
            out.extend_from_slice(&kept.to_le_bytes()[..dtype.bytes()]);
        }
    }
}

/// Encodes an element with this value. For complex types, the value is both the real and the imaginary part.
pub(super) fn element(dtype: DType, value: f64) -> Vec<u8> {
    let mut out = Vec::with_capacity(dtype.bytes());
    while out.len() < dtype.bytes() {
        encode(dtype, value, &mut out);
    }
    out
}

/// Appends seeded pseudorandom elements to `out`, up to `size` bytes.
pub(super) fn random(seed: u64, dtype: DType, size: usize, out: &mut Vec<u8>) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678_9abc_def1);
    let mut next = move || {
        // SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let mut uniform = move || (next() >> 11) as f64 / (1u64 << 53) as f64;
    match dtype.class() {
        DTypeClass::Float | DTypeClass::Complex => {
            // For types of one byte, encoding is slow because it searches for the nearest value. So the few distinct values are encoded
            // once, into a table.
            let table: Option<Vec<u8>> = (dtype.bytes() == 1).then(|| {
                let mut table = Vec::new();
                (0..256).for_each(|i| encode(dtype, 0.25 + 0.5 * f64::from(i) / 256.0, &mut table));
                table
            });
            while out.len() < size {
                match &table {
                    Some(table) => out.push(table[(uniform() * 256.0) as usize % 256]),
                    None => encode(dtype, 0.25 + 0.5 * uniform(), out),
                }
            }
        }
        DTypeClass::Bool => {
            while out.len() < size {
                out.push(u8::from(uniform() < 0.5));
            }
        }
        DTypeClass::Signed | DTypeClass::Unsigned => {
            while out.len() < size {
                encode(dtype, (uniform() * 4.0).floor(), out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_floats_round_trip() {
        for &dtype in DType::ALL {
            let Some(format) = SmallFloat::of(dtype) else { continue };
            for pattern in 0..=((1u32 << dtype.bits()) - 1) as u8 {
                let value = format.decode(pattern);
                if value.is_finite() {
                    let back = format.decode(format.encode(value));
                    assert!(back == value, "{dtype} {pattern:#x} {value} {back}");
                }
            }
        }
    }

    #[test]
    fn known_patterns() {
        for (dtype, pattern, value) in [
            (DType::F8E4M3FN, 0x7e, 448.0),
            (DType::F8E5M2, 0x7b, 57344.0),
            (DType::F8E4M3FNUZ, 0x7f, 240.0),
            (DType::F8E5M2FNUZ, 0x7f, 57344.0),
            (DType::F8E4M3B11FNUZ, 0x7f, 30.0),
            (DType::F8E4M3, 0x77, 240.0),
            (DType::F8E3M4, 0x6f, 15.5),
            (DType::F4E2M1FN, 0x7, 6.0),
            (DType::F6E2M3FN, 0x1f, 7.5),
            (DType::F6E3M2FN, 0x1f, 28.0),
            (DType::F8E8M0FNU, 0x7f, 1.0),
            (DType::F8E4M3FN, 0x01, power_of_two(-9)),
        ] {
            assert_eq!(decode(dtype, &[pattern]), value, "{dtype}");
            assert_eq!(element(dtype, value), [pattern], "{dtype}");
        }
        assert!(decode(DType::F8E4M3FN, &[0x7f]).is_nan());
        assert!(decode(DType::F8E5M2FNUZ, &[0x80]).is_nan());
        assert_eq!(decode(DType::F8E5M2, &[0x7c]), f64::INFINITY);
    }

    #[test]
    fn integers_saturate_and_extend() {
        assert_eq!(element(DType::I4, -1.0), [0x0f]);
        assert_eq!(decode(DType::I4, &[0x0f]), -1.0);
        assert_eq!(decode(DType::I4, &[0xff]), -1.0);
        assert_eq!(decode(DType::UI4, &[0x0f]), 15.0);
        assert_eq!(element(DType::I2, 7.0), [1]);
        assert_eq!(element(DType::I8, -300.0), [0x80]);
        assert_eq!(element(DType::UI16, -1.0), [0, 0]);
        assert_eq!(decode(DType::I64, &element(DType::I64, -5.0)), -5.0);
        assert_eq!(element(DType::C64, 1.0).len(), 8);
    }
}
