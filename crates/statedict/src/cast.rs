//! Conversions between float types.

use half::{bf16, f16};
use shardc_ir::DType;

pub(crate) fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
}

/// Converts floats, rounding to nearest even. Conversions between F64 and the 16-bit types go through F32, as in PyTorch.
///
/// An incomplete element at the end is dropped.
pub(crate) fn cast(from: DType, to: DType, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() / from.bytes() * to.bytes());
    for element in bytes.chunks_exact(from.bytes()) {
        let wide = match *element {
            [a, b] if from == DType::F16 => f64::from(f16::from_le_bytes([a, b])),
            [a, b] => f64::from(bf16::from_le_bytes([a, b])),
            [a, b, c, d] => f64::from(f32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => 0.0,
        };
        match to {
            DType::F16 => out.extend(f16::from_f32(wide as f32).to_le_bytes()),
            DType::BF16 => out.extend(bf16::from_f32(wide as f32).to_le_bytes()),
            DType::F32 => out.extend((wide as f32).to_le_bytes()),
            _ => out.extend(wide.to_le_bytes()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_round_to_nearest_even() {
        let f32s = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        // 257 lies between 256 and 258 in bf16; 259 between 258 and 260.
        let made = cast(DType::F32, DType::BF16, &f32s(&[257.0, 259.0, -0.0, f32::INFINITY]));
        assert_eq!(cast(DType::BF16, DType::F32, &made), f32s(&[256.0, 260.0, -0.0, f32::INFINITY]));
        let made = cast(DType::F32, DType::F16, &f32s(&[2049.0, 65504.0, 1e6]));
        assert_eq!(cast(DType::F16, DType::F32, &made), f32s(&[2048.0, 65504.0, f32::INFINITY]));
        let wide = cast(DType::F32, DType::F64, &f32s(&[0.1]));
        assert_eq!(wide, f64::from(0.1f32).to_le_bytes());
    }
}
