//! Options that commands share: the program, its annotations, partitioning, pass inspection and output.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use shardc::runtime::PluginKind;
use shardc::{Compiler, Module};
use shardc_passes::report::byte_size::parse_bytes;
use shardc_stablehlo::{PrintForm, PrintOptions, Version};

use super::StrategyArgs;
use crate::target::Chosen;

/// The program and its annotations.
#[derive(Args, Debug)]
pub(crate) struct InputArgs {
    /// The program: StableHLO as text, MLIR bytecode or a portable artifact; - for standard input
    pub(crate) input: PathBuf,
    #[command(flatten)]
    pub(crate) annotations: AnnotationArgs,
}

/// Annotations for a program without any.
#[derive(Args, Clone, Debug)]
pub(crate) struct AnnotationArgs {
    /// The mesh, major axis first: "data=4,model=2". It replaces a mesh of the program: axes are matched by name, or in order
    /// for GSPMD's tiles, which have no names
    #[arg(long, value_name = "MESH")]
    pub(crate) mesh: Option<String>,
    /// The sharding of an argument or result: ARG=SPEC, as in arg0=data,-, res0=data,... or params['w']=-,data+model. Names
    /// are those of the front end; * matches any text
    #[arg(long, value_name = "ARG=SPEC")]
    pub(crate) spec: Vec<String>,
    #[command(flatten)]
    pub(crate) symbolic: SymbolicArgs,
    /// The function to compile; by default main, or the only public function
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
}

/// Sizes of symbolic dimensions.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SymbolicArgs {
    /// The size of a symbolic dimension: NAME=SIZE, as in b=64 for a dimension variable of jax.export, or x.0=64 for
    /// dimension 0 of the argument x
    #[arg(long, value_name = "NAME=SIZE")]
    pub(crate) dim: Vec<String>,
}

/// Sharding rules of custom calls, and composites that are not decomposed.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RuleArgs {
    /// A TOML file with sharding rules of custom calls, functions and composites: tables such as [custom_call.NAME], each
    /// with a `rule`: "pointwise", "bqd,bkd->bqe" (one letter for each dimension), or Shardy's notation
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Option<PathBuf>,
    /// The sharding rule of a custom call: NAME=RULE, as in tt.mark_argument=pointwise
    #[arg(long, value_name = "NAME=RULE")]
    pub(crate) rule: Vec<String>,
    /// Do not decompose composites of this name; NAME=RULE also gives their sharding rule
    #[arg(long, value_name = "NAME[=RULE]")]
    pub(crate) keep_composite: Vec<String>,
}

/// Options of partitioning.
#[derive(Args, Clone, Debug)]
pub(crate) struct HowArgs {
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    /// Choose what --mesh, --spec and the program leave open: the mesh, shardings and strategy with the least estimated time, as `shardc
    /// auto` does; needs a target with a grid
    #[arg(long, conflicts_with_all = ["fsdp", "config"])]
    pub(crate) auto: bool,
    /// How devices are numbered; by default as replicas, and as partitions if the target is a TPU and the program has a
    /// ragged_all_to_all
    #[arg(long, value_enum)]
    pub(crate) spmd_mode: Option<Mode>,
    /// The kind of device for which the program is compiled; `None` if the command does not compile it.
    #[arg(skip)]
    pub(crate) plugin: Option<PluginKind>,
    /// The form of replica groups
    #[arg(long, value_enum, default_value_t = Groups::Lists)]
    pub(crate) groups: Groups,
    /// Fail if an operation would all-gather a dimension that annotations shard, or if an ignored setting of --config would
    /// change the result
    #[arg(long)]
    pub(crate) strict: bool,
    /// The threshold of warnings, and of the errors of --strict, in bytes for each device ("16KiB"); 0 for all. By default
    /// 64KiB, or 1 % of the bytes that the program sends if that is less
    #[arg(long, value_name = "BYTES", value_parser = number_of_bytes)]
    pub(crate) warn_bytes: Option<u64>,
    /// The maximum size of a combined collective; a 256th of it if operands must be copied; 0 disables combining. By default 4MiB, or the
    /// setting of --config
    #[arg(long, value_name = "BYTES", value_parser = number_of_bytes)]
    pub(crate) combine_bytes: Option<u64>,
    /// The additional bytes that a loop may keep on each device to move collectives out of it; 0 disables this
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = number_of_bytes)]
    pub(crate) keep_bytes: u64,
    /// The memory of a device, "16GiB": parameters are all-gathered again in the backward pass instead of kept, until the
    /// program fits; if it does not fit, a warning is printed. 0 gathers all of them again, as FSDP does
    #[arg(long, value_name = "BYTES", value_parser = number_of_bytes)]
    pub(crate) memory: Option<u64>,
    /// The order of the devices of --target in the mesh: ascending, or the one in which collectives take the least time
    #[arg(long, value_enum, default_value_t = DeviceOrder::Ascending)]
    pub(crate) device_order: DeviceOrder,
    /// The machine that the program is planned for, from the command's --target; `None` for the default.
    #[arg(skip)]
    pub(crate) machine: Option<Chosen>,
    #[command(flatten)]
    pub(crate) inline: InlineArgs,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    #[command(flatten)]
    pub(crate) observe: ObserveArgs,
}

/// The machine that the program is planned for.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct TargetArgs {
    /// The devices: a kind such as v5e, v5p, h100 or cpu; with a grid, as in v5p:4x4x4, v5e:16x16:2 (two slices) or h100:4x8 (four hosts),
    /// also the links of the mesh axes; or a TOML file that describes them. They determine the costs of collectives and the estimate
    /// of memory
    #[arg(long, value_name = "KIND[:GRID]|FILE")]
    pub(crate) target: Option<String>,
}

/// The limit on inlining.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct InlineArgs {
    /// The maximum number of operations after inlining all calls; above it, functions that are called often are not inlined
    #[arg(long, value_name = "OPERATIONS")]
    pub(crate) inline_budget: Option<u64>,
}

/// Output about the passes that run.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Pass inspection")]
pub(crate) struct ObserveArgs {
    /// Write the time of each pass and each stage to a file, as a table or, with --format json, as JSON; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) timings: Option<PathBuf>,
    /// Print the program after a pass, or after each pass (all), on standard error
    #[arg(long, value_name = "PASS", value_delimiter = ',')]
    pub(crate) print_after: Vec<String>,
    /// Run the verifier after each pass
    #[arg(long)]
    pub(crate) verify_each: bool,
}

/// Options that end the pipeline early.
#[derive(Args, Debug)]
#[command(next_help_heading = "Pass inspection")]
pub(crate) struct StopArgs {
    /// Stop after N passes, or after the pass of this name, and print the program
    #[arg(long, value_name = "N|PASS")]
    pub(crate) stop_after: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Mode {
    /// As replicas: cross-replica collectives and replica_id
    Replica,
    /// As partitions: cross-partition collectives and partition_id; all values have manual shardings
    Partition,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceOrder {
    /// Ascending numbers
    Ascending,
    /// The fastest; the program is partitioned twice
    Auto,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Groups {
    /// Lists of devices
    Lists,
    /// Axes of a mesh: the text does not grow with the number of devices
    MeshAxes,
}

/// The form in which a program is written.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct FormArgs {
    /// The format of the program: pretty or generic (MLIR's text), bytecode (MLIR's bytecode), or artifact or artifact=1.9.0 (a portable
    /// artifact of StableHLO, for readers of this version or newer)
    #[arg(long, value_name = "FORMAT", value_parser = Emit::parse, default_value = "pretty")]
    pub(crate) emit: Emit,
    /// When to write source locations and names of arguments
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Locations::Auto)]
    pub(crate) locations: Locations,
}

/// When to write source locations.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Locations {
    /// If the input has source locations
    Auto,
    /// Never
    None,
}

impl FormArgs {
    /// The options of the printer. `located` is whether the input of the command has source locations.
    pub(crate) fn print_options(self, located: bool) -> PrintOptions {
        let form = match self.emit {
            Emit::Pretty | Emit::Bytecode | Emit::Artifact(_) => PrintForm::Pretty,
            Emit::Generic => PrintForm::Generic,
        };
        let locations = match self.locations {
            Locations::Auto => located,
            Locations::None => false,
        };
        PrintOptions { form, locations, ..PrintOptions::default() }
    }
}

/// The output of a command whose program goes to standard output by default.
#[derive(Args, Clone, Debug)]
pub(crate) struct ToArgs {
    /// The file to which the program is written; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) form: FormArgs,
}

/// The format of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Emit {
    /// MLIR's pretty text.
    Pretty,
    /// MLIR's generic text.
    Generic,
    /// MLIR bytecode.
    Bytecode,
    /// A portable artifact of StableHLO.
    Artifact(Version),
}

impl Emit {
    /// Parses `pretty`, `generic`, `bytecode`, `artifact` or `artifact=1.9.0`.
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "pretty" => Ok(Emit::Pretty),
            "generic" => Ok(Emit::Generic),
            "bytecode" => Ok(Emit::Bytecode),
            "artifact" => Ok(Emit::Artifact(Version::NEWEST)),
            _ => match text.strip_prefix("artifact=") {
                Some(version) => version
                    .parse()
                    .map(Emit::Artifact)
                    .map_err(|_| format!("expected a version such as {}", Version::NEWEST)),
                None => Err("expected pretty, generic, bytecode, artifact or artifact=VERSION".to_owned()),
            },
        }
    }

    /// Writes the module in this format, if it is not text.
    pub(crate) fn binary(self, module: &Module) -> Option<Result<Vec<u8>, shardc::Error>> {
        match self {
            Emit::Pretty | Emit::Generic => None,
            Emit::Bytecode => Some(Compiler::write_bytecode(module)),
            Emit::Artifact(version) => Some(Compiler::write_artifact(module, version)),
        }
    }
}

/// Parses a number of bytes, with or without a unit.
pub(super) fn number_of_bytes(text: &str) -> Result<u64, String> {
    parse_bytes(text).ok_or_else(|| "expected a number of bytes, as in 4096, 64KiB or 1.5MiB".to_owned())
}
