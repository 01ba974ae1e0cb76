//! Opening a state dict of any supported format.

use std::path::{Path, PathBuf};

use crate::dcp;
use crate::dict::StateDict;
use crate::error::{ErrorKind, Result, StateDictError};
use crate::safetensors;
use crate::torch;

/// The files of a Hugging Face folder that are tried first, in this order.
const IN_FOLDER: [&str; 3] = ["model.safetensors.index.json", "model.safetensors", "pytorch_model.bin"];
/// Suffixes of index names.
const INDICES: [&str; 2] = [".safetensors.index.json", ".bin.index.json"];
/// The format of a folder.
enum Folder {
    /// One file: an index, or a file with tensors.
    File(PathBuf),
    /// Safetensors files without an index.
    Files(Vec<PathBuf>),
    /// A checkpoint of `torch.distributed.checkpoint`.
    Dcp,
}

/// Returns whether a path is a file, or a folder that [`open`] supports: a Hugging Face model or a checkpoint of
/// `torch.distributed.checkpoint`.
#[must_use]
pub fn is_state_dict(path: &Path) -> bool {
    path.is_file() || path.is_dir() && matches!(folder(path), Ok(Some(_)) | Err(_))
}

/// Opens a state dict: a safetensors file, an index of several files, a `torch.save` file, or a folder. A folder is a Hugging Face model,
/// with or without an index of any name, or a checkpoint of `torch.distributed.checkpoint`. The format is detected from the contents.
/// Tensors are read lazily.
///
/// # Errors
/// There is no such file (SH1402), or it cannot be read; see [`safetensors`], [`torch`] and [`dcp`].
pub fn open(path: &Path) -> Result<StateDict> {
    if path.is_dir() {
        return match folder(path)? {
            Some(Folder::File(file)) => open(&file),
            Some(Folder::Files(files)) => open_files(&files),
            Some(Folder::Dcp) => dcp::open(path),
            None => {
                let text =
                    "the folder has no safetensors file or index, no pytorch_model.bin and no .metadata";
                Err(StateDictError::new(ErrorKind::NoFile, text).in_file(path))
            }
        };
    }
    if path.extension().is_some_and(|extension| extension == "json") {
        return safetensors::open_index(path);
    }
    match torch::is_torch(path)? {
        true => torch::open_torch(path, None),
        false => safetensors::open_file(path),
    }
}

/// Returns the format of a folder; `None` if it contains no state dict.
fn folder(path: &Path) -> Result<Option<Folder>> {
    if let Some(file) = IN_FOLDER.map(|name| path.join(name)).into_iter().find(|file| file.is_file()) {
        return Ok(Some(Folder::File(file)));
    }
    let failed = |source: std::io::Error| StateDictError::io("list it", path, source);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if let (Ok(name), true) = (entry.file_name().into_string(), entry.path().is_file()) {
            names.push(name);
        }
    }
    names.sort();
    let indices: Vec<&String> =
        names.iter().filter(|name| INDICES.iter().any(|ending| name.ends_with(ending))).collect();
    if let [index] = indices.as_slice() {
        return Ok(Some(Folder::File(path.join(index))));
    }
    if indices.len() > 1 {
        let list: Vec<&str> = indices.into_iter().map(String::as_str).collect();
        let text = format!("the folder has several indices: {}", list.join(", "));
        return Err(StateDictError::new(ErrorKind::Index, text)
            .in_file(path)
            .hint("pass one of the indices"));
    }
    if names.iter().any(|name| name == dcp::METADATA) {
        return Ok(Some(Folder::Dcp));
    }
    let files = names.iter().filter(|name| name.ends_with(".safetensors"));
    let files: Vec<PathBuf> = files.map(|name| path.join(name)).collect();
    Ok((!files.is_empty()).then_some(Folder::Files(files)))
}

/// Returns the tensors of several safetensors files without an index, in name order. Files may declare their tensors as boxes (DCP:
/// chunks) of larger tensors.
fn open_files(files: &[PathBuf]) -> Result<StateDict> {
    let mut dict = StateDict::new();
    let mut parts = Vec::new();
    for file in files {
        let part = safetensors::open_file(file)?;
        if let Some(boxes) = dcp::boxes(&part).map_err(|error| error.in_file(file))? {
            parts.push((part, boxes));
            continue;
        }
        for (name, tensor) in part.iter() {
            dict.insert(name, tensor.clone()).map_err(|error| {
                error.in_file(file).hint(
                    "several files of the folder contain this tensor: pass one of the files, or an index",
                )
            })?;
        }
        part.metadata.into_iter().for_each(|(key, text)| _ = dict.metadata.entry(key).or_insert(text));
    }
    if parts.is_empty() {
        return Ok(dict);
    }
    let joined = dcp::join(parts).map_err(|error| error.in_file(&files[0]))?;
    for (name, tensor) in joined.iter() {
        dict.insert(name, tensor.clone())?;
    }
    joined.metadata.into_iter().for_each(|(key, text)| _ = dict.metadata.entry(key).or_insert(text));
    Ok(dict)
}
