//! If a standard stream is full or closed, `shardc` does not panic, and its exit code reports the failure.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

use std::fs::OpenOptions;
use std::process::Stdio;

use crate::common::Folder;

fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").unwrap().into()
}

#[test]
fn standard_error_may_be_closed() {
    let folder = Folder::new();
    let cases: &[(&[&str], i32)] = &[
        (&["partition", "plain.mlir", "-o", "-"], 1),
        (&["partition", "plain.mlir", "-o", "-", "--format", "json"], 1),
        (&["partition", "absent.mlir", "-o", "-"], 1),
        (&["partition", "plain.mlir"], 2),
        (&["partition", "warns.mlir", "-o", "-", "--summary"], 0),
        (&["opt", "plain.mlir", "-split-input-file", "--passes", "plan"], 1),
        (&["compile", "plain.mlir", "--target", "abacus"], 2),
        (&["nothing"], 2),
    ];
    for (args, code) in cases {
        let output = folder.command(args).stderr(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(*code), "{args:?}");
        let line = format!("{} {} 2>&-", env!("CARGO_BIN_EXE_shardc"), args.join(" "));
        let closed = std::process::Command::new("sh").args(["-c", &line]).current_dir(folder.root()).output();
        assert_eq!(closed.unwrap().status.code(), Some(*code), "{args:?}");
    }
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let folder = Folder::new();
    for args in [
        &["partition", "plain.mlir", "-o", "-", "--mesh", "data=4", "--spec", "arg0=data,-"][..],
        &["propagate", "plain.mlir", "--mesh", "data=4"],
        &["lint", "--list"],
        &["ops", "tanh"],
        &["opt", "--passes", "list"],
        &["--help"],
        &["--version"],
        &["completions", "bash"],
        &["man"],
    ] {
        let output = folder.command(args).stdout(full()).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {err}");
        assert!(err.starts_with("error: cannot write to standard output"), "{args:?}: {err}");
    }
    // If the program cannot be written, the manifest is not written either.
    let args = ["partition", "plain.mlir", "-o", "-", "--manifest", "manifest", "--mesh", "data=4"];
    assert_eq!(folder.command(&args).stdout(full()).output().unwrap().status.code(), Some(1));
    assert_eq!(folder.made(), [""; 0]);
}
