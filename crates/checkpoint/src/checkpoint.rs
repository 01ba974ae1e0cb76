//! A checkpoint that is there, and what it says of itself.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::checksum::crc32c;
use crate::entry::{Entry, Sharding};
use crate::error::{CheckpointError, Damage, Result};
use crate::index::{self, Index, Info};
use crate::layout::array::StoredArray;
use crate::layout::orbax;
use crate::parallel;
use crate::place;
use crate::store::{Store, join};

/// Files of metadata that are read side by side.
const READERS: usize = 8;

/// A whole checkpoint of shardc or of Orbax, opened for reading.
#[derive(Debug)]
pub struct Checkpoint {
    pub(crate) store: Store,
    /// The folder of the state.
    pub(crate) path: String,
    pub(crate) arrays: Vec<Stored>,
    info: Info,
    processes: Option<usize>,
    /// The checksums of files of metadata; none for Orbax's.
    pub(crate) checksums: BTreeMap<String, u32>,
}

/// An entry with how it is read.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) entry: Entry,
    pub(crate) array: StoredArray,
    /// The bytes of each block's file, where that is known.
    pub(crate) block_bytes: Option<u64>,
}

impl Checkpoint {
    /// Opens the checkpoint at a path of a store: one that [`save`](crate::save) wrote, a step of a
    /// [`CheckpointManager`](crate::CheckpointManager), or Orbax's of either kind.
    ///
    /// # Errors
    /// There is none, or it was never finished (SH1305); its metadata is damaged (SH1307, SH1308) or of another format
    /// (SH1311); the store refuses (SH1301).
    pub fn open(store: &Store, path: &str) -> Result<Checkpoint> {
        let path = path.trim_matches('/');
        if !place::is_whole(store, path)? {
            let there = place::steps(store, path)?;
            return Err(CheckpointError::NotFound { path: store.shown(path), there });
        }
        let folders = [path.to_owned(), join(path, orbax::ITEM)];
        for path in &folders {
            if let Some(bytes) = store.get(&join(path, index::FILE))? {
                return own(store, path, &bytes);
            }
        }
        for path in &folders {
            if let Some(bytes) = store.get(&join(path, orbax::TREE))? {
                return foreign(store, path, &bytes);
            }
        }
        Err(CheckpointError::NotFound { path: store.shown(path), there: Vec::new() })
    }

    /// The arrays, in the order in which they were saved.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.arrays.iter().map(|stored| &stored.entry)
    }

    /// What the checkpoint says of itself; nothing for Orbax's.
    #[must_use]
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// How many processes saved it together; `None` for Orbax's.
    #[must_use]
    pub fn processes(&self) -> Option<usize> {
        self.processes
    }

    /// Where it is, for people.
    #[must_use]
    pub fn place(&self) -> String {
        self.store.shown(&self.path)
    }

    /// The bytes of the elements of all arrays.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.entries().map(|e| e.shape.iter().fold(e.dtype.bytes() as u64, |n, &d| n * d as u64)).sum()
    }
}

/// Opens a checkpoint with an index.
fn own(store: &Store, path: &str, bytes: &[u8]) -> Result<Checkpoint> {
    let bad =
        |reason: String| CheckpointError::Metadata { path: store.shown(&join(path, index::FILE)), reason };
    let index = Index::read(bytes).map_err(bad)?;
    let mut arrays = Vec::new();
    let mut damages = Vec::new();
    let entries = index.entries().map_err(bad)?;
    let texts = parallel::each(READERS, entries.len(), &|number| {
        store.get(&join(path, &format!("{}/zarr.json", entries[number].0.name)))
    })?;
    for ((entry, block_bytes, checksum), text) in entries.into_iter().zip(texts) {
        let object = format!("{}/zarr.json", entry.name);
        let outcome = match text {
            None => Err("is missing".to_owned()),
            Some(text) if crc32c(&text) != checksum => Err("has a wrong checksum".to_owned()),
            Some(text) => array(&text),
        };
        match outcome {
            Ok(array)
                if (&array.shape, &array.block, array.dtype) == (&entry.shape, &entry.block, entry.dtype) =>
            {
                arrays.push(Stored { entry, array, block_bytes: Some(block_bytes) });
            }
            Ok(_) => {
                let what = "does not agree with the index".to_owned();
                damages.push(Damage { entry: entry.name, object, what });
            }
            Err(what) => damages.push(Damage { entry: entry.name, object, what }),
        }
    }
    if !damages.is_empty() {
        return Err(CheckpointError::Damaged(damages));
    }
    Ok(Checkpoint {
        store: store.clone(),
        path: path.to_owned(),
        arrays,
        info: index.info(),
        processes: Some(index.processes()),
        checksums: index.checksums().clone(),
    })
}

/// Opens a checkpoint of Orbax's.
fn foreign(store: &Store, path: &str, bytes: &[u8]) -> Result<Checkpoint> {
    let shown = store.shown(path);
    let bad = |reason: String| CheckpointError::Metadata { path: format!("{shown}/{}", orbax::TREE), reason };
    let unsupported = |what: String| CheckpointError::Unsupported { path: shown.clone(), what };
    let tree: Value = serde_json::from_slice(bytes).map_err(|error| bad(error.to_string()))?;
    let names = orbax::names(&tree).ok_or_else(|| bad("it lists no tree of arrays".to_owned()))?;
    let is_ocdbt = tree["use_ocdbt"] == true || store.size(&join(path, orbax::OCDBT))?.is_some();
    if is_ocdbt {
        return Err(unsupported("arrays are in OCDBT, which is not read".to_owned()));
    }
    let shardings: Value = match store.get(&join(path, orbax::SHARDING))? {
        None => Value::Null,
        Some(text) => serde_json::from_slice(&text).unwrap_or(Value::Null),
    };
    let mut arrays = Vec::new();
    for name in names {
        let Some(text) = store.get(&join(path, &format!("{name}/zarr.json")))? else {
            if store.size(&join(path, &format!("{name}/.zarray")))?.is_some() {
                return Err(unsupported("arrays are in Zarr v2, which is not read".to_owned()));
            }
            let object = format!("{name}/zarr.json");
            return Err(CheckpointError::Damaged(vec![Damage {
                entry: name,
                object,
                what: "is missing".to_owned(),
            }]));
        };
        let array = array(&text).map_err(|what| unsupported(format!("{name}: {what}")))?;
        let sharding: Option<Sharding> = orbax::sharding_of(&shardings, &name);
        let entry = Entry {
            name,
            dtype: array.dtype,
            shape: array.shape.clone(),
            block: array.block.clone(),
            sharding,
        };
        arrays.push(Stored { entry, array, block_bytes: None });
    }
    Ok(Checkpoint {
        store: store.clone(),
        path: path.to_owned(),
        arrays,
        info: Info::default(),
        processes: None,
        checksums: BTreeMap::new(),
    })
}

fn array(text: &[u8]) -> Result<StoredArray, String> {
    StoredArray::read(serde_json::from_slice(text).map_err(|error| error.to_string())?)
}
