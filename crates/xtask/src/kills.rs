//! `cargo xtask kills`: kills training runs that save checkpoints, more often than the tests do.

use anyhow::Result;
use clap::Args;

use crate::{
    process, python,
    workspace::{Workspace, cargo},
};

/// The number of kills, and the store of the checkpoints.
#[derive(Args)]
pub struct KillsArgs {
    /// The number of kills in each store.
    #[arg(long, default_value_t = 200)]
    times: u64,
    /// Save only to this store, with credentials from the environment. It must be a folder without checkpoints; the last steps remain
    /// there. By default, runs save to a local folder, with each of the two ways to commit a checkpoint, and to a local S3 server.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
}

/// Runs the test that kills training runs.
pub fn run(workspace: &Workspace, args: &KillsArgs) -> Result<()> {
    let mut test = cargo();
    test.current_dir(&workspace.root)
        .args(["test", "--package", "shardc-checkpoint", "--features", "s3,gcs,azure", "--test", "kills"])
        .env("SHARDC_KILLS", args.times.to_string());
    match &args.store {
        Some(url) => {
            test.env("SHARDC_KILLS_STORE", url);
        }
        None => {
            test.envs(python::for_tests()?.map(|python| (python::VARIABLE, python)));
        }
    }
    process::run(&mut test)
}
