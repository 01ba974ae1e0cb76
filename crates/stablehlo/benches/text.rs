//! Reads, verifies and prints one program; `cargo xtask bench` compares the times with MLIR's own.
//!
//! `text FILE` prints one JSON object: the seconds of each stage, the size of the file, and the peak resident size of
//! the process. The peak includes text, module, printed text and the program itself.

#![allow(clippy::print_stdout, reason = "the output of a program")]

use std::{error::Error, fs, hint::black_box, time::Instant};

use shardc_stablehlo::{PrintOptions, parse, print, render};

fn main() -> Result<(), Box<dyn Error>> {
    let Some(path) = std::env::args().skip(1).find(|arg| !arg.starts_with('-')) else {
        println!("no file given: nothing measured");
        return Ok(());
    };
    let text = fs::read_to_string(&path)?;
    let (module, read) = timed(|| parse(&text));
    let module = module.map_err(|errors| render(&errors, &path, &text, false))?;
    let (verified, verify) = timed(|| shardc_ir::verify(&module));
    verified.map_err(|errors| render(&errors, &path, &text, false))?;
    let (printed, print) = timed(|| print(&module, &PrintOptions::default()));
    black_box(printed);
    let (bytes, peak) = (text.len(), peak_bytes()?);
    println!(
        r#"{{"seconds": {{"read": {read}, "verify": {verify}, "print": {print}}}, "bytes": {bytes}, "peak": {peak}}}"#
    );
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

/// Returns the peak resident size of this process, which Linux reports.
fn peak_bytes() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM in the status")?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib * 1024)
}
