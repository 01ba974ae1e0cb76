//! States with known elements, which all tests use.

#![allow(dead_code, reason = "each test uses some of it")]

pub(crate) mod moto;

use std::collections::BTreeMap;
use std::sync::Mutex;

use shardc_checkpoint::{Checkpoint, Entry, Fit, Info, Processes, Region, Slice, State, Store, Wanted, save};
use shardc_ir::DType;

/// An array in host memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Array {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    pub(crate) bytes: Vec<u8>,
}

/// Creates an array of pseudo-random bits that depend on `seed`.
pub(crate) fn array(seed: u64, dtype: DType, shape: &[usize]) -> Array {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut byte = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    let mask = match dtype.bits() {
        bits @ 0..8 => (1u8 << bits) - 1,
        _ => 255,
    };
    let count = shape.iter().product::<usize>() * dtype.bytes();
    Array { dtype, shape: shape.to_vec(), bytes: (0..count).map(|_| byte() & mask).collect() }
}

/// Returns the elements of a region of an array, row-major.
pub(crate) fn part(array: &Array, region: &Region) -> Vec<u8> {
    let width = array.dtype.bytes();
    let mut out = Vec::with_capacity(region.elements() * width);
    let mut index = vec![0; region.shape.len()];
    if region.elements() == 0 {
        return out;
    }
    loop {
        let at = index.iter().zip(&region.offset).zip(&array.shape).fold(0, |at, ((i, o), n)| at * n + i + o)
            * width;
        out.extend_from_slice(&array.bytes[at..at + width]);
        let mut dim = index.len();
        loop {
            if dim == 0 {
                return out;
            }
            dim -= 1;
            index[dim] += 1;
            if index[dim] < region.shape[dim] {
                break;
            }
            index[dim] = 0;
        }
    }
}

/// Arrays by name, each with the number of shards along each dimension.
pub(crate) type Arrays = BTreeMap<String, (Array, Vec<usize>)>;

/// Returns the checkpoint entries of arrays.
pub(crate) fn entries(arrays: &Arrays) -> Vec<Entry> {
    let entry = |(name, (array, shards)): (&String, &(Array, Vec<usize>))| {
        Entry::split(name, array.dtype, &array.shape, shards)
    };
    arrays.iter().map(entry).collect()
}

/// Saves arrays from several processes; block `i` is saved by process `i` modulo the number of processes.
pub(crate) fn save_by<P: Processes>(
    store: &Store,
    path: &str,
    arrays: &Arrays,
    info: &Info,
    group: &[P],
) -> shardc_checkpoint::Result<()> {
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for process in group {
            let outcomes = &outcomes;
            scope.spawn(move || {
                let outcome = save_blocks(store, path, arrays, info, process);
                outcomes.lock().unwrap().push(outcome);
            });
        }
    });
    outcomes.into_inner().unwrap().into_iter().collect()
}

/// Saves the blocks of this process.
pub(crate) fn save_blocks(
    store: &Store,
    path: &str,
    arrays: &Arrays,
    info: &Info,
    process: &dyn Processes,
) -> shardc_checkpoint::Result<()> {
    let state = state_of(arrays, info, process);
    let read = |entry: &Entry, region: &Region| Ok(part(&arrays[&entry.name].0, region));
    save(store, path, &state, &read, process, None).map(|_| ())
}

/// Returns the state to save: all entries, and the blocks of this process.
pub(crate) fn state_of(arrays: &Arrays, info: &Info, process: &dyn Processes) -> State {
    let entries = entries(arrays);
    let all = entries
        .iter()
        .enumerate()
        .flat_map(|(entry, e)| e.blocks().into_iter().map(move |region| Slice { entry, region }));
    let own = all.enumerate().filter(|(i, _)| i % process.count() == process.index());
    State { slices: own.map(|(_, slice)| slice).collect(), entries, info: info.clone() }
}

/// Restores the blocks that process `index` of `count` needs if dimension `i` has `shards[i]` shards, and compares them with `arrays`.
pub(crate) fn check(checkpoint: &Checkpoint, arrays: &Arrays, shards: &[usize], index: usize, count: usize) {
    let wanted: Vec<Wanted> = arrays
        .iter()
        .map(|(name, (array, _))| {
            let shards: Vec<usize> =
                (0..array.shape.len()).map(|d| shards.get(d).copied().unwrap_or(1)).collect();
            let blocks = Entry::split(name, array.dtype, &array.shape, &shards).blocks().into_iter();
            let regions = blocks.enumerate().filter(|(i, _)| i % count == index).map(|(_, r)| r).collect();
            Wanted { name: name.clone(), dtype: array.dtype, shape: array.shape.clone(), regions }
        })
        .collect();
    let mut taken = 0;
    checkpoint
        .restore(
            &wanted,
            &Fit::default(),
            &mut |number, region, elements| {
                let want = &wanted[number];
                let array = &arrays[&want.name].0;
                assert!(*elements == part(array, &want.regions[region]), "{} {region}", want.name);
                taken += 1;
                Ok(())
            },
            None,
        )
        .unwrap();
    assert_eq!(taken, wanted.iter().map(|w| w.regions.len()).sum::<usize>());
}

/// Creates a state with every type, uneven shapes, scalars, empty arrays, and arrays of many tiles.
pub(crate) fn varied(shards: &[usize]) -> Arrays {
    let mut arrays = Arrays::new();
    let mut add = |name: &str, seed: u64, dtype: DType, shape: &[usize]| {
        let shards = (0..shape.len()).map(|d| shards.get(d).copied().unwrap_or(1)).collect();
        arrays.insert(name.to_owned(), (array(seed, dtype, shape), shards));
    };
    for (i, &dtype) in DType::ALL.iter().enumerate() {
        add(&format!("types.{i}"), i as u64, dtype, &[9, 5]);
    }
    add("step", 100, DType::I32, &[]);
    add("nothing", 101, DType::F32, &[0, 4]);
    add("params.wide", 102, DType::BF16, &[127, 63]);
    add("params.tall", 103, DType::F32, &[1030, 517]);
    add("layers/0/w", 104, DType::F32, &[3, 700, 300]);
    add("params.large", 105, DType::F32, &[1536, 1024]);
    arrays
}

/// Creates a state of few arrays with few blocks; one block is split into tiles.
pub(crate) fn small() -> Arrays {
    let mut arrays = Arrays::new();
    arrays.insert("w".to_owned(), (array(1, DType::F32, &[700, 900]), vec![2, 1]));
    arrays.insert("layer.b".to_owned(), (array(2, DType::BF16, &[5]), vec![2]));
    arrays
}
