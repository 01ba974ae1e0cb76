//! Dense arrays: a shape, an element type, and one vector with the elements in row-major order.

mod bytes;
mod data;
mod strides;

use std::sync::Arc;

use shardc_ir::{DType, DTypeClass};
use smallvec::SmallVec;

pub use self::data::Data;
pub(crate) use self::data::{Storage, both, each, map, reserve, storage, zip};
pub(crate) use self::strides::{Counter, View, copy_view, row_major, write_view};
use crate::error::Fault;
use crate::numbers::{Domain, Number, Real};

/// Sizes of dimensions.
pub type Dims = SmallVec<[usize; 6]>;

/// A dense array. Copies share the elements.
#[derive(Clone, Debug)]
pub struct Array<D: Domain> {
    dims: Dims,
    dtype: DType,
    data: Arc<Data<D>>,
}

/// The number of elements of an array with these sizes.
///
/// # Errors
/// The product overflows.
pub(crate) fn count(dims: &[usize]) -> Result<usize, Fault> {
    let product = dims.iter().try_fold(1usize, |product, &n| product.checked_mul(n));
    product.ok_or(Fault::Memory(u64::MAX))
}

impl<D: Domain> Array<D> {
    /// An array with these elements, which must be of the storage type of `dtype`.
    pub(crate) fn new(dims: Dims, dtype: DType, data: Data<D>) -> Result<Self, Fault> {
        if count(&dims)? != data.len() || storage(dtype) != data.storage() {
            let text = format!("{} elements do not fill an array of {dims:?} {dtype}", data.len());
            return Err(Fault::Internal(text));
        }
        Ok(Array { dims, dtype, data: Arc::new(data) })
    }

    /// An array whose elements are computed in the storage type, and then rounded or wrapped to `dtype`.
    pub(crate) fn fitted(dims: Dims, dtype: DType, mut data: Data<D>) -> Result<Self, Fault> {
        data.fit(dtype);
        Array::new(dims, dtype, data)
    }

    /// An array of integers or booleans.
    pub(crate) fn from_integers(dims: Dims, dtype: DType, values: &[i64]) -> Result<Self, Fault> {
        Array::fitted(dims, dtype, Data::from_integers(dtype, values)?)
    }

    /// A scalar integer.
    pub(crate) fn scalar(dtype: DType, value: i64) -> Result<Self, Fault> {
        Array::from_integers(Dims::new(), dtype, &[value])
    }

    /// An array whose elements are all `value`, rounded to the element type.
    pub(crate) fn full(dims: Dims, dtype: DType, value: f64) -> Result<Self, Fault> {
        let data = Data::from_numbers(dtype, &[value])?.repeated(count(&dims)?)?;
        Array::fitted(dims, dtype, data)
    }

    /// Sizes of the dimensions.
    #[must_use]
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The element type; the storage type of quantized elements.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The elements.
    #[must_use]
    pub fn data(&self) -> &Data<D> {
        &self.data
    }

    /// The elements for changes in place, copied only if another array shares them.
    pub(crate) fn data_mut(&mut self) -> &mut Data<D> {
        Arc::make_mut(&mut self.data)
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there is no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the array with another shape, which has as many elements. Their row-major order stays the same.
    pub(crate) fn reshaped(mut self, dims: Dims) -> Result<Self, Fault> {
        if count(&dims)? != self.len() {
            return Fault::invalid(format!("{:?} cannot be reshaped to {dims:?}", self.dims));
        }
        self.dims = dims;
        Ok(self)
    }

    /// Returns the elements that a view selects.
    pub(crate) fn viewed(&self, view: &View) -> Result<Self, Fault> {
        let data = map!(&*self.data, v => copy_view(v, view)?);
        Array::new(view.dims.clone(), self.dtype, data)
    }

    /// The elements as integers; `None` unless they are integers or booleans.
    #[must_use]
    pub fn to_integers(&self) -> Option<Vec<i64>> {
        self.data.to_integers()
    }

    /// The elements as numbers: real parts, then imaginary parts, of complex elements.
    #[must_use]
    pub fn to_f64_vec(&self) -> Vec<f64> {
        match &*self.data {
            Data::F32(v) => v.iter().map(|x| x.to_f64()).collect(),
            Data::F64(v) => v.iter().map(|x| x.to_f64()).collect(),
            Data::C64(v) => v.iter().flat_map(|z| [z.re.to_f64(), z.im.to_f64()]).collect(),
            Data::C128(v) => v.iter().flat_map(|z| [z.re.to_f64(), z.im.to_f64()]).collect(),
            integers => match integers.to_integers() {
                // An unsigned integer of 64 bits is a negative number here.
                Some(words) if self.dtype.class() == DTypeClass::Unsigned => {
                    words.into_iter().map(|word| word as u64 as f64).collect()
                }
                words => words.unwrap_or_default().into_iter().map(|word| word as f64).collect(),
            },
        }
    }

    /// The only element as an integer.
    pub(crate) fn to_index(&self) -> Result<i64, Fault> {
        match self.to_integers().as_deref() {
            Some(&[index]) => Ok(index),
            _ => Fault::invalid("an index or a predicate that is not one integer"),
        }
    }

    /// Whether all elements are equal, and the shapes and types too. NaN differs from itself.
    #[must_use]
    pub fn equals(&self, other: &Self) -> bool {
        self.dims == other.dims && self.dtype == other.dtype && self.data == other.data
    }
}

/// The identity of a sum, with the element type of an array.
pub(crate) fn zero<T: Number>(_: &[T]) -> T {
    T::default()
}
