//! Conversion of pickle objects to values: trees, without cycles, of bounded size and depth.

use std::collections::HashSet;

use super::globals::Global;
use super::nodes::{Id, Node, Nodes};
use super::value::Value;
use crate::error::{ErrorKind, Result, StateDictError};

/// The maximum nesting depth.
const DEEPEST: usize = 64;
/// The maximum number of values per byte of the pickle. Without shared objects, there is at most one value per byte. With shared objects, a
/// few bytes could expand to any number of values.
const COPIES: usize = 8;
/// The number of values that is always permitted.
const FEW: usize = 1000;

/// Returns the value of an object in a pickle of `length` bytes.
pub(super) fn resolve(nodes: &Nodes, root: Id, length: usize) -> Result<Value> {
    let mut left = length.saturating_mul(COPIES).saturating_add(FEW);
    value(nodes, root, 0, &mut left)
}

fn value(nodes: &Nodes, id: Id, depth: usize, left: &mut usize) -> Result<Value> {
    let wrong = |text: String| Err(StateDictError::new(ErrorKind::Pickle, text));
    if depth > DEEPEST {
        return wrong(format!("objects of the pickle are nested more than {DEEPEST} levels deep"));
    }
    *left = match left.checked_sub(1) {
        Some(left) => left,
        None => return wrong("shared objects of the pickle expand to too many values".to_owned()),
    };
    let mut inner = |id: Id| value(nodes, id, depth + 1, left);
    Ok(match nodes.get(id) {
        Node::None => Value::None,
        Node::Bool(is) => Value::Bool(*is),
        Node::Int(number) => Value::Int(*number),
        Node::Float(number) => Value::Float(*number),
        Node::Str(text) => Value::Str((**text).to_owned()),
        Node::List(items) => Value::List(items.iter().map(|&id| inner(id)).collect::<Result<_>>()?),
        Node::Tuple(items) => Value::Tuple(items.iter().map(|&id| inner(id)).collect::<Result<_>>()?),
        Node::Dict(items) => {
            let mut seen = HashSet::new();
            let mut dict = Vec::with_capacity(items.len());
            for &(key, item) in items {
                if let Node::Str(text) = nodes.get(key)
                    && !seen.insert(&**text)
                {
                    return wrong(format!("a dict of the pickle has the key {text:?} twice"));
                }
                dict.push((inner(key)?, inner(item)?));
            }
            Value::Dict(dict)
        }
        Node::Object(class, state) => {
            let class = (Value::Str("__class__".to_owned()), Value::Str((*class).to_owned()));
            match inner(*state)? {
                Value::Dict(attributes) => Value::Dict([vec![class], attributes].concat()),
                state => Value::Dict(vec![class, (Value::Str("state".to_owned()), state)]),
            }
        }
        Node::Tensor(tensor) => Value::Tensor(tensor.clone()),
        Node::Global(Global::DType(dtype)) => Value::DType(*dtype),
        Node::Global(global) => {
            let text = format!("the pickle contains {global:?}, which is not plain data");
            return Err(StateDictError::new(ErrorKind::NotData, text));
        }
        Node::Storage(_) => {
            let text = "the pickle contains a storage without a tensor";
            return Err(StateDictError::new(ErrorKind::NotData, text));
        }
    })
}
