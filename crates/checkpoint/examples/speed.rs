//! How fast a state is saved and restored: `speed FOLDER GIBIBYTES [MEBIBYTES OF A BLOCK]`.
//!
//! Beside it, a plain file of the same size is written block by block and read again, as `dd` does with `conv=fsync`.

#![allow(clippy::print_stdout, reason = "what it says is its output")]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Instant;

use shardc_checkpoint::{Alone, Checkpoint, Entry, Fit, Info, Slice, State, Store, Wanted, save};
use shardc_ir::DType;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, size, rest @ ..] = arguments.as_slice() else {
        return Err("speed FOLDER GIBIBYTES [MEBIBYTES OF A BLOCK]".into());
    };
    let block: usize = rest.first().map_or(Ok(64), |text| text.parse())? << 20;
    let blocks = (size.parse::<usize>()? << 30) / block;
    let folder = Path::new(folder);

    let data: Vec<u8> = (0..block).map(|i| (i * 31 + i / 4099) as u8).collect();
    let plain = folder.join("plain");
    let write = || -> Result<(), Failure> {
        let mut file = File::create(&plain)?;
        (0..blocks).try_for_each(|_| file.write_all(&data))?;
        Ok(file.sync_all()?)
    };
    report("plain file, written", blocks * block, write)?;
    let read = || -> Result<(), Failure> {
        let (mut file, mut buffer) = (File::open(&plain)?, vec![0; block]);
        (0..blocks).try_for_each(|_| file.read_exact(&mut buffer))?;
        Ok(())
    };
    report("plain file, read", blocks * block, read)?;
    std::fs::remove_file(&plain)?;

    let shape = [blocks * (block >> 13), 2048];
    let entry = Entry::split("w", DType::F32, &shape, &[blocks, 1]);
    let slices = entry.blocks().into_iter().map(|region| Slice { entry: 0, region }).collect();
    let state = State { slices, entries: vec![entry.clone()], info: Info::default() };
    let store = Store::folder(folder)?;
    let saved = || Ok(save(&store, "speed", &state, &|_, _| Ok(data.clone()), &Alone, None).map(|_| ())?);
    report("checkpoint, saved", blocks * block, saved)?;
    let checkpoint = Checkpoint::open(&store, "speed")?;
    let wanted = [Wanted {
        name: entry.name.clone(),
        dtype: entry.dtype,
        shape: entry.shape.clone(),
        regions: entry.blocks(),
    }];
    let restored = || {
        let mut bytes = 0;
        let mut take = |_, _, elements: &mut Vec<u8>| {
            bytes += elements.len();
            Ok(())
        };
        checkpoint.restore(&wanted, &Fit::default(), &mut take, None)?;
        assert_eq!(bytes, blocks * block);
        Ok(())
    };
    report("checkpoint, restored", blocks * block, restored)?;
    std::fs::remove_dir_all(folder.join("speed"))?;
    if let Ok(status) = std::fs::read_to_string("/proc/self/status")
        && let Some(peak) = status.lines().find(|line| line.starts_with("VmHWM"))
    {
        println!("{peak}, with one block of the program's own");
    }
    Ok(())
}

fn report(what: &str, bytes: usize, work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    let begun = Instant::now();
    work()?;
    let seconds = begun.elapsed().as_secs_f64();
    println!("{what:22} {:8.0} MiB/s", bytes as f64 / seconds / f64::from(1 << 20));
    Ok(())
}
