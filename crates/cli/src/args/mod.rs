//! The command line.

mod auto;
pub(crate) mod checkpoint;
mod command;
mod derivative;
mod device;
mod gpu;
mod launch;
mod look;
mod opt;
mod partition;
mod plan;
mod plugin;
mod program;
pub(crate) mod statedict;
mod strategy;

use clap::{Args, Parser, ValueEnum};

pub(crate) use auto::AutoArgs;
pub(crate) use command::Command;
pub(crate) use derivative::DerivativeArgs;
pub(crate) use device::{
    CompileArgs, DeviceArgs, EngineKind, PluginFileArgs, RunArgs, StateArgs, VerifyArgs,
};
pub(crate) use launch::LaunchArgs;
pub(crate) use look::{DiffArgs, ExplainArgs, LintArgs, LspArgs, OpsArgs, ProveArgs, SnapshotArgs};
pub(crate) use opt::{Expect, OptArgs, normalized};
pub(crate) use partition::{MemoryArgs, PartitionArgs, PropagateArgs, Rules};
pub(crate) use plan::PlanArgs;
pub(crate) use plugin::{Kind, PluginArgs, PluginCommand};
pub(crate) use program::{
    AnnotationArgs, DeviceOrder, Emit, FormArgs, Groups, HowArgs, InputArgs, Mode, ObserveArgs, RuleArgs,
    StopArgs, SymbolicArgs, TargetArgs,
};
pub(crate) use strategy::{
    FsdpApplyArgs, FsdpArgs, FsdpCommand, FsdpConfigArgs, FsdpEstimateArgs, FsdpRolesArgs, LoraArgs,
    StrategyArgs,
};

/// An SPMD sharding compiler: annotated StableHLO in, the per-device program out.
#[derive(Debug, Parser)]
#[command(
    name = "shardc",
    version,
    propagate_version = true,
    max_term_width = 110,
    disable_help_subcommand = true
)]
#[command(
    after_help = "Example:\n  shardc partition step.mlir -o step.partitioned.mlir --manifest step.json\n\n\
    Exit code: 0 success, 1 the program was rejected or the command failed, 2 wrong usage. The file name - is standard input or output. \
    The output files of a command are written all together, or not at all.\n\n\
    With --format json, the result is one JSON document on standard output, and each error, warning and summary is a JSON object \
    on a line of its own on standard error: type (diagnostic, summary), code, severity, message, file, line, column, hint, notes."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The form of the output of every command.
#[derive(Args, Debug)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// The form of results, errors and warnings
    #[arg(long, global = true, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// When to use colors; auto: on a terminal unless NO_COLOR is set, and always if CLICOLOR_FORCE is set
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub(crate) color: Color,
    /// Print only errors and results: no warnings, progress or summaries
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

/// The form of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text
    Text,
    /// JSON
    Json,
    /// Markdown, as in docs/OPS.md; only for `ops`
    #[value(hide = true)]
    Markdown,
}

/// When to use colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
