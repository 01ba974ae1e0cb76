//! The state dict in a `torch.save` file, which may contain other objects.

use std::path::Path;

use super::value::Value;
use crate::dict::StateDict;
use crate::error::{ErrorKind, Result, StateDictError};

/// The keys under which the root object of a `torch.save` file may have the state dict, if the root object also contains values other
/// than tensors.
const KEYS: [&str; 2] = ["model", "state_dict"];

/// Opens the state dict of a `torch.save` file: the dict at `key`, with dots between nested keys. Without a key, the state dict is the
/// root object if the root object contains only tensors, otherwise its entry `model` or `state_dict`.
///
/// # Errors
/// The errors of [`load`](super::load); there is no dict of tensors (SH1413).
pub fn open_torch(path: &Path, key: Option<&str>) -> Result<StateDict> {
    let value = super::load(path)?;
    let found = match key {
        Some(key) => within(&value, key),
        None => match &value {
            Value::Dict(items) if items.iter().all(|(_, item)| matches!(item, Value::Tensor(_))) => {
                Some(&value)
            }
            _ => KEYS.iter().find_map(|key| value.get(key)).or(Some(&value)),
        },
    };
    let Some(Value::Dict(items)) = found else {
        let text = match (found, key) {
            (None, Some(key)) => format!("the file has no key {key:?}"),
            (Some(other), Some(key)) => format!("{key:?} is {}, not a dict of tensors", other.kind()),
            _ => format!("the file contains {}, not a dict of tensors", value.kind()),
        };
        return Err(StateDictError::new(ErrorKind::Content, text).in_file(path).hint(keys(&value)));
    };
    super::tensors(items).map_err(|error| error.in_file(path).hint(keys(&value)))
}

/// Returns the value at a key, or at nested keys separated by dots.
fn within<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    value.get(key).or_else(|| {
        let (first, rest) = key.split_once('.')?;
        within(value.get(first)?, rest)
    })
}

/// Returns the known keys.
fn keys(value: &Value) -> String {
    let Value::Dict(items) = value else { return "save a dict of tensors by name".to_owned() };
    let keys: Vec<&str> = items.iter().filter_map(|(key, _)| key.as_str()).take(12).collect();
    format!("pass the key of the state dict; the keys are {}", keys.join(", "))
}
