//! Tests that, in addition to the state, a save or a restore needs at most twice the memory of the largest shard.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;

use shardc_checkpoint::{Alone, Checkpoint, Entry, Fit, Info, Region, Slice, State, Store, Wanted, save};
use shardc_ir::DType;

/// The size of a shard in bytes. It is larger than the C library's cache of freed memory, so that the system reports only memory in use.
const SHARD: usize = 36 << 20;
const SHARDS: usize = 5;

/// Memory that does not depend on the size of a shard, in bytes: pages of code that runs for the first time, stacks, and indices.
const OVERHEAD: usize = 1 << 20;

/// The limit of each measurement.
const LIMIT: usize = 2 * SHARD + OVERHEAD;

/// Returns the peak increase of this process's memory, in bytes, while `work` runs.
fn grown(work: impl FnOnce()) -> usize {
    let status = |key: &str| -> usize {
        let text = fs::read_to_string("/proc/self/status").unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        line.split_whitespace().next().unwrap().parse::<usize>().unwrap() << 10
    };
    // Resets the recorded peak to the current size.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = status("VmRSS:");
    work();
    status("VmHWM:").saturating_sub(before)
}

fn restore(checkpoint: &Checkpoint, regions: Vec<Region>, take: &mut dyn FnMut(&mut Vec<u8>)) {
    let entry = checkpoint.entries().next().unwrap();
    let (name, shape) = (entry.name.clone(), entry.shape.clone());
    let wanted = [Wanted { name, dtype: entry.dtype, shape, regions }];
    let mut take = |_, _, elements: &mut Vec<u8>| {
        take(elements);
        Ok(())
    };
    checkpoint.restore(&wanted, &Fit::default(), &mut take, None).unwrap();
}

/// All measurements are in one test, because memory is measured per process.
#[test]
fn saving_and_restoring_need_no_more_than_two_shards() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::folder(folder.path()).unwrap();
    let entry = Entry::split("w", DType::F32, &[SHARDS * (SHARD >> 12), 1024], &[SHARDS, 1]);
    let slices = entry.blocks().into_iter().map(|region| Slice { entry: 0, region }).collect();
    let state = State { entries: vec![entry.clone()], slices, info: Info::default() };
    let data: Vec<u8> = (0..SHARD).map(|i| (i * 31 + i / 4099) as u8).collect();

    let saved = grown(|| {
        save(&store, "s", &state, &|_, _| Ok(data.clone()), &Alone, None).unwrap();
    });
    assert!(saved >= SHARD, "a save that copies a shard was measured at only {saved} bytes");
    assert!(saved <= LIMIT, "a save needs {saved} bytes, and a shard has {SHARD}");

    let checkpoint = Checkpoint::open(&store, "s").unwrap();
    let left = grown(|| restore(&checkpoint, entry.blocks(), &mut |elements| assert!(*elements == data)));
    assert!(left >= SHARD, "a restore that reads a shard was measured at only {left} bytes");
    assert!(left <= LIMIT, "a restore needs {left} bytes, and a shard has {SHARD}");

    // Restores regions with another sharding: each region spans several blocks, and shares the tiles of these blocks with other
    // regions.
    let across = Entry::split("w", DType::F32, &entry.shape, &[1, SHARDS]).blocks();
    let largest = across[0].elements() * 4;
    let other = grown(|| restore(&checkpoint, across.clone(), &mut |elements| assert!(!elements.is_empty())));
    assert!(other <= 2 * largest + OVERHEAD, "a restore needs {other} bytes, and a shard has {largest}");

    let mut kept = Vec::new();
    let all =
        grown(|| restore(&checkpoint, entry.blocks(), &mut |elements| kept.push(std::mem::take(elements))));
    let beside = all.saturating_sub(SHARDS * SHARD);
    assert!(kept.iter().all(|elements| *elements == data));
    assert!(
        beside <= LIMIT,
        "a restore needs {beside} bytes in addition to the state, and a shard has {SHARD}"
    );

    let verified = grown(|| assert_eq!(checkpoint.verify(None).unwrap(), []));
    assert!(verified <= LIMIT, "verifying needs {verified} bytes, and a shard has {SHARD}");
}
