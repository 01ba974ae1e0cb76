//! Conversion of floating point elements between bits and text, for every element type.
//!
//! The text is MLIR's: six digits after the point if parsing them returns the same bits, otherwise the maximum number of digits of the
//! type, otherwise the bits in hexadecimal (also for infinities and NaN).

use crate::DType;

/// Returns two to the power of `exponent`, which must be between -1022 and 1023. (`f64::powi` does not guarantee exact results.)
///
/// # Panics
/// Panics if `exponent` is out of range.
#[must_use]
pub const fn power_of_two(exponent: i32) -> f64 {
    assert!(-1022 <= exponent && exponent <= 1023, "the power of two is no normal number");
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The meaning of encodings with the largest exponent: infinities, NaN or numbers. The name of the type states this meaning: `FN` types
/// have only finite numbers and NaN, `UZ` types have an unsigned zero.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Special {
    /// The encodings are infinities and NaNs, as in IEEE 754.
    Ieee,
    /// Finite numbers, except that all ones is NaN; there is no infinity.
    NanAllOnes,
    /// Finite numbers; NaN is the encoding of minus zero, and there is no infinity.
    NanMinusZero,
    /// All encodings are finite numbers.
    None,
    /// The type has only an exponent, without sign and mantissa; all ones is NaN.
    PowerOfTwo,
}

#[derive(Clone, Copy)]
struct Format {
    exp_bits: u32,
    mant_bits: u32,
    bias: i32,
    special: Special,
}

/// Returns the format of a float; `None` for other types.
fn format(dtype: DType) -> Option<Format> {
    use DType as D;
    use Special as S;
    let (exp_bits, mant_bits, bias, special) = match dtype {
        D::F4E2M1FN => (2, 1, 1, S::None),
        D::F6E2M3FN => (2, 3, 1, S::None),
        D::F6E3M2FN => (3, 2, 3, S::None),
        D::F8E3M4 => (3, 4, 3, S::Ieee),
        D::F8E4M3 => (4, 3, 7, S::Ieee),
        D::F8E4M3B11FNUZ => (4, 3, 11, S::NanMinusZero),
        D::F8E4M3FN => (4, 3, 7, S::NanAllOnes),
        D::F8E4M3FNUZ => (4, 3, 8, S::NanMinusZero),
        D::F8E5M2 => (5, 2, 15, S::Ieee),
        D::F8E5M2FNUZ => (5, 2, 16, S::NanMinusZero),
        D::F8E8M0FNU => (8, 0, 127, S::PowerOfTwo),
        D::BF16 => (8, 7, 127, S::Ieee),
        D::F16 => (5, 10, 15, S::Ieee),
        D::TF32 => (8, 10, 127, S::Ieee),
        D::F32 => (8, 23, 127, S::Ieee),
        D::F64 => (11, 52, 1023, S::Ieee),
        D::I1 | D::I2 | D::I4 | D::I8 | D::I16 | D::I32 | D::I64 | D::Index => return None,
        D::UI2 | D::UI4 | D::UI8 | D::UI16 | D::UI32 | D::UI64 | D::C64 | D::C128 => return None,
    };
    Some(Format { exp_bits, mant_bits, bias, special })
}

/// A decoded float: `mant * 2^exp`.
struct Number {
    negative: bool,
    mant: u64,
    exp: i32,
}

impl Format {
    fn exp_mask(self) -> u64 {
        (1 << self.exp_bits) - 1
    }

    fn mant_mask(self) -> u64 {
        (1 << self.mant_bits) - 1
    }

    /// The bits of the largest finite number, without sign.
    fn max_finite(self) -> u64 {
        let all = (self.exp_mask() << self.mant_bits) | self.mant_mask();
        match self.special {
            Special::Ieee => (self.exp_mask() << self.mant_bits) - 1,
            Special::NanAllOnes | Special::PowerOfTwo => all - 1,
            Special::NanMinusZero | Special::None => all,
        }
    }

    fn sign_bit(self) -> u64 {
        match self.special {
            Special::PowerOfTwo => 0,
            _ => 1 << (self.exp_bits + self.mant_bits),
        }
    }

    /// Decodes bits exactly; `None` for infinities and NaN.
    fn decode(self, bits: u64) -> Option<Number> {
        if self.special == Special::PowerOfTwo {
            return (bits != 0xFF).then(|| Number { negative: false, mant: 1, exp: bits as i32 - self.bias });
        }
        let negative = bits & self.sign_bit() != 0;
        let rest = bits & (self.sign_bit() - 1);
        if rest > self.max_finite() || (self.special == Special::NanMinusZero && negative && rest == 0) {
            return None;
        }
        let exponent = (rest >> self.mant_bits) as i32;
        let mant = rest & self.mant_mask();
        let (mant, exponent) =
            // Subnormals have no implicit leading one; their exponent is that of the smallest normal number.
            if exponent == 0 { (mant, 1) } else { (mant | (1 << self.mant_bits), exponent) };
        Some(Number { negative, mant, exp: exponent - self.bias - self.mant_bits as i32 })
    }

    /// Returns the bits of a quiet NaN, or of the largest number if the type has no NaN.
    fn nan(self) -> u64 {
        match self.special {
            Special::Ieee => (self.exp_mask() << self.mant_bits) | (1 << (self.mant_bits - 1)),
            Special::NanAllOnes => (1 << (self.exp_bits + self.mant_bits)) - 1,
            Special::NanMinusZero => self.sign_bit(),
            Special::None => self.max_finite(),
            Special::PowerOfTwo => 0xFF,
        }
    }

    /// Encodes a number, rounded to nearest, ties to even. The input is an `f64`, which represents every narrower format exactly, so the
    /// result is rounded once.
    fn encode(self, value: f64) -> u64 {
        if value.is_nan() {
            return self.nan();
        }
        let sign = if value.is_sign_negative() { self.sign_bit() } else { 0 };
        // Like LLVM's `APFloat`: types without infinity overflow to NaN, and those without NaN saturate.
        let overflow = match self.special {
            Special::Ieee => sign | (self.exp_mask() << self.mant_bits),
            Special::None => sign | self.max_finite(),
            Special::NanAllOnes => sign | self.nan(),
            Special::NanMinusZero | Special::PowerOfTwo => self.nan(),
        };
        if value.is_infinite() {
            return overflow;
        }
        let bits = value.to_bits();
        let exponent = ((bits >> 52) & 0x7FF) as i32;
        let mut mant = bits & ((1 << 52) - 1);
        let mut exp = if exponent == 0 { -1074 } else { exponent - 1075 };
        if exponent != 0 {
            mant |= 1 << 52;
        }
        if mant == 0 {
            return if self.special == Special::NanMinusZero { 0 } else { sign };
        }
        // Subnormals of `f64` are normalized, so that `lead` is always the exponent of the leading bit.
        while mant < 1 << 52 {
            mant <<= 1;
            exp -= 1;
        }
        let lead = exp + 52;
        let smallest = match self.special {
            Special::PowerOfTwo => -self.bias,
            _ => 1 - self.bias,
        };
        // The exponent of the last mantissa bit that is kept. Subnormal results have the same exponent as the smallest normal number.
        let unit = lead.max(smallest) - self.mant_bits as i32;
        let shift = unit - exp;
        let rounded = match shift {
            ..=0 => mant << -shift,
            1..=63 => {
                let low = mant & ((1 << shift) - 1);
                let half = 1 << (shift - 1);
                let quotient = mant >> shift;
                quotient + u64::from(low > half || (low == half && quotient & 1 == 1))
            }
            _ => 0,
        };
        let rest = if self.special == Special::PowerOfTwo {
            ((lead.max(smallest) + self.bias) as u64) + rounded.saturating_sub(1)
        } else if lead < smallest {
            rounded
        } else {
            // The parts are added, not or-ed: if rounding carries out of the mantissa, the exponent correctly grows by one.
            (((lead + self.bias) as u64) << self.mant_bits) + (rounded - (1 << self.mant_bits))
        };
        if rest > self.max_finite() {
            return overflow;
        }
        // The encoding of minus zero is NaN, so small negative numbers become positive zero.
        if rest == 0 && self.special == Special::NanMinusZero { 0 } else { sign | rest }
    }
}

/// Returns the bits of the element of type `dtype` nearest to `value`; `None` if `dtype` is not a float.
#[must_use]
pub fn encode(dtype: DType, value: f64) -> Option<u64> {
    match dtype {
        DType::F64 => Some(value.to_bits()),
        DType::F32 => Some(u64::from((value as f32).to_bits())),
        _ => Some(format(dtype)?.encode(value)),
    }
}

/// Parses text to the bits of an element. An `f32` is parsed directly, since it would be rounded twice if parsed as `f64`.
fn parse_bits(dtype: DType, text: &str) -> Option<u64> {
    match dtype {
        DType::F32 => text.parse::<f32>().ok().map(|v| u64::from(v.to_bits())),
        _ => encode(dtype, text.parse().ok()?),
    }
}

/// Appends the text of the element with these bits, as MLIR prints it.
pub fn push(out: &mut String, dtype: DType, bits: u64) {
    let Some(format) = format(dtype) else { return };
    if let Some(number) = format.decode(bits) {
        let start = out.len();
        push_decimal(out, &number, Style::Fixed);
        if parse_bits(dtype, out.get(start..).unwrap_or("")) == Some(bits) {
            return;
        }
        out.truncate(start);
        // `APFloat`'s precision: 59/196 is slightly less than log10(2), so parsing this many digits returns the original number.
        let digits = 2 + (format.mant_bits + 1) * 59 / 196;
        push_decimal(out, &number, Style::Shortest(digits as usize));
        // MLIR prints hexadecimal if the shortest form would be an integer, which its parser would not accept as a float.
        if out.get(start..).is_some_and(|text| text.contains('.')) {
            return;
        }
        out.truncate(start);
    }
    out.push_str(&format!("0x{bits:X}"));
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// Six digits after the point: `1.000000e+00`.
    Fixed,
    /// The shortest decimal form, with at most this many digits: `0.1234`, or `9.99999974E-6` if the exponent is large or very small.
    Shortest(usize),
}

/// A natural number as 32-bit limbs, least significant first.
struct Big(Vec<u32>);

impl Big {
    fn from(value: u64) -> Big {
        let mut big = Big(vec![value as u32, (value >> 32) as u32]);
        big.trim();
        big
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    fn bits(&self) -> u32 {
        self.0.last().map_or(0, |&top| self.0.len() as u32 * 32 - top.leading_zeros())
    }

    fn mul(&mut self, factor: u32) {
        let mut carry = 0u64;
        for limb in &mut self.0 {
            let product = u64::from(*limb) * u64::from(factor) + carry;
            *limb = product as u32;
            carry = product >> 32;
        }
        if carry != 0 {
            self.0.push(carry as u32);
        }
    }

    /// Divides the number in place, and returns the remainder.
    fn div(&mut self, divisor: u32) -> u32 {
        let mut rest = 0u64;
        for limb in self.0.iter_mut().rev() {
            let value = (rest << 32) | u64::from(*limb);
            *limb = (value / u64::from(divisor)) as u32;
            rest = value % u64::from(divisor);
        }
        self.trim();
        rest as u32
    }

    /// Multiplies by `base^exponent`, in steps of `base^chunk`, which must fit in 32 bits.
    fn mul_pow(&mut self, base: u32, mut exponent: u32, chunk: u32) {
        while exponent > 0 {
            let step = exponent.min(chunk);
            self.mul(base.pow(step));
            exponent -= step;
        }
    }
}

/// Returns the decimal digits of `number`, least significant first and without trailing zeros, and the power of ten of the least
/// significant digit.
///
/// Low digits that are not needed for `precision` are removed before rounding half up, as in LLVM's `APFloat`.
fn digits(number: &Number, precision: usize) -> (Vec<u8>, i32) {
    let zeros = number.mant.trailing_zeros();
    let mut big = Big::from(number.mant >> zeros);
    let binary = number.exp + zeros as i32;
    let mut exp = 0;
    if binary > 0 {
        big.mul_pow(2, binary as u32, 31);
    } else if binary < 0 {
        // `m * 2^-k` is `m * 5^k * 10^-k`: exact in integers, so no digit depends on rounding.
        big.mul_pow(5, binary.unsigned_abs(), 13);
        exp = binary;
    }
    let needed = (precision as u32 * 196).div_ceil(59);
    if big.bits() > needed {
        let mut tens = (big.bits() - needed) * 59 / 196;
        exp += tens as i32;
        while tens > 0 {
            let step = tens.min(9);
            big.div(10u32.pow(step));
            tens -= step;
        }
    }
    let mut digits = Vec::with_capacity(24);
    while !big.0.is_empty() {
        let mut chunk = big.div(1_000_000_000);
        for _ in 0..9 {
            digits.push((chunk % 10) as u8);
            chunk /= 10;
        }
    }
    while digits.last() == Some(&0) {
        digits.pop();
    }
    let trailing = digits.iter().take_while(|&&d| d == 0).count();
    digits.drain(..trailing);
    exp += trailing as i32;
    if digits.len() > precision {
        let mut first = digits.len() - precision;
        if digits[first - 1] < 5 {
            while first < digits.len() && digits[first] == 0 {
                first += 1;
            }
        } else {
            while first < digits.len() && digits[first] == 9 {
                first += 1;
            }
            match digits.get_mut(first) {
                Some(digit) => *digit += 1,
                None => {
                    return (vec![1], exp + first as i32);
                }
            }
        }
        digits.drain(..first);
        exp += first as i32;
    }
    (digits, exp)
}

fn push_decimal(out: &mut String, number: &Number, style: Style) {
    if number.negative {
        out.push('-');
    }
    if number.mant == 0 {
        out.push_str(if style == Style::Fixed { "0.000000e+00" } else { "0.0E+0" });
        return;
    }
    let (precision, padding) = match style {
        Style::Fixed => (6, 0),
        Style::Shortest(digits) => (digits, 3),
    };
    let (digits, mut exp) = digits(number, precision);
    let count = digits.len() as i32;
    let push = |out: &mut String, range: std::ops::Range<usize>| {
        out.extend(digits[range].iter().rev().map(|&d| char::from(b'0' + d)));
    };
    let lead = exp + count - 1;
    let scientific = match style {
        Style::Fixed => true,
        Style::Shortest(_) if exp >= 0 => exp > padding || count + exp > precision as i32,
        Style::Shortest(_) => lead < 0 && -lead > padding,
    };
    if scientific {
        exp = lead;
        push(out, digits.len() - 1..digits.len());
        out.push('.');
        if digits.len() == 1 && style != Style::Fixed {
            out.push('0');
        } else {
            push(out, 0..digits.len() - 1);
        }
        let sign = if exp < 0 { '-' } else { '+' };
        if style == Style::Fixed {
            for _ in digits.len() - 1..precision {
                out.push('0');
            }
            out.push_str(&format!("e{sign}{:02}", exp.unsigned_abs()));
        } else {
            out.push_str(&format!("E{sign}{}", exp.unsigned_abs()));
        }
    } else if exp >= 0 {
        push(out, 0..digits.len());
        (0..exp).for_each(|_| out.push('0'));
    } else if count + exp > 0 {
        let whole = (count + exp) as usize;
        push(out, digits.len() - whole..digits.len());
        out.push('.');
        push(out, 0..digits.len() - whole);
    } else {
        out.push_str("0.");
        (0..-(count + exp)).for_each(|_| out.push('0'));
        push(out, 0..digits.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(dtype: DType, bits: u64) -> String {
        let mut out = String::new();
        push(&mut out, dtype, bits);
        out
    }

    #[test]
    fn powers_of_two_are_exact() {
        assert_eq!([-1022, -1, 0, 32].map(power_of_two), [f64::MIN_POSITIVE, 0.5, 1.0, 4_294_967_296.0]);
        assert_eq!(power_of_two(1023) * (2.0 - f64::EPSILON), f64::MAX);
    }

    #[test]
    fn prints_as_mlir_does() {
        let f32 = |v: f32| text(DType::F32, u64::from(v.to_bits()));
        assert_eq!(f32(0.0), "0.000000e+00");
        assert_eq!(f32(-0.0), "-0.000000e+00");
        assert_eq!(f32(1e-5), "9.99999974E-6");
        assert_eq!(f32(0.1), "1.000000e-01");
        assert_eq!(f32(0.797_884_6), "0.797884583");
        assert_eq!(f32(16_777_216.0), "0x4B800000");
        assert_eq!(f32(f32::NEG_INFINITY), "0xFF800000");
        assert_eq!(f32(f32::MAX), "3.40282347E+38");
        assert_eq!(f32(1e30), "1.000000e+30");
        assert_eq!(text(DType::BF16, 0x3DCD), "1.000980e-01");
        assert_eq!(text(DType::F64, 0.1f64.to_bits()), "1.000000e-01");
        assert_eq!(text(DType::F64, std::f64::consts::PI.to_bits()), "3.1415926535897931");
        assert_eq!(text(DType::F16, 0x7C00), "0x7C00");
    }

    #[test]
    fn every_small_float_reads_back() {
        for &dtype in DType::ALL {
            if !dtype.is_float() || dtype.bits() > 16 {
                continue;
            }
            for bits in 0..1u64 << dtype.bits() {
                let text = text(dtype, bits);
                let back = match text.strip_prefix("0x") {
                    Some(hex) => u64::from_str_radix(hex, 16).ok(),
                    None => parse_bits(dtype, &text),
                };
                assert_eq!(back, Some(bits), "{dtype} {text}");
            }
        }
    }
}
