//! The command lines of what needs a plugin: `shardc run`, `shardc verify`, `shardc compile`.

use std::path::PathBuf;

use clap::Args;

use super::checkpoint::StoreArgs;
use super::gpu::GpuArgs;
use super::plugin::Kind;
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
    /// The devices: cpu if not given, or what the name of --plugin says
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) target: Option<Kind>,
    #[command(flatten)]
    pub(crate) gpu: GpuArgs,
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
    #[command(flatten)]
    pub(crate) state: StateArgs,
    /// Run in so many processes on this machine, which share the devices out; see `shardc launch`
    #[arg(long, value_name = "N")]
    pub(crate) processes: Option<usize>,
}

/// Where arguments come from, where results go, and how often the program is run.
#[derive(Args, Debug)]
#[command(next_help_heading = "State")]
pub(crate) struct StateArgs {
    /// Arguments by name: a checkpoint or a folder of steps for its last one, a safetensors file, a folder of Hugging Face's, a file
    /// of torch.save; may be given several times
    #[arg(long, value_name = "PLACE")]
    pub(crate) load: Vec<String>,
    /// The item of a checkpoint that has several, as in `state` of a CheckpointManager of Orbax
    #[arg(long, value_name = "NAME", requires = "load")]
    pub(crate) item: Option<String>,
    /// What arguments are called in what --load names: ARG=NAME, with * for any text on both sides, as in "params.*=model.*"
    #[arg(long, value_name = "ARG=NAME", requires = "load")]
    pub(crate) map: Vec<String>,
    /// Arguments that --load and --inputs do not have are random
    #[arg(long, requires = "load")]
    pub(crate) random_missing: bool,
    /// What --load names may have more than the program takes
    #[arg(long, requires = "load")]
    pub(crate) ignore_unexpected: bool,
    /// Where the results go by name: a new checkpoint, or a file that ends with .safetensors, .pth, .pt or .bin
    #[arg(long, value_name = "PLACE")]
    pub(crate) save: Option<String>,
    /// Run so many steps: results that take the memory of arguments, or have their names, are the arguments of the next step
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) steps: Option<u64>,
    /// Stop at the first step with a result that is NaN or infinite, and name the step and the result
    #[arg(long)]
    pub(crate) check_finite: bool,
    /// A result that is an argument of the next step: RESULT=ARG, as in res0=arg0
    #[arg(long, value_name = "RESULT=ARG", requires = "steps")]
    pub(crate) feed: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Args, Debug)]
pub(crate) struct CompileArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
    /// What to compile for: cpu, cuda (the GPUs of this machine), or devices that need not be there: a TPU slice as in tpu:v5e:2x4,
    /// GPUs as in cuda:h100:8 or cuda:h100:2x8
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
