//! `cargo xtask conformance`: shardc on the peers' own test files and on the corpus of real programs.
//!
//! Both lie beside the checkout, in `shared/`. What is expected to differ is listed, with the reason, in
//! `tests/conformance/`; anything else that differs is an error, and so is a listed difference that is gone.

mod bytecode;
mod exceptions;
mod filecheck;
mod read;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use shardc_filetest::shared;

use crate::workspace::Workspace;

/// What to run.
#[derive(Args)]
pub(crate) struct ConformanceArgs {
    /// Only files whose path contains one of these.
    filters: Vec<String>,
    /// Only this part.
    #[arg(long)]
    only: Option<Part>,
    /// Print what every failed file said, not only its name.
    #[arg(long, short)]
    verbose: bool,
    /// Build and run shardc optimised.
    #[arg(long)]
    release: bool,
    /// A Python with jax; by default the active virtual environment's, or one made under `target/`.
    #[arg(long)]
    python: Option<PathBuf>,
}

/// What is checked of the files.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Every program is read and comes back from its own print; what is meant to be rejected is rejected.
    Read,
    /// jaxlib's bytecode and portable artifacts of the corpus, in several versions, are what their text is.
    Bytecode,
    /// The peers' `RUN:` lines, with `shardc opt` in the place of their tools.
    Filecheck,
}

impl ConformanceArgs {
    fn wants(&self, path: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| path.contains(filter.as_str()))
    }
}

/// Runs the parts that are wanted.
pub(crate) fn run(workspace: &Workspace, args: &ConformanceArgs) -> Result<()> {
    let Some(root) = shared().filter(|dir| dir.join("conformance").is_dir()) else {
        bail!(
            "there is no conformance data: it lies in `shared/conformance` beside the checkout, or where SHARDC_SHARED says"
        );
    };
    let wants = |part| args.only.is_none_or(|only| only == part);
    if wants(Part::Read) {
        read::run(workspace, &root, args)?;
    }
    if wants(Part::Bytecode) {
        bytecode::run(workspace, args)?;
    }
    if wants(Part::Filecheck) {
        filecheck::run(workspace, &root.join("conformance"), args)?;
    }
    Ok(())
}
