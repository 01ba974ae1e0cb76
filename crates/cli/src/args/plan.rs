//! The command line of `shardc plan`.

use std::path::PathBuf;

use clap::Args;
use shardc::target::{Target, TargetError};

use super::program::{HowArgs, InputArgs};

#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// The devices: a TPU slice (v5p:4x4x4), several slices (v5e:16x16:2), GPUs (h100:8, h100:4x8), or a TOML file with a base device and
    /// the fields that differ
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) how: HowArgs,
    /// Do not look for changes that make the program fit or make it faster
    #[arg(long)]
    pub(crate) no_changes: bool,
    /// Do not shorten long lists
    #[arg(long)]
    pub(crate) all: bool,
    /// Write the plan to a file as JSON; - for standard output, as with --format json
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Only answer whether the program fits: exit code 0 if it does, 1 if not
    #[arg(long)]
    pub(crate) fits: bool,
}

/// Parses a target, or reads it from a TOML file.
pub(crate) fn target(text: &str) -> Result<Target, TargetError> {
    if !text.ends_with(".toml") {
        return text.parse();
    }
    let fail = |reason: String| TargetError { text: text.to_owned(), reason };
    let file =
        std::fs::read_to_string(text).map_err(|error| fail(format!("cannot read the file: {error}")))?;
    Target::from_toml(&file).map_err(|error| fail(error.reason))
}
