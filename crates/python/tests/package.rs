//! Runs the tests of the Python package, which are scripts beside this file, with the native module that was built with this test.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use shardc_filetest::skip::{Need, skipped};

/// The package with its native module, in a folder for `PYTHONPATH`.
fn package() -> tempfile::TempDir {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("shardc");
    fs::create_dir(&package).unwrap();
    for file in fs::read_dir(own.join("python/shardc")).unwrap() {
        let file = file.unwrap();
        let kind =
            file.path().extension().map(|kind| kind.to_string_lossy().into_owned()).unwrap_or_default();
        if ["py", "pyi", "typed"].contains(&kind.as_str()) {
            fs::copy(file.path(), package.join(file.file_name())).unwrap();
        }
    }
    fs::copy(native(), package.join("_shardc.abi3.so")).unwrap();
    folder
}

/// The native module: Cargo builds it before this test, in the same folder.
fn native() -> PathBuf {
    let name = format!("{}_shardc{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    env::current_exe().unwrap().with_file_name(name)
}

fn run(script: &str) {
    let Some(python) = env::var_os("SHARDC_PYTHON").filter(|value| !value.is_empty()) else {
        skipped(Need::Python, "SHARDC_PYTHON names no Python with jax").unwrap();
        return;
    };
    let package = package();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(script);
    // The package finds the program `shardc`, which wheels have, on the `PATH`.
    let program = shardc_filetest::program::shardc().unwrap();
    let path = format!("{}:{}", program.parent().unwrap().display(), env::var("PATH").unwrap_or_default());
    let mut command = Command::new(python);
    let output = command.arg(script).env("PYTHONPATH", package.path()).env("PATH", path).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    // The tests of a script that are skipped.
    eprint!("{printed}");
}

#[test]
fn programs_and_reports() {
    run("test_programs.py");
}

#[test]
fn verification_and_checkpoints() {
    run("test_program.py");
}

#[test]
fn tensors_of_pytorch_xla() {
    run("test_torch_xla.py");
}

#[test]
fn partitioner_of_jax() {
    run("test_jax.py");
}

#[test]
fn two_processes() {
    run("test_processes.py");
}

#[test]
fn wheel_in_several_pythons() {
    run("test_wheel.py");
}

#[test]
fn documentation() {
    run("test_docs.py");
}
