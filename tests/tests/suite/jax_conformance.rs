//! A sample of `cargo xtask conformance jax`: programs lowered by the JAX of `SHARDC_PYTHON` pass every check. Also a sample of `cargo
//! xtask conformance peer`: partitions of programs of this checkout parse, verify and compile in the jaxlib of that Python.
//!
//! Without such a Python the tests are skipped with a message, and fail under `SHARDC_REQUIRE=python`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::PathBuf;

use serde_json::{Value, json};
use shardc_tests::conformance::{Outcome, Worker, jax};
use shardc_tests::root;
use shardc_tests::skip::{Need, skipped};

/// One or two programs of several kinds.
const SAMPLE: &[&str] = &[
    "choosing/scatter_add_of_rows",
    "collectives/all_to_all_of_blocks",
    "collectives/partly_manual_with_constraint",
    "control_flow/scan_over_layers",
    "convolutions/strides",
    "linear_algebra/lu_factors",
    "random_bits/dropout",
    "shardings/explicit_unreduced_product",
    "shardings/gspmd_matmul",
    "steps/mlp_with_adamw_tensor_parallel",
];

/// Programs of `tests/programs`.
const PARTITIONS: &[&str] = &[
    "mlp_dp_tp_train",
    "small/loop_result_transposed",
    "small/loop_with_table",
    "small/manual_collectives",
    "small/two_bits",
];

fn python() -> Option<PathBuf> {
    let python = std::env::var_os("SHARDC_PYTHON").filter(|value| !value.is_empty()).map(PathBuf::from);
    if python.is_none() {
        skipped(Need::Python, "SHARDC_PYTHON names no Python with jax").unwrap();
    }
    python
}

#[test]
fn programs_of_jax_pass_every_check() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let manifest = jax::export(&python, folder.path(), SAMPLE).unwrap();
    let programs = manifest["programs"].as_array().unwrap();
    assert_eq!(programs.len(), SAMPLE.len(), "{manifest}");
    let mut worker = Worker::default();
    let mut failed = Vec::new();
    for program in programs {
        let job = json!({
            "kind": "jax", "python": python, "folder": folder.path(), "program": program, "out": folder.path().join("out"),
        });
        let answer = worker.answer(&job.to_string()).to_json();
        let checks = answer["checks"].as_array().unwrap();
        assert_eq!(checks.len(), jax::CHECKS.len());
        let is_failed = |check: &&Value| check[1] == "failed";
        failed.extend(checks.iter().filter(is_failed).map(|check| format!("{}: {check}", program["name"])));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn partitions_are_accepted_by_jaxlib() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut worker = Worker::default();
    for name in PARTITIONS {
        let file = root().join("programs").join(format!("{name}.mlir"));
        let job = json!({ "kind": "peer", "python": python, "file": file, "out": folder.path() });
        let answer = worker.answer(&job.to_string());
        assert_eq!(answer.outcome, Outcome::Equal, "{name}: {}", answer.message);
    }
}
