//! Element types and their names in file formats.

use safetensors::Dtype;
use shardc_ir::DType;

/// The names of an element type.
struct Names {
    dtype: DType,
    /// The name in safetensors files; `None` if the format lacks the type.
    safetensors: Option<Dtype>,
    /// The name in PyTorch: `torch.NAME`.
    torch: &'static str,
    /// The storage class in `torch.save` files; `None` if the storage is untyped and the tensor names its type.
    storage: Option<&'static str>,
}

const fn row(
    dtype: DType,
    safetensors: Option<Dtype>,
    torch: &'static str,
    storage: Option<&'static str>,
) -> Names {
    Names { dtype, safetensors, torch, storage }
}

/// Sub-byte types are omitted, because files pack them and host buffers do not.
const TABLE: &[Names] = &[
    row(DType::F32, Some(Dtype::F32), "float32", Some("FloatStorage")),
    row(DType::BF16, Some(Dtype::BF16), "bfloat16", Some("BFloat16Storage")),
    row(DType::F16, Some(Dtype::F16), "float16", Some("HalfStorage")),
    row(DType::F64, Some(Dtype::F64), "float64", Some("DoubleStorage")),
    row(DType::I64, Some(Dtype::I64), "int64", Some("LongStorage")),
    row(DType::I32, Some(Dtype::I32), "int32", Some("IntStorage")),
    row(DType::I16, Some(Dtype::I16), "int16", Some("ShortStorage")),
    row(DType::I8, Some(Dtype::I8), "int8", Some("CharStorage")),
    row(DType::UI8, Some(Dtype::U8), "uint8", Some("ByteStorage")),
    row(DType::I1, Some(Dtype::BOOL), "bool", Some("BoolStorage")),
    row(DType::C64, Some(Dtype::C64), "complex64", Some("ComplexFloatStorage")),
    row(DType::C128, None, "complex128", Some("ComplexDoubleStorage")),
    row(DType::UI16, Some(Dtype::U16), "uint16", None),
    row(DType::UI32, Some(Dtype::U32), "uint32", None),
    row(DType::UI64, Some(Dtype::U64), "uint64", None),
    row(DType::F8E5M2, Some(Dtype::F8_E5M2), "float8_e5m2", None),
    row(DType::F8E4M3FN, Some(Dtype::F8_E4M3), "float8_e4m3fn", None),
    row(DType::F8E5M2FNUZ, Some(Dtype::F8_E5M2FNUZ), "float8_e5m2fnuz", None),
    row(DType::F8E4M3FNUZ, Some(Dtype::F8_E4M3FNUZ), "float8_e4m3fnuz", None),
    row(DType::F8E8M0FNU, Some(Dtype::F8_E8M0), "float8_e8m0fnu", None),
];

fn find(is: impl Fn(&Names) -> bool) -> Option<&'static Names> {
    TABLE.iter().find(|names| is(names))
}

pub(crate) fn from_safetensors(dtype: Dtype) -> Option<DType> {
    find(|names| names.safetensors == Some(dtype)).map(|names| names.dtype)
}

pub(crate) fn to_safetensors(dtype: DType) -> Option<Dtype> {
    find(|names| names.dtype == dtype)?.safetensors
}

/// Returns the element type named `torch.{name}`.
pub(crate) fn from_torch(name: &str) -> Option<DType> {
    find(|names| names.torch == name).map(|names| names.dtype)
}

pub(crate) fn to_torch(dtype: DType) -> Option<&'static str> {
    find(|names| names.dtype == dtype).map(|names| names.torch)
}

/// Returns the element type of a storage class: `FloatStorage`.
pub(crate) fn from_storage(class: &str) -> Option<DType> {
    find(|names| names.storage == Some(class)).map(|names| names.dtype)
}

pub(crate) fn to_storage(dtype: DType) -> Option<&'static str> {
    find(|names| names.dtype == dtype)?.storage
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for names in TABLE {
            assert_eq!(from_torch(names.torch), Some(names.dtype));
            assert_eq!(to_torch(names.dtype), Some(names.torch));
            if let Some(dtype) = names.safetensors {
                assert_eq!(from_safetensors(dtype), Some(names.dtype));
                assert_eq!(dtype.bitsize(), 8 * names.dtype.bytes(), "{}", names.torch);
            }
            if let Some(class) = names.storage {
                assert_eq!((from_storage(class), to_storage(names.dtype)), (Some(names.dtype), Some(class)));
            }
        }
        assert_eq!((from_safetensors(Dtype::F4), to_safetensors(DType::C128)), (None, None));
    }
}
