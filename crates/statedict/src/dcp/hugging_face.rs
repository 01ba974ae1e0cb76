//! Safetensors files of DCP's Hugging Face writer. Their metadata declares each tensor as a box (DCP: chunk) of a larger tensor.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::dict::StateDict;
use crate::error::{ErrorKind, Result, StateDictError};
use crate::tensor::{Piece, Tensor};

/// The key of the metadata entry with the offsets of boxes (DCP: chunks).
const KEY: &str = "DCP_SHARDING_INFO";

/// Returns the offsets of the boxes (DCP: chunks) in a file, by tensor name; `None` if the file declares no boxes.
pub(crate) fn boxes(part: &StateDict) -> Result<Option<BTreeMap<String, Vec<usize>>>> {
    let Some(text) = part.metadata.get(KEY) else { return Ok(None) };
    let wrong = |text: &str| StateDictError::new(ErrorKind::ShardMetadata, format!("{KEY} {text}"));
    let value: Value = serde_json::from_str(text).map_err(|error| wrong(&format!("is invalid: {error}")))?;
    let offsets = |value: &Value| -> Option<Vec<usize>> {
        let list = value["saved_offsets"].as_array()?.iter();
        list.map(|n| usize::try_from(n.as_u64()?).ok()).collect()
    };
    let entries = value.as_object().ok_or_else(|| wrong("is not an object"))?;
    let entry = |(name, value): (&String, &Value)| Some((name.clone(), offsets(value)?));
    entries
        .iter()
        .map(entry)
        .collect::<Option<_>>()
        .map(Some)
        .ok_or_else(|| wrong("has an entry without offsets"))
}

/// Joins tensors whose boxes (DCP: chunks) are in several files. The first of duplicate boxes is used.
pub(crate) fn join(parts: Vec<(StateDict, BTreeMap<String, Vec<usize>>)>) -> Result<StateDict> {
    let mut names: Vec<String> = Vec::new();
    let mut pieces: BTreeMap<String, Vec<Piece>> = BTreeMap::new();
    let mut dict = StateDict::new();
    for (part, offsets) in parts {
        for (name, tensor) in part.iter() {
            let zeros = || vec![0; tensor.shape().len()];
            let offsets = offsets.get(name).cloned().unwrap_or_else(zeros);
            let of_name = pieces.entry(name.to_owned()).or_default();
            if of_name.is_empty() {
                names.push(name.to_owned());
            }
            if !of_name.iter().any(|piece| piece.offsets == offsets && piece.tensor.shape() == tensor.shape())
            {
                of_name.push(Piece { offsets, tensor: tensor.clone() });
            }
        }
        for (key, text) in part.metadata {
            if !key.starts_with("DCP_") {
                dict.metadata.entry(key).or_insert(text);
            }
        }
    }
    for name in names {
        let pieces = pieces.remove(&name).unwrap_or_default();
        let Some(first) = pieces.first() else { continue };
        // The files do not store the shape of the tensor, so it is inferred from the largest end of a box in each dimension.
        let dtype = first.tensor.dtype();
        let mut shape = vec![0; first.tensor.shape().len()];
        for Piece { offsets, tensor } in &pieces {
            for ((end, &offset), &size) in shape.iter_mut().zip(offsets).zip(tensor.shape()) {
                *end = offset.saturating_add(size).max(*end);
            }
        }
        let tensor = Tensor::of_pieces(dtype, &shape, pieces).map_err(|error| error.of_tensor(&name))?;
        dict.insert(name, tensor)?;
    }
    Ok(dict)
}
