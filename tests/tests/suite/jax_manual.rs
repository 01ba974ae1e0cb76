//! Programs of `jax.jit` that shardc partitions as one manual computation: XLA compiles them, and JAX runs them like its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::process::Command;

use shardc_tests::skip::{Need, skipped};
use shardc_tests::{program, root};

#[test]
fn jax_runs_partitions_like_its_own() {
    let Some(python) = std::env::var_os("SHARDC_PYTHON").filter(|value| !value.is_empty()) else {
        skipped(Need::Python, "SHARDC_PYTHON names no Python with jax").unwrap();
        return;
    };
    let script = root().join("tests/data/jax_manual.py");
    let output = Command::new(python).arg(script).arg(program::shardc().unwrap()).output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("4 programs"), "{out}{error}");
}
