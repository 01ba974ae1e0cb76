//! `cargo xtask sweep`: random programs in numbers that are too many for every test run.

use std::env;

use anyhow::Result;
use clap::Args;

use crate::{
    process, setup,
    workspace::{Workspace, cargo},
};

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

/// XLA's quickest way to code that runs: nearly all of the time goes into compiling programs that run for microseconds.
const QUICK: &str = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false \
    --xla_cpu_parallel_codegen_split_count=1 --xla_cpu_max_isa=SSE4_2";

/// Runs the test of random programs, optimised. What `XLA_FLAGS` says comes before our own choice of them.
pub(crate) fn run(workspace: &Workspace, args: &SweepArgs) -> Result<()> {
    setup::run(false)?;
    process::run(
        cargo()
            .current_dir(&workspace.root)
            .args(["test", "--release", "--package", "shardc-tests", "--test", "random"])
            .env("SHARDC_CASES", args.cases.to_string())
            .env("SHARDC_SEED", args.seed.to_string())
            .env("SHARDC_FIRST", args.first.to_string())
            .env("XLA_FLAGS", env::var("XLA_FLAGS").unwrap_or_else(|_| QUICK.to_owned())),
    )
}
