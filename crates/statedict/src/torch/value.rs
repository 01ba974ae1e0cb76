//! The contents of a `torch.save` file as plain data.

use shardc_ir::DType;

use crate::tensor::Tensor;

/// An object of a `torch.save` file: plain data and tensors only.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Value {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A string.
    Str(String),
    /// A list.
    List(Vec<Value>),
    /// A tuple, or a `torch.Size`.
    Tuple(Vec<Value>),
    /// A `dict` or an `OrderedDict`, in order.
    Dict(Vec<(Value, Value)>),
    /// A tensor or a parameter.
    Tensor(Tensor),
    /// An element type: `torch.float32`.
    DType(DType),
}

impl Value {
    /// Returns the value's Python type, for messages: `a dict`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Value::None => "None",
            Value::Bool(_) => "a bool",
            Value::Int(_) => "an int",
            Value::Float(_) => "a float",
            Value::Str(_) => "a str",
            Value::List(_) => "a list",
            Value::Tuple(_) => "a tuple",
            Value::Dict(_) => "a dict",
            Value::Tensor(_) => "a tensor",
            Value::DType(_) => "a dtype",
        }
    }

    /// Returns the value of a string key, if this value is a dict with that key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        let Value::Dict(items) = self else { return None };
        items.iter().find(|(k, _)| matches!(k, Value::Str(name) if name == key)).map(|(_, value)| value)
    }

    /// Returns the string, if the value is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the items, if the value is a list or a tuple.
    #[must_use]
    pub fn items(&self) -> Option<&[Value]> {
        match self {
            Value::List(items) | Value::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the number, if the value is a nonnegative integer.
    #[must_use]
    pub fn as_size(&self) -> Option<usize> {
        match self {
            Value::Int(n) => usize::try_from(*n).ok(),
            _ => None,
        }
    }
}

/// Creates a dict with these string keys and values.
#[must_use]
pub fn dict(items: impl IntoIterator<Item = (String, Value)>) -> Value {
    Value::Dict(items.into_iter().map(|(key, value)| (Value::Str(key), value)).collect())
}
