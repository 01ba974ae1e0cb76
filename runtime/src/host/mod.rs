//! Arrays in this process's memory.

mod combine;
mod compare;
mod element;
mod number;

use shardc_ir::DType;

pub use self::compare::Difference;
pub use self::element::HostElement;
use crate::array_type::ArrayType;
use crate::error::{Result, RuntimeError};

/// A dense array on the host: little-endian elements, row-major, without gaps.
///
/// Elements smaller than a byte (`i1`, `i4`, `f4E2M1FN`, ...) take one byte each, with the value in the low bits. The fields are public, so
/// they may be inconsistent. Every method that requires consistent fields calls [`HostArray::check`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostArray {
    /// The element type.
    pub dtype: DType,
    /// The dimension sizes; empty for a scalar.
    pub shape: Vec<usize>,
    /// The bytes of the elements, in the format that [`HostArray`] describes.
    pub data: Vec<u8>,
}

impl HostArray {
    /// Creates an array from bytes.
    ///
    /// # Errors
    ///
    /// The data does not have the size of the type and shape.
    pub fn new(dtype: DType, shape: &[usize], data: Vec<u8>) -> Result<HostArray> {
        let array = HostArray { dtype, shape: shape.to_vec(), data };
        array.check()?;
        Ok(array)
    }

    /// Creates an array from elements in row-major order.
    ///
    /// # Errors
    ///
    /// The number of elements differs from the number that the shape requires.
    pub fn from_slice<T: HostElement>(elements: &[T], shape: &[usize]) -> Result<HostArray> {
        let mut data = Vec::with_capacity(std::mem::size_of_val(elements));
        elements.iter().for_each(|&element| element.write(&mut data));
        HostArray::new(T::DTYPE, shape, data)
    }

    /// Returns the elements as Rust numbers, in row-major order; `None` if the array has a different element type than `T`.
    #[must_use]
    pub fn to_vec<T: HostElement>(&self) -> Option<Vec<T>> {
        (self.dtype == T::DTYPE).then(|| self.data.chunks_exact(size_of::<T>()).map(T::read).collect())
    }

    /// Creates an array of zeros.
    ///
    /// # Errors
    ///
    /// The array exceeds the address space.
    pub fn zeros(dtype: DType, shape: &[usize]) -> Result<HostArray> {
        Ok(HostArray { dtype, shape: shape.to_vec(), data: vec![0; HostArray::byte_size(dtype, shape)?] })
    }

    /// Creates an array filled with one value, rounded to the element type as in [`HostArray::from_f64`].
    ///
    /// # Errors
    ///
    /// The array exceeds the address space.
    pub fn filled(dtype: DType, shape: &[usize], value: f64) -> Result<HostArray> {
        let size = HostArray::byte_size(dtype, shape)?;
        let mut data = Vec::with_capacity(size);
        let element = number::element(dtype, value);
        while data.len() < size {
            data.extend_from_slice(&element);
        }
        Ok(HostArray { dtype, shape: shape.to_vec(), data })
    }

    /// Creates an array from values in row-major order, each rounded to the element type: to nearest for floats; towards zero, with
    /// saturation, for integers; to true for every nonzero boolean. Complex types take a real and an imaginary part for each element.
    ///
    /// # Errors
    ///
    /// The number of values differs from the number that the shape requires.
    pub fn from_f64(dtype: DType, shape: &[usize], values: &[f64]) -> Result<HostArray> {
        let mut data = Vec::with_capacity(HostArray::byte_size(dtype, shape)?);
        for &value in values {
            number::encode(dtype, value, &mut data);
        }
        HostArray::new(dtype, shape, data)
    }

    /// Creates an array of seeded pseudorandom values for tests: floats (and parts of complex numbers) are uniform in `[0.25, 0.75)`,
    /// integers are in `[0, 4)` as far as the type can represent them, and booleans are true with probability 1/2. The same seed, type and
    /// shape give the same array on every machine.
    ///
    /// The range of floats keeps long products, logarithms and quotients well-behaved.
    ///
    /// # Errors
    ///
    /// The array exceeds the address space.
    pub fn random(seed: u64, dtype: DType, shape: &[usize]) -> Result<HostArray> {
        let size = HostArray::byte_size(dtype, shape)?;
        let mut data = Vec::with_capacity(size);
        number::random(seed, dtype, size, &mut data);
        Ok(HostArray { dtype, shape: shape.to_vec(), data })
    }

    /// The size in bytes of an array of this type and shape.
    ///
    /// # Errors
    ///
    /// The size exceeds the address space.
    pub fn byte_size(dtype: DType, shape: &[usize]) -> Result<usize> {
        shape
            .iter()
            .try_fold(dtype.bytes(), |size, &n| size.checked_mul(n))
            .filter(|&size| isize::try_from(size).is_ok())
            .ok_or_else(|| RuntimeError::Argument(format!("an array of {dtype}{shape:?} is too large")))
    }

    /// Checks that `data` has the number of bytes that the element type and shape require.
    ///
    /// # Errors
    ///
    /// `data` has a different size.
    pub fn check(&self) -> Result<()> {
        let expected = HostArray::byte_size(self.dtype, &self.shape)?;
        if self.data.len() == expected {
            return Ok(());
        }
        Err(RuntimeError::Argument(format!(
            "the data of an array of {}{:?} must have {expected} bytes, got {}",
            self.dtype,
            self.shape,
            self.data.len()
        )))
    }

    /// The element type and the shape of the array.
    #[must_use]
    pub fn ty(&self) -> ArrayType {
        ArrayType { dtype: self.dtype, shape: self.shape.clone() }
    }

    /// The number of elements according to the shape.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.iter().fold(1usize, |all, &n| all.saturating_mul(n))
    }

    /// Whether the array has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Returns the elements as floating-point numbers, in row-major order. Booleans become 0 and 1, a complex element becomes two numbers
    /// (its real and imaginary part), and 64-bit integers that need more than 53 bits are rounded.
    #[must_use]
    pub fn to_f64_vec(&self) -> Vec<f64> {
        number::decode_all(self.dtype, &self.data)
    }

    /// Copies the block with these `sizes` that begins at `offsets`. The part of the block beyond the array's bounds is filled with `pad`,
    /// rounded as in [`HostArray::from_f64`].
    ///
    /// # Errors
    ///
    /// `offsets` or `sizes` have a different rank than the array, or the block exceeds the address space.
    pub fn slice_block(&self, offsets: &[usize], sizes: &[usize], pad: f64) -> Result<HostArray> {
        self.check()?;
        self.check_rank("the offsets of a block", offsets)?;
        self.check_rank("the sizes of a block", sizes)?;
        let extent = overlap(&self.shape, offsets, sizes);
        let mut block = if extent == sizes {
            HostArray::zeros(self.dtype, sizes)?
        } else {
            HostArray::filled(self.dtype, sizes, pad)?
        };
        let width = self.dtype.bytes();
        for_each_row(&extent, |row, length| {
            let from = position(&self.shape, offsets, row) * width;
            let to = position(sizes, &[], row) * width;
            let bytes = length * width;
            block.data[to..to + bytes].copy_from_slice(&self.data[from..from + bytes]);
        });
        Ok(block)
    }

    /// Copies a block into the array, beginning at `offsets`. The part of the block beyond the array's bounds is dropped.
    ///
    /// # Errors
    ///
    /// The block has a different element type, or the block or `offsets` has a different rank.
    pub fn paste_block(&mut self, block: &HostArray, offsets: &[usize]) -> Result<()> {
        self.check()?;
        block.check()?;
        self.check_rank("the offsets of a block", offsets)?;
        self.check_rank("a block", &block.shape)?;
        if block.dtype != self.dtype {
            return Err(RuntimeError::Argument(format!(
                "a block of {} does not match an array of {}",
                block.dtype, self.dtype
            )));
        }
        let extent = overlap(&self.shape, offsets, &block.shape);
        let width = self.dtype.bytes();
        for_each_row(&extent, |row, length| {
            let from = position(&block.shape, &[], row) * width;
            let to = position(&self.shape, offsets, row) * width;
            let bytes = length * width;
            self.data[to..to + bytes].copy_from_slice(&block.data[from..from + bytes]);
        });
        Ok(())
    }

    /// Compares an array with a reference; see [`Difference`] for the measures.
    ///
    /// # Errors
    ///
    /// The element types or shapes differ.
    pub fn compare(reference: &HostArray, got: &HostArray) -> Result<Difference> {
        reference.check()?;
        got.check()?;
        if reference.dtype != got.dtype || reference.shape != got.shape {
            return Err(RuntimeError::Argument(format!(
                "expected {}{:?}, got {}{:?}",
                reference.dtype, reference.shape, got.dtype, got.shape
            )));
        }
        Ok(compare::compare(reference.dtype, &reference.data, &got.data))
    }

    fn check_rank(&self, what: &str, list: &[usize]) -> Result<()> {
        if list.len() == self.shape.len() {
            return Ok(());
        }
        Err(RuntimeError::Argument(format!(
            "{what} must have the rank of the array: got {}, expected {}",
            list.len(),
            self.shape.len()
        )))
    }
}

/// Returns the sizes of the part of a block that is within the array's bounds.
fn overlap(shape: &[usize], offsets: &[usize], sizes: &[usize]) -> Vec<usize> {
    shape
        .iter()
        .zip(offsets)
        .zip(sizes)
        .map(|((&n, &offset), &size)| size.min(n.saturating_sub(offset)))
        .collect()
}

/// Returns the row-major position of the element at `index + offsets`; if `offsets` is empty, they are all zero.
fn position(shape: &[usize], offsets: &[usize], index: &[usize]) -> usize {
    shape
        .iter()
        .zip(index)
        .enumerate()
        .fold(0, |sum, (dim, (&n, &i))| sum * n + i + offsets.get(dim).copied().unwrap_or(0))
}

/// Calls `visit(index, length)` for each row of a box with these sizes. A row is contiguous along the last dimension, `index` is its first
/// element, and `length` is its number of elements.
fn for_each_row(extent: &[usize], mut visit: impl FnMut(&[usize], usize)) {
    if extent.contains(&0) {
        return;
    }
    let (outer, length) = match extent.split_last() {
        Some((&last, outer)) => (outer, last),
        None => (extent, 1),
    };
    let mut index = vec![0usize; extent.len()];
    loop {
        visit(&index, length);
        let mut dim = outer.len();
        loop {
            if dim == 0 {
                return;
            }
            dim -= 1;
            index[dim] += 1;
            if index[dim] < outer[dim] {
                break;
            }
            index[dim] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting(shape: &[usize]) -> HostArray {
        let count = shape.iter().product::<usize>();
        let values: Vec<f64> = (0..count).map(|i| i as f64).collect();
        HostArray::from_f64(DType::F32, shape, &values).unwrap()
    }

    #[test]
    fn blocks_are_padded_and_clipped() {
        let array = counting(&[3, 5]);
        let block = array.slice_block(&[2, 3], &[2, 3], 7.0).unwrap();
        assert_eq!(block.to_f64_vec(), [13.0, 14.0, 7.0, 7.0, 7.0, 7.0]);
        let mut back = HostArray::zeros(DType::F32, &[3, 5]).unwrap();
        back.paste_block(&block, &[2, 3]).unwrap();
        assert_eq!(back.to_f64_vec()[13..], [13.0, 14.0]);
        assert_eq!(back.to_f64_vec().iter().sum::<f64>(), 27.0);
    }

    #[test]
    fn blocks_of_scalars_and_empty_arrays() {
        let scalar = HostArray::from_f64(DType::I32, &[], &[5.0]).unwrap();
        assert_eq!(scalar.slice_block(&[], &[], 7.0).unwrap(), scalar);
        let empty = HostArray::zeros(DType::F32, &[0, 4]).unwrap();
        assert!(empty.slice_block(&[0, 0], &[0, 2], 7.0).unwrap().is_empty());
        let beyond = counting(&[3]).slice_block(&[9], &[2], 7.0).unwrap();
        assert_eq!(beyond.to_f64_vec(), [7.0, 7.0]);
    }

    #[test]
    fn rank_and_size_are_checked() {
        let array = counting(&[4]);
        assert!(array.slice_block(&[0, 0], &[1, 1], 0.0).is_err());
        assert!(HostArray::new(DType::F32, &[4], vec![0; 15]).is_err());
        assert!(HostArray::zeros(DType::F32, &[usize::MAX, 2]).is_err());
    }

    #[test]
    fn random_is_repeatable_and_in_range() {
        for &dtype in DType::ALL {
            let a = HostArray::random(3, dtype, &[9, 11]).unwrap();
            assert_eq!(a, HostArray::random(3, dtype, &[9, 11]).unwrap());
            assert_ne!(a.data, HostArray::random(4, dtype, &[9, 11]).unwrap().data, "{dtype}");
            a.check().unwrap();
            for value in a.to_f64_vec() {
                let range = if dtype.is_float() || matches!(dtype, DType::C64 | DType::C128) {
                    0.25..=0.75
                } else {
                    -2.0..=3.0
                };
                assert!(
                    range.contains(&value) || dtype == DType::F4E2M1FN || dtype == DType::F8E8M0FNU,
                    "{dtype} {value}"
                );
            }
        }
    }
}
