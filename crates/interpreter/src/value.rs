//! Values of a running program.

use std::sync::Arc;

use crate::array::Array;
use crate::error::Fault;
use crate::numbers::Domain;

/// A value of a running program. Copies share the elements.
#[derive(Clone, Debug)]
pub enum Value<D: Domain> {
    /// A tensor; quantized elements are stored integers.
    Array(Array<D>),
    /// A token.
    Token,
    /// A tuple, or the results of an asynchronous operation.
    Tuple(Arc<[Value<D>]>),
}

impl<D: Domain> Value<D> {
    /// The array of a tensor.
    ///
    /// # Errors
    /// The value is a token or a tuple.
    pub fn into_array(self) -> Result<Array<D>, Fault> {
        match self {
            Value::Array(array) => Ok(array),
            Value::Token => Fault::invalid("a token instead of a tensor"),
            Value::Tuple(_) => Fault::invalid("a tuple instead of a tensor"),
        }
    }

    /// The array of a tensor, if the value is one.
    #[must_use]
    pub fn as_array(&self) -> Option<&Array<D>> {
        match self {
            Value::Array(array) => Some(array),
            Value::Token | Value::Tuple(_) => None,
        }
    }
}

impl<D: Domain> From<Array<D>> for Value<D> {
    fn from(array: Array<D>) -> Self {
        Value::Array(array)
    }
}
