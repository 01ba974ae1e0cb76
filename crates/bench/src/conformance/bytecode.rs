//! jaxlib writes every program of the corpus as bytecode and as portable artifacts for several versions. Each of these files must parse as
//! the same module as the program's text.

use anyhow::Result;

use shardc_filetest::sample::THOROUGH;

use super::ConformanceArgs;
use xtask::{
    process, python,
    workspace::{Workspace, cargo},
};

/// Runs the tests of the bytecode reader on all programs and versions instead of the usual sample.
pub(super) fn run(workspace: &Workspace, args: &ConformanceArgs) -> Result<()> {
    let python = python::with_jax(args.python.as_deref())?;
    process::step("read jaxlib's bytecode and portable artifacts of the corpus", || {
        process::run(
            cargo()
                .current_dir(&workspace.root)
                .args(["test", "--release", "--package", "shardc-stablehlo"])
                .args(["--test", "suite", "--", "bytecode::", "vhlo::", "--nocapture"])
                .env(THOROUGH, "1")
                .env("SHARDC_PYTHON", python),
        )
    })
}
