//! DCP's pickled metadata.

use std::collections::HashMap;
use std::path::{Component, Path};

use shardc_ir::DType;

use crate::torch::Value;

/// The metadata of a checkpoint.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    pub(super) tensors: Vec<Entry>,
    /// The names of entries that are not tensors.
    pub(super) objects: Vec<String>,
    /// The location of each box (DCP: chunk), by the name of the tensor and the offsets of the box. The offsets of an object are empty.
    pub(super) places: HashMap<(String, Vec<usize>), Place>,
}

/// A tensor.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    /// The offsets and sizes of the tensor's boxes (DCP: chunks).
    pub(super) boxes: Vec<(Vec<usize>, Vec<usize>)>,
}

/// A byte range of a file.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) file: String,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) is_transformed: bool,
}

impl Metadata {
    /// Parses metadata. An error is returned as its message.
    pub(super) fn of(value: &Value) -> Result<Metadata, String> {
        if class(value) != Some("Metadata") {
            return Err(format!("expected an object of the class Metadata, found {}", value.kind()));
        }
        let mut metadata = Metadata::default();
        let Some(Value::Dict(entries)) = value.get("state_dict_metadata") else {
            return Err("state_dict_metadata is missing".to_owned());
        };
        for (name, entry) in entries {
            let name = name.as_str().ok_or("the name of a tensor is not a string")?;
            match class(entry) {
                Some("TensorStorageMetadata") => {
                    metadata
                        .tensors
                        .push(tensor(name, entry).ok_or(format!("cannot read the entry {name:?}"))?);
                }
                Some("BytesStorageMetadata") => metadata.objects.push(name.to_owned()),
                _ => return Err(format!("the entry {name:?} is neither a tensor nor bytes")),
            }
        }
        let Some(Value::Dict(places)) = value.get("storage_data") else {
            return Err("storage_data is missing".to_owned());
        };
        for (key, info) in places {
            let (key, place) = place(key, info).ok_or("cannot read an entry of storage_data")?;
            let is_below =
                Path::new(&place.file).components().all(|part| matches!(part, Component::Normal(_)));
            if !is_below || place.file.is_empty() || place.file.contains(['\\', '\0']) {
                return Err(format!("the file {:?} is outside of the checkpoint's folder", place.file));
            }
            metadata.places.insert(key, place);
        }
        Ok(metadata)
    }
}

fn class(value: &Value) -> Option<&str> {
    value.get("__class__")?.as_str()
}

fn sizes(value: &Value) -> Option<Vec<usize>> {
    value.items()?.iter().map(Value::as_size).collect()
}

fn tensor(name: &str, entry: &Value) -> Option<Entry> {
    // The element type is the first item of the pickled state of `TensorProperties`.
    let dtype = match entry.get("properties")?.get("state")?.items()?.first()? {
        Value::DType(dtype) => *dtype,
        _ => return None,
    };
    let boxes = entry.get("chunks")?.items()?.iter();
    let boxes = boxes.map(|chunk| Some((sizes(chunk.get("offsets")?)?, sizes(chunk.get("sizes")?)?)));
    let (shape, boxes) = (sizes(entry.get("size")?)?, boxes.collect::<Option<_>>()?);
    Some(Entry { name: name.to_owned(), dtype, shape, boxes })
}

fn place(key: &Value, info: &Value) -> Option<((String, Vec<usize>), Place)> {
    let offsets = match key.get("offset") {
        None | Some(Value::None) => Vec::new(),
        Some(offset) => sizes(offset)?,
    };
    let number = |key: &str| match info.get(key)? {
        Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    };
    let place = Place {
        file: info.get("relative_path")?.as_str()?.to_owned(),
        offset: number("offset")?,
        length: number("length")?,
        is_transformed: info
            .get("transform_descriptors")
            .and_then(Value::items)
            .is_some_and(|list| !list.is_empty()),
    };
    Some(((key.get("fqn")?.as_str()?.to_owned(), offsets), place))
}
