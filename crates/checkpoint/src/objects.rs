//! Finds and opens the objects of a checkpoint: an object is a separate file, or a value of an OCDBT database.

use std::fs::File;

use bytes::Bytes;

use crate::error::{CheckpointError, Damage, Result};
use crate::ocdbt::{Value, Values};
use crate::store::{Store, join};

/// The storage of a checkpoint's objects.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    /// The values of the checkpoint's OCDBT database; `None` if each object is a file.
    values: Option<Values>,
    /// Whether blocks may be missing: blocks that contain only the fill value were not written. Otherwise a missing block is damage.
    absent_is_fill: bool,
}

/// An opened object.
pub(crate) struct Opened {
    pub(crate) object: Object,
    /// The path of the file that contains the object.
    pub(crate) path: String,
    /// The offset of the object in the file, in bytes.
    pub(crate) start: u64,
    pub(crate) size: u64,
}

/// The source from which the bytes of an object are read.
pub(crate) enum Object {
    File(File),
    Stored,
    Held(Bytes),
}

impl Objects {
    pub(crate) fn new(values: Option<Values>, absent_is_fill: bool) -> Objects {
        Objects { values, absent_is_fill }
    }

    pub(crate) fn absent_is_fill(&self) -> bool {
        self.absent_is_fill
    }

    /// Opens the object with the path `object` within the checkpoint in `folder`; `None` if it does not exist.
    pub(crate) fn open(&self, store: &Store, folder: &str, object: &str) -> Result<Option<Opened>> {
        let (path, range) = match self.values.as_ref().map(|values| values.get(object)) {
            Some(None) => return Ok(None),
            Some(Some(Value::Inline(bytes))) => {
                let (path, size) = (join(folder, object), bytes.len() as u64);
                return Ok(Some(Opened { object: Object::Held(bytes.clone()), path, start: 0, size }));
            }
            Some(Some(Value::Indirect { path, offset, length })) => (path.clone(), Some((*offset, *length))),
            None => (join(folder, object), None),
        };
        let found = match store.open_file(&path)? {
            Some(file) => file.map(|(file, size)| (Object::File(file), size)),
            None => store.size(&path)?.map(|size| (Object::Stored, size)),
        };
        let Some((opened, size)) = found else {
            return match range {
                None => Ok(None),
                Some(_) => Err(damaged(object, format!("is in {path}, which is missing"))),
            };
        };
        let Some((start, length)) = range else {
            return Ok(Some(Opened { object: opened, path, start: 0, size }));
        };
        if start.checked_add(length).is_none_or(|end| end > size) {
            let what = format!(
                "needs {length} bytes at offset {start} of {path}, which is truncated: it has {size} bytes"
            );
            return Err(damaged(object, what));
        }
        Ok(Some(Opened { object: opened, path, start, size: length }))
    }

    /// Reads a metadata object; `None` if it does not exist.
    pub(crate) fn get(&self, store: &Store, folder: &str, object: &str) -> Result<Option<Bytes>> {
        /// Maximum size of an array's metadata.
        const LARGEST: u64 = 16 << 20;
        match self.values.as_ref().map(|values| values.get(object)) {
            None => store.get(&join(folder, object)),
            Some(None) => Ok(None),
            Some(Some(Value::Inline(bytes))) => Ok(Some(bytes.clone())),
            Some(Some(Value::Indirect { path, offset, length })) => {
                let end = offset.checked_add(*length).filter(|_| *length <= LARGEST);
                let Some(end) = end else {
                    return Err(damaged(object, format!("has the invalid size of {length} bytes")));
                };
                let range = *offset..end;
                let read = store.get_ranges(path, std::slice::from_ref(&range))?;
                let bytes = read.and_then(|list| list.into_iter().next());
                let bytes = bytes.filter(|bytes| bytes.len() as u64 == *length);
                let missing = || damaged(object, format!("is in {path}, which is missing or truncated"));
                bytes.map(Some).ok_or_else(missing)
            }
        }
    }
}

fn damaged(object: &str, what: String) -> CheckpointError {
    CheckpointError::Damaged(vec![Damage { entry: String::new(), object: object.to_owned(), what }])
}
