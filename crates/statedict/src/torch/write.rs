//! Writing a file for `torch.load`.

use std::io::{Seek, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::pickle::Pickle;
use super::value::Value;
use crate::error::{ErrorKind, Result, StateDictError};

/// The alignment of storages in a file, in bytes, the same as in `torch.save`.
const ALIGNMENT: u16 = 64;
/// The version of the container, which `torch.save` has written since PyTorch 1.6.
const VERSION: &[u8] = b"3\n";

/// Writes a `torch.save` file whose entries are in a folder of this name. After each write of elements, `done` is called with the
/// number of bytes written. Dicts are written as `dict`, in order. The output is deterministic.
///
/// # Errors
/// An element type is not supported (SH1412), or an I/O error occurs (SH1401).
pub fn save(value: &Value, folder: &str, out: impl Write + Seek, done: &mut dyn FnMut(u64)) -> Result<()> {
    let pickle = Pickle::of(value)?;
    let failed = |error: std::io::Error| {
        StateDictError::new(ErrorKind::Io, format!("cannot write the torch.save file: {error}"))
    };
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(zip::DateTime::default())
        .with_alignment(ALIGNMENT);
    let mut archive = ZipWriter::new(out);
    for (name, bytes) in [("data.pkl", pickle.bytes.as_slice()), ("byteorder", b"little")] {
        archive.start_file(format!("{folder}/{name}"), options).map_err(|error| failed(error.into()))?;
        archive.write_all(bytes).map_err(failed)?;
    }
    for (key, tensor) in pickle.storages.iter().enumerate() {
        let is_large = tensor.byte_len() >= u64::from(u32::MAX);
        let options = options.large_file(is_large);
        archive.start_file(format!("{folder}/data/{key}"), options).map_err(|error| failed(error.into()))?;
        tensor.for_each_chunk(&mut |chunk| {
            archive.write_all(chunk).map_err(failed)?;
            done(chunk.len() as u64);
            Ok(())
        })?;
    }
    archive.start_file(format!("{folder}/version"), options).map_err(|error| failed(error.into()))?;
    archive.write_all(VERSION).map_err(failed)?;
    let mut out = archive.finish().map_err(|error| failed(error.into()))?;
    out.flush().map_err(failed)
}
