//! Writes a checkpoint, from one process or several.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use bytes::Bytes;
use serde_json::Value;

use crate::checksum::crc32c;
use crate::entry::{Entry, Slice, check_entries, check_slices};
use crate::error::{CheckpointError, Result};
use crate::index::{self, Index, Info};
use crate::layout::encode::{self, BlockFile};
use crate::layout::{array, orbax};
use crate::parallel;
use crate::place::Place;
use crate::processes::{Processes, agree};
use crate::region::Region;
use crate::store::{Store, part_size};

/// The number of blocks written concurrently.
const WRITERS: usize = 4;

/// The memory in bytes that all writers together need for their own buffers.
const OWN: usize = 3 << 20;

/// A callback that returns the elements of a region of an entry, row-major and little-endian; elements smaller than a byte take one
/// byte each. An error is returned as its message.
pub type Read<'a> = dyn Fn(&Entry, &Region) -> std::result::Result<Vec<u8>, String> + Sync + 'a;

/// A progress callback for writing or reading. Its arguments are the bytes done and the total bytes, both of this process.
pub type Progress<'a> = dyn Fn(u64, u64) + Sync + 'a;

/// A state to save: the metadata that all processes agree on, and the blocks of this process.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The arrays, the same and in the same order on all processes.
    pub entries: Vec<Entry>,
    /// The blocks that this process saves; each block must be saved by exactly one process.
    pub slices: Vec<Slice>,
    /// The caller's metadata, which is stored in the checkpoint.
    pub info: Info,
}

/// Statistics of a save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The bytes of array files that this process wrote.
    pub bytes: u64,
}

/// Saves a state, together with all processes, at `path` of a store. When the call returns on any process, the checkpoint is complete.
/// If the save fails, or the process ends before the save is complete, there is no checkpoint.
///
/// Up to four slices are in memory at a time, but together at most twice the size of the largest slice. For a store that is not a folder,
/// this limit includes upload buffers.
///
/// # Errors
/// The state is incomplete (SH1302, SH1303), a checkpoint already exists (SH1306), a slice cannot be read (SH1304), the store fails
/// (SH1301), or any of these on another process (SH1310).
pub fn save(
    store: &Store,
    path: &str,
    state: &State,
    read: &Read<'_>,
    processes: &dyn Processes,
    progress: Option<&Progress<'_>>,
) -> Result<Saved> {
    write(store, &Place::plain(path), state, read, processes, progress)
}

/// Saves a state at the location `place`.
pub(crate) fn write(
    store: &Store,
    place: &Place,
    state: &State,
    read: &Read<'_>,
    processes: &dyn Processes,
    progress: Option<&Progress<'_>>,
) -> Result<Saved> {
    let place = &place.clone().in_store(store)?;
    let is_first = processes.index() == 0;
    let step = |what: &str| format!("save {} {what}", place.path());
    let begin = || -> Result<Vec<u8>> {
        check_entries(&state.entries)?;
        if is_first {
            place.begin(store)?;
        }
        Ok(digest(state))
    };
    let messages = agree(processes, &step("begin"), begin())?;
    let slices = all_slices(&messages, state)?;
    check_slices(&state.entries, &slices)?;
    // Deletes the files of a failed save. If the deletion fails, its error is ignored: the files only take space, and the next save
    // deletes them.
    let tidy = |outcome: Result<Vec<Vec<u8>>>| {
        outcome.inspect_err(|_| {
            if is_first {
                let _ = place.abandon(store);
            }
        })
    };
    let written = blocks(store, place, state, read, progress);
    let written = written.map(|bytes| bytes.to_le_bytes().to_vec());
    let saved = tidy(agree(processes, &step("written"), written))?;
    let commit = || -> Result<Vec<u8>> {
        if is_first {
            metadata(store, place, state, processes.count())?;
            place.commit(store)?;
        }
        Ok(Vec::new())
    };
    tidy(agree(processes, &step("commit"), commit()))?;
    let bytes = saved.get(processes.index()).and_then(|value| value.as_slice().try_into().ok());
    Ok(Saved { bytes: bytes.map_or(0, u64::from_le_bytes) })
}

/// Returns the message that a process sends to the others: a checksum of the entries and metadata, which must be equal on all processes,
/// followed by the slices of this process.
fn digest(state: &State) -> Vec<u8> {
    let agreed = format!("{:?}{:?}", state.entries, state.info);
    let mut text = format!("{}\n", crc32c(agreed.as_bytes()));
    for Slice { entry, region } in &state.slices {
        let numbers: Vec<String> = region.offset.iter().chain(&region.shape).map(usize::to_string).collect();
        text.push_str(&format!("{entry} {}\n", numbers.join(" ")));
    }
    text.into_bytes()
}

/// Parses the messages of all processes, and returns the slices of each. It is an error if the entries or metadata of a process differ.
fn all_slices(messages: &[Vec<u8>], state: &State) -> Result<Vec<Vec<Slice>>> {
    let own = digest(state);
    let own = own.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let parse = |(process, value): (usize, &Vec<u8>)| {
        let text = String::from_utf8_lossy(value);
        let mut lines = text.lines();
        if lines.next().map(str::as_bytes) != Some(own) {
            let text = format!("process {process} has a different state: its entries or metadata differ");
            return Err(CheckpointError::Process(text));
        }
        let slice = |line: &str| -> Option<Slice> {
            let mut numbers = line.split_whitespace().map(str::parse);
            let entry = numbers.next()?.ok()?;
            let mut offset: Vec<usize> = numbers.collect::<std::result::Result<_, _>>().ok()?;
            let shape = offset.split_off(offset.len() / 2);
            Some(Slice { entry, region: Region { offset, shape } })
        };
        let slices: Option<Vec<Slice>> = lines.map(slice).collect();
        slices.ok_or_else(|| CheckpointError::Process(format!("process {process} sent an invalid message")))
    };
    messages.iter().enumerate().map(parse).collect()
}

/// Writes the blocks of this process; returns the total size of their files in bytes.
fn blocks(
    store: &Store,
    place: &Place,
    state: &State,
    read: &Read<'_>,
    progress: Option<&Progress<'_>>,
) -> Result<u64> {
    let bytes = |slice: &Slice| {
        let entry = state.entries.get(slice.entry);
        entry.map_or(0, |entry| slice.region.elements().saturating_mul(entry.dtype.bytes()))
    };
    // A multipart upload sends one part while it encodes the next, so it needs two buffers; a folder needs none.
    let memory = |slice: &Slice| {
        let parts = if store.is_folder() { 0 } else { bytes(slice).min(2 * part_size()) };
        bytes(slice).saturating_add(parts)
    };
    let all: u64 =
        state.slices.iter().filter_map(|s| state.entries.get(s.entry)).map(encode::file_size).sum();
    let largest = state.slices.iter().map(bytes).max().unwrap_or(0);
    let gate = Gate::new(largest.saturating_mul(2).saturating_sub(OWN).max(largest));
    let done = AtomicU64::new(0);
    let write = |number: usize| {
        let slice = &state.slices[number];
        let held = gate.enter(memory(slice));
        let bytes = block(store, place, &state.entries[slice.entry], &slice.region, read, held)?;
        let done = done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if let Some(progress) = progress {
            progress(done, all);
        }
        Ok(bytes)
    };
    Ok(parallel::each(WRITERS, state.slices.len(), &write)?.into_iter().sum())
}

/// Writes the file of a block; `held` is the memory that is reserved for its elements, and is released when they are written.
fn block(
    store: &Store,
    place: &Place,
    entry: &Entry,
    region: &Region,
    read: &Read<'_>,
    mut held: Held<'_>,
) -> Result<u64> {
    let bad = |reason: String| CheckpointError::Values { entry: format!("{}{region}", entry.name), reason };
    let mut elements = read(entry, region).map_err(bad)?;
    let expected = region.elements() * entry.dtype.bytes();
    if elements.len() != expected {
        return Err(bad(format!("got {} bytes, expected {expected}", elements.len())));
    }
    let index = entry.grid().index_of(region).unwrap_or_default();
    let path = place.file(&format!("{}/{}", entry.name, key(&index)));
    if store.is_folder() {
        let mut write = |out: &mut File| {
            let file = BlockFile::new(entry, &elements, &region.shape);
            let mut tiles = file.count();
            // The end of the file is written first, so that the memory of its elements is free for another block.
            if let Some(cut) = file.cut(OWN) {
                out.seek(SeekFrom::Start(cut.position))?;
                file.pieces(cut.tile..tiles, &mut |piece| out.write_all(piece))?;
                out.rewind()?;
                tiles = cut.tile;
                elements.truncate(cut.elements);
                elements.shrink_to_fit();
                held.keep(elements.len());
            }
            let file = BlockFile::new(entry, &elements, &region.shape);
            file.pieces(0..tiles, &mut |piece| out.write_all(piece))
        };
        let written = store.write_file(&path, &mut write)?;
        // Frees the memory for other writers before the wait for the disk.
        drop(elements);
        drop(held);
        store.sync_file(&path, &written)?;
    } else {
        let file = BlockFile::new(entry, &elements, &region.shape);
        store.put_parts(&path, file.parts(), &|number| Ok(file.part(number)))?;
    }
    Ok(encode::file_size(entry))
}

/// Returns the path of a block's file within an entry's folder, in the default chunk key encoding of Zarr v3.
fn key(index: &[usize]) -> String {
    index.iter().fold("c".to_owned(), |key, i| format!("{key}/{i}"))
}

/// Writes all metadata files.
fn metadata(store: &Store, place: &Place, state: &State, processes: usize) -> Result<()> {
    let put = |name: &str, text: String| {
        let path = place.file(name);
        if store.is_folder() {
            let file = store.write_file(&path, &mut |out| out.write_all(text.as_bytes()))?;
            return store.sync_file(&path, &file);
        }
        store.put(&path, Bytes::from(text))
    };
    parallel::each(WRITERS, state.entries.len(), &|number| {
        let entry = &state.entries[number];
        put(&format!("{}/zarr.json", entry.name), array::metadata(entry).to_string())
    })?;
    let tree = orbax::tree(&state.entries, state.info.tree.as_ref());
    let files: [(&str, Option<Value>); 4] = [
        (orbax::TREE, Some(orbax::metadata(&tree, &state.entries))),
        (orbax::STRINGS, orbax::strings(&tree)),
        (orbax::SHARDING, orbax::shardings(&state.entries)),
        (orbax::CHECKPOINT, Some(orbax::checkpoint(false))),
    ];
    let mut checksums = BTreeMap::new();
    for (name, value) in files {
        let Some(value) = value else { continue };
        let text = value.to_string();
        checksums.insert(name.to_owned(), crc32c(text.as_bytes()));
        put(name, text)?;
    }
    let index = Index::new(&state.info, &state.entries, processes, checksums);
    let text =
        index.text().map_err(|reason| CheckpointError::Metadata { path: place.file(index::FILE), reason })?;
    put(index::FILE, text)
}

/// Limits the memory of concurrent writers: a writer waits until the slices of all writers fit in the limit. A single writer is always
/// admitted.
struct Gate {
    limit: usize,
    held: Mutex<usize>,
    changed: Condvar,
}

/// Memory that a writer has reserved; dropping it releases the memory.
struct Held<'a> {
    gate: &'a Gate,
    bytes: usize,
}

impl Gate {
    fn new(limit: usize) -> Gate {
        Gate { limit, held: Mutex::new(0), changed: Condvar::new() }
    }

    fn enter(&self, bytes: usize) -> Held<'_> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        while *held > 0 && *held + bytes > self.limit {
            held = self.changed.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        *held += bytes;
        Held { gate: self, bytes }
    }
}

impl Held<'_> {
    /// Releases the reserved memory except for this number of bytes.
    fn keep(&mut self, bytes: usize) {
        let less = self.bytes.saturating_sub(bytes);
        self.bytes -= less;
        *self.gate.held.lock().unwrap_or_else(PoisonError::into_inner) -= less;
        self.gate.changed.notify_all();
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *self.gate.held.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes;
        self.gate.changed.notify_all();
    }
}
