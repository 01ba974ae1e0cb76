//! The ratio of the memory estimate to the TPU compiler's figures stays within bounds. The figures are in `memory.json`, so no compiler is
//! needed. `cargo xtask bench --only memory --tpu` measures the figures again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use shardc_tests::memory::{self, bytes, figures, need};
use shardc_tests::sample::sample;
use shardc_tests::skip::{Need, skipped};
use shardc_tests::{program, root, shared, steps::STEPS};

/// Returns the file of a program, if the file exists.
fn file_of(program: &Value) -> Option<PathBuf> {
    let (name, file) = (program["name"].as_str().unwrap(), program["file"].as_str().unwrap());
    if let Some(file) = file.strip_prefix("tests/") {
        return Some(root().join(file));
    }
    let shared = shared();
    if shared.is_none() {
        skipped(Need::Shared, &format!("{name} of the shared data, which is not here")).unwrap();
    }
    Some(shared?.join(file))
}

/// Returns the file of a training step, if the file exists. A step of the graph builder is first written to `folder`.
fn file_of_step(step: &Value, folder: &Path, mesh: &str) -> Option<PathBuf> {
    let Some(graph) = step["graph"].as_str() else { return file_of(step) };
    let step = STEPS.iter().find(|step| step.name == graph).unwrap();
    let file = folder.join(step.file(mesh));
    std::fs::write(&file, step.text(mesh)).unwrap();
    Some(file)
}

/// The bytes that `shardc partition` estimates, with additional options.
fn estimated(shardc: &Path, file: &Path, program: &Value, options: &[&str]) -> Value {
    let mut partition = memory::command(shardc, "partition", file, program);
    memory::estimated(partition.args(options)).unwrap()
}

/// The range of the ratio of the expected bytes to the compiler's, unless a program has a range of its own with a reason.
const BAND: [f64; 2] = [0.95, 1.12];

#[test]
fn memory_estimates_match_the_tpu_compiler() {
    let shardc = program::shardc().unwrap();
    let mut faults = String::new();
    for of in figures().unwrap()["programs"].as_array().unwrap() {
        let name = of["name"].as_str().unwrap();
        let Some(file) = file_of(of) else { continue };
        let ours = estimated(&shardc, &file, of, &[]);
        let ratio = bytes(&ours, "peak").unwrap() / need(&of["compiler"]).unwrap();
        let bound = |i: usize| of["band"][i].as_f64().unwrap_or(BAND[i]);
        assert!(
            of["band"].is_null() || of["why"].is_string(),
            "{name} has a range of its own without a reason"
        );
        if !(bound(0)..=bound(1)).contains(&ratio) {
            let (least, most) = (bound(0), bound(1));
            writeln!(faults, "{name}: {ratio:.3} of what the compiler takes, not {least} to {most}").unwrap();
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

/// Relative tolerance of the argument bytes of a device, for each strategy.
const ARGUMENTS: f64 = 0.001;

/// The least ratio of the total bytes of a device to the compiler's. The most is that of [`BAND`].
const LEAST: f64 = 0.9;

#[test]
fn strategies_match_tpu_memory_estimates() {
    let shardc = program::shardc().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut faults = String::new();
    let figures = figures().unwrap();
    for (at, step) in figures["strategies"].as_array().unwrap().iter().enumerate() {
        let name = step["name"].as_str().unwrap();
        for (words, mesh) in sample(figures["meshes"].as_object().unwrap().iter(), at, 2) {
            let mesh = mesh.as_str().unwrap();
            let Some(file) = file_of_step(step, folder.path(), mesh) else { continue };
            let settings = format!("{words} {}", step["settings"].as_str().unwrap_or_default());
            let ours = estimated(&shardc, &file, step, &["--fsdp", settings.trim(), "--mesh", mesh]);
            let theirs = &step["compiler"][words];
            let arguments = bytes(&ours, "arguments").unwrap() / bytes(theirs, "arguments").unwrap();
            if (arguments - 1.0).abs() > ARGUMENTS {
                writeln!(faults, "{name} {words}: {arguments:.4} of the compiler's arguments").unwrap();
            }
            // Larger deviations need a reason.
            let most = step["most"][words].as_f64();
            assert!(most.is_none() || step["why"].is_string(), "{name} {words} is let off without a reason");
            // The ratio is rounded to three decimals, as in the table of docs/QUALITY.md.
            let ratio = (1000.0 * bytes(&ours, "peak").unwrap() / need(theirs).unwrap()).round() / 1000.0;
            if !(LEAST..=most.unwrap_or(BAND[1])).contains(&ratio) {
                writeln!(faults, "{name} {words}: {ratio:.3} of what the compiler takes").unwrap();
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}
