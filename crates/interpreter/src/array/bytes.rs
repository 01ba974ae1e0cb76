//! Conversion of arrays from and to bytes, in the layout of [`shardc_ir::Dense`]: little-endian, and one byte for each narrower element.

use shardc_ir::DType;

use super::data::{Data, Storage, storage};
use super::{Array, Dims, count};
use crate::error::Fault;
use crate::numbers::{Complex, Domain, Integer, Real};

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| (word << 8) | u64::from(byte))
}

fn integers<T: Integer>(bytes: &[u8], width: usize) -> Vec<T> {
    bytes.chunks_exact(width).map(|element| T::truncate(i128::from(word(element)))).collect()
}

fn floats<T: Real>(dtype: DType, bytes: &[u8], width: usize) -> Vec<T> {
    bytes.chunks_exact(width).map(|element| T::from_bits(dtype, word(element))).collect()
}

fn pairs<T: Copy>(parts: &[T]) -> Vec<Complex<T>> {
    parts.as_chunks::<2>().0.iter().map(|&[re, im]| Complex::new(re, im)).collect()
}

impl<D: Domain> Data<D> {
    /// Reads elements of `dtype`.
    fn from_bytes(dtype: DType, bytes: &[u8]) -> Self {
        let width = dtype.bytes();
        match storage(dtype) {
            Storage::Bool => Data::Bool(bytes.iter().map(|&byte| byte != 0).collect()),
            Storage::I8 => Data::I8(integers(bytes, width)),
            Storage::I16 => Data::I16(integers(bytes, width)),
            Storage::I32 => Data::I32(integers(bytes, width)),
            Storage::I64 => Data::I64(integers(bytes, width)),
            Storage::U8 => Data::U8(integers(bytes, width)),
            Storage::U16 => Data::U16(integers(bytes, width)),
            Storage::U32 => Data::U32(integers(bytes, width)),
            Storage::U64 => Data::U64(integers(bytes, width)),
            Storage::F32 => Data::F32(floats(dtype, bytes, width)),
            Storage::F64 => Data::F64(floats(dtype, bytes, width)),
            Storage::C64 => Data::C64(pairs(&floats(DType::F32, bytes, width / 2))),
            Storage::C128 => Data::C128(pairs(&floats(DType::F64, bytes, width / 2))),
        }
    }

    /// The bits of each element; `None` for complex numbers. Bits beyond the width of the type are zero.
    pub(crate) fn to_words(&self, dtype: DType) -> Option<Vec<u64>> {
        let mask = u64::MAX >> (64 - dtype.bits().clamp(1, 64));
        match self {
            Data::F32(v) => Some(v.iter().map(|x| x.to_bits(dtype)).collect()),
            Data::F64(v) => Some(v.iter().map(|x| x.to_bits(dtype)).collect()),
            Data::C64(_) | Data::C128(_) => None,
            _ => Some(self.to_integers()?.into_iter().map(|word| word as u64 & mask).collect()),
        }
    }

    /// The elements with these bits.
    pub(crate) fn from_words(dtype: DType, words: &[u64]) -> Result<Self, Fault> {
        match storage(dtype) {
            Storage::F32 => {
                Ok(Data::F32(words.iter().map(|&bits| D::Single::from_bits(dtype, bits)).collect()))
            }
            Storage::F64 => {
                Ok(Data::F64(words.iter().map(|&bits| D::Double::from_bits(dtype, bits)).collect()))
            }
            Storage::C64 | Storage::C128 => Fault::unsupported("bits of complex numbers"),
            _ => {
                let words: Vec<i64> = words.iter().map(|&word| word as i64).collect();
                let mut data = Data::from_integers(dtype, &words)?;
                data.fit(dtype);
                Ok(data)
            }
        }
    }
}

impl<D: Domain> Array<D> {
    /// Reads an array from bytes that list all elements, or one element that is repeated.
    ///
    /// # Errors
    /// The number of bytes does not fit the shape.
    pub fn from_bytes(dims: &[usize], dtype: DType, bytes: &[u8]) -> Result<Self, Fault> {
        let dims = Dims::from_slice(dims);
        let count = count(&dims)?;
        let data = Data::from_bytes(dtype, bytes);
        if data.len() == 1 && count != 1 {
            return Array::fitted(dims, dtype, data.repeated(count)?);
        }
        if bytes.len() != count.saturating_mul(dtype.bytes()) {
            return Fault::invalid(format!("{} bytes do not fill an array of {dims:?} {dtype}", bytes.len()));
        }
        Array::fitted(dims, dtype, data)
    }

    /// The elements as bytes. In the exact domain, the bytes of floats have no meaning.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        fn complex<T: Real>(dtype: DType, values: &[Complex<T>]) -> Vec<u8> {
            let bits = values.iter().flat_map(|z| [z.re.to_bits(dtype), z.im.to_bits(dtype)]);
            bits.flat_map(|bits| bits.to_le_bytes().into_iter().take(dtype.bytes())).collect()
        }
        match self.data() {
            Data::C64(v) => complex(DType::F32, v),
            Data::C128(v) => complex(DType::F64, v),
            data => {
                let words = data.to_words(self.dtype()).unwrap_or_default();
                let width = self.dtype().bytes();
                words.iter().flat_map(|word| word.to_le_bytes().into_iter().take(width)).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::Ieee;

    #[test]
    fn bytes_are_kept() {
        for (dtype, bytes) in [
            (DType::I4, vec![7, 15]),
            (DType::UI64, vec![255; 16]),
            (DType::BF16, vec![0x80, 0x3f, 0x49, 0x40]),
            (DType::C64, (0..16).collect()),
        ] {
            let array = Array::<Ieee>::from_bytes(&[2], dtype, &bytes).unwrap();
            assert_eq!(array.to_bytes(), bytes, "{dtype}");
        }
        let splat = Array::<Ieee>::from_bytes(&[3], DType::I4, &[0xff]).unwrap();
        assert_eq!(splat.to_integers(), Some(vec![-1, -1, -1]));
    }
}
