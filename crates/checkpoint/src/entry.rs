//! The arrays and blocks of a checkpoint.

use std::collections::{BTreeMap, BTreeSet};

use shardc_ir::DType;

use crate::error::{CheckpointError, Result};
use crate::region::{Grid, Region};

/// An array of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name of the array, which is unique in the checkpoint; also the path of the folder with its files.
    pub name: String,
    /// The element type.
    pub dtype: DType,
    /// The global shape.
    pub shape: Vec<usize>,
    /// The shape of the separately written blocks, including padding: the local shape of the sharding with which the array is saved. If a
    /// size of `shape` is not a multiple of the size in `block`, the last block of that dimension holds fewer elements.
    pub block: Vec<usize>,
    /// The sharding with which the array was saved; a restore does not depend on this sharding.
    pub sharding: Option<Sharding>,
}

/// The sharding of an array over a mesh.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharding {
    /// The axes of the mesh with their sizes, major first.
    pub mesh: Vec<(String, usize)>,
    /// For each dimension of the array, the names of the axes that shard it, major first.
    pub spec: Vec<Vec<String>>,
}

/// A block of an entry that this process saves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The index of the entry in [`State::entries`](crate::State::entries).
    pub entry: usize,
    /// The elements: one block of the grid that divides the array into blocks, clipped to the array's shape.
    pub region: Region,
}

impl Entry {
    /// Creates an entry that is stored as one block.
    #[must_use]
    pub fn whole(name: &str, dtype: DType, shape: &[usize]) -> Entry {
        Entry { name: name.to_owned(), dtype, shape: shape.to_vec(), block: block_of(shape), sharding: None }
    }

    /// Creates an entry whose dimension `i` is divided into `shards[i]` blocks, as by a sharding.
    #[must_use]
    pub fn split(name: &str, dtype: DType, shape: &[usize], shards: &[usize]) -> Entry {
        let block = shape.iter().zip(shards).map(|(&n, &k)| n.div_ceil(k.max(1)).max(1)).collect();
        Entry { block, ..Entry::whole(name, dtype, shape) }
    }

    /// Returns the regions of all blocks that have elements, in row-major order of the grid.
    #[must_use]
    pub fn blocks(&self) -> Vec<Region> {
        let grid = self.grid();
        grid.touched(&Region::whole(&self.shape)).map(|index| grid.region(&index)).collect()
    }

    pub(crate) fn grid(&self) -> Grid {
        Grid::new(&self.shape, &self.block)
    }

    /// Returns the type and shape as text: `bf16[4, 8]`.
    pub(crate) fn ty(&self) -> String {
        format!("{}{:?}", self.dtype, self.shape)
    }
}

/// Returns the block shape of an array that is stored as one block: its shape, with 1 instead of 0 for empty dimensions.
fn block_of(shape: &[usize]) -> Vec<usize> {
    shape.iter().map(|&n| n.max(1)).collect()
}

/// Checks that entries can be saved in one checkpoint: valid and distinct names, valid shapes and blocks.
pub(crate) fn check_entries(entries: &[Entry]) -> Result<()> {
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for entry in entries {
        let name = &entry.name;
        if let Some(fault) = name_fault(name) {
            faults.push(format!("the name {name:?} {fault}"));
        }
        if !seen.insert(name.as_str()) {
            faults.push(format!("the name {name:?} is not unique"));
        }
        if entry.block.len() != entry.shape.len() || entry.block.contains(&0) {
            faults.push(format!(
                "{name} has the block shape {:?}, which is invalid for its shape {:?}",
                entry.block, entry.shape
            ));
        }
        let bytes = |shape: &[usize]| {
            shape.iter().try_fold(entry.dtype.bytes(), |size, &n| size.checked_mul(n.max(1)))
        };
        if [&entry.shape, &entry.block]
            .into_iter()
            .any(|s| bytes(s).is_none_or(|n| isize::try_from(n).is_err()))
        {
            faults.push(format!("{name} is too large for the address space"));
        }
    }
    // An entry is stored in the folder with its name. That folder must not be inside the folder of another entry.
    for name in &seen {
        let mut parents = name.match_indices('/').map(|(at, _)| &name[..at]);
        if let Some(parent) = parents.find(|parent| !parent.is_empty() && seen.contains(parent)) {
            faults.push(format!("the entry {name} must not be nested in the entry {parent}"));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(CheckpointError::Entries(faults)) }
}

/// The file with the index of a checkpoint.
pub(crate) const INDEX: &str = "shardc.json";

/// Names that entries must not have: files of the checkpoint itself, and files that Orbax writes in the same folder.
const RESERVED: [&str; 8] = [
    "_METADATA",
    "_sharding",
    "_CHECKPOINT_METADATA",
    "_strings.json",
    "array_metadatas",
    "commit_success.txt",
    "manifest.ocdbt",
    INDEX,
];

/// Returns the reason why a name is invalid; `None` if it is valid.
fn name_fault(name: &str) -> Option<&'static str> {
    let first = name.split('/').next().unwrap_or_default();
    if name.is_empty() {
        return Some("is empty");
    }
    if RESERVED.contains(&first) {
        return Some("is reserved for a file of checkpoints");
    }
    if name.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Some("has a part that is empty, `.` or `..`");
    }
    // `object_store` uses names with `#` and digits for files that it is still writing in a folder.
    if name.chars().any(|c| c.is_control() || c == '\\' || c == '#') {
        return Some("has a control character, `\\` or `#`");
    }
    None
}

/// Checks that each slice of each process is a block of an entry, and that each block is in exactly one slice.
pub(crate) fn check_slices(entries: &[Entry], slices: &[Vec<Slice>]) -> Result<()> {
    let mut faults: BTreeMap<usize, String> = BTreeMap::new();
    let mut held: BTreeMap<(usize, Vec<usize>), usize> = BTreeMap::new();
    let mut unknown = Vec::new();
    for (process, slice) in slices.iter().enumerate().flat_map(|(p, list)| list.iter().map(move |s| (p, s))) {
        let Some(entry) = entries.get(slice.entry) else {
            unknown.push(format!("process {process} saves entry {}, which does not exist", slice.entry));
            continue;
        };
        let (name, region) = (&entry.name, &slice.region);
        match entry.grid().index_of(region) {
            None => {
                let text = format!(
                    "{name}{region} is not a block: blocks have shape {:?} in shape {:?}",
                    entry.block, entry.shape
                );
                faults.entry(slice.entry).or_insert(text);
            }
            Some(index) => {
                if let Some(other) = held.insert((slice.entry, index), process) {
                    let text = format!("{name}{region} is saved by process {other} and by process {process}");
                    faults.entry(slice.entry).or_insert(text);
                }
            }
        }
    }
    for (number, entry) in entries.iter().enumerate() {
        let grid = entry.grid();
        let all = Region::whole(&entry.shape);
        if let Some(index) = grid.touched(&all).find(|index| !held.contains_key(&(number, index.clone()))) {
            let text = format!("no process saves {}{}", entry.name, grid.region(&index));
            faults.entry(number).or_insert(text);
        }
    }
    unknown.extend(faults.into_values());
    if unknown.is_empty() { Ok(()) } else { Err(CheckpointError::Slices(unknown)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_valid_paths() {
        let entry = |name: &str| Entry::whole(name, DType::F32, &[2]);
        check_entries(&[entry("a.b"), entry("params['w']"), entry("h/x"), entry("h.0/y"), entry("ä b")])
            .unwrap();
        let names = ["", "a", "a", "a/b", "/x", "x/../y", "_METADATA/x", "c#1"];
        let faults = check_entries(&names.map(entry)).unwrap_err();
        let CheckpointError::Entries(faults) = faults else { panic!("{faults}") };
        assert_eq!(faults.len(), 7, "{faults:?}");
        let mut bad = entry("x");
        bad.block = vec![0];
        assert!(check_entries(&[bad]).is_err());
        assert!(check_entries(&[Entry::whole("x", DType::F32, &[usize::MAX, 2])]).is_err());
    }

    #[test]
    fn every_block_is_saved_once() {
        let entries = [Entry::split("w", DType::F32, &[5, 4], &[2, 2]), Entry::whole("e", DType::F32, &[0])];
        let blocks: Vec<Slice> =
            entries[0].blocks().into_iter().map(|region| Slice { entry: 0, region }).collect();
        assert_eq!(blocks.len(), 4);
        assert_eq!(blocks[3].region, Region { offset: vec![3, 2], shape: vec![2, 2] });
        check_slices(&entries, &[blocks[..1].to_vec(), blocks[1..].to_vec()]).unwrap();
        let text = |lists: &[Vec<Slice>]| check_slices(&entries, lists).unwrap_err().to_string();
        assert!(text(&[blocks[1..].to_vec()]).contains("no process saves w[0..3, 0..2]"));
        assert!(text(&[blocks.clone(), blocks[..1].to_vec()]).contains("by process 0 and by process 1"));
        let odd = Slice { entry: 0, region: Region { offset: vec![0, 1], shape: vec![3, 2] } };
        assert!(text(&[vec![odd]]).contains("is not a block"));
        assert!(text(&[vec![Slice { entry: 7, ..blocks[0].clone() }]]).contains("entry 7"));
    }
}
