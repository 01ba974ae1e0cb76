//! Reading the header of a safetensors file; tensors are read lazily.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use safetensors::tensor::Metadata;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::dict::StateDict;
use crate::dtypes;
use crate::error::{ErrorKind, Result, StateDictError};
use crate::file::DataFile;
use crate::tensor::Tensor;

/// The maximum header size, the same as in Hugging Face's library.
const LARGEST_HEADER: u64 = 100_000_000;
/// The size of the header's length field.
const LENGTH: u64 = 8;

/// Opens the tensors of a safetensors file, in file order. Only the header is read.
///
/// # Errors
/// The file is missing (SH1402), cannot be read (SH1401), is invalid or truncated (SH1403), or has sub-byte elements (SH1412).
pub fn open_file(path: &Path) -> Result<StateDict> {
    parse(&DataFile::open(path)?)
}

/// Opens the tensors of a safetensors file in memory; the tensors keep the memory alive.
///
/// # Errors
/// The file is invalid or truncated (SH1403), or has sub-byte elements (SH1412).
pub fn from_bytes(bytes: impl Into<Arc<[u8]>>) -> Result<StateDict> {
    parse(&DataFile::held(bytes.into()))
}

/// Returns the tensors of an open file.
pub(crate) fn of_file(file: &Arc<DataFile>) -> Result<StateDict> {
    parse(file)
}

/// Finds the first tensor name that occurs twice in a header.
struct Names {
    twice: Option<String>,
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Names, D::Error> {
        struct Keys;

        impl<'de> Visitor<'de> for Keys {
            type Value = Names;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
                let mut seen = HashSet::new();
                let mut twice = None;
                while let Some((name, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
                    if !seen.insert(name.clone()) {
                        twice.get_or_insert(name);
                    }
                }
                Ok(Names { twice })
            }
        }

        deserializer.deserialize_map(Keys)
    }
}

fn parse(file: &Arc<DataFile>) -> Result<StateDict> {
    let path = file.path();
    let wrong = |text: String| StateDictError::new(ErrorKind::Safetensors, text).in_file(path);
    if file.len() < LENGTH {
        return Err(wrong(format!("the file is not a safetensors file: it has {} bytes", file.len())));
    }
    let mut length = [0; LENGTH as usize];
    file.read_at(0, &mut length)?;
    let length = u64::from_le_bytes(length);
    if length > LARGEST_HEADER {
        return Err(wrong(format!(
            "the file is not a safetensors file: its header would have {length} bytes"
        )));
    }
    if length > file.len() - LENGTH {
        let text =
            format!("the file is truncated: its header has {length} bytes, but the file has {}", file.len());
        return Err(wrong(text).hint("copy or download the file again"));
    }
    let mut header = vec![0; length as usize];
    file.read_at(LENGTH, &mut header)?;
    // The safetensors library keeps the last duplicate, and then reports a gap.
    if let Ok(Names { twice: Some(name) }) = serde_json::from_slice(&header) {
        let text = format!("two tensors are named {name:?}");
        return Err(wrong(text).hint("write the file again with unique names"));
    }
    let header: Metadata =
        serde_json::from_slice(&header).map_err(|error| wrong(format!("the header is invalid: {error}")))?;
    let start = LENGTH + length;
    let want = start.checked_add(header.data_len() as u64);
    if want != Some(file.len()) {
        let (tensors, there) = (header.data_len(), file.len() - start);
        let cut = if there < tensors as u64 { "the file is truncated: " } else { "" };
        let text =
            format!("{cut}the tensors need {tensors} bytes, but the file has {there} after the header");
        return Err(wrong(text).hint("copy or download the file again"));
    }
    let mut dict = StateDict::new();
    for name in header.offset_keys() {
        let Some(info) = header.info(&name) else { continue };
        let Some(dtype) = dtypes::from_safetensors(info.dtype) else {
            let text = format!(
                "element types of fewer than eight bits, such as {:?}, are not supported",
                info.dtype
            );
            return Err(StateDictError::new(ErrorKind::ElementType, text).of_tensor(&name).in_file(path));
        };
        let at = start + info.data_offsets.0 as u64;
        let tensor = Tensor::in_file(dtype, &info.shape, file.clone(), at).map_err(|e| e.of_tensor(&name))?;
        dict.insert(name, tensor).map_err(|e| e.in_file(path))?;
    }
    dict.metadata = header.metadata().iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
    Ok(dict)
}
