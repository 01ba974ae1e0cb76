//! The file of one rank.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use super::metadata::ShardMetadata;
use super::{json, pickled};
use crate::dict::StateDict;
use crate::error::{ErrorKind, Result, StateDictError};
use crate::safetensors;
use crate::torch::{self, Value};

/// The key of shard metadata, in files of both formats.
const METADATA: &str = "shard_metadata";
/// The key of the state dict in `torch.save` files.
const MODEL: &str = "model";

/// The contents of a rank's file: shards and their metadata.
#[derive(Clone, Debug)]
pub struct RankFile {
    /// The file.
    pub path: PathBuf,
    /// Shards and buffers by name.
    pub model: StateDict,
    /// Shard metadata.
    pub metadata: ShardMetadata,
}

/// Opens the file of a rank, from `torch.save` or safetensors, regardless of its extension; tensors are read lazily.
///
/// # Errors
/// The file is missing (SH1402), cannot be read (SH1401), has neither format (SH1403, SH1405 to SH1408), or has no shard metadata (SH1410).
pub fn open_rank(path: &Path) -> Result<RankFile> {
    let (model, metadata) = match torch::is_torch(path)? {
        true => from_torch(path),
        false => from_safetensors(path),
    }
    .map_err(|error| error.in_file(path))?;
    Ok(RankFile { path: path.to_owned(), model, metadata })
}

fn missing() -> StateDictError {
    StateDictError::new(ErrorKind::ShardMetadata, "the file has no shard metadata, so it is not a rank file").hint(
        "save {\"model\": model.state_dict(), \"shard_metadata\": model.get_shard_metadata()} on each rank, and use a pattern that \
         matches only these files",
    )
}

fn from_torch(path: &Path) -> Result<(StateDict, ShardMetadata)> {
    let value = torch::load(path)?;
    let metadata = pickled::from_value(value.get(METADATA).ok_or_else(missing)?)?;
    let Some(Value::Dict(items)) = value.get(MODEL) else {
        let text = "the file has shard metadata, but no dict \"model\"";
        return Err(StateDictError::new(ErrorKind::Content, text));
    };
    Ok((torch::tensors(items)?, metadata))
}

fn from_safetensors(path: &Path) -> Result<(StateDict, ShardMetadata)> {
    let model = safetensors::open_file(path)?;
    let metadata = json::from_json(model.metadata.get(METADATA).ok_or_else(missing)?)?;
    Ok((model, metadata))
}

/// Writes the file of a rank atomically as safetensors, with the shard metadata as JSON.
///
/// # Errors
/// An element type is not supported (SH1412), or an I/O error occurs (SH1401).
pub fn write_rank(path: &Path, model: &StateDict, metadata: &ShardMetadata) -> Result<()> {
    let mut model = model.clone();
    model.metadata.insert("format".to_owned(), "pt".to_owned());
    model.metadata.insert(METADATA.to_owned(), json::to_json(metadata)?);
    let failed = |error: std::io::Error| StateDictError::io("write it", path, error);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".shardc-").tempfile_in(folder).map_err(failed)?;
    safetensors::write(&model, &mut BufWriter::new(file.as_file_mut()), &mut |_| {})?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
