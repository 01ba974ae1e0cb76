//! jaxlib writes every program of the corpus as bytecode and as portable artifacts for several versions. Each of these files must parse as
//! the same module as the program's text. And shardc writes every program as bytecode and artifacts, which jaxlib must read as the same
//! program.

use anyhow::Result;

use shardc_filetest::sample::THOROUGH;

use super::ConformanceArgs;
use xtask::{
    process, python,
    workspace::{Workspace, cargo},
};

/// Runs the tests of the reader and the writer of bytecode on all programs and versions instead of the usual sample.
pub(super) fn run(workspace: &Workspace, args: &ConformanceArgs) -> Result<()> {
    let python = python::with_jax(args.python.as_deref())?;
    process::step("compare bytecode and portable artifacts with jaxlib", || {
        process::run(
            cargo()
                .current_dir(&workspace.root)
                .args(["test", "--release", "--package", "shardc-stablehlo"])
                .args(["--test", "suite", "--", "bytecode::", "vhlo::", "written::", "--nocapture"])
                .env(THOROUGH, "1")
                .env("SHARDC_PYTHON", python),
        )
    })
}
