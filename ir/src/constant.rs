//! Elements of constants.

use std::sync::Arc;

use smallvec::SmallVec;

/// The elements of a `dense` constant: little-endian, row-major, sub-byte elements one byte each
/// (`i1` is 0 or 1). The type of the constant is the type of the operation's result; where that is quantized, the
/// elements are of its storage type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dense {
    /// One element that stands for all: `dense<0.0>`.
    Splat(SmallVec<[u8; 16]>),
    /// Every element. Shared, so that copying a module does not copy large constants.
    Elements(Arc<[u8]>),
    /// `dense_resource<key>`: the bytes stand at the end of the file, verbatim by key.
    Resource(Box<str>),
    /// A constant of elements that are no [`DType`](crate::DType) (strings, `i128`, `f80`), or in another form than
    /// one after the other (`sparse<...>`): the attribute verbatim, with its type.
    Raw(Box<str>),
}

impl Dense {
    /// A splat of the element with these bytes.
    #[must_use]
    pub fn splat(bytes: &[u8]) -> Self {
        Dense::Splat(SmallVec::from_slice(bytes))
    }

    /// A constant from all its elements.
    #[must_use]
    pub fn elements(bytes: Vec<u8>) -> Self {
        Dense::Elements(bytes.into())
    }
}
