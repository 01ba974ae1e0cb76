//! What many commands ask: which program, how it is annotated and partitioned, what is shown, and how it is written.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use shardc::runtime::PluginKind;
use shardc_passes::report::byte_size::parse_bytes;
use shardc_stablehlo::{PrintForm, PrintOptions};

use super::StrategyArgs;

/// Where the program comes from and how it is annotated.
#[derive(Args, Debug)]
pub(crate) struct InputArgs {
    /// StableHLO as text, MLIR bytecode or a portable artifact; - for the standard input
    pub(crate) input: PathBuf,
    #[command(flatten)]
    pub(crate) annotations: AnnotationArgs,
}

/// How a program without annotations is annotated.
#[derive(Args, Clone, Debug)]
pub(crate) struct AnnotationArgs {
    /// Mesh for a program that has none, or in place of its own (axes are matched by name; for GSPMD's tiles, which
    /// have no names, in order), major axis first: "data=4,model=2"
    #[arg(long, value_name = "MESH")]
    pub(crate) mesh: Option<String>,
    /// Sharding of an argument or result: ARG=SPEC, as in arg0=data,-, res0=data,... or params['w']=-,data+model
    /// (names as the front end gives them; * stands for any text)
    #[arg(long, value_name = "ARG=SPEC")]
    pub(crate) spec: Vec<String>,
    #[command(flatten)]
    pub(crate) symbolic: SymbolicArgs,
    /// The function that is compiled; main, or the only public one, if not given
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
}

/// Sizes of symbolic dimensions.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SymbolicArgs {
    /// Size of a symbolic dimension: NAME=SIZE, as in b=64 for a dimension variable of jax.export, or x.0=64 for dimension 0
    /// of an argument
    #[arg(long, value_name = "NAME=SIZE")]
    pub(crate) dim: Vec<String>,
}

/// How custom calls are sharded, and what is kept whole.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RuleArgs {
    /// Sharding rules of custom calls, functions and composites: a TOML file with tables such as [custom_call.NAME], each
    /// with a `rule`: "pointwise", "bqd,bkd->bqe" (a letter for each dimension), or in Shardy's notation
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Option<PathBuf>,
    /// The sharding rule of a custom call: NAME=RULE, as in tt.mark_argument=pointwise
    #[arg(long, value_name = "NAME=RULE")]
    pub(crate) rule: Vec<String>,
    /// Keep composites of this name whole, with a rule if one is given: NAME or NAME=RULE
    #[arg(long, value_name = "NAME")]
    pub(crate) keep_composite: Vec<String>,
}

/// How a partitioned program is made.
#[derive(Args, Clone, Debug)]
pub(crate) struct HowArgs {
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    /// How devices see one another; replica if not given, but partition for a TPU that runs a ragged_all_to_all
    #[arg(long, value_enum)]
    pub(crate) spmd_mode: Option<Mode>,
    /// The kind of device that the program is compiled for, where a command knows it.
    #[arg(skip)]
    pub(crate) target: Option<PluginKind>,
    /// How replica groups are written
    #[arg(long, value_enum, default_value_t = Groups::Lists)]
    pub(crate) groups: Groups,
    /// Fail where an operation would gather what the annotations split, or a setting of --config is ignored that would change the
    /// result
    #[arg(long)]
    pub(crate) strict: bool,
    /// Warn of what costs each device so many bytes, "16KiB", and refuse it where --strict does; 0 for all. 64KiB if not
    /// given, or 1 % of what the program sends if that is less
    #[arg(long, value_name = "BYTES", value_parser = number_of_bytes)]
    pub(crate) warn_bytes: Option<u64>,
    /// Combine small collectives while they have at most so many bytes together; those that have to be copied
    /// for it, a 256th of that; 0 for none. 4MiB if not given, or what --config says
    #[arg(long, value_name = "BYTES", value_parser = number_of_bytes)]
    pub(crate) combine_bytes: Option<u64>,
    /// Let a loop keep so many more bytes on each device, where that takes collectives out of it; 0 for none
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = number_of_bytes)]
    pub(crate) keep_bytes: u64,
    /// The memory that a device has, "16GiB": parameters are gathered again in the backward pass, rather than kept, until
    /// the program fits, and a warning says so if it does not; 0 gathers all of them again, as FSDP does
    #[arg(long, value_name = "BYTES", value_parser = number_of_bytes)]
    pub(crate) memory: Option<u64>,
    /// Whose memory estimates are about: TPUs keep tensors in tiles. tpu-v5e if not given, or what --target says
    #[arg(long, value_enum)]
    pub(crate) machine: Option<Machine>,
    #[command(flatten)]
    pub(crate) inline: InlineArgs,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    #[command(flatten)]
    pub(crate) observe: ObserveArgs,
}

/// Which functions stay functions.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct InlineArgs {
    /// Most operations of a program with all calls inlined; in a larger one, functions that are called often stay functions
    #[arg(long, value_name = "OPERATIONS")]
    pub(crate) inline_budget: Option<u64>,
}

/// What is shown of the passes that run.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Looking between passes")]
pub(crate) struct ObserveArgs {
    /// Write how long each pass took, and each stage; a table, or JSON with --format json; - for the standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) timings: Option<PathBuf>,
    /// Print the program after a pass, or after all, on the standard error
    #[arg(long, value_name = "PASS", value_delimiter = ',')]
    pub(crate) print_after: Vec<String>,
    /// Check the program after each pass
    #[arg(long)]
    pub(crate) verify_each: bool,
}

/// Where a pipeline ends.
#[derive(Args, Debug)]
#[command(next_help_heading = "Looking between passes")]
pub(crate) struct StopArgs {
    /// End after so many passes, or after a pass of this name, and print the program as it is then
    #[arg(long, value_name = "N|PASS")]
    pub(crate) stop_after: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Mode {
    /// Cross-replica collectives, replica_id
    Replica,
    /// Cross-partition collectives, partition_id, everything marked manual
    Partition,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Machine {
    /// A TPU v5e, or its like
    TpuV5e,
    /// A TPU v5p, or its like
    TpuV5p,
    /// A GPU, compiled for by XLA
    Gpu,
    /// Any that stores elements side by side
    Plain,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Groups {
    /// As lists of devices
    Lists,
    /// As axes of a mesh, whose text does not grow with the number of devices
    MeshAxes,
}

/// How a program is written.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct FormArgs {
    /// Format of the program
    #[arg(long, value_enum, default_value_t = Emit::Pretty)]
    pub(crate) emit: Emit,
    /// Whether source locations and the names of arguments are written
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Locations::Auto)]
    pub(crate) locations: Locations,
}

/// When the text of a program has source locations.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Locations {
    /// If the input has them
    Auto,
    /// Never
    None,
}

impl FormArgs {
    /// How text is printed. `located` says whether the input of the command has source locations.
    pub(crate) fn print_options(self, located: bool) -> PrintOptions {
        let form = match self.emit {
            Emit::Pretty | Emit::Bytecode => PrintForm::Pretty,
            Emit::Generic => PrintForm::Generic,
        };
        let locations = match self.locations {
            Locations::Auto => located,
            Locations::None => false,
        };
        PrintOptions { form, locations, ..PrintOptions::default() }
    }
}

/// Where a program goes that is read on unless a file is named.
#[derive(Args, Clone, Debug)]
pub(crate) struct ToArgs {
    /// Where the program goes; - for the standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) form: FormArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Emit {
    /// MLIR's pretty text
    Pretty,
    /// MLIR's generic text
    Generic,
    /// MLIR bytecode
    Bytecode,
}

/// A number of bytes, with or without a unit.
pub(super) fn number_of_bytes(text: &str) -> Result<u64, String> {
    parse_bytes(text).ok_or_else(|| "expected a number of bytes, as in 4096, 64KiB or 1.5MiB".to_owned())
}
