//! Reading Hugging Face's index of several files.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde::Deserialize;

use crate::dict::StateDict;
use crate::error::{ErrorKind, Result, StateDictError};
use crate::torch;

use super::read::open_file;

/// The maximum size of an index.
const LARGEST: u64 = 1 << 28;

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

/// Opens the tensors that an index (`model.safetensors.index.json`, `pytorch_model.bin.index.json`) names. Their files must be in the
/// folder of the index or below it. Files are in name order, and the tensors of a file in file order. Only headers are read.
///
/// # Errors
/// The index is invalid, or names a file elsewhere, or a tensor that the file does not contain (SH1404); a file is missing (SH1402) or
/// invalid (SH1403).
pub fn open_index(path: &Path) -> Result<StateDict> {
    let wrong = |text: String| StateDictError::new(ErrorKind::Index, text).in_file(path);
    let length =
        std::fs::metadata(path).map_err(|error| StateDictError::io("open the file", path, error))?.len();
    if length > LARGEST {
        return Err(wrong(format!("an index of {length} bytes is too large")));
    }
    let text = std::fs::read(path).map_err(|error| StateDictError::io("read the file", path, error))?;
    let index: Index = serde_json::from_slice(&text)
        .map_err(|error| wrong(format!("the file is not an index of safetensors files: {error}")))?;
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for file in index.weight_map.values() {
        let mut parts = Path::new(file).components();
        let is_below = parts.all(|part| matches!(part, Component::Normal(_)));
        if file.is_empty() || file.contains(['\\', '\0']) || !is_below {
            return Err(wrong(format!("{file:?} is not a file name within the folder of the index")));
        }
        *files.entry(file).or_default() += 1;
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut dict = StateDict::new();
    for (file, wanted) in files {
        let place = folder.join(file);
        let part = open_part(&place)?;
        let mut found = 0;
        for (name, tensor) in
            part.iter().filter(|(name, _)| index.weight_map.get(*name).is_some_and(|f| f == file))
        {
            dict.insert(name, tensor.clone()).map_err(|error| error.in_file(&place))?;
            found += 1;
        }
        if found != wanted {
            let missing = index.weight_map.iter().find(|(name, f)| *f == file && part.find(name).is_none());
            let name = missing.map(|(name, _)| name.as_str()).unwrap_or_default();
            return Err(wrong(format!("{file} does not contain this tensor")).of_tensor(name));
        }
        part.metadata.into_iter().for_each(|(key, text)| _ = dict.metadata.entry(key).or_insert(text));
    }
    Ok(dict)
}

/// Returns the tensors of a file named by an index: safetensors, or `torch.save`.
fn open_part(path: &Path) -> Result<StateDict> {
    match torch::is_torch(path)? {
        true => torch::open_torch(path, None),
        false => open_file(path),
    }
}
