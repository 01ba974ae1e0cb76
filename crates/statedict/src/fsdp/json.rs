//! Shard metadata as JSON, for the metadata of safetensors files: the keys of `get_shard_metadata()`, element types as `torch.float32`.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::metadata::{FlatParameter, ShardMetadata, ShardedParameter};
use crate::dtypes;
use crate::error::{ErrorKind, Result, StateDictError};

#[derive(Serialize, Deserialize)]
struct Json {
    shard_info: IndexMap<String, IndexMap<String, Shard>>,
    flatten_info: IndexMap<String, Flat>,
    #[serde(default)]
    buffer_info: IndexMap<String, Buffer>,
    world_size: usize,
    rank: usize,
}

/// The names, shapes and sizes of the components of a flat parameter.
#[derive(Serialize, Deserialize)]
struct Flat(Vec<String>, Vec<Vec<usize>>, Vec<usize>);

#[derive(Serialize, Deserialize)]
struct Shard {
    #[serde(rename = "_orig_size")]
    size: Vec<usize>,
    #[serde(rename = "_orig_name")]
    name: String,
}

#[derive(Serialize, Deserialize)]
struct Buffer {
    #[serde(rename = "_orig_dtype")]
    dtype: String,
}

fn wrong(text: impl std::fmt::Display) -> StateDictError {
    StateDictError::new(ErrorKind::ShardMetadata, format!("the shard metadata is invalid: {text}"))
}

pub(super) fn to_json(metadata: &ShardMetadata) -> Result<String> {
    let shard = |(name, of): (&String, &ShardedParameter)| {
        (name.clone(), Shard { size: of.shape.clone(), name: of.name.clone() })
    };
    let mut buffers = IndexMap::new();
    for (name, &dtype) in &metadata.buffer_dtypes {
        let torch =
            dtypes::to_torch(dtype).ok_or_else(|| wrong(format!("PyTorch has no element type {dtype}")))?;
        buffers.insert(name.clone(), Buffer { dtype: format!("torch.{torch}") });
    }
    let flat = |(name, of): (&String, &FlatParameter)| {
        (name.clone(), Flat(of.names.clone(), of.shapes.clone(), of.sizes.clone()))
    };
    let json = Json {
        shard_info: metadata
            .shard_info
            .iter()
            .map(|(module, shards)| (module.clone(), shards.iter().map(shard).collect()))
            .collect(),
        flatten_info: metadata.flatten_info.iter().map(flat).collect(),
        buffer_info: buffers,
        world_size: metadata.world_size,
        rank: metadata.rank,
    };
    serde_json::to_string(&json).map_err(wrong)
}

pub(super) fn from_json(text: &str) -> Result<ShardMetadata> {
    let json: Json = serde_json::from_str(text).map_err(wrong)?;
    let shard = |(name, of): (String, Shard)| (name, ShardedParameter { shape: of.size, name: of.name });
    let mut buffer_dtypes = IndexMap::new();
    for (name, buffer) in json.buffer_info {
        let dtype = buffer.dtype.strip_prefix("torch.").and_then(dtypes::from_torch);
        let dtype = dtype.ok_or_else(|| wrong(format!("{:?} is not an element type", buffer.dtype)))?;
        buffer_dtypes.insert(name, dtype);
    }
    Ok(ShardMetadata {
        shard_info: json
            .shard_info
            .into_iter()
            .map(|(module, shards)| (module, shards.into_iter().map(shard).collect()))
            .collect(),
        flatten_info: json
            .flatten_info
            .into_iter()
            .map(|(name, Flat(names, shapes, sizes))| (name, FlatParameter { names, shapes, sizes }))
            .collect(),
        buffer_dtypes,
        world_size: json.world_size,
        rank: json.rank,
    })
}
