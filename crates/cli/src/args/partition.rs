//! The command lines of `shardc partition` and `shardc propagate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::program::{FormArgs, HowArgs, InputArgs, ObserveArgs, StopArgs, ToArgs};

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
    #[command(flatten)]
    pub(crate) form: FormArgs,
    /// Print the collectives that were inserted, by kind
    #[arg(long)]
    pub(crate) summary: bool,
    /// Print what is in memory when a device needs most, as estimated, with the lines that made it
    #[arg(long)]
    pub(crate) at_peak: bool,
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
    #[command(flatten)]
    pub(crate) to: ToArgs,
    #[command(flatten)]
    pub(crate) observe: ObserveArgs,
    #[command(flatten)]
    pub(crate) stop: StopArgs,
}
