//! The command line of `shardc plan`.

use std::path::PathBuf;

use clap::Args;

use super::program::{HowArgs, InputArgs};

#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// The devices: a TPU slice (v5p:4x4x4), several slices (v5e:16x16:2), GPUs (h100:8, h100:4x8), or a TOML file with a base device and
    /// the fields that differ
    #[arg(long, value_name = "TARGET", required_unless_present_any = ["sweep", "smallest_slice"])]
    pub(crate) target: Option<String>,
    /// Compare targets of these kinds of devices (v5e,v5p,h100; all if none is named), from 4 to 256 devices: what fits, and what is
    /// fastest per device. The mesh of the program is resized along its first axis. A program without annotations is sharded by
    /// several strategies and meshes, or by those of --fsdp and --mesh
    #[arg(long, value_name = "KINDS", num_args = 0..=1, default_missing_value = "all", conflicts_with = "target")]
    pub(crate) sweep: Option<String>,
    /// Find the smallest target of this kind of device on which the program fits
    #[arg(long, value_name = "KIND", conflicts_with_all = ["target", "sweep"])]
    pub(crate) smallest_slice: Option<String>,
    /// The number of tokens or samples that one execution processes; --sweep then also prints the device time for each
    #[arg(long, value_name = "N", conflicts_with = "target")]
    pub(crate) samples: Option<u64>,
    /// The price of a device for an hour: KIND=PRICE, as in v5e=1.2; --sweep then also prints the price of one execution
    #[arg(long, value_name = "KIND=PRICE", value_delimiter = ',', conflicts_with = "target")]
    pub(crate) price: Vec<String>,
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
    /// Write the plan and the explanation of all shardings to a file as an HTML page; - for standard output
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sweep", "smallest_slice"])]
    pub(crate) html: Option<PathBuf>,
    /// Write the schedule to a file as a trace for ui.perfetto.dev; - for standard output
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sweep", "smallest_slice"])]
    pub(crate) trace: Option<PathBuf>,
    /// Only answer whether the program fits: exit code 0 if it does, 1 if not
    #[arg(long, conflicts_with_all = ["sweep", "smallest_slice"])]
    pub(crate) fits: bool,
}
