//! Command-line arguments of the commands that run or compile programs: `shardc run`, `shardc verify`, `shardc compile`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::checkpoint::StoreArgs;
use super::gpu::GpuArgs;
use super::plugin::Kind;
use super::program::{HowArgs, InputArgs, number_of_bytes};

/// The file of the plugin.
#[derive(Args, Clone, Debug)]
pub(crate) struct PluginFileArgs {
    /// The file of a PJRT plugin, instead of the installed one
    #[arg(long = "plugin", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// The engine that runs the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineKind {
    /// PJRT if its plugin is installed, and else the interpreter
    Auto,
    /// The devices of a PJRT plugin
    Pjrt,
    /// The interpreter: needs no plugin and no devices, and is slow
    Interpreter,
}

/// The engine, and its limits.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct EngineArgs {
    /// The engine that runs the program
    #[arg(long = "engine", value_enum, value_name = "ENGINE", default_value_t = EngineKind::Auto)]
    pub(crate) kind: EngineKind,
    /// The number of elements that each device may compute in the interpreter, where a matmul counts its multiplications; 0 for no limit
    #[arg(long, value_name = "ELEMENTS", default_value_t = 0)]
    pub(crate) work_limit: u64,
}

/// The plugin and the devices that run the program.
#[derive(Args, Debug)]
pub(crate) struct DeviceArgs {
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) plugin: PluginFileArgs,
    /// The kind of device; by default the kind in the file name of --plugin, or else cpu
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) target: Option<Kind>,
    #[command(flatten)]
    pub(crate) gpu: GpuArgs,
    /// The number of devices, which must be the size of the mesh; by default that size
    #[arg(long, value_name = "N")]
    pub(crate) devices: Option<usize>,
    /// The seed of the random inputs
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// The limit on host memory for inputs, outputs and virtual devices; by default the memory that is available; 0 for no
    /// limit
    #[arg(long, value_name = "BYTES", value_parser = number_of_bytes)]
    pub(crate) host_memory: Option<u64>,
    /// The time limit of one execution of the program, in seconds; 0 for no limit
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
    /// Compare in exact arithmetic, without a tolerance: floats are random elements of a prime field, in the interpreter
    #[arg(long)]
    pub(crate) exact: bool,
    /// Compare with this program instead of the partition: both run on one device, with the same inputs
    #[arg(long, value_name = "FILE", requires = "exact")]
    pub(crate) against: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
    /// The inputs by name (arg0, arg1, ..., or a name of the front end); inputs that the file lacks are random
    #[arg(long, value_name = "FILE.safetensors")]
    pub(crate) inputs: Option<PathBuf>,
    /// The file to which the outputs are written (out0, out1, ...)
    #[arg(long, value_name = "FILE.safetensors")]
    pub(crate) outputs: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) state: StateArgs,
    /// Run in N processes on this machine, each with an equal share of the devices; see `shardc launch`
    #[arg(long, value_name = "N")]
    pub(crate) processes: Option<usize>,
}

/// The sources of arguments, the destination of results, and the number of steps.
#[derive(Args, Debug)]
#[command(next_help_heading = "State")]
pub(crate) struct StateArgs {
    /// The arguments by name: a checkpoint, a folder of steps (its last step is used), a safetensors file, a Hugging Face folder, or
    /// a file of torch.save. May be repeated
    #[arg(long, value_name = "PLACE")]
    pub(crate) load: Vec<String>,
    /// The item to read from a checkpoint with several items, such as `state` of Orbax's CheckpointManager
    #[arg(long, value_name = "NAME", requires = "load")]
    pub(crate) item: Option<String>,
    /// The name of an argument in the files of --load: ARG=NAME, with one * for any text on both sides, as in "params.*=model.*"
    #[arg(long, value_name = "ARG=NAME", requires = "load")]
    pub(crate) map: Vec<String>,
    /// Use random values for arguments that --load and --inputs lack
    #[arg(long, requires = "load")]
    pub(crate) random_missing: bool,
    /// Ignore arrays in --load that are not arguments of the program
    #[arg(long, requires = "load")]
    pub(crate) ignore_unexpected: bool,
    /// Save the results by name in a new checkpoint, or in a file that ends with .safetensors, .pth, .pt or .bin
    #[arg(long, value_name = "PLACE")]
    pub(crate) save: Option<String>,
    /// Run N steps. A result becomes an argument of the next step if that argument is donated to it, or has its name
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) steps: Option<u64>,
    /// Stop at the first step with a NaN or infinity in a result, and report the step and the result
    #[arg(long)]
    pub(crate) check_finite: bool,
    /// Pass a result to the next step as an argument: RESULT=ARG, as in res0=arg0
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
    /// The target: cpu, cuda (the GPUs of this machine), or devices that need not be present: a TPU slice as in tpu:v5e:2x4, or GPUs
    /// as in cuda:h100:8 or cuda:h100:2x8; or a TOML file that describes them, whose base device is compiled for
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: String,
    /// The file to which the serialized executable is written
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The file to which the report is written as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) plugin: PluginFileArgs,
}
