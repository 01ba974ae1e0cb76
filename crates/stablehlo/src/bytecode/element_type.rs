//! Element types of constants.

use shardc_ir::DType;

use super::attr::{BType, Sign, Store, TypeRef};

/// Returns the element type that a type denotes; `None` if a module does not support this element type.
pub(super) fn dtype(store: &Store<'_>, ty: TypeRef) -> Option<DType> {
    match store.ty(ty) {
        BType::Int { width, sign: Sign::Signless } => DType::parse(match width {
            1 => "i1",
            2 => "i2",
            4 => "i4",
            8 => "i8",
            16 => "i16",
            32 => "i32",
            64 => "i64",
            _ => return None,
        }),
        BType::Int { width, sign: Sign::Unsigned } => DType::parse(match width {
            2 => "ui2",
            4 => "ui4",
            8 => "ui8",
            16 => "ui16",
            32 => "ui32",
            64 => "ui64",
            _ => return None,
        }),
        BType::Index => Some(DType::Index),
        BType::Float(name) => DType::parse(name),
        BType::Complex(part) => match dtype_of_part(store.ty(*part))? {
            DType::F32 => Some(DType::C64),
            DType::F64 => Some(DType::C128),
            _ => None,
        },
        ty => DType::parse(ty.as_text()?),
    }
}

fn dtype_of_part(ty: &BType<'_>) -> Option<DType> {
    match ty {
        BType::Float(name) => DType::parse(name),
        ty => DType::parse(ty.as_text()?),
    }
}
