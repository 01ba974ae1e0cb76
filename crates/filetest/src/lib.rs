//! # shardc-filetest: files with `RUN:` lines, the program that they run, and what all tests share
//!
//! [`program`] finds or builds the `shardc` command line, [`filetest`] reads and runs the files, [`functions`] does so
//! function by function. [`filecheck`] compares what is printed with the check lines of a file, and rewrites those that
//! fail where it is asked to (`SHARDC_BLESS=1`). [`skip`] says that a test cannot run on this machine.
//! [`memory`] has what the TPU compiler takes for programs, which tests and `cargo xtask bench` compare the estimate with.
//!
//! This crate knows shardc only as a program and needs no LLVM, so that `cargo xtask`, which installs LLVM, can use it
//! before LLVM is there, and every crate in its tests.

pub mod blocks;
pub mod filecheck;
pub mod filetest;
pub mod functions;
pub mod memory;
pub mod program;
pub mod quick;
pub mod skip;
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

/// The folder of data that lies beside the checkout, or where `SHARDC_SHARED` says; `None` if it is not there.
#[must_use]
pub fn shared() -> Option<PathBuf> {
    let dir = env::var_os("SHARDC_SHARED").map_or_else(|| root().join("../../shared"), PathBuf::from);
    dir.is_dir().then_some(dir)
}

/// Files under `dir`, at any depth, whose names end in `.extension`, in order of their paths.
///
/// # Errors
/// A folder that cannot be read.
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
