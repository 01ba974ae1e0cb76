//! With the feature `mlir`, reports a missing LLVM: what to install, and which variables to set. Without this check, the build scripts of
//! the MLIR bindings would fail with a message about whichever LLVM they find.
//!
//! The bindings need libclang and LLVM 22 with MLIR, found through `MLIR_SYS_220_PREFIX` and `TABLEGEN_220_PREFIX` or through the
//! `llvm-config` in `PATH`. The check is in this crate because all other crates of shardc depend on it; a check in `shardc-mlir` would run
//! only after the build scripts of the bindings.

#[path = "build/llvm.rs"]
mod llvm;

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build/llvm.rs");
    if std::env::var_os("CARGO_FEATURE_MLIR").is_none() {
        return;
    }
    for variable in llvm::PREFIXES {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    for line in llvm::errors(&ThisMachine) {
        println!("cargo::error={line}");
    }
}

/// The machine on which the build script runs.
struct ThisMachine;

impl llvm::Machine for ThisMachine {
    fn variable(&self, name: &str) -> Option<OsString> {
        std::env::var_os(name)
    }

    fn answer(&self, program: &Path, argument: &str) -> Option<String> {
        let output =
            Command::new(program).arg(argument).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn has(&self, file: &Path) -> bool {
        file.exists()
    }
}
