//! Benchmark of saving and restoring a state: duration and memory. `cargo xtask bench --only checkpoints` runs one measurement at a time:
//!
//! * `speed save FOLDER GIBIBYTES MEBIBYTES`: saves a state of this many gibibytes, in arrays of this many mebibytes, each stored as one
//!   block;
//! * `speed restore FOLDER leave` or `keep`: restores that state; with `leave`, each array is dropped after it was read, as if it was
//!   copied to a device; with `keep`, all arrays are kept in memory;
//! * `speed async FOLDER GIBIBYTES MEBIBYTES`: saves such a state in the background with a checkpoint manager; for comparison, also copies
//!   the state in memory;
//! * `speed plain FOLDER GIBIBYTES MEBIBYTES`: writes one file of this many gibibytes, block by block, as `dd` does with `conv=fsync`.
//!
//! The program prints JSON: seconds, bytes of the state, and the peak increase of the process's memory in bytes.

#![allow(clippy::print_stdout, reason = "its output is JSON on standard output")]

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use shardc_checkpoint::{
    Alone, Checkpoint, CheckpointManager, Entry, Fit, Info, Options, Region, Slice, State, Store, Wanted,
    save,
};
use shardc_ir::DType;

type Failure = Box<dyn std::error::Error>;

const USAGE: &str = "speed plain|save|async FOLDER GIBIBYTES MEBIBYTES, or speed restore FOLDER leave|keep";

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let line = match words.as_slice() {
        ["plain", folder, all, block] => plain(Path::new(folder), &state(all, block)?)?,
        ["save", folder, all, block] => saved(Path::new(folder), &state(all, block)?)?,
        ["restore", folder, what @ ("leave" | "keep")] => restored(Path::new(folder), *what == "keep")?,
        ["async", folder, all, block] => saved_behind(Path::new(folder), &state(all, block)?)?,
        _ => return Err(USAGE.into()),
    };
    println!("{line}");
    Ok(())
}

/// Returns a state with `all` gibibytes of arrays, each of `block` mebibytes.
fn state(all: &str, block: &str) -> Result<State, Failure> {
    let block: usize = block.parse()?;
    let count = (all.parse::<usize>()? << 10) / block;
    let entry = |i: usize| Entry::whole(&format!("params.w{i}"), DType::F32, &[block << 7, 2048]);
    let entries: Vec<Entry> = (0..count).map(entry).collect();
    let slices = entries.iter().enumerate();
    let slices = slices.map(|(entry, of)| Slice { entry, region: Region::whole(&of.shape) }).collect();
    Ok(State { entries, slices, info: Info::default() })
}

/// Returns the elements of an array as bytes: floats of either sign in [0.5, 1), which compress as little as weights do.
fn elements(entry: &Entry) -> Vec<u8> {
    let mut random = 88_172_645_463_325_252u64;
    let mut float = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        ((random >> 32) as u32 & 0x807f_ffff | 0x3f00_0000).to_le_bytes()
    };
    (0..entry.shape.iter().product()).flat_map(|_: usize| float()).collect()
}

fn plain(folder: &Path, state: &State) -> Result<String, Failure> {
    let data = elements(state.entries.first().ok_or(USAGE)?);
    std::fs::create_dir_all(folder)?;
    let begun = Instant::now();
    let mut file = File::create(folder.join("plain"))?;
    state.entries.iter().try_for_each(|_| file.write_all(&data))?;
    file.sync_all()?;
    let (seconds, bytes) = (begun.elapsed().as_secs_f64(), data.len() * state.entries.len());
    Ok(format!(r#"{{"seconds": {seconds}, "bytes": {bytes}}}"#))
}

/// Saves a state whose arrays are all equal.
fn saved(folder: &Path, state: &State) -> Result<String, Failure> {
    let data = elements(state.entries.first().ok_or(USAGE)?);
    let store = Store::folder(folder)?;
    let memory = Memory::begin()?;
    let begun = Instant::now();
    save(&store, "speed", state, &|_, _| Ok(data.clone()), &Alone, None)?;
    let seconds = begun.elapsed().as_secs_f64();
    let bytes = data.len() * state.entries.len();
    Ok(format!(r#"{{"seconds": {seconds}, "bytes": {bytes}, "extra": {}}}"#, memory.grown()?))
}

fn restored(folder: &Path, keeps: bool) -> Result<String, Failure> {
    let memory = Memory::begin()?;
    let begun = Instant::now();
    let checkpoint = Checkpoint::open(&Store::folder(folder)?, "speed")?;
    let wanted: Vec<Wanted> = checkpoint
        .entries()
        .map(|entry| Wanted {
            name: entry.name.clone(),
            dtype: entry.dtype,
            shape: entry.shape.clone(),
            regions: entry.blocks(),
        })
        .collect();
    let (mut bytes, mut kept) = (0, Vec::with_capacity(wanted.len()));
    let mut take = |_, _, elements: &mut Vec<u8>| {
        bytes += elements.len();
        if keeps {
            kept.push(std::mem::take(elements));
        }
        Ok(())
    };
    checkpoint.restore(&wanted, &Fit::default(), &mut take, None)?;
    let seconds = begun.elapsed().as_secs_f64();
    let grown = memory.grown()?;
    let own: usize = kept.iter().map(Vec::len).sum();
    Ok(format!(r#"{{"seconds": {seconds}, "bytes": {bytes}, "extra": {}}}"#, grown.saturating_sub(own)))
}

/// Saves a state from host memory in the background; reports the duration of the `save_async` call, and of a plain copy of the state.
fn saved_behind(folder: &Path, state: &State) -> Result<String, Failure> {
    let data = elements(state.entries.first().ok_or(USAGE)?);
    let arrays = vec![data; state.entries.len()];
    let number = |entry: &Entry| entry.name["params.w".len()..].parse::<usize>().unwrap_or(0);
    let read = |entry: &Entry, _: &Region| Ok(arrays[number(entry)].clone());
    let manager = CheckpointManager::new(&Store::folder(folder)?, "steps", Options::default())?;
    // Warms up the allocator: the first copy also allocates new memory, which neither measurement should include.
    drop(arrays.clone());
    let begun = Instant::now();
    let copy = arrays.clone();
    let plain = begun.elapsed().as_secs_f64();
    drop(copy);
    let begun = Instant::now();
    manager.save_async(1, state, &read)?;
    let stalled = begun.elapsed().as_secs_f64();
    manager.wait()?;
    let bytes: usize = arrays.iter().map(Vec::len).sum();
    Ok(format!(r#"{{"seconds": {stalled}, "bytes": {bytes}, "copy": {plain}}}"#))
}

/// The resident memory of this process, in bytes, when the measurement started.
struct Memory(usize);

impl Memory {
    /// Starts measuring.
    fn begin() -> Result<Memory, Failure> {
        // Resets the recorded peak to the current size.
        std::fs::write("/proc/self/clear_refs", "5")?;
        Ok(Memory(status("VmRSS:")?))
    }

    /// Returns how far the peak memory exceeded the memory at the start, in bytes.
    fn grown(&self) -> Result<usize, Failure> {
        Ok(status("VmHWM:")?.saturating_sub(self.0))
    }
}

fn status(key: &str) -> Result<usize, Failure> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let kib = line
        .and_then(|line| line.split_whitespace().next())
        .ok_or("the system does not report the process's memory")?;
    Ok(kib.parse::<usize>()? << 10)
}
