//! Element types of tensors, named as MLIR names them.
//!
//! Source: StableHLO specification, section "Types". Quantized element types are represented by [`crate::Quant`].

use std::fmt;

/// Declares [`DType`] with, for each kind, its MLIR spelling and its width in bits.
macro_rules! dtypes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $bits:literal;)*) => {
        /// The element type of a tensor.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DType { $($(#[$doc])* $name,)* }

        impl DType {
            /// Every element type, in declaration order.
            pub const ALL: &'static [DType] = &[$(DType::$name,)*];

            /// MLIR's spelling: `f32`, `bf16`, `i32`, `ui8`, `i1`, `complex<f32>`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(DType::$name => $text,)* }
            }

            /// Returns the element type that MLIR spells `text`; `None` if there is no such type.
            #[must_use]
            pub fn parse(text: &str) -> Option<DType> {
                match text { $($text => Some(DType::$name),)* _ => None }
            }

            /// Width of one element in bits.
            #[must_use]
            pub fn bits(self) -> u32 {
                match self { $(DType::$name => $bits,)* }
            }
        }
    };
}

dtypes! {
    /// Boolean.
    I1 = "i1", 1;
    /// 2-bit signless integer.
    I2 = "i2", 2;
    /// 4-bit signless integer.
    I4 = "i4", 4;
    /// 8-bit signless integer.
    I8 = "i8", 8;
    /// 16-bit signless integer.
    I16 = "i16", 16;
    /// 32-bit signless integer.
    I32 = "i32", 32;
    /// 64-bit signless integer.
    I64 = "i64", 64;
    /// 2-bit unsigned integer.
    UI2 = "ui2", 2;
    /// 4-bit unsigned integer.
    UI4 = "ui4", 4;
    /// 8-bit unsigned integer.
    UI8 = "ui8", 8;
    /// 16-bit unsigned integer.
    UI16 = "ui16", 16;
    /// 32-bit unsigned integer.
    UI32 = "ui32", 32;
    /// 64-bit unsigned integer.
    UI64 = "ui64", 64;
    /// MLIR's `index`.
    Index = "index", 64;
    /// 4-bit float, 2 exponent bits, finite only.
    F4E2M1FN = "f4E2M1FN", 4;
    /// 6-bit float, 2 exponent bits, finite only.
    F6E2M3FN = "f6E2M3FN", 6;
    /// 6-bit float, 3 exponent bits, finite only.
    F6E3M2FN = "f6E3M2FN", 6;
    /// 8-bit float, 3 exponent bits.
    F8E3M4 = "f8E3M4", 8;
    /// 8-bit float, 4 exponent bits.
    F8E4M3 = "f8E4M3", 8;
    /// 8-bit float, 4 exponent bits, no infinities, bias 11.
    F8E4M3B11FNUZ = "f8E4M3B11FNUZ", 8;
    /// 8-bit float, 4 exponent bits, no infinities.
    F8E4M3FN = "f8E4M3FN", 8;
    /// 8-bit float, 4 exponent bits, no infinities, unsigned zero.
    F8E4M3FNUZ = "f8E4M3FNUZ", 8;
    /// 8-bit float, 5 exponent bits.
    F8E5M2 = "f8E5M2", 8;
    /// 8-bit float, 5 exponent bits, no infinities, unsigned zero.
    F8E5M2FNUZ = "f8E5M2FNUZ", 8;
    /// 8-bit power of two without sign.
    F8E8M0FNU = "f8E8M0FNU", 8;
    /// Brain float.
    BF16 = "bf16", 16;
    /// IEEE half.
    F16 = "f16", 16;
    /// NVIDIA's 19-bit float, stored in 32 bits.
    TF32 = "tf32", 32;
    /// IEEE single.
    F32 = "f32", 32;
    /// IEEE double.
    F64 = "f64", 64;
    /// Complex of two `f32`.
    C64 = "complex<f32>", 64;
    /// Complex of two `f64`.
    C128 = "complex<f64>", 128;
}

/// The class of an element type (boolean, integer, float, ...), which determines how its literals are written and how it computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DTypeClass {
    /// `i1`.
    Bool,
    /// Signless integers; StableHLO treats them as signed.
    Signed,
    /// Unsigned integers.
    Unsigned,
    /// Floating point of any width.
    Float,
    /// Complex of two floats.
    Complex,
}

impl DType {
    /// Bytes that one element takes in a host buffer: sub-byte types take one byte each.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.bits().div_ceil(8) as usize
    }

    /// The class of this element type.
    #[must_use]
    pub fn class(self) -> DTypeClass {
        use DType as D;
        match self {
            D::I1 => DTypeClass::Bool,
            D::I2 | D::I4 | D::I8 | D::I16 | D::I32 | D::I64 | D::Index => DTypeClass::Signed,
            D::UI2 | D::UI4 | D::UI8 | D::UI16 | D::UI32 | D::UI64 => DTypeClass::Unsigned,
            D::F4E2M1FN | D::F6E2M3FN | D::F6E3M2FN | D::F8E3M4 | D::F8E4M3 | D::F8E4M3B11FNUZ => {
                DTypeClass::Float
            }
            D::F8E4M3FN | D::F8E4M3FNUZ | D::F8E5M2 | D::F8E5M2FNUZ | D::F8E8M0FNU => DTypeClass::Float,
            D::BF16 | D::F16 | D::TF32 | D::F32 | D::F64 => DTypeClass::Float,
            D::C64 | D::C128 => DTypeClass::Complex,
        }
    }

    /// Whether this is a floating point type.
    #[must_use]
    pub fn is_float(self) -> bool {
        self.class() == DTypeClass::Float
    }

    /// Whether this is an integer type, `i1` excluded.
    #[must_use]
    pub fn is_integer(self) -> bool {
        matches!(self.class(), DTypeClass::Signed | DTypeClass::Unsigned)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
