//! Writing a checkpoint for `torch.distributed.checkpoint.load`.

use std::io::{self, Seek, SeekFrom, Write};

use crate::dict::StateDict;
use crate::dtypes;
use crate::error::{ErrorKind, Result, StateDictError};
use crate::torch::{self, Value, opcodes as op};

/// The name of the file of all tensors: the first file of rank 0.
pub const DATA: &str = "__0_0.distcp";
/// The Python module of most classes in the metadata.
const MODULE: &str = "torch.distributed.checkpoint.metadata";

/// Writes a checkpoint: each tensor, as one box (DCP: chunk), to `data` (the file [`DATA`]), and then the metadata to `metadata`
/// ([`METADATA`](super::METADATA)). After each write of elements, `done` is called with the number of bytes written. `data` must be
/// positioned at its start.
///
/// # Errors
/// An element type is not supported (SH1412), or an I/O error occurs (SH1401).
pub fn write(
    dict: &StateDict,
    data: &mut (impl Write + Seek),
    metadata: &mut dyn Write,
    done: &mut dyn FnMut(u64),
) -> Result<()> {
    let failed = |error: io::Error| {
        StateDictError::new(ErrorKind::Io, format!("cannot write the checkpoint: {error}"))
    };
    let mut places = Vec::with_capacity(dict.len());
    let mut start = 0;
    for (name, tensor) in dict.iter() {
        let value = Value::Tensor(tensor.clone());
        torch::save(&value, "archive", Part { inner: data, start }, done).map_err(|e| e.of_tensor(name))?;
        let end = data.seek(SeekFrom::End(0)).map_err(failed)?;
        places.push((start, end - start));
        start = end;
    }
    data.flush().map_err(failed)?;
    metadata.write_all(&pickle(dict, &places)?).and_then(|()| metadata.flush()).map_err(failed)
}

/// The section of a file from byte `start` to the end of the file.
struct Part<'a, F> {
    inner: &'a mut F,
    start: u64,
}

impl<F: Write> Write for Part<'_, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<F: Seek> Seek for Part<'_, F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(at) => SeekFrom::Start(self.start + at),
            other => other,
        };
        self.inner.seek(to)?.checked_sub(self.start).ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }
}

/// Returns the metadata as a pickle of protocol 2.
fn pickle(dict: &StateDict, places: &[(u64, u64)]) -> Result<Vec<u8>> {
    let mut out = Pickle { bytes: vec![op::PROTO, 2] };
    out.begin(MODULE, "Metadata");
    out.text("state_dict_metadata")?;
    out.bytes.extend([op::EMPTY_DICT, op::MARK]);
    for (name, tensor) in dict.iter() {
        let dtype = dtypes::to_torch(tensor.dtype()).ok_or_else(|| {
            let text = format!("PyTorch has no element type {}", tensor.dtype());
            StateDictError::new(ErrorKind::ElementType, text).of_tensor(name)
        })?;
        out.text(name)?;
        out.begin(MODULE, "TensorStorageMetadata");
        out.text("properties")?;
        out.properties(dtype)?;
        out.text("size")?;
        out.size(tensor.shape());
        out.text("chunks")?;
        out.bytes.extend([op::EMPTY_LIST, op::MARK]);
        out.begin(MODULE, "ChunkStorageMetadata");
        out.text("offsets")?;
        out.size(&vec![0; tensor.shape().len()]);
        out.text("sizes")?;
        out.size(tensor.shape());
        out.end();
        out.bytes.push(op::APPENDS);
        out.end();
    }
    out.bytes.push(op::SETITEMS);
    out.text("planner_data")?;
    out.bytes.extend([op::EMPTY_DICT, op::MARK]);
    for name in dict.names() {
        out.text(name)?;
        out.text(name)?;
        out.bytes.push(op::TUPLE1);
    }
    out.bytes.push(op::SETITEMS);
    out.text("storage_data")?;
    out.bytes.extend([op::EMPTY_DICT, op::MARK]);
    for ((name, tensor), &(offset, length)) in dict.iter().zip(places) {
        out.begin(MODULE, "MetadataIndex");
        out.text("fqn")?;
        out.text(name)?;
        out.text("offset")?;
        out.size(&vec![0; tensor.shape().len()]);
        out.text("index")?;
        out.int(0);
        out.end();
        out.begin("torch.distributed.checkpoint.filesystem", "_StorageInfo");
        out.text("relative_path")?;
        out.text(DATA)?;
        out.text("offset")?;
        out.int(offset);
        out.text("length")?;
        out.int(length);
        out.end();
    }
    out.bytes.push(op::SETITEMS);
    for key in ["storage_meta", "version"] {
        out.text(key)?;
        out.bytes.push(op::NONE);
    }
    out.end();
    out.bytes.push(op::STOP);
    Ok(out.bytes)
}

struct Pickle {
    bytes: Vec<u8>,
}

impl Pickle {
    /// Begins an object; [`Pickle::end`] ends it after its attributes are written.
    fn begin(&mut self, module: &str, class: &str) {
        self.global(module, class);
        self.bytes.extend([op::EMPTY_TUPLE, op::NEWOBJ, op::EMPTY_DICT, op::MARK]);
    }

    fn end(&mut self) {
        self.bytes.extend([op::SETITEMS, op::BUILD]);
    }

    fn global(&mut self, module: &str, name: &str) {
        self.bytes.push(op::GLOBAL);
        self.bytes.extend(format!("{module}\n{name}\n").as_bytes());
    }

    fn text(&mut self, text: &str) -> Result<()> {
        let length = u32::try_from(text.len());
        let length = length
            .map_err(|_| StateDictError::new(ErrorKind::Content, "the name of a tensor is too long"))?;
        self.bytes.push(op::BINUNICODE);
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend(text.as_bytes());
        Ok(())
    }

    fn int(&mut self, number: u64) {
        // A signed integer of eight bytes suffices: sizes and offsets in files fit in 63 bits.
        self.bytes.extend([op::LONG1, 8]);
        self.bytes.extend(number.to_le_bytes());
    }

    /// Writes a `torch.Size`.
    fn size(&mut self, sizes: &[usize]) {
        self.global("torch", "Size");
        self.bytes.push(op::MARK);
        sizes.iter().for_each(|&size| self.int(size as u64));
        self.bytes.extend([op::TUPLE, op::TUPLE1, op::REDUCE]);
    }

    /// Writes the properties of a tensor: element type, layout, requires_grad, memory format, pin_memory.
    fn properties(&mut self, dtype: &str) -> Result<()> {
        self.global(MODULE, "TensorProperties");
        self.bytes.extend([op::EMPTY_TUPLE, op::NEWOBJ, op::MARK]);
        self.global("torch", dtype);
        self.global("torch.serialization", "_get_layout");
        self.text("torch.strided")?;
        self.bytes.extend([op::TUPLE1, op::REDUCE, op::NEWFALSE]);
        self.global(MODULE, "_MEM_FORMAT_ENCODING");
        self.int(0);
        self.bytes.extend([op::TUPLE1, op::REDUCE, op::NEWFALSE, op::TUPLE, op::BUILD]);
        Ok(())
    }
}
