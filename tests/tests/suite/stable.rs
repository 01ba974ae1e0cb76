//! Compilation is deterministic: the same input produces the same bytes in every process.
//!
//! Each program is compiled in several processes. Hash seeds and addresses differ between the processes, so an order that depends on either
//! is detected.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::{path::Path, process::Command};

use shardc_tests::{files, program, root, sample::sample};

const PROCESSES: usize = 3;

/// The maximum size in bytes of a program that is partitioned. Larger programs are slow to partition, so they are only propagated.
const LARGE: u64 = 100_000;

/// Commands, with `%` for the program.
const COMMANDS: [&[&str]; 4] = [
    &["propagate", "%", "-o", "-"],
    &["propagate", "%", "--emit-gspmd", "-o", "-"],
    &["opt", "%", "-sdy-propagation-pipeline"],
    &["partition", "%", "-o", "-"],
];

#[test]
fn every_process_prints_the_same_bytes() {
    let shardc = program::shardc().unwrap();
    let mut compared = 0;
    for (at, file) in files(&root().join("programs"), "mlir").unwrap().into_iter().enumerate() {
        let is_large = file.metadata().unwrap().len() > LARGE;
        let (commands, first) = if is_large { (&COMMANDS[..1], 0) } else { (&COMMANDS[..], at) };
        for command in sample(commands.iter(), first, commands.len().min(2)) {
            let first = printed(&shardc, command, &file);
            for _ in 1..PROCESSES {
                let again = printed(&shardc, command, &file);
                assert!(again == first, "{command:?} prints {} otherwise", file.display());
            }
            compared += usize::from(first.is_ok_and(|bytes| !bytes.is_empty()));
        }
    }
    assert!(compared > 40, "only {compared} programs printed something");
}

/// Runs a command, and returns its output, or its error output if the command fails. Both must be deterministic.
fn printed(shardc: &Path, command: &[&str], file: &Path) -> Result<Vec<u8>, Vec<u8>> {
    let file = file.to_str().unwrap();
    let arguments = command.iter().map(|&word| if word == "%" { file } else { word });
    let out = Command::new(shardc).args(arguments).output().unwrap();
    if out.status.success() { Ok(out.stdout) } else { Err(out.stderr) }
}
