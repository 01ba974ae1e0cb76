//! Shard metadata from a `torch.save` file.

use indexmap::IndexMap;

use super::metadata::{FlatParameter, ShardMetadata, ShardedParameter};
use crate::error::{ErrorKind, Result, StateDictError};
use crate::torch::Value;

fn wrong(text: impl Into<String>) -> StateDictError {
    StateDictError::new(ErrorKind::ShardMetadata, format!("the shard metadata is invalid: {}", text.into()))
}

/// Returns the value of `key` in a dict.
fn field<'v>(value: &'v Value, key: &str) -> Result<&'v Value> {
    value.get(key).ok_or_else(|| wrong(format!("{key:?} is missing")))
}

/// Returns the items of a dict with string keys.
fn named(value: &Value) -> Result<impl Iterator<Item = Result<(&str, &Value)>>> {
    let Value::Dict(items) = value else {
        return Err(wrong(format!("expected a dict, found {}", value.kind())));
    };
    Ok(items.iter().map(|(key, value)| Ok((text(key)?, value))))
}

fn text(value: &Value) -> Result<&str> {
    value.as_str().ok_or_else(|| wrong(format!("expected a name, found {}", value.kind())))
}

fn size(value: &Value) -> Result<usize> {
    value.as_size().ok_or_else(|| wrong(format!("expected a size, found {}", value.kind())))
}

fn list<T>(value: &Value, item: fn(&Value) -> Result<T>) -> Result<Vec<T>> {
    let items = value.items().ok_or_else(|| wrong(format!("expected a list, found {}", value.kind())))?;
    items.iter().map(item).collect()
}

/// Parses the object that `get_shard_metadata()` returns.
pub(super) fn from_value(value: &Value) -> Result<ShardMetadata> {
    let mut metadata = ShardMetadata {
        world_size: size(field(value, "world_size")?)?,
        rank: size(field(value, "rank")?)?,
        ..ShardMetadata::default()
    };
    for module in named(field(value, "shard_info")?)? {
        let (module, shards) = module?;
        let mut of_module = IndexMap::new();
        for shard in named(shards)? {
            let (name, info) = shard?;
            let parameter = ShardedParameter {
                shape: list(field(info, "_orig_size")?, size)?,
                name: text(field(info, "_orig_name")?)?.to_owned(),
            };
            of_module.insert(name.to_owned(), parameter);
        }
        metadata.shard_info.insert(module.to_owned(), of_module);
    }
    for flat in named(field(value, "flatten_info")?)? {
        let (name, info) = flat?;
        let Some([names, shapes, sizes]) = info.items() else {
            return Err(wrong(format!(
                "the components of the flat parameter {name:?} must be names, shapes and sizes"
            )));
        };
        let flat = FlatParameter {
            names: list(names, |name| text(name).map(str::to_owned))?,
            shapes: list(shapes, |shape| list(shape, size))?,
            sizes: list(sizes, size)?,
        };
        metadata.flatten_info.insert(name.to_owned(), flat);
    }
    // Early versions of PyTorch/XLA do not write `buffer_info`.
    if let Some(buffers) = value.get("buffer_info") {
        for buffer in named(buffers)? {
            let (name, info) = buffer?;
            let Value::DType(dtype) = field(info, "_orig_dtype")? else {
                return Err(wrong(format!("the buffer {name:?} has no element type")));
            };
            metadata.buffer_dtypes.insert(name.to_owned(), *dtype);
        }
    }
    Ok(metadata)
}
