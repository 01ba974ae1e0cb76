//! Checkpoints of `torch.distributed.checkpoint` (DCP): a folder with `.metadata`, a pickle, and `.distcp` files.
//!
//! FSDP2, torchtitan, Accelerate's `SHARDED_STATE_DICT` and PyTorch/XLA's `SPMDSavePlanner` write them. The metadata lists the boxes of
//! each tensor and where they lie: each is a file of `torch.save`, or a safetensors file, within a `.distcp` file. The pickle is read
//! without running any of its code; only the classes that DCP itself has there are known.
//!
//! Its Hugging Face writer makes safetensors files instead, each of which says which boxes its tensors are.

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

/// The file of metadata.
pub const METADATA: &str = ".metadata";
/// The largest metadata that is read: some hundred bytes for each box of a tensor.
const LARGEST: u64 = 256 << 20;

/// The tensors of the checkpoint in a folder. Numbers and texts beside them are in [`StateDict::metadata`].
///
/// # Errors
/// A file is missing (SH1402), cannot be read (SH1401) or is truncated or damaged (SH1405, SH1406); the metadata is not that of DCP
/// (SH1413) or wants an unknown class (SH1407); the boxes do not make up a tensor (SH1408).
pub fn open(folder: &Path) -> Result<StateDict> {
    let path = folder.join(METADATA);
    let metadata = read_metadata(&path)?;
    let mut files = HashMap::new();
    let mut dict = StateDict::new();
    for entry in &metadata.tensors {
        let mut pieces = Vec::with_capacity(entry.boxes.len());
        for (offsets, sizes) in &entry.boxes {
            let place = metadata.places.get(&(entry.name.clone(), offsets.clone())).ok_or_else(|| {
                let text = format!("it does not say where the box at {offsets:?} lies");
                StateDictError::new(ErrorKind::Content, text).of_tensor(&entry.name).in_file(&path)
            })?;
            let tensor = stored(folder, place, &mut files).map_err(|error| error.of_tensor(&entry.name))?;
            if tensor.shape() != sizes.as_slice() {
                let text =
                    format!("the box at {offsets:?} has the shape {:?} and not {sizes:?}", tensor.shape());
                return Err(StateDictError::new(ErrorKind::Tensor, text).of_tensor(&entry.name));
            }
            pieces.push(Piece { offsets: offsets.clone(), tensor });
        }
        let tensor = Tensor::of_pieces(entry.dtype, &entry.shape, pieces);
        dict.insert(&entry.name, tensor.map_err(|error| error.of_tensor(&entry.name))?)?;
    }
    for name in &metadata.objects {
        let Some(place) = metadata.places.get(&(name.clone(), Vec::new())) else { continue };
        // Values other than numbers and text have a meaning in Python alone.
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
        let text = format!("it is no metadata of torch.distributed.checkpoint: {text}");
        StateDictError::new(ErrorKind::Content, text).in_file(path)
    })
}

/// The part of a file that a place names.
fn part(folder: &Path, place: &Place, files: &mut HashMap<String, Arc<DataFile>>) -> Result<Arc<DataFile>> {
    if place.is_transformed {
        let text = "its bytes are compressed or encrypted by an extension, which is not read";
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

/// The tensor at a place.
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
            other => Err(wrong(format!("{} is where a tensor should be", other.kind()))),
        };
    }
    let dict = safetensors::of_file(&part)?;
    match dict.iter().next() {
        Some((_, tensor)) if dict.len() == 1 => Ok(tensor.clone()),
        _ => Err(wrong(format!("{} tensors are where one should be", dict.len()))),
    }
}
