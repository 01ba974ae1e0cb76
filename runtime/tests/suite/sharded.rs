//! Tests of sharded arrays that are created from blocks, read from files and resharded; and of cached executables.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Instant;

use crate::common::{ALL_REDUCE_REPLICAS, Watchdog, cpu_client, place};
use shardc_ir::{DType, ReductionKind};
use shardc_runtime::{CompileCache, CompileOptions, HostArray, ShardLayout, ShardedArray};

/// Returns the sharding of both dimensions of an array over a mesh of `rows` by `columns` devices.
fn grid(shape: &[usize], rows: usize, columns: usize) -> ShardLayout {
    let blocks = (0..rows * columns).map(|device| vec![device / columns, device % columns]).collect();
    ShardLayout::new(shape, &[rows, columns], blocks).unwrap()
}

/// Returns the sharding of the second dimension over all devices, with blocks in descending order of device positions.
fn turned(shape: &[usize], devices: usize) -> ShardLayout {
    let blocks = (0..devices).map(|device| vec![0, devices - 1 - device]).collect();
    ShardLayout::new(shape, &[1, devices], blocks).unwrap()
}

#[test]
fn blocks_are_created_without_the_full_array() {
    let Some(client) = cpu_client(8) else { return };
    let shape = [6, 9];
    let whole = HostArray::random(1, DType::BF16, &shape).unwrap();
    for dtype in [DType::BF16, DType::F8E4M3FN, DType::I4, DType::C64, DType::I1, DType::F64] {
        let whole = HostArray::random(1, dtype, &shape).unwrap();
        let mut made = 0;
        let array =
            ShardedArray::from_callback(&client, client.devices(), grid(&shape, 4, 2), dtype, |block| {
                made += 1;
                whole.slice_block(&block.offsets, &block.extent, 0.0)
            })
            .unwrap();
        assert_eq!((made, array.to_host().unwrap()), (8, whole.clone()), "{dtype}");
        let (block, part) = array.shard(3).unwrap().unwrap();
        assert_eq!(block.offsets, [2, 5]);
        assert_eq!(part, whole.slice_block(&[2, 5], &[2, 4], 0.0).unwrap());
    }
    // The callback is called once for a block that all devices hold.
    let mut made = 0;
    let layout = ShardLayout::replicated(&shape, 8).unwrap();
    ShardedArray::from_callback(&client, client.devices(), layout.clone(), DType::BF16, |_| {
        made += 1;
        Ok(whole.clone())
    })
    .unwrap();
    assert_eq!(made, 1);
    for wrong in [HostArray::zeros(DType::F32, &shape), HostArray::zeros(DType::BF16, &[6])] {
        let wrong = wrong.unwrap();
        let made =
            ShardedArray::from_callback(&client, client.devices(), layout.clone(), DType::BF16, |_| {
                Ok(wrong.clone())
            });
        assert_eq!(made.unwrap_err().code(), "RT0401");
    }
    let few = ShardedArray::from_callback(&client, &client.devices()[..4], layout, DType::BF16, |_| {
        Ok(whole.clone())
    });
    assert_eq!(few.unwrap_err().code(), "RT0401");
}

#[test]
fn files_are_read_by_block() {
    let Some(client) = cpu_client(8) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array");
    let whole = HostArray::random(2, DType::F32, &[7, 10]).unwrap();
    std::fs::write(&path, [&b"header"[..], &whole.data].concat()).unwrap();
    let read = |start| {
        ShardedArray::from_file(&client, client.devices(), grid(&[7, 10], 2, 4), DType::F32, &path, start)
    };
    assert_eq!(read(6).unwrap().to_host().unwrap(), whole);
    let error = read(7).unwrap_err();
    assert_eq!(error.code(), "RT0601");
    assert!(error.to_string().contains("a file of 286"), "{error}");
}

#[test]
fn arrays_move_between_layouts() {
    let Some(client) = cpu_client(8) else { return };
    let shape = [5, 12];
    let whole = HostArray::random(3, DType::F32, &shape).unwrap();
    let layouts = [
        grid(&shape, 4, 2),
        grid(&shape, 2, 4),
        turned(&shape, 8),
        ShardLayout::replicated(&shape, 8).unwrap(),
        ShardLayout::replicated(&shape, 8)
            .unwrap()
            .with_addends((0..8).collect(), ReductionKind::Add)
            .unwrap(),
    ];
    for from in &layouts {
        let array = ShardedArray::from_host(&client, client.devices(), from.clone(), &whole).unwrap();
        for to in &layouts {
            let moved = array.reshard(&client, client.devices(), to.clone()).unwrap();
            assert_eq!((moved.layout(), moved.to_host().unwrap()), (to, whole.clone()), "{from} to {to}");
            assert_eq!(moved.check_replicas().unwrap(), None);
        }
    }
    // Reshards the array to four devices of the client, and back to all.
    let four = &client.devices()[4..];
    let array = ShardedArray::from_host(&client, client.devices(), layouts[0].clone(), &whole).unwrap();
    let moved = array.reshard(&client, four, grid(&shape, 2, 2)).unwrap();
    assert_eq!(moved.buffers()[0].device_id(), client.devices()[4].id());
    assert_eq!(
        moved.reshard(&client, client.devices(), layouts[2].clone()).unwrap().to_host().unwrap(),
        whole
    );
    assert_eq!(array.reshard(&client, four, grid(&[5, 11], 2, 2)).unwrap_err().code(), "RT0401");
}

#[test]
fn freed_memory_is_not_used() {
    let Some(client) = cpu_client(8) else { return };
    let _watchdog = Watchdog::start(100);
    let program = client.compile(ALL_REDUCE_REPLICAS.as_bytes(), &CompileOptions::replicas(8)).unwrap();
    let ones = vec![HostArray::filled(DType::F32, &[4], 1.0).unwrap()];
    let arguments = place(&client, &program, &vec![ones; 8]);
    arguments[3][0].delete().unwrap();
    assert_eq!(arguments[3][0].to_host().unwrap_err().code(), "RT0305");
    assert_eq!(program.execute(&arguments).unwrap_err().code(), "RT0305");
    // The client is still usable after the error.
    assert_eq!(arguments[2][0].to_host().unwrap().to_f64_vec(), [1.0; 4]);
}

#[test]
fn executables_are_kept_and_loaded() {
    let Some(client) = cpu_client(8) else { return };
    let folder = tempfile::tempdir().unwrap();
    let cache = Arc::new(CompileCache::new(folder.path()).unwrap());
    let client = client.with_cache(cache.clone());
    let run = |program: &shardc_runtime::LoadedExecutable| {
        let ones = vec![HostArray::filled(DType::F32, &[4], 1.0).unwrap()];
        let results = program.execute(&place(&client, program, &vec![ones; 8])).unwrap();
        assert_eq!(results[7][0].to_host().unwrap().to_f64_vec(), [8.0; 4]);
    };
    let compile = |text: &str| client.compile(text.as_bytes(), &CompileOptions::replicas(8)).unwrap();
    run(&compile(ALL_REDUCE_REPLICAS));
    assert_eq!((cache.hits(), cache.misses()), (0, 1));
    let started = Instant::now();
    let again = compile(ALL_REDUCE_REPLICAS);
    assert_eq!((cache.hits(), cache.misses()), (1, 1), "{:?}", started.elapsed());
    run(&again);
    assert_eq!(again.parameters().map(<[_]>::len), Some(1));
    compile(&ALL_REDUCE_REPLICAS.replace("@sum", "@another"));
    assert_eq!((cache.hits(), cache.misses()), (1, 2));
    // If a cache entry is damaged, the program is compiled again.
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        std::fs::write(entry.unwrap().path(), b"damaged").unwrap();
    }
    run(&compile(ALL_REDUCE_REPLICAS));
    assert_eq!((cache.hits(), cache.misses()), (1, 3));
    run(&client.load(&again.serialize().unwrap()).unwrap());
    assert!(client.load(b"no executable").is_err());
}
