//! The command line.

pub(crate) mod checkpoint;
mod command;
mod derivative;
mod device;
mod gpu;
mod launch;
mod look;
mod opt;
mod partition;
mod plugin;
mod program;
pub(crate) mod statedict;
mod strategy;

use clap::{Args, Parser, ValueEnum};

pub(crate) use command::Command;
pub(crate) use derivative::DerivativeArgs;
pub(crate) use device::{CompileArgs, DeviceArgs, RunArgs, StateArgs, VerifyArgs};
pub(crate) use launch::LaunchArgs;
pub(crate) use look::{ExplainArgs, LintArgs, OpsArgs};
pub(crate) use opt::{Expect, OptArgs, normalized};
pub(crate) use partition::{PartitionArgs, PropagateArgs, Rules};
pub(crate) use plugin::{Kind, PluginArgs, PluginCommand};
pub(crate) use program::{
    AnnotationArgs, Emit, FormArgs, Groups, HowArgs, InputArgs, Machine, Mode, ObserveArgs, RuleArgs,
    StopArgs, SymbolicArgs,
};
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
