//! The type of a ranked tensor.

use std::fmt;

use crate::limits;
use crate::shape::write_shape;
use crate::{DType, DYNAMIC, Shape};

/// A ranked tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// Sizes in elements; [`DYNAMIC`] where unknown.
    pub shape: Shape,
    /// Element type.
    pub dtype: DType,
    /// The encoding attribute.
    pub encoding: Option<Encoding>,
}

/// The encoding of a tensor type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// `#stablehlo.bounds<?, 4>`: the upper bound of each dimension; [`DYNAMIC`] if there is none.
    Bounds(Shape),
    /// Any other encoding, verbatim.
    Other(Box<str>),
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Encoding::Bounds(bounds) => {
                f.write_str("#stablehlo.bounds<")?;
                for (i, &bound) in bounds.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    if bound == DYNAMIC { f.write_str("?")? } else { write!(f, "{bound}")? }
                }
                f.write_str(">")
            }
            Encoding::Other(text) => f.write_str(text),
        }
    }
}

impl TensorType {
    /// A tensor without encoding.
    #[must_use]
    pub fn new(shape: &[i64], dtype: DType) -> Self {
        TensorType { shape: Shape::from_slice(shape), dtype, encoding: None }
    }

    /// Number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Returns the upper bound of each dimension, if the type has any.
    #[must_use]
    pub fn bounds(&self) -> Option<&[i64]> {
        match &self.encoding {
            Some(Encoding::Bounds(bounds)) => Some(bounds),
            Some(Encoding::Other(_)) | None => None,
        }
    }

    /// Whether every dimension is static.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.shape.iter().all(|&n| n != DYNAMIC)
    }

    /// Returns the number of elements; `None` if a dimension is dynamic or the product overflows.
    #[must_use]
    pub fn num_elements(&self) -> Option<i64> {
        self.shape.iter().try_fold(1i64, |acc, &n| if n == DYNAMIC { None } else { acc.checked_mul(n) })
    }

    /// Describes, as part of a sentence, why the sizes or bounds are invalid (see [`limits::size_fault`]); `None` if they are valid.
    #[must_use]
    pub fn size_fault(&self) -> Option<String> {
        let element = self.dtype.bytes() as i64;
        let bounds = self.bounds().and_then(|bounds| limits::size_fault(bounds, element));
        limits::size_fault(&self.shape, element).or(bounds)
    }

    /// Returns the size in bytes on the host (sub-byte elements take one byte each); `None` if a dimension is dynamic or the product
    /// overflows.
    #[must_use]
    pub fn num_bytes(&self) -> Option<i64> {
        self.num_elements()?.checked_mul(self.dtype.bytes() as i64)
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensor<")?;
        write_shape(f, &self.shape)?;
        f.write_str(self.dtype.as_str())?;
        if let Some(encoding) = &self.encoding {
            write!(f, ", {encoding}")?;
        }
        f.write_str(">")
    }
}
