//! Files that contain tensors: opened once, with random access.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{ErrorKind, Result, StateDictError};

/// A file that stays open while tensors refer to it. Reads are positional, so threads can share it.
#[derive(Debug)]
pub(crate) struct DataFile {
    path: PathBuf,
    content: Content,
    len: u64,
}

#[derive(Debug)]
enum Content {
    File(File),
    /// Bytes in memory.
    Held(Arc<[u8]>),
    /// A section of another file, which starts at this byte offset.
    Part(Arc<DataFile>, u64),
}

impl DataFile {
    pub(crate) fn open(path: &Path) -> Result<Arc<DataFile>> {
        let failed = |source: std::io::Error| match source.kind() {
            std::io::ErrorKind::NotFound => {
                StateDictError::new(ErrorKind::NoFile, "no such file").in_file(path)
            }
            _ => StateDictError::io("open the file", path, source),
        };
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(
                StateDictError::new(ErrorKind::NoFile, "the path is not a regular file").in_file(path)
            );
        }
        let content = Content::File(file);
        Ok(Arc::new(DataFile { path: path.to_owned(), content, len: metadata.len() }))
    }

    /// Wraps bytes in memory as a file without a name.
    pub(crate) fn held(bytes: Arc<[u8]>) -> Arc<DataFile> {
        let len = bytes.len() as u64;
        Arc::new(DataFile { path: PathBuf::new(), content: Content::Held(bytes), len })
    }

    /// Returns a section of the file as a separate file. The section must be within the file.
    pub(crate) fn part(self: &Arc<DataFile>, offset: u64, len: u64) -> Result<Arc<DataFile>> {
        if offset.checked_add(len).is_none_or(|end| end > self.len) {
            let text = format!(
                "the file is truncated: it has {} bytes, but {len} bytes at offset {offset} are needed",
                self.len
            );
            let error = StateDictError::new(ErrorKind::Tensor, text).in_file(&self.path);
            return Err(error.hint("copy or download the file again"));
        }
        let content = Content::Part(self.clone(), offset);
        Ok(Arc::new(DataFile { path: self.path.clone(), content, len }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the length of the file when it was opened.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Fills `out` with the bytes at `offset`.
    pub(crate) fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let read = match &self.content {
            Content::File(file) => read_exact_at(file, offset, out),
            Content::Part(file, start) => match offset.checked_add(out.len() as u64) {
                Some(end) if end <= self.len => return file.read_at(start + offset, out),
                _ => Err(io::ErrorKind::UnexpectedEof.into()),
            },
            Content::Held(bytes) => {
                let from = usize::try_from(offset).ok().and_then(|from| bytes.get(from..)?.get(..out.len()));
                from.map(|from| out.copy_from_slice(from)).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
            }
        };
        read.map_err(|source| {
            StateDictError::io(&format!("read {} bytes at offset {offset}", out.len()), &self.path, source)
        })
    }
}

/// A sequential, seekable reader of a file.
#[derive(Debug)]
pub(crate) struct Reader {
    file: Arc<DataFile>,
    at: u64,
}

impl Reader {
    pub(crate) fn new(file: Arc<DataFile>) -> Reader {
        Reader { file, at: 0 }
    }
}

impl Read for Reader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let len = (out.len() as u64).min(self.file.len.saturating_sub(self.at)) as usize;
        self.file.read_at(self.at, &mut out[..len]).map_err(io::Error::other)?;
        self.at += len as u64;
        Ok(len)
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.file.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
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
