//! Element types and their enum values in the C API.

use shardc_ir::DType;

use crate::error::{Result, RuntimeError};

/// For each element type, its value in the enum `PJRT_Buffer_Type`, and a minor version of the C API that is known to have this value. An
/// older plugin may crash on an unknown value.
const BUFFER_TYPES: &[(DType, i32, i32)] = &[
    (DType::I1, 1, 0),
    (DType::I8, 2, 0),
    (DType::I16, 3, 0),
    (DType::I32, 4, 0),
    (DType::I64, 5, 0),
    (DType::UI8, 6, 0),
    (DType::UI16, 7, 0),
    (DType::UI32, 8, 0),
    (DType::UI64, 9, 0),
    (DType::F16, 10, 0),
    (DType::F32, 11, 0),
    (DType::F64, 12, 0),
    (DType::BF16, 13, 0),
    (DType::C64, 14, 0),
    (DType::C128, 15, 0),
    (DType::F8E5M2, 16, 0),
    (DType::F8E4M3FN, 17, 0),
    (DType::F8E4M3B11FNUZ, 18, 0),
    (DType::F8E5M2FNUZ, 19, 0),
    (DType::F8E4M3FNUZ, 20, 0),
    (DType::I4, 21, 0),
    (DType::UI4, 22, 0),
    (DType::I2, 24, 55),
    (DType::UI2, 25, 55),
    (DType::F8E4M3, 26, 55),
    (DType::F8E3M4, 27, 55),
    (DType::F8E8M0FNU, 28, 63),
    (DType::F4E2M1FN, 29, 63),
    (DType::F6E2M3FN, 32, 117),
    (DType::F6E3M2FN, 33, 117),
];

/// Returns the enum value of an element type, for a plugin with this minor version of the C API.
///
/// # Errors
///
/// The plugin may not know the type.
pub(super) fn number_of(dtype: DType, api_minor: i32) -> Result<i32> {
    BUFFER_TYPES
        .iter()
        .find(|(known, _, since)| *known == dtype && *since <= api_minor)
        .map(|(_, number, _)| *number)
        .ok_or(RuntimeError::ElementType { what: "this plugin's device", dtype: dtype.to_string() })
}

/// Returns the element type with this enum value.
///
/// # Errors
///
/// shardc does not know the value.
pub(super) fn dtype_of(number: i32) -> Result<DType> {
    BUFFER_TYPES
        .iter()
        .find(|(_, known, _)| *known == number)
        .map(|(dtype, _, _)| *dtype)
        .ok_or(RuntimeError::ElementType { what: "shardc", dtype: format!("{number} (PJRT's number)") })
}
