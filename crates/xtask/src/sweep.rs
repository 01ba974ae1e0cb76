//! `cargo xtask sweep`: random programs, and random settings of strategies, in numbers that are too many for every test run.

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::{
    process, python, setup,
    workspace::{Workspace, cargo},
};
use shardc_filetest::quick::xla_flags;

/// What to draw.
#[derive(Args)]
pub(crate) struct SweepArgs {
    /// Of what.
    #[arg(long, value_enum, default_value_t = Of::Programs)]
    of: Of,
    /// How many cases.
    #[arg(long, default_value_t = 2000)]
    cases: u64,
    /// What the cases are drawn from: the same seed gives the same ones.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of the first case, to run one again that failed.
    #[arg(long, default_value_t = 0)]
    first: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Of {
    /// Programs with random shardings.
    Programs,
    /// Settings of strategies, on random meshes, for training steps.
    Settings,
}

/// Runs the test of random cases, optimised.
pub(crate) fn run(workspace: &Workspace, args: &SweepArgs) -> Result<()> {
    let python = setup::run(&[])?;
    let test = match args.of {
        Of::Programs => "random",
        Of::Settings => "settings",
    };
    process::run(
        cargo()
            .current_dir(&workspace.root)
            .args(["test", "--release", "--package", "shardc-tests", "--test", test])
            .env("SHARDC_CASES", args.cases.to_string())
            .env("SHARDC_SEED", args.seed.to_string())
            .env("SHARDC_FIRST", args.first.to_string())
            .env("XLA_FLAGS", xla_flags())
            .envs(python.map(|python| (python::VARIABLE, python))),
    )
}
