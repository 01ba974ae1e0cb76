//! # shardc-filetest: files with `RUN:` lines, the program that they run, and helpers for all tests
//!
//! [`program`] finds or builds the `shardc` command line. [`filetest`] reads and runs the files, and [`functions`] runs them separately for
//! each function. [`filecheck`] compares output with the check lines of a file, and rewrites failing check lines on request
//! (`SHARDC_BLESS=1`). [`sample`] chooses the cases of long tests. [`skip`] reports that a test cannot run on this machine. [`memory`] and
//! [`time`] read the TPU compiler's figures, which tests and `cargo xtask bench` compare with shardc's estimates.
//!
//! This crate runs shardc only as a program and does not depend on LLVM. So `cargo xtask`, which installs LLVM, and the tests of every
//! crate can use this crate before LLVM is installed.

pub mod blocks;
pub mod filecheck;
pub mod filetest;
pub mod functions;
pub mod memory;
pub mod program;
pub mod quick;
pub mod sample;
pub mod skip;
pub mod time;
pub mod tools;

use std::{
    env,
    path::{Path, PathBuf},
};

/// The folder `tests/` of the checkout.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests")
}

/// Returns the folder of shared data, next to the checkout or given by `SHARDC_SHARED`, or `None` if the folder does not exist.
#[must_use]
pub fn shared() -> Option<PathBuf> {
    let dir = env::var_os("SHARDC_SHARED").map_or_else(|| root().join("../../shared"), PathBuf::from);
    dir.is_dir().then_some(dir)
}

/// Files under `dir`, at any depth, whose names end in `.extension`, sorted by path.
///
/// # Errors
/// A folder cannot be read.
pub fn files(dir: &Path, extension: &str) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
