//! `cargo xtask sweep`: random programs in numbers that are too many for every test run.

use anyhow::Result;
use clap::Args;

use crate::{
    process, setup,
    workspace::{Workspace, cargo},
};
use shardc_filetest::quick::xla_flags;

/// What to draw.
#[derive(Args)]
pub(crate) struct SweepArgs {
    /// How many programs.
    #[arg(long, default_value_t = 2000)]
    cases: u64,
    /// What the programs are drawn from: the same seed gives the same programs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of the first program, to run one again that failed.
    #[arg(long, default_value_t = 0)]
    first: u64,
}

/// Runs the test of random programs, optimised.
pub(crate) fn run(workspace: &Workspace, args: &SweepArgs) -> Result<()> {
    setup::run(&[])?;
    process::run(
        cargo()
            .current_dir(&workspace.root)
            .args(["test", "--release", "--package", "shardc-tests", "--test", "random"])
            .env("SHARDC_CASES", args.cases.to_string())
            .env("SHARDC_SEED", args.seed.to_string())
            .env("SHARDC_FIRST", args.first.to_string())
            .env("XLA_FLAGS", xla_flags()),
    )
}
