//! Bytecode and portable artifacts of every program of the corpus, made by jaxlib in several versions, read to the
//! module that their text gives.

use anyhow::Result;

use super::ConformanceArgs;
use crate::{
    process, python,
    workspace::{Workspace, cargo},
};

/// Runs the reader's own tests over all programs and versions, not the sample that each test run takes.
pub(super) fn run(workspace: &Workspace, args: &ConformanceArgs) -> Result<()> {
    let python = python::with_jax(args.python.as_deref())?;
    process::step("read jaxlib's bytecode and portable artifacts of the corpus", || {
        process::run(
            cargo()
                .current_dir(&workspace.root)
                .args(["test", "--release", "--package", "shardc-stablehlo"])
                .args(["--test", "bytecode", "--test", "vhlo", "--", "--nocapture"])
                .env("SHARDC_ALL", "1")
                .env("SHARDC_PYTHON", python),
        )
    })
}
