//! # conformance-worker: runs the programs of `cargo xtask conformance`
//!
//! Each line of standard input is a job, and each line of standard output an answer; see [`shardc_tests::conformance`].

use std::{
    io::{self, BufRead, Write},
    process::ExitCode,
};

use shardc_runtime::plugin;
use shardc_tests::conformance::Worker;

fn main() -> ExitCode {
    // Environment variables must be set before any thread starts and any plugin is loaded.
    plugin::quiet_plugin_logs();
    match work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn work() -> io::Result<()> {
    let mut worker = Worker::default();
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        writeln!(out, "{}", worker.answer(&line?).to_json())?;
        out.flush()?;
    }
    Ok(())
}
