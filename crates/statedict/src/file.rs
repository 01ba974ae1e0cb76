//! Files that tensors lie in: opened once, read at any place.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{ErrorKind, Result, StateDictError};

/// A file that stays open while tensors refer to it. Reads name their place, so that threads share it.
#[derive(Debug)]
pub(crate) struct DataFile {
    path: PathBuf,
    file: File,
    len: u64,
}

impl DataFile {
    pub(crate) fn open(path: &Path) -> Result<Arc<DataFile>> {
        let failed = |source: std::io::Error| match source.kind() {
            std::io::ErrorKind::NotFound => {
                StateDictError::new(ErrorKind::NoFile, "there is no such file").in_file(path)
            }
            _ => StateDictError::io("open it", path, source),
        };
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(StateDictError::new(ErrorKind::NoFile, "it is no regular file").in_file(path));
        }
        Ok(Arc::new(DataFile { path: path.to_owned(), file, len: metadata.len() }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How long the file was when it was opened.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Fills `out` with the bytes from `offset` on.
    pub(crate) fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        read_exact_at(&self.file, offset, out).map_err(|source| {
            StateDictError::io(&format!("read {} bytes at {offset}", out.len()), &self.path, source)
        })
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut offset: u64, mut out: &mut [u8]) -> std::io::Result<()> {
    while !out.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, out, offset)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            n => (out, offset) = (&mut out[n..], offset + n as u64),
        }
    }
    Ok(())
}
