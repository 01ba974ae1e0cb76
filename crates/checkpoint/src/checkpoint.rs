//! An existing checkpoint and its metadata.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::checksum::crc32c;
use crate::entry::Entry;
use crate::error::{CheckpointError, Damage, Result};
use crate::foreign::{self, Foreign};
use crate::index::{self, Index, Info};
use crate::items;
use crate::layout::array::StoredArray;
use crate::layout::orbax;
use crate::objects::Objects;
use crate::parallel;
use crate::place;
use crate::store::{Store, join};
use crate::tree::Tree;

/// The number of metadata files that are read concurrently.
const READERS: usize = 8;

/// A complete checkpoint of shardc or of Orbax, opened for reading.
#[derive(Debug)]
pub struct Checkpoint {
    pub(crate) store: Store,
    /// The path of the folder with the arrays, in the store: the checkpoint's folder or that of one of its items.
    pub(crate) path: String,
    pub(crate) arrays: Vec<Stored>,
    pub(crate) info: Info,
    pub(crate) tree: Option<Tree>,
    pub(crate) processes: Option<usize>,
    /// The checksum (CRC-32C) of each metadata file, by file name; empty for checkpoints of Orbax.
    pub(crate) checksums: BTreeMap<String, u32>,
    pub(crate) objects: Objects,
}

/// An array of the checkpoint, and the information needed to read it.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) entry: Entry,
    pub(crate) array: StoredArray,
    /// The size in bytes of each block's file, if known.
    pub(crate) block_bytes: Option<u64>,
}

impl Checkpoint {
    /// Opens the checkpoint at a path of a store: one written by [`save`](crate::save), a step of a
    /// [`CheckpointManager`](crate::CheckpointManager), or any checkpoint of Orbax. If the checkpoint consists of items (states saved
    /// together, each in its own folder), opens the item `default`, or the only item.
    ///
    /// # Errors
    /// The checkpoint does not exist or is incomplete (SH1305); it has several items (SH1314); its metadata is damaged (SH1307, SH1308) or
    /// has an unsupported format (SH1311); the store fails (SH1301).
    pub fn open(store: &Store, path: &str) -> Result<Checkpoint> {
        Checkpoint::open_item(store, path, None)
    }

    /// Opens an item of the checkpoint at a path of a store.
    ///
    /// # Errors
    /// The errors of [`Checkpoint::open`]; there is no item of this name (SH1314).
    pub fn open_item(store: &Store, path: &str, item: Option<&str>) -> Result<Checkpoint> {
        let path = path.trim_matches('/');
        if !place::is_whole(store, path)? {
            let there = place::steps(store, path)?;
            return Err(CheckpointError::NotFound { path: store.shown(path), there });
        }
        let Some(folder) = items::folder(store, path, item)? else {
            return Err(match store.size(&join(path, orbax::MSGPACK))?.is_some() {
                true => CheckpointError::Unsupported {
                    path: store.shown(path),
                    what: "its arrays are in one msgpack file, as written by Flax, which is not supported"
                        .to_owned(),
                },
                false => CheckpointError::NotFound { path: store.shown(path), there: Vec::new() },
            });
        };
        match store.get(&join(&folder, index::FILE))? {
            Some(bytes) => own(store, &folder, &bytes),
            None => Ok(of_orbax(store, &folder, foreign::open(store, &folder)?)),
        }
    }

    /// Returns the arrays, in the order in which they were saved.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.arrays.iter().map(|stored| &stored.entry)
    }

    /// Returns the metadata that the caller of [`save`](crate::save) passed; empty for checkpoints of Orbax.
    #[must_use]
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Returns the Python pytree whose leaves are the arrays, if its metadata can be read.
    #[must_use]
    pub fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    /// Returns the number of processes that saved the checkpoint; `None` for checkpoints of Orbax.
    #[must_use]
    pub fn processes(&self) -> Option<usize> {
        self.processes
    }

    /// Returns the full path of the checkpoint in its file system or object store, for messages.
    #[must_use]
    pub fn place(&self) -> String {
        self.store.shown(&self.path)
    }

    /// Returns the total size of the elements of all arrays, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.entries().map(|e| e.shape.iter().fold(e.dtype.bytes() as u64, |n, &d| n * d as u64)).sum()
    }
}

/// Opens a checkpoint written by shardc; `bytes` is the content of its index `shardc.json`.
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
        tree: own_tree(store, path)?,
        processes: Some(index.processes()),
        checksums: index.checksums().clone(),
        objects: Objects::default(),
    })
}

/// Creates a [`Checkpoint`] from metadata of Orbax, which has no checksums and no file sizes.
fn of_orbax(store: &Store, path: &str, foreign: Foreign) -> Checkpoint {
    let stored = |(entry, array)| Stored { entry, array, block_bytes: None };
    Checkpoint {
        store: store.clone(),
        path: path.to_owned(),
        arrays: foreign.arrays.into_iter().map(stored).collect(),
        info: Info::default(),
        tree: Some(foreign.tree),
        processes: None,
        checksums: BTreeMap::new(),
        objects: foreign.objects,
    }
}

/// Reads the pytree of a checkpoint written by shardc. Returns `None` if Orbax's metadata cannot be read, because the arrays can be
/// restored without it.
fn own_tree(store: &Store, path: &str) -> Result<Option<Tree>> {
    let json = |file: &str| -> Result<Value> {
        let text = store.get(&join(path, file))?;
        Ok(text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or(Value::Null))
    };
    Ok(orbax::read_tree(&json(orbax::TREE)?, &json(orbax::STRINGS)?))
}

fn array(text: &[u8]) -> Result<StoredArray, String> {
    StoredArray::read(serde_json::from_slice(text).map_err(|error| error.to_string())?)
}
