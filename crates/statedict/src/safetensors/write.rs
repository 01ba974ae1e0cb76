//! Writing a safetensors file, tensor by tensor.

use std::collections::BTreeMap;
use std::io::Write;

use safetensors::tensor::TensorInfo;
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::dict::StateDict;
use crate::dtypes;
use crate::error::{ErrorKind, Result, StateDictError};
use crate::tensor::Tensor;

/// The header: metadata first, then tensors in file order. The Hugging Face library keeps metadata in a hash map, so its files with two or
/// more entries are not deterministic.
struct Header<'a> {
    texts: &'a BTreeMap<String, String>,
    tensors: Vec<(&'a str, TensorInfo)>,
}

impl Serialize for Header<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if !self.texts.is_empty() {
            map.serialize_entry("__metadata__", self.texts)?;
        }
        for (name, info) in &self.tensors {
            map.serialize_entry(name, info)?;
        }
        map.end()
    }
}

/// Writes a safetensors file with the tensors and the metadata (`__metadata__`) of `dict`. After each write of elements, `done` is
/// called with the number of bytes written. The output is deterministic, and identical to that of Hugging Face's library if there is
/// at most one metadata entry.
///
/// The metadata should have `format: pt`, otherwise the transformers library refuses the file.
///
/// # Errors
/// An element type is not supported (SH1412), a tensor is called `__metadata__` (SH1413), an I/O error occurs (SH1401).
pub fn write(dict: &StateDict, out: &mut dyn Write, done: &mut dyn FnMut(u64)) -> Result<()> {
    let mut order = Vec::with_capacity(dict.len());
    for (name, tensor) in dict.iter() {
        let Some(dtype) = dtypes::to_safetensors(tensor.dtype()) else {
            let text = format!("safetensors has no element type {}", tensor.dtype());
            return Err(StateDictError::new(ErrorKind::ElementType, text).of_tensor(name));
        };
        if name == "__metadata__" {
            let text = "this name is reserved for metadata in safetensors files";
            return Err(StateDictError::new(ErrorKind::Content, text).of_tensor(name));
        }
        order.push((name, dtype, tensor));
    }
    // Tensors with wide elements are first, so that all are aligned; ties are sorted by name.
    order.sort_by(|(a, x, _), (b, y, _)| y.cmp(x).then(a.cmp(b)));
    let mut end = 0;
    let mut info = |&(name, dtype, tensor): &(&'_ str, safetensors::Dtype, &Tensor)| {
        let start = end;
        end += tensor.byte_len() as usize;
        let info = TensorInfo { dtype, shape: tensor.shape().to_vec(), data_offsets: (start, end) };
        (name.to_owned(), info)
    };
    let infos: Vec<(String, TensorInfo)> = order.iter().map(&mut info).collect();
    let tensors = infos.iter().map(|(name, info)| (name.as_str(), info.clone())).collect();
    let header = Header { texts: &dict.metadata, tensors };
    let mut header = serde_json::to_vec(&header).map_err(|error| {
        StateDictError::new(ErrorKind::Safetensors, format!("cannot create the header: {error}"))
    })?;
    header.resize(header.len().next_multiple_of(8), b' ');
    let failed = |source: std::io::Error| {
        StateDictError::new(ErrorKind::Io, format!("cannot write the safetensors file: {source}"))
    };
    out.write_all(&(header.len() as u64).to_le_bytes())
        .and_then(|()| out.write_all(&header))
        .map_err(failed)?;
    for (name, _, tensor) in order {
        tensor
            .for_each_chunk(&mut |chunk| {
                out.write_all(chunk).map_err(failed)?;
                done(chunk.len() as u64);
                Ok(())
            })
            .map_err(|error| error.of_tensor(name))?;
    }
    out.flush().map_err(failed)
}
