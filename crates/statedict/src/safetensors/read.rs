//! Reading the header of a safetensors file: the tensors stay where they are.

use std::path::Path;
use std::sync::Arc;

use safetensors::tensor::Metadata;

use crate::dict::StateDict;
use crate::dtypes;
use crate::error::{ErrorKind, Result, StateDictError};
use crate::file::DataFile;
use crate::tensor::Tensor;

/// The largest header, as Hugging Face's library has it.
const LARGEST_HEADER: u64 = 100_000_000;
/// The length of the header's length.
const LENGTH: u64 = 8;

/// The tensors of a safetensors file, in the order in which they lie there. Only the header is read.
///
/// # Errors
/// There is no such file (SH1402), it cannot be read (SH1401), is none or cut off (SH1403), or has elements of fewer than eight
/// bits (SH1412).
pub fn open_file(path: &Path) -> Result<StateDict> {
    parse(&DataFile::open(path)?)
}

/// The tensors of a safetensors file that is in memory, which stays there as long as they do.
///
/// # Errors
/// It is none or cut off (SH1403), or has elements of fewer than eight bits (SH1412).
pub fn from_bytes(bytes: impl Into<Arc<[u8]>>) -> Result<StateDict> {
    parse(&DataFile::held(bytes.into()))
}

fn parse(file: &Arc<DataFile>) -> Result<StateDict> {
    let path = file.path();
    let wrong = |text: String| StateDictError::new(ErrorKind::Safetensors, text).in_file(path);
    if file.len() < LENGTH {
        return Err(wrong(format!("it is no safetensors file: it has {} bytes", file.len())));
    }
    let mut length = [0; LENGTH as usize];
    file.read_at(0, &mut length)?;
    let length = u64::from_le_bytes(length);
    if length > LARGEST_HEADER {
        return Err(wrong(format!("it is no safetensors file: its header would have {length} bytes")));
    }
    if length > file.len() - LENGTH {
        let text = format!("it is cut off: its header has {length} bytes, the file {}", file.len());
        return Err(wrong(text).hint("copy or download it again"));
    }
    let mut header = vec![0; length as usize];
    file.read_at(LENGTH, &mut header)?;
    let header: Metadata =
        serde_json::from_slice(&header).map_err(|error| wrong(format!("its header is wrong: {error}")))?;
    let start = LENGTH + length;
    let want = start.checked_add(header.data_len() as u64);
    if want != Some(file.len()) {
        let text =
            format!("its tensors have {} bytes, and {} are there", header.data_len(), file.len() - start);
        return Err(wrong(text).hint("copy or download it again"));
    }
    let mut dict = StateDict::new();
    for name in header.offset_keys() {
        let Some(info) = header.info(&name) else { continue };
        let Some(dtype) = dtypes::from_safetensors(info.dtype) else {
            let text = format!("elements of {:?} take fewer than eight bits, which is not read", info.dtype);
            return Err(StateDictError::new(ErrorKind::ElementType, text).of_tensor(&name).in_file(path));
        };
        let at = start + info.data_offsets.0 as u64;
        let tensor = Tensor::in_file(dtype, &info.shape, file.clone(), at).map_err(|e| e.of_tensor(&name))?;
        dict.insert(name, tensor).map_err(|e| e.in_file(path))?;
    }
    dict.metadata = header.metadata().iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
    Ok(dict)
}
