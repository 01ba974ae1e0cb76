//! The command lines of what needs a plugin: `shardc run`, `shardc verify`, `shardc compile`.

use std::path::PathBuf;

use clap::Args;

use super::program::{HowArgs, InputArgs, number_of_bytes};

/// Which plugin's file is taken.
#[derive(Args, Clone, Debug)]
pub(crate) struct PluginFileArgs {
    /// A PJRT plugin's file, instead of the one that is found
    #[arg(long = "plugin", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// Which plugin runs the program.
#[derive(Args, Debug)]
pub(crate) struct DeviceArgs {
    #[command(flatten)]
    pub(crate) plugin: PluginFileArgs,
    /// Number of devices; the size of the mesh if not given
    #[arg(long, value_name = "N")]
    pub(crate) devices: Option<usize>,
    /// Seed of the random inputs
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// The memory of this machine that inputs, outputs and virtual devices may take: what is available if not given; 0
    /// for any
    #[arg(long, value_name = "BYTES", value_parser = number_of_bytes)]
    pub(crate) host_memory: Option<u64>,
    /// How long one run of the program may take, in seconds; 0 for ever
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    pub(crate) time_limit: u64,
}

#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
    /// Inputs by name (arg0, arg1, ... or as the front end calls them); random where not given
    #[arg(long, value_name = "FILE.safetensors")]
    pub(crate) inputs: Option<PathBuf>,
    /// Where the outputs go (out0, out1, ...)
    #[arg(long, value_name = "FILE.safetensors")]
    pub(crate) outputs: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct CompileArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
    /// What to compile for: cpu, cuda, or a TPU slice as in tpu:v5e:2x4
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: String,
    /// Where the serialised executable goes
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Where the report goes, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) plugin: PluginFileArgs,
}
