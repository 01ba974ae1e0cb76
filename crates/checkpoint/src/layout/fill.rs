//! Decodes fill values of Zarr: the elements of blocks whose files were not written.

use half::{bf16, f16};
use serde_json::Value;
use shardc_ir::DType;

use super::dtype;

/// Returns the bytes of one element with the value `fill` from Zarr's metadata; `None` if the value is not supported for the type.
pub(crate) fn bytes(dtype: DType, fill: &Value) -> Option<Vec<u8>> {
    let width = dtype.bytes();
    if dtype::is_zero(fill) {
        return Some(vec![0; width]);
    }
    match dtype {
        DType::BF16 => Some(bf16::from_f64(float(fill)?).to_le_bytes().to_vec()),
        DType::F16 => Some(f16::from_f64(float(fill)?).to_le_bytes().to_vec()),
        DType::F32 => Some((float(fill)? as f32).to_le_bytes().to_vec()),
        DType::F64 => Some(float(fill)?.to_le_bytes().to_vec()),
        DType::I1 => fill.as_bool().map(|flag| vec![u8::from(flag)]),
        DType::I2 | DType::I4 | DType::I8 | DType::I16 | DType::I32 | DType::I64 | DType::Index => {
            Some(fill.as_i64()?.to_le_bytes()[..width].to_vec())
        }
        DType::UI2 | DType::UI4 | DType::UI8 | DType::UI16 | DType::UI32 | DType::UI64 => {
            Some(fill.as_u64()?.to_le_bytes()[..width].to_vec())
        }
        _ => None,
    }
}

fn float(value: &Value) -> Option<f64> {
    match value.as_str() {
        None => value.as_f64(),
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fill_values_have_the_bits_of_their_type() {
        assert_eq!(bytes(DType::F32, &Value::Null), Some(vec![0; 4]));
        assert_eq!(bytes(DType::BF16, &json!(1.5)), Some(vec![0xc0, 0x3f]));
        assert_eq!(bytes(DType::F32, &json!("-Infinity")), Some(f32::NEG_INFINITY.to_le_bytes().to_vec()));
        assert_eq!(bytes(DType::I16, &json!(-2)), Some(vec![0xfe, 0xff]));
        assert_eq!(bytes(DType::I1, &json!(true)), Some(vec![1]));
        assert_eq!(bytes(DType::F8E5M2, &json!(1.0)), None);
        assert_eq!(bytes(DType::F32, &json!("0x7fc00000")), None);
    }
}
