//! The command line.

pub(crate) mod checkpoint;
pub(crate) mod statedict;
mod strategy;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use shardc_passes::report::byte_size::parse_bytes;

pub(crate) use strategy::{
    FsdpApplyArgs, FsdpArgs, FsdpCommand, FsdpConfigArgs, FsdpEstimateArgs, FsdpRolesArgs, LoraArgs,
    StrategyArgs,
};

/// An SPMD sharding compiler: annotated StableHLO in, the program of each device out.
#[derive(Debug, Parser)]
#[command(name = "shardc", version, propagate_version = true, max_term_width = 110)]
#[command(
    after_help = "Example:\n  shardc partition step.mlir -o step.partitioned.mlir --manifest step.json\n\n\
    Exit code: 0 done, 1 the program was refused or something failed, 2 wrong usage. A file name of - is the standard input or output.\n\
    Files are written whole or not at all, those of one command together.\n\n\
    With --format json, the result is one JSON document on the standard output, and each error, warning and summary is a JSON object \
    on a line of its own on the standard error: type (diagnostic, summary), code, severity, message, file, line, column, hint, notes."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// How every command speaks.
#[derive(Args, Debug)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct GlobalArgs {
    /// Results, errors and warnings for people or for machines
    #[arg(long, global = true, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Colours; auto: on a terminal, unless NO_COLOR is set, and wherever CLICOLOR_FORCE is
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub(crate) color: Color,
    /// Show errors and results only: no warnings, no progress, no summaries
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

/// Whom a command speaks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For machines: JSON
    Json,
    /// The page of the documentation; for `ops` only
    #[value(hide = true)]
    Markdown,
}

/// When there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal
    Auto,
    /// Everywhere
    Always,
    /// Nowhere
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Turn an annotated program into the program that each device runs
    #[command(after_help = "Examples:\n  shardc partition step.mlir -o out.mlir --manifest out.json\n  \
        shardc partition plain.mlir -o out.mlir --mesh data=4,model=2 --spec arg0=data,-\n  \
        shardc partition step.mlir -o out.mlirbc --emit bytecode --spmd-mode partition")]
    Partition(PartitionArgs),
    /// Carry the annotations to every value, and write the program on global shapes
    #[command(after_help = "Examples:\n  shardc propagate step.mlir -o annotated.mlir\n  \
        shardc propagate step.mlir --emit-gspmd -o for_gspmd.mlir")]
    Propagate(PropagateArgs),
    /// Warn of annotations that are right, but cost memory or communication, or do nothing
    #[command(after_help = "Examples:\n  shardc lint step.mlir\n  \
        shardc lint step.mlir --deny all --allow large-unsharded-parameter\n  \
        shardc lint plain.mlir --mesh data=4,model=2 --spec arg0=data,- --min-bytes 64KiB --format json\n  \
        shardc lint --list\n\n\
        Exit code: 0 nothing or warnings only, 1 a denied rule found something or the program was refused, 2 wrong usage.")]
    Lint(LintArgs),
    /// Run a program on one device and partitioned on many, and compare every output
    #[command(after_help = "Example:\n  shardc verify step.mlir --seed 7")]
    Verify(VerifyArgs),
    /// Partition a program and run it through a PJRT plugin
    #[command(after_help = "Example:\n  shardc run step.mlir --seed 7")]
    Run(RunArgs),
    /// Partition a program and compile it ahead of time; needs no device
    #[command(after_help = "Examples:\n  shardc compile step.mlir --target tpu:v5e:2x4\n  \
        shardc compile step.mlir --target cpu -o step.exe --json report.json")]
    Compile(CompileArgs),
    /// Say why values are sharded as they are, what lost against what, and what each collective is for
    #[command(
        after_help = "Examples:\n  shardc explain step.mlir\n  shardc explain step.mlir --value %5\n  \
        shardc explain step.mlir --line 120\n  shardc explain step.mlir --collective 3\n  \
        shardc explain step.mlir --html step.html --json step.json"
    )]
    Explain(ExplainArgs),
    /// Write a program that returns the gradient of a result by some arguments
    #[command(after_help = "Examples:\n  shardc grad loss.mlir --wrt params --value -o grad.mlir\n  \
        shardc grad loss.mlir --wrt arg0,arg3 --of 1 -o grad.mlir\n  \
        shardc grad loss.mlir --wrt params --rule flash=flash_forward,flash_backward -o grad.mlir\n\n\
        The program keeps its arguments, and returns the value first (with --value), then a gradient for each argument named, in\n\
        the order of the arguments. Shardings of arguments are those of their gradients: partition the result as it is.")]
    Grad(DerivativeArgs),
    /// Write a program that returns how results change by a change of some arguments
    #[command(after_help = "Example:\n  shardc jvp model.mlir --wrt params --value -o tangents.mlir\n\n\
        The program takes a tangent for each argument named, behind its own arguments, and returns the values first (with --value),\n\
        then a tangent for each result.")]
    Jvp(DerivativeArgs),
    /// Run chosen passes, for compiler engineers
    #[command(
        after_help = "Examples:\n  shardc opt step.mlir --passes inline,propagate,plan -o planned.mlir\n  \
        shardc opt tests.mlir -split-input-file -verify-diagnostics -sdy-basic-propagate\n\n\
        Options may be written as mlir-opt's, with one dash, and passes as options of their own."
    )]
    Opt(OptArgs),
    /// Show what is done with each operation where one of its dimensions is split
    #[command(after_help = "Examples:\n  shardc ops\n  shardc ops dot_general\n  shardc ops --json\n\n\
        The table is observed: a small program with each operation is partitioned.")]
    Ops(OpsArgs),
    /// Find, install and check PJRT plugins
    #[command(
        after_help = "Examples:\n  shardc plugin list\n  shardc plugin install cpu\n  shardc plugin doctor\n  shardc plugin doctor --plugin xla_cpu_pjrt.so"
    )]
    Plugin(PluginArgs),
    /// Split a whole training step without annotations: FSDP, ZeRO, data parallelism
    #[command(after_help = "Examples:\n  shardc fsdp roles step.mlir\n  \
        shardc fsdp estimate step.mlir --mesh fsdp=8\n  \
        shardc fsdp apply step.mlir --fsdp \"full_shard auto_wrap\" --mesh fsdp=8 -o annotated.mlir\n  \
        shardc partition step.mlir --config accelerate.yaml -o out.mlir --summary\n  \
        shardc fsdp estimate --parameters 7.5e9 --devices 64")]
    Fsdp(FsdpArgs),
    /// Put adapters of low rank (LoRA) beside the linear maps of a program
    #[command(
        after_help = "Examples:\n  shardc lora model.mlir --rank 8 --targets wq,wv -o adapted.mlir\n  \
        shardc grad adapted.mlir --wrt lora --value -o grad.mlir\n  \
        shardc lora model.mlir --rank 8 --alpha 16 -o adapted.mlir --init init.mlir --merge merge.mlir\n\n\
        The program computes forward: a loss, or anything else. It keeps its arguments, and takes adapters behind them,\n\
        lora.NAME.a (inputs x rank) and lora.NAME.b (rank x outputs); with zeros for all b it computes what it did. What it\n\
        multiplies by weights is told on the standard error, with the share of parameters that is trained."
    )]
    Lora(LoraArgs),
    /// List, show, verify, compare, reshard, put together and convert checkpoints
    #[command(
        after_help = "Examples:\n  shardc checkpoint ls runs/mnist\n  shardc checkpoint show runs/mnist/100\n  \
        shardc checkpoint verify runs/mnist --all\n  shardc checkpoint diff runs/a/100 runs/b/100\n  \
        shardc checkpoint reshard runs/mnist/100 for-serving --mesh model=4\n  \
        shardc checkpoint consolidate --ckpt-prefix ckpt/final --ckpt-suffix \"_rank-*-of-*.pth\"\n  \
        shardc checkpoint convert pytorch_model.bin -o model.safetensors"
    )]
    Checkpoint(checkpoint::CheckpointArgs),
    /// Print the completions of a shell
    #[command(
        after_help = "Example:\n  shardc completions bash > ~/.local/share/bash-completion/completions/shardc"
    )]
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the manual page, or write one for each command
    #[command(after_help = "Examples:\n  shardc man | man -l -\n  shardc man --dir ~/.local/share/man/man1")]
    Man {
        /// Where one page for each command goes
        #[arg(long = "dir", value_name = "DIR")]
        directory: Option<PathBuf>,
    },
    #[command(name = "__aot-compile", hide = true)]
    AotCompile { request: PathBuf },
}

impl Command {
    /// Whether an option of the command itself asks for JSON.
    pub(crate) fn is_json(&self) -> bool {
        match self {
            Command::Lint(args) => args.json,
            Command::Ops(args) => args.json,
            _ => false,
        }
    }
}

/// Where the program comes from and how it is annotated.
#[derive(Args, Debug)]
pub(crate) struct InputArgs {
    /// StableHLO as text, MLIR bytecode or a portable artifact; - for the standard input
    pub(crate) input: PathBuf,
    #[command(flatten)]
    pub(crate) annotations: AnnotationArgs,
}

/// How a program without annotations is annotated.
#[derive(Args, Debug)]
pub(crate) struct AnnotationArgs {
    /// Mesh for a program that has none, or in place of its own (axes are matched by name; for GSPMD's tiles, which
    /// have no names, in order), major axis first: "data=4,model=2"
    #[arg(long, value_name = "MESH")]
    pub(crate) mesh: Option<String>,
    /// Sharding of an argument or result: ARG=SPEC, as in arg0=data,-, res0=data,... or params['w']=-,data+model
    /// (names as the front end gives them; * stands for any text)
    #[arg(long, value_name = "ARG=SPEC")]
    pub(crate) spec: Vec<String>,
}

/// How a partitioned program is made.
#[derive(Args, Debug)]
pub(crate) struct HowArgs {
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,
    /// How devices see one another
    #[arg(long, value_enum, default_value_t = Mode::Replica)]
    pub(crate) spmd_mode: Mode,
    /// How replica groups are written
    #[arg(long, value_enum, default_value_t = Groups::Lists)]
    pub(crate) groups: Groups,
    /// Fail where an operation would gather what the annotations split
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
    /// Whose memory estimates are about: TPUs keep tensors in tiles
    #[arg(long, value_enum, default_value_t = Machine::TpuV5e)]
    pub(crate) machine: Machine,
    /// Most operations of a program with all calls inlined; in a larger one, functions that are called often stay functions
    #[arg(long, value_name = "OPERATIONS")]
    pub(crate) inline_budget: Option<u64>,
    #[command(flatten)]
    pub(crate) observe: ObserveArgs,
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

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Emit {
    /// MLIR's pretty text
    Pretty,
    /// MLIR's generic text
    Generic,
    /// MLIR bytecode
    Bytecode,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Rules {
    /// All whose dimensions hang together
    Whole,
    /// Those that Shardy's passes alone know: exactly its shardings come out (nothing propagates through CHLO, for
    /// example)
    Shardy,
}

#[derive(Args, Debug)]
pub(crate) struct PartitionArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
    /// Where the partitioned program goes; - for the standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Where the manifest goes: which block of which array each device is fed
    #[arg(long, value_name = "FILE")]
    pub(crate) manifest: Option<PathBuf>,
    /// Format of the partitioned program
    #[arg(long, value_enum, default_value_t = Emit::Pretty)]
    pub(crate) emit: Emit,
    /// Print the collectives that were inserted, by kind
    #[arg(long)]
    pub(crate) summary: bool,
    #[command(flatten)]
    pub(crate) stop: StopArgs,
}

#[derive(Args, Debug)]
pub(crate) struct PropagateArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Write the shardings as mhlo.sharding, for XLA's GSPMD partitioner
    #[arg(long)]
    pub(crate) emit_gspmd: bool,
    /// Which operations shardings propagate through
    #[arg(long, value_enum, default_value_t = Rules::Whole)]
    pub(crate) rules: Rules,
    /// Write on each value which annotation its axes come from (sdy.sharding_origins), as Shardy does
    #[arg(long)]
    pub(crate) debug_sharding_origins: bool,
    /// Write on each operation which axes it carried from where to where (sdy.propagation_edges), as Shardy does
    #[arg(long)]
    pub(crate) debug_propagation_edge_sharding: bool,
    /// Format of the annotated program
    #[arg(long, value_enum, default_value_t = Emit::Pretty)]
    pub(crate) emit: Emit,
    /// Where the annotated program goes; - for the standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) observe: ObserveArgs,
    #[command(flatten)]
    pub(crate) stop: StopArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// A value by its name in the file (%5, %arg0), or an argument or result by the front end's name of it
    #[arg(long, value_name = "NAME", group = "question")]
    pub(crate) value: Option<String>,
    /// An argument of the program, from 0, or the front end's name of it
    #[arg(long, value_name = "N", group = "question")]
    pub(crate) arg: Option<String>,
    /// A result of the program, from 0, or the front end's name of it
    #[arg(long, value_name = "N", group = "question")]
    pub(crate) result: Option<String>,
    /// What is made on a line of the file
    #[arg(long, value_name = "L", group = "question")]
    pub(crate) line: Option<usize>,
    /// A collective of the partitioned program, by its number in the summary
    #[arg(long, value_name = "K", group = "question")]
    pub(crate) collective: Option<usize>,
    /// Most operations of a program with all calls inlined; in a larger one, functions that are called often stay functions
    #[arg(long, value_name = "OPERATIONS")]
    pub(crate) inline_budget: Option<u64>,
    /// Show lists and ways whole, however long
    #[arg(long)]
    pub(crate) all: bool,
    /// Write the answer as JSON to a file; - for the standard output, as --format json does
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the answer as one page of HTML instead; - for the standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// What is differentiated by what.
#[derive(Args, Debug)]
pub(crate) struct DerivativeArgs {
    /// StableHLO as text, MLIR bytecode or a portable artifact; - for the standard input
    pub(crate) input: PathBuf,
    /// The arguments: argN, names as the front end or the file gives them, or what such names begin with (params)
    #[arg(long, value_name = "ARG", value_delimiter = ',', required = true)]
    pub(crate) wrt: Vec<String>,
    /// The result, from 0: a scalar for a gradient; several for tangents. The first if not given, all for tangents
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) of: Vec<usize>,
    /// Return the results themselves too, first
    #[arg(long)]
    pub(crate) value: bool,
    /// The derivative of a function, composite or custom call: a function that returns values and tangents (NAME=JVP), two for
    /// values and residuals, and for cotangents (NAME=FORWARD,BACKWARD), or none (NAME=stop)
    #[arg(long, value_name = "NAME=RULE")]
    pub(crate) rule: Vec<String>,
    /// What is kept from the forward pass for the backward pass: everything, nothing, dots (products and convolutions), or
    /// names:A,B (what shardc.checkpoint_name names); the rest is computed again
    #[arg(long, value_name = "POLICY", default_value = "everything")]
    pub(crate) checkpoint: String,
    /// What of it waits in the host's memory: nothing, everything, dots, or names:A,B
    #[arg(long, value_name = "POLICY", default_value = "nothing")]
    pub(crate) offload: String,
    /// Functions whose calls are computed again one by one, each where its gradient is; the whole program if not given
    #[arg(long, value_name = "FUNCTION", value_delimiter = ',')]
    pub(crate) layers: Vec<String>,
    /// Do loops in blocks: of about the square root of their trips the state is kept, and each block is computed again where
    /// its gradient is
    #[arg(long)]
    pub(crate) blocks: bool,
    /// Leave open how derivatives are sharded, rather than as what they are derivatives of or by
    #[arg(long)]
    pub(crate) free_shardings: bool,
    /// Format of the program
    #[arg(long, value_enum, default_value_t = Emit::Pretty)]
    pub(crate) emit: Emit,
    /// Where the program goes; - for the standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct LintArgs {
    /// StableHLO as text, MLIR bytecode or a portable artifact; - for the standard input
    #[arg(required_unless_present = "list")]
    pub(crate) input: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) annotations: AnnotationArgs,
    /// A rule whose findings are errors, by name or code, or all; may be given several times
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) deny: Vec<String>,
    /// A rule that is left out, by name or code, or all
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) allow: Vec<String>,
    /// What is smaller is not worth a warning, where a rule is about bytes
    #[arg(long, value_name = "BYTES", default_value = "1MiB", value_parser = number_of_bytes)]
    pub(crate) min_bytes: u64,
    /// How many findings of one rule are shown
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) max: usize,
    /// The same as --format json
    #[arg(long)]
    pub(crate) json: bool,
    /// Show the rules, and do nothing
    #[arg(long)]
    pub(crate) list: bool,
}

fn number_of_bytes(text: &str) -> Result<u64, String> {
    parse_bytes(text).ok_or_else(|| "expected a number of bytes, as in 4096, 64KiB or 1.5MiB".to_owned())
}

/// Which plugin runs the program.
#[derive(Args, Debug)]
pub(crate) struct DeviceArgs {
    /// A PJRT plugin's file, instead of the one that is found
    #[arg(long, value_name = "FILE")]
    pub(crate) plugin: Option<PathBuf>,
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
    /// A PJRT plugin's file, instead of the one that is found
    #[arg(long, value_name = "FILE")]
    pub(crate) plugin: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct OptArgs {
    /// StableHLO as text, MLIR bytecode or a portable artifact; - for the standard input
    pub(crate) input: Option<PathBuf>,
    /// Passes in order, separated by commas, with options as in pass{name=value}; `list` shows them
    #[arg(long, value_name = "PASSES", value_delimiter = ',')]
    pub(crate) passes: Vec<String>,
    /// Where the program goes; - for the standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// How devices see one another
    #[arg(long, value_enum, default_value_t = Mode::Replica)]
    pub(crate) spmd_mode: Mode,
    /// Take lines of `// -----` for separators of programs; each is a program of its own
    #[arg(long)]
    pub(crate) split_input_file: bool,
    /// Compare errors and warnings with the comments that expect them (`expected-error@+1 {{...}}`).
    ///
    /// Texts are MLIR's words, so that they need not agree, unless they begin with a code: {{SH0102}}
    #[arg(long, value_enum, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "line")]
    pub(crate) verify_diagnostics: Option<Expect>,
    /// Format of the program
    #[arg(long, value_enum, default_value_t = Emit::Pretty)]
    pub(crate) emit: Emit,
    /// The same as --emit generic
    #[arg(long, conflicts_with = "emit")]
    pub(crate) mlir_print_op_generic: bool,
    /// Write source locations
    #[arg(long)]
    pub(crate) mlir_print_debuginfo: bool,
    /// Nothing: unknown dialects are always let through
    #[arg(long, hide = true)]
    pub(crate) allow_unregistered_dialect: bool,
    #[command(flatten)]
    pub(crate) observe: ObserveArgs,
    #[command(flatten)]
    pub(crate) stop: StopArgs,
}

#[derive(Args, Debug)]
pub(crate) struct OpsArgs {
    /// One operation, with or without its dialect
    #[arg(value_name = "OPERATION")]
    pub(crate) op: Option<String>,
    /// The same as --format json
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the page of the documentation
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
}

/// What has to agree with an expectation.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Expect {
    /// Whether it is an error or a warning, anywhere in the program
    Kind,
    /// That and the line; the text only where it begins with a code of shardc's
    Line,
    /// That, the line and the text
    Text,
}

/// The command line with mlir-opt's way of writing options turned into that of this program: `-option` for
/// `--option`, and `-pass=options` for `--passes=pass{options}`.
pub(crate) fn normalized(mut args: Vec<OsString>, is_pass: impl Fn(&str) -> bool) -> Vec<OsString> {
    let Some(command) = command(&args).filter(|&at| args[at] == "opt") else { return args };
    for arg in args.iter_mut().skip(command + 1) {
        let Some(text) = arg.to_str() else { continue };
        let Some(name) = text.strip_prefix('-').map(|name| name.strip_prefix('-').unwrap_or(name)) else {
            continue;
        };
        let (pass, options) = name.split_once('=').unwrap_or((name, ""));
        if is_pass(pass) {
            let options = if options.is_empty() { String::new() } else { format!("{{{options}}}") };
            *arg = format!("--passes={pass}{options}").into();
        } else if !text.starts_with("--") && name.len() > 2 {
            *arg = format!("--{name}").into();
        }
    }
    args
}

/// Where the command stands: behind options of every command.
fn command(args: &[OsString]) -> Option<usize> {
    let mut at = 1;
    while let Some(option) = args.get(at)?.to_str().filter(|arg| arg.starts_with('-')) {
        at += if option == "--format" || option == "--color" { 2 } else { 1 };
    }
    Some(at)
}

#[derive(Args, Debug)]
pub(crate) struct PluginArgs {
    #[command(subcommand)]
    pub(crate) command: PluginCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// Show the plugins that were found, and where
    List,
    /// Fetch the pinned plugin from PyPI into the cache
    Install {
        /// cpu or tpu
        #[arg(value_enum)]
        kind: Kind,
    },
    /// Load each plugin and say what it can do and what it lacks
    Doctor {
        /// Look at this file alone; a TPU's or CUDA's has "tpu" or "cuda" in its name
        #[arg(long, value_name = "FILE")]
        plugin: Option<PathBuf>,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Kind {
    /// XLA for this machine's processor
    Cpu,
    /// The TPU compiler
    Tpu,
}
