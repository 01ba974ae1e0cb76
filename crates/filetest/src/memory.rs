//! Device memory that the TPU compiler needs for programs, from `tests/memory.json`, and shardc's estimates for them.
//!
//! Figures and estimates are in bytes, under the names that XLA's compilers use: `arguments`, `outputs`, `aliases` and `temporaries`. Each
//! program has its partitioning options, and the compiler's bytes as `compiler`. A training step has options and bytes for each strategy.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::root;

/// The path of `tests/memory.json`.
#[must_use]
pub fn file() -> PathBuf {
    root().join("memory.json")
}

/// Reads `tests/memory.json`.
///
/// # Errors
/// The file is missing or is not JSON.
pub fn figures() -> Result<Value> {
    let text = std::fs::read_to_string(file()).context("reading tests/memory.json")?;
    serde_json::from_str(&text).context("reading tests/memory.json")
}

/// Returns the command `shardc SUBCOMMAND FILE OPTIONS` with the options of a program. `shardc compile` needs a target of its own.
pub fn command(shardc: &Path, subcommand: &str, file: &Path, program: &Value) -> Command {
    let mut command = Command::new(shardc);
    command.arg(subcommand).arg(file);
    let mut options = program["options"].as_array().into_iter().flatten().filter_map(Value::as_str);
    while let Some(option) = options.next() {
        if option == "--target" && subcommand == "compile" {
            options.next();
        } else {
            command.arg(option);
        }
    }
    command
}

/// Runs the given `shardc partition` command, and returns its estimate.
///
/// # Errors
/// The program cannot be partitioned.
pub fn estimated(partition: &mut Command) -> Result<Value> {
    partition.args(["--summary", "--format", "json", "-o", "-"]);
    let out = partition.output().with_context(|| format!("starting {partition:?}"))?;
    let stderr = String::from_utf8_lossy(&out.stderr);
    ensure!(out.status.success(), "{partition:?} failed: {stderr}");
    let mut lines = stderr.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let summary = lines.find(|json| json["type"] == "summary").context("there is no summary")?;
    Ok(summary["memory"].clone())
}

/// Returns the bytes under a name, such as `arguments`.
///
/// # Errors
/// The name is missing.
pub fn bytes(of: &Value, name: &str) -> Result<f64> {
    of[name].as_f64().with_context(|| format!("missing `{name}` in {of}"))
}

/// Returns the total bytes of device memory that the compiler needs.
///
/// # Errors
/// One of the names is missing.
pub fn need(compiler: &Value) -> Result<f64> {
    let of = |name| bytes(compiler, name);
    Ok(of("arguments")? + of("outputs")? - of("aliases")? + of("temporaries")?)
}
