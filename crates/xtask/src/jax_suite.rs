//! `cargo xtask jax-suite`: JAX's own tests of sharded programs, with shardc as JAX's partitioner.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use clap::Args;

use crate::{
    process,
    workspace::{Workspace, cargo},
};

/// The files of JAX's `tests/` that are about sharded programs.
const FILES: [&str; 5] =
    ["array_test.py", "export_test.py", "layout_test.py", "pjit_test.py", "shard_map_test.py"];

/// The checkout of JAX, and the Python that runs its tests.
#[derive(Args)]
pub struct JaxSuiteArgs {
    /// A checkout of github.com/jax-ml/jax, from which JAX itself and its tests are taken.
    #[arg(long, value_name = "DIR")]
    jax: PathBuf,
    /// A Python with the jaxlib of that version of JAX, numpy, scipy, absl-py and pytest.
    #[arg(long, value_name = "FILE", default_value = "python3")]
    python: PathBuf,
    /// The test files to run.
    #[arg(value_parser = FILES)]
    files: Vec<String>,
    /// Arguments for pytest, such as `-k test_psum`.
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Builds the native module, and runs the tests.
pub fn run(workspace: &Workspace, args: &JaxSuiteArgs) -> Result<()> {
    let package = workspace.root.join("crates/python");
    let tests = args.jax.join("tests");
    ensure!(tests.join(FILES[0]).is_file(), "{} is not a checkout of JAX", args.jax.display());
    process::run(cargo().current_dir(&workspace.root).args([
        "build",
        "--release",
        "--package",
        "shardc-python",
    ]))?;
    let built = workspace.target.join("release/lib_shardc.so");
    std::fs::copy(built, package.join("python/shardc/_shardc.abi3.so"))?;
    let all = FILES.map(str::to_owned);
    let files = if args.files.is_empty() { &all[..] } else { &args.files };
    let mut failed = Vec::new();
    for file in files {
        let done = process::step(file, || process::run(&mut pytest(args, &package, &tests.join(file))));
        if done.is_err() {
            failed.push(file.as_str());
        }
    }
    ensure!(failed.is_empty(), "tests failed in {}", failed.join(", "));
    Ok(())
}

fn pytest(args: &JaxSuiteArgs, package: &Path, file: &Path) -> Command {
    let harness = package.join("tests/jax_suite");
    let folders = [package.join("python"), harness, args.jax.clone()];
    let folders: Vec<_> = folders.iter().map(|path| path.display().to_string()).collect();
    let mut pytest = Command::new(&args.python);
    pytest
        .args(["-m", "pytest", "-q", "-rs", "--tb=short", "-p", "no:cacheprovider", "-p", "shardc_in_jax"])
        .arg(file)
        .args(&args.arguments)
        .env("PYTHONPATH", folders.join(":"))
        .env("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
        .env("JAX_PLATFORMS", "cpu")
        .current_dir(&args.jax);
    pytest
}
