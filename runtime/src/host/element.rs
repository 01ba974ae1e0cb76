//! Rust's number types as elements of arrays.

use half::{bf16, f16};
use shardc_ir::DType;

/// A Rust number type that an array can hold.
pub trait HostElement: Copy + Default {
    /// The element type of arrays of this Rust type.
    const DTYPE: DType;

    /// Appends the bytes of this number to `out`, little-endian.
    fn write(self, out: &mut Vec<u8>);

    /// Reads a number from its little-endian bytes; zero if there are too few bytes.
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! elements {
    ($($rust:ty => $dtype:ident,)*) => {
        $(impl HostElement for $rust {
            const DTYPE: DType = DType::$dtype;

            fn write(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn read(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or_else(Self::default, |bytes| Self::from_le_bytes(*bytes))
            }
        })*
    };
}

elements! {
    i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    u8 => UI8, u16 => UI16, u32 => UI32, u64 => UI64,
    f16 => F16, bf16 => BF16, f32 => F32, f64 => F64,
}

impl HostElement for bool {
    const DTYPE: DType = DType::I1;

    fn write(self, out: &mut Vec<u8>) {
        out.push(u8::from(self));
    }

    fn read(bytes: &[u8]) -> Self {
        bytes.first().is_some_and(|&byte| byte != 0)
    }
}

#[cfg(test)]
mod tests {
    use crate::HostArray;

    #[test]
    fn elements_round_trip() {
        let array = HostArray::from_slice(&[1.5f32, -2.0], &[2]).unwrap();
        assert_eq!(array.to_vec::<f32>(), Some(vec![1.5, -2.0]));
        assert_eq!(array.to_vec::<i32>(), None);
        let truths = HostArray::from_slice(&[true, false], &[2, 1]).unwrap();
        assert_eq!(truths.to_vec::<bool>(), Some(vec![true, false]));
        assert!(HostArray::from_slice(&[1i32], &[2]).is_err());
    }
}
