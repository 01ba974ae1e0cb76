//! Elements of constants.

use std::sync::Arc;

use smallvec::SmallVec;

/// The elements of a `dense` constant: little-endian, row-major, one byte per sub-byte element (`i1` is 0 or 1). The result type of the
/// operation is the type of the constant; for a quantized type, elements have its storage type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dense {
    /// A splat: all elements are equal, as in `dense<0.0>`.
    Splat(SmallVec<[u8; 16]>),
    /// All elements, one after the other. The bytes are shared, so that copying a module does not copy large constants.
    Elements(Arc<[u8]>),
    /// The key of `dense_resource<key>`: the bytes are in the resource section at the end of the file, which is kept
    /// verbatim.
    Resource(Box<str>),
    /// A constant whose elements have no [`DType`](crate::DType) (strings, `i128`, `f80`) or are not listed densely (`sparse<...>`): the
    /// attribute verbatim, with its type.
    Raw(Box<str>),
}

impl Dense {
    /// A splat whose elements all have these bytes.
    #[must_use]
    pub fn splat(bytes: &[u8]) -> Self {
        Dense::Splat(SmallVec::from_slice(bytes))
    }

    /// A constant that lists the bytes of all its elements in order.
    #[must_use]
    pub fn elements(bytes: Vec<u8>) -> Self {
        Dense::Elements(bytes.into())
    }

    /// Returns a constant with the elements in `bytes`, of `width` bytes each. If all elements are equal, returns a splat: the parser also
    /// represents such constants as splats.
    #[must_use]
    pub fn compact(width: usize, bytes: Vec<u8>) -> Self {
        let first = bytes.get(..width).unwrap_or(&[]);
        if !first.is_empty() && bytes.chunks(width).all(|element| element == first) {
            Dense::splat(first)
        } else {
            Dense::elements(bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_elements_are_a_splat() {
        assert_eq!(Dense::compact(2, vec![1, 0, 1, 0]), Dense::splat(&[1, 0]));
        assert_eq!(Dense::compact(4, vec![1, 0, 1, 0]), Dense::splat(&[1, 0, 1, 0]));
        assert_eq!(Dense::compact(1, vec![1, 0, 1, 0]), Dense::elements(vec![1, 0, 1, 0]));
        assert_eq!(Dense::compact(4, Vec::new()), Dense::elements(Vec::new()));
    }
}
