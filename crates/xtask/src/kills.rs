//! `cargo xtask kills`: more kills of runs that save checkpoints than every test run has.

use anyhow::Result;
use clap::Args;

use crate::{
    process,
    workspace::{Workspace, cargo},
};

/// How often.
#[derive(Args)]
pub(crate) struct KillsArgs {
    /// How often a run is killed, by each of the two rules of what counts as a checkpoint.
    #[arg(long, default_value_t = 200)]
    times: u64,
}

/// Runs the test of killed runs.
pub(crate) fn run(workspace: &Workspace, args: &KillsArgs) -> Result<()> {
    process::run(
        cargo()
            .current_dir(&workspace.root)
            .args(["test", "--package", "shardc-checkpoint", "--test", "kills"])
            .env("SHARDC_KILLS", args.times.to_string()),
    )
}
