//! The command line of `shardc auto`.

use std::path::PathBuf;

use clap::Args;

use super::program::{FormArgs, InputArgs, RuleArgs, number_of_bytes};

#[derive(Args, Debug)]
pub(crate) struct AutoArgs {
    /// The mesh and annotations that the search keeps; without --mesh, the mesh is searched too, unless the program has one
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// The devices: a TPU slice (v5p:4x4x4), several slices (v5e:16x16:2), GPUs (h100:8, h100:4x8), a kind of device with --devices, or a
    /// TOML file with a base device and the fields that differ
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: String,
    /// The number of devices, if --target is only a kind of device
    #[arg(long, value_name = "N")]
    pub(crate) devices: Option<u32>,
    /// The memory of a device that the program may use, "12GiB"; by default that of the target
    #[arg(long, value_name = "BYTES", value_parser = number_of_bytes)]
    pub(crate) memory: Option<u64>,
    /// Remove the meshes and shardings of the program before the search
    #[arg(long)]
    pub(crate) ignore_shardings: bool,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    /// Write the annotated program to a file, which the other commands accept; - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) form: FormArgs,
    /// Write the report to a file as JSON; - for standard output, as with --format json
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
