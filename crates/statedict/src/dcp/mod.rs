//! Checkpoints of `torch.distributed.checkpoint` (DCP): a folder with `.metadata`, a pickle, and `.distcp` files.
//!
//! FSDP2, torchtitan, Accelerate's `SHARDED_STATE_DICT` and PyTorch/XLA's `SPMDSavePlanner` write this format. The metadata lists the
//! boxes (DCP: chunks) of each tensor and their locations. A box is a `torch.save` file, or a safetensors file, within a `.distcp`
//! file. The pickle is read without running any of its code; only DCP's own classes are accepted.
//!
//! DCP's Hugging Face writer writes safetensors files instead. Their metadata declares each tensor as a box of a larger tensor.

mod hugging_face;
mod metadata;
mod write;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

pub use self::write::{DATA, write};

pub(crate) use self::hugging_face::{boxes, join};

use self::metadata::{Metadata, Place};
use crate::dict::StateDict;
use crate::error::{ErrorKind, Result, StateDictError};
use crate::file::DataFile;
use crate::safetensors;
use crate::tensor::{Piece, Tensor};
use crate::torch::{self, Value};

/// The name of the metadata file.
pub const METADATA: &str = ".metadata";
/// The maximum size of the metadata in bytes. Each box takes a few hundred bytes.
const LARGEST: u64 = 256 << 20;

/// Opens the checkpoint in a folder. Numbers and strings in the checkpoint are in [`StateDict::metadata`].
///
/// # Errors
/// A file is missing (SH1402), cannot be read (SH1401) or is truncated or damaged (SH1405, SH1406); the metadata is not that of DCP
/// (SH1413) or has an unknown class (SH1407); the boxes do not form a tensor (SH1408).
pub fn open(folder: &Path) -> Result<StateDict> {
    let path = folder.join(METADATA);
    let metadata = read_metadata(&path)?;
    let mut files = HashMap::new();
    let mut dict = StateDict::new();
    for entry in &metadata.tensors {
        let mut pieces = Vec::with_capacity(entry.boxes.len());
        for (offsets, sizes) in &entry.boxes {
            let place = metadata.places.get(&(entry.name.clone(), offsets.clone())).ok_or_else(|| {
                let text = format!("the metadata has no storage entry for the chunk at {offsets:?}");
                StateDictError::new(ErrorKind::Content, text).of_tensor(&entry.name).in_file(&path)
            })?;
            let tensor = stored(folder, place, &mut files).map_err(|error| error.of_tensor(&entry.name))?;
            if tensor.shape() != sizes.as_slice() {
                let text =
                    format!("the chunk at {offsets:?} has shape {:?}, expected {sizes:?}", tensor.shape());
                return Err(StateDictError::new(ErrorKind::Tensor, text).of_tensor(&entry.name));
            }
            pieces.push(Piece { offsets: offsets.clone(), tensor });
        }
        let tensor = Tensor::of_pieces(entry.dtype, &entry.shape, pieces);
        dict.insert(&entry.name, tensor.map_err(|error| error.of_tensor(&entry.name))?)?;
    }
    for name in &metadata.objects {
        let Some(place) = metadata.places.get(&(name.clone(), Vec::new())) else { continue };
        // Other objects are skipped, because they are meaningful only in Python.
        let value = part(folder, place, &mut files).and_then(|file| torch::load_part(&file));
        let text = match value {
            Ok(Value::Int(number)) => number.to_string(),
            Ok(Value::Float(number)) => number.to_string(),
            Ok(Value::Bool(is)) => is.to_string(),
            Ok(Value::Str(text)) => text,
            _ => continue,
        };
        dict.metadata.insert(name.clone(), text);
    }
    Ok(dict)
}

fn read_metadata(path: &Path) -> Result<Metadata> {
    let file = DataFile::open(path)?;
    if file.len() > LARGEST {
        let text = format!("metadata of {} bytes is too large", file.len());
        return Err(StateDictError::new(ErrorKind::Pickle, text).in_file(path));
    }
    let mut pickle = vec![0; file.len() as usize];
    file.read_at(0, &mut pickle)?;
    let value = torch::load_metadata(pickle).map_err(|error| error.in_file(path))?;
    Metadata::of(&value).map_err(|text| {
        let text = format!("the file is not metadata of torch.distributed.checkpoint: {text}");
        StateDictError::new(ErrorKind::Content, text).in_file(path)
    })
}

/// Returns the section of a checkpoint file at a location.
fn part(folder: &Path, place: &Place, files: &mut HashMap<String, Arc<DataFile>>) -> Result<Arc<DataFile>> {
    if place.is_transformed {
        let text = "compressed and encrypted checkpoints (storage extensions) are not supported";
        return Err(StateDictError::new(ErrorKind::Container, text).in_file(&folder.join(&place.file)));
    }
    let file = match files.get(&place.file) {
        Some(file) => file.clone(),
        None => {
            let file = DataFile::open(&folder.join(&place.file))?;
            files.insert(place.file.clone(), file.clone());
            file
        }
    };
    file.part(place.offset, place.length)
}

/// Returns the tensor at a location.
fn stored(folder: &Path, place: &Place, files: &mut HashMap<String, Arc<DataFile>>) -> Result<Tensor> {
    let part = part(folder, place, files)?;
    let mut head = [0; 2];
    if part.len() >= 2 {
        part.read_at(0, &mut head)?;
    }
    let wrong = |text: String| StateDictError::new(ErrorKind::Content, text).in_file(part.path());
    if head == *b"PK" {
        return match torch::load_part(&part)? {
            Value::Tensor(tensor) => Ok(tensor),
            other => Err(wrong(format!("expected a tensor, found {}", other.kind()))),
        };
    }
    let dict = safetensors::of_file(&part)?;
    match dict.iter().next() {
        Some((_, tensor)) if dict.len() == 1 => Ok(tensor.clone()),
        _ => Err(wrong(format!("expected one tensor, found {}", dict.len()))),
    }
}
