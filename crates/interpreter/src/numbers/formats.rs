//! Float types narrower than `f32`: decoding of bits, and rounding of `f32` values.
//!
//! MLIR's name of a type states its format: exponent bits, mantissa bits, an optional bias, then `F` if the type has no infinities, `N` if
//! NaN has a special encoding, and `UZ` if zero has no sign. Encoding is `shardc_ir::floats::encode`.

use half::{bf16, f16};
use shardc_ir::DType;
use shardc_ir::floats::{encode, power_of_two};

/// The format that the name of a small float type states.
struct Format {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    flags: &'static str,
    bits: u32,
}

impl Format {
    fn of(dtype: DType) -> Option<Format> {
        let (_, name) = dtype.as_str().split_once('E')?;
        let (exponent, rest) = name.split_once('M')?;
        let exponent_bits: u32 = exponent.parse().ok()?;
        let digits = |text: &'static str| {
            text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
        };
        let (mantissa, rest) = digits(rest);
        let (bias, flags) = match rest.strip_prefix('B') {
            Some(rest) => digits(rest),
            None => ("", rest),
        };
        let usual = (1 << (exponent_bits - 1)) - 1 + i32::from(flags.contains("UZ"));
        Some(Format {
            exponent_bits,
            mantissa_bits: mantissa.parse().ok()?,
            bias: bias.parse().unwrap_or(usual),
            flags,
            bits: dtype.bits(),
        })
    }

    fn decode(&self, bits: u64) -> f64 {
        if self.flags == "FNU" {
            return if bits == 0xff { f64::NAN } else { power_of_two(bits as i32 - self.bias) };
        }
        let sign = 1u64 << (self.bits - 1);
        let (negative, rest) = (bits & sign != 0, bits & (sign - 1));
        let mantissa = rest & ((1 << self.mantissa_bits) - 1);
        let exponent = rest >> self.mantissa_bits;
        let is_top = exponent == (1 << self.exponent_bits) - 1;
        let magnitude = match self.flags {
            "" if is_top && mantissa == 0 => f64::INFINITY,
            "" if is_top => f64::NAN,
            // Narrower types with this name have no NaN.
            "FN" if self.bits == 8 && rest == sign - 1 => f64::NAN,
            "FNUZ" if negative && rest == 0 => f64::NAN,
            _ => {
                let unit = mantissa as f64 / (1u64 << self.mantissa_bits) as f64;
                match exponent {
                    0 => unit * power_of_two(1 - self.bias),
                    e => (1.0 + unit) * power_of_two(e as i32 - self.bias),
                }
            }
        };
        if negative { -magnitude } else { magnitude }
    }
}

/// Returns the number with these bits in a float type.
pub(crate) fn decode(dtype: DType, bits: u64) -> f64 {
    match dtype {
        DType::F64 => f64::from_bits(bits),
        DType::F32 => f64::from(f32::from_bits(bits as u32)),
        DType::F16 => f16::from_bits(bits as u16).to_f64(),
        DType::BF16 => bf16::from_bits(bits as u16).to_f64(),
        // The 19 bits of a tf32 are the high bits of an f32.
        DType::TF32 => f64::from(f32::from_bits((bits as u32) << 13)),
        _ => Format::of(dtype).map_or(f64::NAN, |format| format.decode(bits)),
    }
}

/// Rounds `f32` values to a float type.
pub(crate) fn fit(dtype: DType, values: &mut [f32]) {
    match dtype {
        DType::F32 | DType::F64 => {}
        DType::BF16 => values.iter_mut().for_each(|x| *x = bf16::from_f32(*x).to_f32()),
        DType::F16 => values.iter_mut().for_each(|x| *x = f16::from_f32(*x).to_f32()),
        _ => {
            let Some(format) = Format::of(dtype) else {
                return values.iter_mut().for_each(|x| *x = rounded(dtype, *x));
            };
            let table: Vec<f32> = (0..1u64 << dtype.bits()).map(|bits| format.decode(bits) as f32).collect();
            for value in values {
                let bits = encode(dtype, f64::from(*value)).unwrap_or(0);
                *value = table.get(bits as usize).copied().unwrap_or(f32::NAN);
            }
        }
    }
}

fn rounded(dtype: DType, value: f32) -> f32 {
    encode(dtype, f64::from(value)).map_or(value, |bits| decode(dtype, bits) as f32)
}

/// Rounds a number to a format with an implicit leading one, this many exponent and mantissa bits, and infinities; numbers below the
/// smallest normal number become zero.
pub(crate) fn reduce_precision(value: f64, exponent_bits: u32, mantissa_bits: u32) -> f64 {
    if value.is_nan() {
        // Without mantissa bits there is no NaN.
        return if mantissa_bits == 0 { f64::INFINITY } else { value };
    }
    let mut bits = value.to_bits();
    if mantissa_bits < 52 {
        let unit = 1u64 << (52 - mantissa_bits);
        let is_odd = u64::from(bits & unit != 0);
        bits = bits.wrapping_add(unit / 2 - 1 + is_odd) & !(unit - 1);
    }
    let rounded = f64::from_bits(bits);
    let sign = 1.0f64.copysign(value);
    if exponent_bits >= 11 || rounded.is_infinite() {
        return rounded;
    }
    let largest = (1 << (exponent_bits - 1)) - 1;
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
    match exponent {
        e if e > largest => f64::INFINITY * sign,
        e if e <= -largest => 0.0 * sign,
        _ => rounded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_inverts_encoding() {
        for &dtype in DType::ALL.iter().filter(|dtype| dtype.is_float() && dtype.bits() <= 16) {
            for bits in 0..1u64 << dtype.bits() {
                let value = decode(dtype, bits);
                let again = encode(dtype, value);
                if value.is_nan() {
                    assert!(decode(dtype, again.unwrap()).is_nan(), "{dtype} {bits:#x}");
                } else {
                    assert_eq!(again, Some(bits), "{dtype} {bits:#x} {value}");
                    let mut fitted = [value as f32];
                    fit(dtype, &mut fitted);
                    assert_eq!(f64::from(fitted[0]), value, "{dtype} {bits:#x}");
                }
            }
        }
    }

    #[test]
    fn precision_is_reduced_to_the_nearest_even() {
        assert_eq!(reduce_precision(65505.0, 5, 10), 65504.0);
        assert_eq!(reduce_precision(65520.0, 5, 10), f64::INFINITY);
        assert_eq!(reduce_precision(5e-324, 5, 10), 0.0);
        assert_eq!(reduce_precision(f64::NAN, 5, 0), f64::INFINITY);
        assert_eq!(reduce_precision(0.1, 11, 52), 0.1);
    }
}
