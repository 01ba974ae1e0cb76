//! Reader of OCDBT, the key-value store in which Orbax stores array files by default.
//!
//! A database is a folder with `manifest.ocdbt` and data files. The manifest names the root of a B+tree. The leaves contain small values,
//! and refer to ranges of data files for larger values. TensorStore documents the format
//! (<https://google.github.io/tensorstore/kvstore/ocdbt/index.html>, "Storage format").
//!
//! Each process of a job writes its own database (`ocdbt.process_N`). Orbax then merges these databases: the database in the folder of
//! the checkpoint refers to the data files of the per-process databases. If Orbax did not merge them, this reader combines the keys of
//! all per-process databases.

mod cursor;
mod envelope;
mod manifest;
mod node;
mod table;

use std::collections::BTreeMap;

pub(crate) use self::node::Value;

use self::envelope::Kind;
use self::manifest::{Link, Manifest};
use self::node::Node;
use crate::error::{CheckpointError, Damage, Result};
use crate::store::{Store, join};

/// The file that marks a folder as a database.
pub(crate) const MANIFEST: &str = "manifest.ocdbt";
/// The prefix of the name of a folder with the database of one process.
const PROCESS: &str = "ocdbt.process_";

/// Maximum number of nodes read per tree. A tree may refer to a node several times, so a small file could otherwise cause any number of
/// reads.
const MOST_NODES: usize = 1 << 20;
/// Maximum number of keys of a database.
const MOST_KEYS: usize = 16 << 20;
/// Maximum number of decompressed bytes of all nodes of a tree.
const MOST_BYTES: u64 = 1 << 30;

/// The values of a database by key. Paths of data files are relative to the root of the store.
pub(crate) type Values = BTreeMap<String, Value>;

/// Returns whether a folder contains a database, or per-process databases (`ocdbt.process_N`).
pub(crate) fn is_in(store: &Store, folder: &str) -> Result<bool> {
    Ok(store.size(&join(folder, MANIFEST))?.is_some() || !processes(store, folder)?.is_empty())
}

/// Returns the values of the database in a folder, or if the folder has none, the values of all per-process databases in it.
///
/// # Errors
/// A file is missing or damaged (SH1308), or the store fails (SH1301).
pub(crate) fn read(store: &Store, folder: &str) -> Result<Values> {
    if store.size(&join(folder, MANIFEST))?.is_some() {
        return Reader::new(store, folder, folder).database();
    }
    let mut values = Values::new();
    for process in processes(store, folder)? {
        let of_process = Reader::new(store, folder, &join(folder, &process)).database()?;
        for (key, value) in of_process {
            values.entry(key).or_insert(value);
        }
    }
    Ok(values)
}

/// Returns the names of the folders of per-process databases.
fn processes(store: &Store, folder: &str) -> Result<Vec<String>> {
    let is_process = |name: &String| {
        name.strip_prefix(PROCESS).is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
    };
    Ok(store.folders(folder)?.into_iter().filter(is_process).collect())
}

struct Reader<'a> {
    store: &'a Store,
    /// The folder of the checkpoint.
    checkpoint: &'a str,
    /// The folder of the database.
    folder: &'a str,
    values: Values,
    nodes: usize,
    bytes: u64,
}

impl<'a> Reader<'a> {
    fn new(store: &'a Store, checkpoint: &'a str, folder: &'a str) -> Reader<'a> {
        Reader { store, checkpoint, folder, values: Values::new(), nodes: 0, bytes: 0 }
    }

    /// Creates the error for a damaged object of the database.
    fn damaged(&self, path: &str, what: impl Into<String>) -> CheckpointError {
        let object = path.strip_prefix(self.checkpoint).unwrap_or(path).trim_start_matches('/').to_owned();
        CheckpointError::Damaged(vec![Damage { entry: String::new(), object, what: what.into() }])
    }

    fn database(mut self) -> Result<Values> {
        let root = match self.manifest(MANIFEST)? {
            Manifest::Root(root) => root,
            Manifest::Numbered => match self.manifest(&self.newest()?)? {
                Manifest::Root(root) => root,
                Manifest::Numbered => {
                    return Err(self.damaged(
                        self.folder,
                        "has a numbered manifest that refers to other numbered manifests",
                    ));
                }
            },
        };
        let mut open: Vec<(Vec<u8>, Link)> = root.map(|root| (Vec::new(), root)).into_iter().collect();
        while let Some((prefix, link)) = open.pop() {
            let path = join(self.folder, &link.file.path);
            match self.node(&path, &link)? {
                Node::Leaf(entries) => {
                    for (key, value) in entries {
                        self.add(&path, [prefix.as_slice(), &key].concat(), value)?;
                    }
                }
                Node::Interior(children) => {
                    if open.len() + children.len() > MOST_NODES {
                        return Err(self.damaged(&path, "has too many children"));
                    }
                    let child = |(key, link): (Vec<u8>, Link)| ([prefix.as_slice(), &key].concat(), link);
                    open.extend(children.into_iter().map(child));
                }
            }
        }
        Ok(self.values)
    }

    fn manifest(&self, name: &str) -> Result<Manifest> {
        let path = join(self.folder, name);
        let encoded = self.store.get(&path)?.ok_or_else(|| self.damaged(&path, "is missing"))?;
        Manifest::read(&encoded).map_err(|what| self.damaged(&path, format!("cannot be read: {what}")))
    }

    /// Returns the name of the newest numbered manifest: `manifest.` and 16 hexadecimal digits.
    fn newest(&self) -> Result<String> {
        let is_number = |name: &str| {
            let digits = name.strip_prefix("manifest.").filter(|digits| digits.len() == 16);
            digits.is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
        };
        let files = self.store.list(self.folder)?;
        let newest = files.into_iter().map(|(name, _)| name).filter(|name| is_number(name)).max();
        newest.ok_or_else(|| {
            self.damaged(&join(self.folder, MANIFEST), "refers to numbered manifests, but there is none")
        })
    }

    fn node(&mut self, path: &str, link: &Link) -> Result<Node> {
        let at = format!("at {}+{}", link.offset, link.length);
        let bad = |reader: &Self, what: String| reader.damaged(path, format!("cannot be read {at}: {what}"));
        self.nodes += 1;
        if self.nodes > MOST_NODES {
            return Err(bad(self, format!("the tree has more than {MOST_NODES} nodes")));
        }
        let room = MOST_BYTES - self.bytes;
        let end = link.offset.checked_add(link.length).filter(|_| link.length <= room);
        let size = self.store.size(path)?.ok_or_else(|| self.damaged(path, "is missing"))?;
        let Some(end) = end.filter(|&end| end <= size) else {
            return Err(bad(self, format!("the file has {size} bytes: it is truncated")));
        };
        let range = link.offset..end;
        let encoded = self
            .store
            .get_ranges(path, std::slice::from_ref(&range))?
            .and_then(|list| list.into_iter().next());
        let encoded = encoded.ok_or_else(|| self.damaged(path, "is missing"))?;
        let body = envelope::open(&encoded, Kind::BtreeNode, room).map_err(|what| bad(self, what))?;
        self.bytes += body.len() as u64;
        Node::read(&body, link).map_err(|what| bad(self, what))
    }

    fn add(&mut self, path: &str, key: Vec<u8>, value: Value) -> Result<()> {
        let Ok(key) = String::from_utf8(key) else {
            return Err(self.damaged(path, "has a key that is not UTF-8"));
        };
        let value = match value {
            Value::Indirect { path, offset, length } => {
                Value::Indirect { path: join(self.folder, &path), offset, length }
            }
            inline @ Value::Inline(_) => inline,
        };
        if self.values.len() >= MOST_KEYS {
            return Err(self.damaged(path, format!("has more than {MOST_KEYS} keys")));
        }
        match self.values.insert(key.clone(), value) {
            None => Ok(()),
            Some(_) => Err(self.damaged(path, format!("has the key {key:?} twice"))),
        }
    }
}
