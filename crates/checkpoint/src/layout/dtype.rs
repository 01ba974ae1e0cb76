//! Element types in Zarr.
//!
//! Types that have a name in Zarr's registry or in tensorstore are stored under that name. Any other type is stored as a type that has
//! a name and the same bits, and the attribute `shardc_dtype` names the actual type: `ui2`, `ui4`, `f6E2M3FN`, `f6E3M2FN` and `f8E4M3`
//! are stored as `uint8`, `index` as `int64`, `tf32` as `float32`. Types smaller than a byte use a byte for each element, with the
//! value in the low bits. Thus every type is restored bit for bit.

use serde_json::{Value, json};
use shardc_ir::DType;

/// The attribute of an array that names the element type if Zarr has no name for it.
pub(crate) const ATTRIBUTE: &str = "shardc_dtype";

/// Returns Zarr's name of the type that stores the elements: the type itself, or one with the same bits.
pub(crate) fn zarr_name(dtype: DType) -> &'static str {
    use DType as D;
    match dtype {
        D::I1 => "bool",
        D::I2 => "int2",
        D::I4 => "int4",
        D::I8 => "int8",
        D::I16 => "int16",
        D::I32 => "int32",
        D::I64 | D::Index => "int64",
        D::UI2 | D::UI4 | D::UI8 | D::F6E2M3FN | D::F6E3M2FN | D::F8E4M3 => "uint8",
        D::UI16 => "uint16",
        D::UI32 => "uint32",
        D::UI64 => "uint64",
        D::F4E2M1FN => "float4_e2m1fn",
        D::F8E3M4 => "float8_e3m4",
        D::F8E4M3B11FNUZ => "float8_e4m3b11fnuz",
        D::F8E4M3FN => "float8_e4m3fn",
        D::F8E4M3FNUZ => "float8_e4m3fnuz",
        D::F8E5M2 => "float8_e5m2",
        D::F8E5M2FNUZ => "float8_e5m2fnuz",
        D::F8E8M0FNU => "float8_e8m0fnu",
        D::BF16 => "bfloat16",
        D::F16 => "float16",
        D::TF32 | D::F32 => "float32",
        D::F64 => "float64",
        D::C64 => "complex64",
        D::C128 => "complex128",
    }
}

/// Returns whether Zarr has a name for the type, so that [`ATTRIBUTE`] is not needed.
pub(crate) fn is_named(dtype: DType) -> bool {
    from_zarr(zarr_name(dtype), None) == Some(dtype)
}

/// Returns the element type of an array from its Zarr type and the attribute [`ATTRIBUTE`], if present. `None` if they do not denote a
/// supported type.
pub(crate) fn from_zarr(name: &str, attribute: Option<&str>) -> Option<DType> {
    match attribute {
        Some(text) => DType::parse(text).filter(|&dtype| zarr_name(dtype) == name),
        None => DType::ALL.iter().copied().find(|&dtype| zarr_name(dtype) == name && named_alone(dtype)),
    }
}

/// Returns whether the type's name in Zarr denotes this type without the attribute.
fn named_alone(dtype: DType) -> bool {
    use DType as D;
    !matches!(dtype, D::UI2 | D::UI4 | D::F6E2M3FN | D::F6E3M2FN | D::F8E4M3 | D::Index | D::TF32)
}

/// Returns zero as a fill value in Zarr's metadata.
pub(crate) fn zero(dtype: DType) -> Value {
    match zarr_name(dtype) {
        "bool" => json!(false),
        "complex64" | "complex128" => json!([0.0, 0.0]),
        name if name.contains("float") => json!(0.0),
        _ => json!(0),
    }
}

/// Returns whether all bits of a fill value are zero, in any of Zarr's notations.
pub(crate) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0) && !number.to_string().starts_with('-'),
        Value::String(text) => {
            text.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(|digit| digit == b'0'))
        }
        Value::Array(parts) => parts.iter().all(is_zero),
        Value::Object(_) => false,
    }
}

/// Returns the type that decoders use for the elements: the unsigned integer of the same width, because decoders only move bytes and
/// support few types. Complex types are unchanged, because the byte order applies to the real and imaginary parts separately.
pub(crate) fn carrier(dtype: DType) -> (&'static str, Value) {
    match (dtype, dtype.bytes()) {
        (DType::C64, _) => ("complex64", json!([0.0, 0.0])),
        (DType::C128, _) => ("complex128", json!([0.0, 0.0])),
        (_, 1) => ("uint8", json!(0)),
        (_, 2) => ("uint16", json!(0)),
        (_, 4) => ("uint32", json!(0)),
        (_, _) => ("uint64", json!(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_round_trips() {
        for &dtype in DType::ALL {
            let attribute = (!is_named(dtype)).then(|| dtype.as_str());
            assert_eq!(from_zarr(zarr_name(dtype), attribute), Some(dtype), "{dtype}");
            assert!(is_zero(&zero(dtype)));
        }
        assert_eq!(from_zarr("float32", Some("bf16")), None);
        assert_eq!(from_zarr("string", None), None);
        assert_eq!(DType::ALL.iter().filter(|&&dtype| !is_named(dtype)).count(), 7);
    }

    #[test]
    fn only_zero_is_zero() {
        for text in ["0", "0.0", "false", "[0.0, 0.0]", "\"0x00\"", "null"] {
            assert!(is_zero(&serde_json::from_str(text).unwrap()), "{text}");
        }
        for text in ["1", "true", "-0.0", "[0.0, 1.0]", "\"NaN\"", "\"0x80\""] {
            assert!(!is_zero(&serde_json::from_str(text).unwrap()), "{text}");
        }
    }
}
