//! The command lines of `shardc partition` and `shardc propagate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use shardc_passes::cost::memory::{Rule, Stage};

use super::device::PluginFileArgs;
use super::program::{
    AnnotationArgs, FormArgs, HowArgs, InputArgs, ObserveArgs, StopArgs, TargetArgs, ToArgs,
};

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Rules {
    /// All operations that have a sharding rule
    Whole,
    /// Only operations that have a sharding rule in Shardy, to reproduce Shardy's shardings (not CHLO, for example)
    Shardy,
}

#[derive(Args, Debug)]
pub(crate) struct PartitionArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The file to which the partitioned program is written; - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// The file to which the manifest is written: the block of each argument and result on each device
    #[arg(long, value_name = "FILE")]
    pub(crate) manifest: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) form: FormArgs,
    /// Keep the global types: the program is one sdy.manual_computation, which JAX and other front ends with Shardy compile like the original
    /// program. Devices are partitions
    #[arg(long)]
    pub(crate) manual_computation: bool,
    /// Print the collectives by kind, and the estimated memory of a device
    #[arg(long)]
    pub(crate) summary: bool,
    /// Print the values that are live at the estimated memory peak, with their source lines
    #[arg(long)]
    pub(crate) at_peak: bool,
    /// Prove that the partitioned program computes what the program computes, and print what is not proven
    #[arg(long, conflicts_with = "manual_computation")]
    pub(crate) prove: bool,
    /// The file to which the certificate is written: what each value of the partitioned program is. `shardc prove --certificate` finds with it
    /// the operation that another tool changed
    #[arg(long, value_name = "FILE", conflicts_with = "manual_computation")]
    pub(crate) certificate: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) stop: StopArgs,
}

#[derive(Args, Debug)]
pub(crate) struct MemoryArgs {
    /// The program: StableHLO as text, MLIR bytecode or a portable artifact; - for standard input
    #[arg(required_unless_present = "list")]
    pub(crate) input: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) annotations: AnnotationArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
    /// Also compile the program for --target, with its grid, and print the compiler's figures. Needs the plugin, but no device
    #[arg(long, requires = "target", conflicts_with_all = ["stage", "list"])]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) plugin: PluginFileArgs,
    /// Print the result of a stage of the memory model: materialize, schedule, layout, buffers, allocate
    #[arg(long, value_name = "STAGE")]
    pub(crate) stage: Option<Stage>,
    /// Disable a rule of the memory model; may be repeated
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) without: Vec<Rule>,
    /// List the rules of the memory model, each with its stage and its source
    #[arg(long)]
    pub(crate) list: bool,
}

#[derive(Args, Debug)]
pub(crate) struct PropagateArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Write the shardings as mhlo.sharding attributes, for XLA's GSPMD partitioner
    #[arg(long)]
    pub(crate) emit_gspmd: bool,
    /// The operations through which shardings propagate
    #[arg(long, value_enum, default_value_t = Rules::Whole)]
    pub(crate) rules: Rules,
    /// Record for each value the annotations from which its axes come (sdy.sharding_origins), as Shardy does
    #[arg(long)]
    pub(crate) debug_sharding_origins: bool,
    /// Record for each operation the axes that it propagated, with source and target (sdy.propagation_edges), as Shardy does
    #[arg(long)]
    pub(crate) debug_propagation_edge_sharding: bool,
    #[command(flatten)]
    pub(crate) to: ToArgs,
    #[command(flatten)]
    pub(crate) observe: ObserveArgs,
    #[command(flatten)]
    pub(crate) stop: StopArgs,
}
