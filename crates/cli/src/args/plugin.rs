//! The command line of `shardc plugin`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use shardc::runtime::PluginKind;

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
        /// cpu, tpu or cuda
        #[arg(value_enum)]
        kind: Kind,
        /// Fetch the plugin for NVIDIA's GPUs alone: the CUDA of this machine has the libraries
        #[arg(long)]
        with_system_cuda: bool,
        /// Fetch what `compile` needs for NVIDIA's GPUs and no more: nothing runs with it
        #[arg(long, conflicts_with = "with_system_cuda")]
        compiler_only: bool,
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
    /// NVIDIA's GPUs
    Cuda,
}

impl From<Kind> for PluginKind {
    fn from(kind: Kind) -> PluginKind {
        match kind {
            Kind::Cpu => PluginKind::Cpu,
            Kind::Tpu => PluginKind::Tpu,
            Kind::Cuda => PluginKind::Cuda,
        }
    }
}
