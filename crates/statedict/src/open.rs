//! Whatever a path leads to, as a state dict.

use std::path::Path;

use crate::dict::StateDict;
use crate::error::{ErrorKind, Result, StateDictError};
use crate::safetensors;
use crate::torch::{self, Value};

/// The files of a folder of Hugging Face's that are looked for, in this order.
const IN_FOLDER: [&str; 3] = ["model.safetensors.index.json", "model.safetensors", "pytorch_model.bin"];
/// Under which of these keys a `torch.save` file has its state dict, where it does not consist of tensors alone.
const KEYS: [&str; 2] = ["model", "state_dict"];

/// The state dict of a safetensors file, of an index of several, of a folder of Hugging Face's with either, or of a file of
/// `torch.save`; which of them it is, is told by the contents. Tensors are not read before somebody asks for them.
///
/// # Errors
/// There is no such file (SH1402), or it cannot be read; see [`safetensors`] and [`torch`].
pub fn open(path: &Path) -> Result<StateDict> {
    if path.is_dir() {
        return match IN_FOLDER.map(|name| path.join(name)).into_iter().find(|file| file.is_file()) {
            Some(file) => open(&file),
            None => {
                let text = format!("the folder has none of {}", IN_FOLDER.join(", "));
                Err(StateDictError::new(ErrorKind::NoFile, text).in_file(path))
            }
        };
    }
    if path.extension().is_some_and(|extension| extension == "json") {
        return safetensors::open_index(path);
    }
    match torch::is_torch(path)? {
        true => open_torch(path, None),
        false => safetensors::open_file(path),
    }
}

/// The state dict of a file of `torch.save`: the dict of this key, with dots from dict to dict; without one the whole object if it holds tensors alone, or else
/// what it has under `model` or `state_dict`.
///
/// # Errors
/// As [`torch::load`]; there is no dict of tensors there (SH1413).
pub fn open_torch(path: &Path, key: Option<&str>) -> Result<StateDict> {
    let value = torch::load(path)?;
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
            (None, Some(key)) => format!("it has no {key:?}"),
            (Some(other), Some(key)) => format!("{key:?} is {}, no dict of tensors", other.kind()),
            _ => format!("it holds {}, no dict of tensors", value.kind()),
        };
        return Err(StateDictError::new(ErrorKind::Content, text).in_file(path).hint(keys(&value)));
    };
    torch::tensors(items).map_err(|error| error.in_file(path).hint(keys(&value)))
}

/// The value of a key, or of keys with dots between them.
fn within<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    value.get(key).or_else(|| {
        let (first, rest) = key.split_once('.')?;
        within(value.get(first)?, rest)
    })
}

/// What keys there are.
fn keys(value: &Value) -> String {
    let Value::Dict(items) = value else { return "save a dict of tensors by name".to_owned() };
    let keys: Vec<&str> = items.iter().filter_map(|(key, _)| key.as_str()).take(12).collect();
    format!("name the key of the state dict; there are {}", keys.join(", "))
}
