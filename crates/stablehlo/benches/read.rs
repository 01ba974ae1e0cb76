//! Measures how fast programs are read as text, as bytecode and as portable artifacts.
//!
//! `read RUNS FILE...` reads each file `RUNS` times in each form, and prints one line per form: its name, the size in bytes, the shortest
//! time in microseconds, the rate in MB/s, and the file. The shortest time is disturbed least by other processes. The bytecode and the artifact are written by this crate.

#![allow(clippy::print_stdout, reason = "the output of a program")]

use std::{error::Error, fs, hint::black_box, time::Instant};

use shardc_ir::{Diagnostic, Module};
use shardc_stablehlo::{BytecodeOptions, Version, parse, parse_bytecode, render, to_artifact, to_bytecode};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1).filter(|arg| !arg.starts_with('-'));
    let Some(runs) = args.next() else {
        println!("no file given: nothing measured");
        return Ok(());
    };
    let runs: usize = runs.parse()?;
    for path in args {
        let text = fs::read_to_string(&path)?;
        let failed = |errors: Vec<Diagnostic>| render(&errors, &path, &text, false);
        measure("text", runs, &path, text.len(), || parse(&text)).map_err(failed)?;
        let module = parse(&text).map_err(failed)?;
        let bytecode = to_bytecode(&module, &BytecodeOptions::default()).ok();
        let artifact = to_artifact(&module, Version::NEWEST, true).ok();
        drop(module);
        for (form, bytes) in [("bytecode", bytecode), ("artifact", artifact)] {
            let Some(bytes) = bytes else { continue };
            measure(form, runs, &path, bytes.len(), || parse_bytecode(&bytes)).map_err(failed)?;
        }
    }
    Ok(())
}

/// Prints the shortest time of `runs` calls of `read`. The modules are dropped outside of the measured time.
fn measure(
    form: &str,
    runs: usize,
    path: &str,
    bytes: usize,
    read: impl Fn() -> Result<Module, Vec<Diagnostic>>,
) -> Result<(), Vec<Diagnostic>> {
    let mut seconds = f64::INFINITY;
    for _ in 0..runs.max(1) {
        let start = Instant::now();
        let module = read();
        seconds = seconds.min(start.elapsed().as_secs_f64());
        drop(black_box(module?));
    }
    let rate = bytes as f64 / seconds / 1e6;
    println!("{form} {bytes} {:.0} {rate:.1} {path}", seconds * 1e6);
    Ok(())
}
