//! The file `shardc.json` of a checkpoint: the entries and metadata of the checkpoint, and the checksums of its files.
//!
//! Orbax ignores this file. Checkpoints written by Orbax do not have it: their metadata is read from Orbax's own files, which have no
//! block sizes and no checksums of metadata.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shardc_ir::DType;

use crate::checksum::{self, crc32c};
use crate::entry::{Entry, INDEX, Sharding};
use crate::layout::{array, encode};
use crate::tree::Tree;

/// The name of the index file in the folder of a checkpoint.
pub(crate) const FILE: &str = INDEX;

/// The version of the format that this crate writes; newer versions are rejected.
const VERSION: u32 = 1;

/// The caller's metadata of a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// The training step of the state, if known.
    pub step: Option<u64>,
    /// An identifier of the program that the state belongs to.
    pub program: Option<String>,
    /// Other metadata of the caller: strings by key.
    pub notes: BTreeMap<String, String>,
    /// The Python pytree whose leaves are the arrays, if the caller knows the pytree when saving. In the metadata of a checkpoint that
    /// was read, the field is `None`: use [`Checkpoint::tree`](crate::Checkpoint::tree).
    pub tree: Option<Tree>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Index {
    version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    notes: BTreeMap<String, String>,
    /// The number of processes that saved the checkpoint.
    processes: usize,
    entries: Vec<IndexEntry>,
    /// The checksum (CRC-32C) of each metadata file, by file name.
    crc32c: BTreeMap<String, u32>,
}

#[derive(Debug, Serialize, Deserialize)]
struct IndexEntry {
    name: String,
    dtype: String,
    shape: Vec<usize>,
    block: Vec<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    mesh: Vec<(String, usize)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    spec: Vec<Vec<String>>,
    /// The size in bytes of each block's file.
    block_bytes: u64,
    /// The checksum (CRC-32C) of the entry's `zarr.json`.
    crc32c: u32,
}

impl Index {
    /// Creates the index of a checkpoint; `crc32c` has the checksums of metadata files.
    pub(crate) fn new(
        info: &Info,
        entries: &[Entry],
        processes: usize,
        crc32c: BTreeMap<String, u32>,
    ) -> Index {
        let entry = |entry: &Entry| {
            let Sharding { mesh, spec } = entry.sharding.clone().unwrap_or_default();
            IndexEntry {
                name: entry.name.clone(),
                dtype: entry.dtype.as_str().to_owned(),
                shape: entry.shape.clone(),
                block: entry.block.clone(),
                mesh,
                spec,
                block_bytes: encode::file_size(entry),
                crc32c: checksum::crc32c(array::metadata(entry).to_string().as_bytes()),
            }
        };
        Index {
            version: VERSION,
            step: info.step,
            program: info.program.clone(),
            notes: info.notes.clone(),
            processes,
            entries: entries.iter().map(entry).collect(),
            crc32c,
        }
    }

    /// Returns the text of `shardc.json`: JSON that contains the index, and on its first line the checksum of the index.
    pub(crate) fn text(&self) -> Result<String, String> {
        let json = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        Ok(format!("{{\"file_crc32c\": {},\n\"index\": {json}}}\n", crc32c(json.as_bytes())))
    }

    /// Parses the text of `shardc.json`. An error is returned as its message.
    pub(crate) fn read(bytes: &[u8]) -> Result<Index, String> {
        let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
        let parts = text
            .strip_prefix("{\"file_crc32c\": ")
            .and_then(|rest| rest.split_once(",\n\"index\": "))
            .and_then(|(sum, rest)| Some((sum.parse::<u32>().ok()?, rest.strip_suffix("}\n")?)));
        let (sum, json) = parts.ok_or("it is not an index of a checkpoint, or it is truncated")?;
        if crc32c(json.as_bytes()) != sum {
            return Err("its checksum does not match".to_owned());
        }
        let index: Index = serde_json::from_str(json).map_err(|error| error.to_string())?;
        if index.version > VERSION {
            return Err(format!(
                "it has version {}, but {VERSION} is the newest supported version",
                index.version
            ));
        }
        Ok(index)
    }

    pub(crate) fn info(&self) -> Info {
        Info { step: self.step, program: self.program.clone(), notes: self.notes.clone(), tree: None }
    }

    pub(crate) fn processes(&self) -> usize {
        self.processes
    }

    /// Returns the checksums of metadata files other than `zarr.json`, by file name.
    pub(crate) fn checksums(&self) -> &BTreeMap<String, u32> {
        &self.crc32c
    }

    /// Returns each entry, with the size in bytes of the file of one of its blocks, and the checksum of its `zarr.json`.
    pub(crate) fn entries(&self) -> Result<Vec<(Entry, u64, u32)>, String> {
        self.entries
            .iter()
            .map(|of| {
                let dtype =
                    DType::parse(&of.dtype).ok_or_else(|| format!("{} has type {}", of.name, of.dtype))?;
                let sharding = Sharding { mesh: of.mesh.clone(), spec: of.spec.clone() };
                let entry = Entry {
                    name: of.name.clone(),
                    dtype,
                    shape: of.shape.clone(),
                    block: of.block.clone(),
                    sharding: (!of.mesh.is_empty()).then_some(sharding),
                };
                Ok((entry, of.block_bytes, of.crc32c))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_round_trips_and_changes_are_detected() {
        let sharding = Sharding { mesh: vec![("x".into(), 2)], spec: vec![vec!["x".into()], vec![]] };
        let entry = Entry { sharding: Some(sharding), ..Entry::split("w", DType::BF16, &[4, 2], &[2, 1]) };
        let info = Info {
            step: Some(7),
            program: Some("abc".into()),
            notes: BTreeMap::from([("k".into(), "v".into())]),
            tree: None,
        };
        let index =
            Index::new(&info, std::slice::from_ref(&entry), 2, BTreeMap::from([("_METADATA".into(), 3)]));
        let text = index.text().unwrap();
        let read = Index::read(text.as_bytes()).unwrap();
        assert_eq!((read.info(), read.processes()), (info, 2));
        assert_eq!(read.entries().unwrap()[0].0, entry);
        assert_eq!(read.entries().unwrap()[0].1, 2 * 2 * 2 + 4);
        // The index is also valid JSON.
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["index"]["entries"][0]["dtype"], "bf16");
        for (from, to) in [("\"w\"", "\"v\""), ("file_crc32c\": ", "file_crc32c\": 1"), ("}\n", "}")] {
            assert!(Index::read(text.replacen(from, to, 1).as_bytes()).is_err(), "{from}");
        }
        assert!(Index::read(&text.as_bytes()[..text.len() / 2]).is_err());
    }
}
