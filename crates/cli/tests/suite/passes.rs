//! Options that print the module between passes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;

use crate::common::Folder;

const ARGS: &[&str] =
    &["partition", "plain.mlir", "--mesh", "data=4", "--spec", "arg0=data,-", "-o", "out.mlir"];

fn run(folder: &Folder, more: &[&str]) -> crate::common::Ran {
    let ran = folder.run(&[ARGS, more].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran
}

#[test]
fn timings_name_every_pass() {
    let folder = Folder::new();
    let ran = run(&folder, &["--timings", "-"]);
    for pass in ["import-gspmd", "inline", "propagate", "plan", "localize", "clean-collectives", "all passes"]
    {
        assert!(ran.out.lines().any(|line| line.starts_with(pass)), "{pass}: {}", ran.out);
    }
    let ran = run(&folder, &["--timings", "-", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let passes = document["passes"].as_array().unwrap();
    assert_eq!(passes[0]["pass"], "refine-shapes");
    assert_eq!(passes[9]["strategy"], "as-annotated");
    let shares: f64 = passes.iter().map(|pass| pass["share"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-6 && document["seconds"]["propagate"].is_number(), "{document}");
}

#[test]
fn a_pipeline_can_be_inspected_and_stopped() {
    let folder = Folder::new();
    let ran = run(&folder, &["--stop-after", "plan", "--print-after", "propagate", "--verify-each"]);
    assert!(ran.err.contains("// -----// after propagate (as-annotated) //----- //"), "{}", ran.err);
    let planned = fs::read_to_string(folder.path("out.mlir")).unwrap();
    assert!(planned.contains("sdy.mesh"), "{planned}");
    // A pass is also known by its old name, and a number selects a pass by position.
    run(&folder, &["--stop-after", "sweep"]);
    let by_name = fs::read_to_string(folder.path("out.mlir")).unwrap();
    run(&folder, &["--stop-after", "18"]);
    assert_eq!(fs::read_to_string(folder.path("out.mlir")).unwrap(), by_name);
    for (args, what) in [
        (["--print-after", "nothing"], "unknown pass nothing"),
        (["--stop-after", "0"], "passes are numbered from 1"),
    ] {
        let ran = folder.run(&[ARGS, &args[..]].concat());
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains(what), "{}", ran.err);
    }
}
