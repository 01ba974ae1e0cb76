//! Compares programs of the corpora with their partitions in exact arithmetic, without a plugin and without a tolerance. `cargo xtask sweep --of
//! exact` compares all of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs;

use shardc::exec::{Limits, verify_exactly};
use shardc::{Compiler, SpmdMode};
use shardc_tests::sample::sample;
use shardc_tests::skip::{Need, skipped};
use shardc_tests::{files, shared};

/// One of this many programs is compared; all of them in a thorough run.
const SAMPLE: usize = 8;

/// The elements that each device may compute. Larger programs are left out.
const WORK: u64 = 1 << 24;

/// The errors of programs that cannot be compared: unknown custom calls, and limits.
const LEFT_OUT: &[&str] = &["SH0710", "SH0711", "RT0304"];

#[test]
fn partitions_equal_their_originals() {
    let Some(folder) = shared().map(|dir| dir.join("corpus")).filter(|dir| dir.is_dir()) else {
        return skipped(Need::Shared, "the corpora of the shared data, which is not here").unwrap();
    };
    let (mut equal, mut left_out, mut faults) = (0, 0, String::new());
    let programs = files(&folder, "mlir").unwrap().into_iter().enumerate();
    for (i, path) in sample(programs, 3, SAMPLE) {
        let text = fs::read(&path).unwrap();
        let mode = if i % 2 == 0 { SpmdMode::Replica } else { SpmdMode::Partition };
        let name = path.file_stem().unwrap().to_string_lossy();
        let Ok(output) = Compiler::new().spmd_mode(mode).partition(&text) else {
            left_out += 1;
            continue;
        };
        let original = Compiler::read(&text).unwrap();
        match verify_exactly(&original, &output, i as u64, Limits { work: Some(WORK), ..Limits::default() }) {
            Ok(checks) => {
                equal += 1;
                for check in checks.iter().filter(|check| !check.ok()) {
                    let _ = writeln!(faults, "{name}, {mode:?}: {check:?}");
                }
            }
            Err(error) if LEFT_OUT.iter().any(|code| error.to_string().contains(code)) => left_out += 1,
            Err(error) => {
                let _ = writeln!(faults, "{name}, {mode:?}: {error}");
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
    assert!(equal > left_out, "{equal} programs are equal, and {left_out} are left out");
}
