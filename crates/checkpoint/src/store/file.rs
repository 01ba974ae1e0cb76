//! Direct reads and writes of files in a folder, without additional buffers or threads.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

use super::Store;
use crate::error::{CheckpointError, Result};

impl Store {
    /// Opens a file for reading, and returns its size in bytes. The outer `None` means that the store is not a folder, the inner `None`
    /// that the file does not exist.
    pub(crate) fn open_file(&self, path: &str) -> Result<Option<Option<(File, u64)>>> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let opened = File::open(folder.join(path)).and_then(|file| {
            let size = file.metadata()?.len();
            Ok((file, size))
        });
        match opened {
            Ok(file) => Ok(Some(Some(file))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Some(None)),
            Err(error) => Err(self.failed("reading", path, &error)),
        }
    }

    /// Creates or replaces a file in the store's folder, and calls `fill` to write its content. [`Store::sync_file`] makes the content
    /// durable. On failure, a part of the file may remain.
    pub(crate) fn write_file(
        &self,
        path: &str,
        fill: &mut dyn FnMut(&mut File) -> io::Result<()>,
    ) -> Result<File> {
        let Some(folder) = &self.folder else {
            return Err(CheckpointError::Settings(
                "the store is not a local folder: object stores have no files to write to".to_owned(),
            ));
        };
        let whole = folder.join(path);
        let mut write = || {
            if let Some(parent) = whole.parent() {
                fs::create_dir_all(parent)?;
            }
            let mut file = File::create(&whole)?;
            fill(&mut file)?;
            Ok(file)
        };
        write().map_err(|error| self.failed("writing", path, &error))
    }

    /// Waits until the content of a file is durable. Its name is durable after [`Store::sync_folders`].
    pub(crate) fn sync_file(&self, path: &str, file: &File) -> Result<()> {
        file.sync_all().map_err(|error| self.failed("writing", path, &error))
    }

    /// Makes the names of all files below a folder durable. Does nothing if the store is not a folder.
    pub(crate) fn sync_folders(&self, path: &str) -> Result<()> {
        match &self.folder {
            // Systems other than Unix cannot open folders, so they cannot sync them.
            Some(folder) if cfg!(unix) => {
                sync(&folder.join(path)).map_err(|error| self.failed("writing", path, &error))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn failed(&self, action: &'static str, path: &str, error: &io::Error) -> CheckpointError {
        CheckpointError::Store { action, path: self.shown(path), reason: error.to_string() }
    }
}

fn sync(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync(&entry.path())?;
        }
    }
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    #[test]
    fn files_are_written_and_read_where_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::folder(folder.path()).unwrap();
        for text in ["a longer text", "short"] {
            let path = "new/params['ä b'] %20/c";
            let mut fill = |file: &mut File| text.bytes().try_for_each(|byte| file.write_all(&[byte]));
            let file = store.write_file(path, &mut fill).unwrap();
            store.sync_file(path, &file).unwrap();
            store.sync_folders("new").unwrap();
            let (mut file, size) = store.open_file(path).unwrap().unwrap().unwrap();
            let mut read = String::new();
            file.read_to_string(&mut read).unwrap();
            assert_eq!((read.as_str(), size), (text, text.len() as u64));
            // The methods for objects, such as `get`, find the same file.
            assert_eq!(store.get(path).unwrap().unwrap(), text);
        }
        assert!(store.open_file("none").unwrap().unwrap().is_none());
        let error = store.write_file("new/x", &mut |_| Err(ErrorKind::StorageFull.into())).unwrap_err();
        assert!(error.code() == "SH1301" && error.to_string().contains("new/x: no storage space"), "{error}");
        let memory = Store::memory().unwrap();
        assert!(memory.open_file("x").unwrap().is_none());
        assert!(memory.write_file("x", &mut |_| Ok(())).is_err());
        memory.sync_folders("x").unwrap();
    }
}
