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
    /// List the installed plugins and their files
    List,
    /// Download the pinned plugin from PyPI into the cache
    #[command(after_help = "Examples:\n  shardc plugin install cpu\n  shardc plugin install tpu\n  \
        shardc plugin install cuda --compiler-only\n\n\
        Output: the file of the plugin.")]
    Install {
        /// The plugin: cpu, tpu or cuda
        #[arg(value_enum)]
        kind: Kind,
        /// Download only the CUDA plugin, and use the CUDA libraries of this machine
        #[arg(long)]
        with_system_cuda: bool,
        /// Download only what `shardc compile` needs for NVIDIA GPUs; programs cannot run with it
        #[arg(long, conflicts_with = "with_system_cuda")]
        compiler_only: bool,
    },
    /// Load each plugin, and report its devices and what is missing
    #[command(
        after_help = "Examples:\n  shardc plugin doctor\n  shardc plugin doctor --plugin xla_cpu_pjrt.so\n\n\
        Output: for each plugin the version of its C API, the number of devices, and missing functions and libraries. Exit code: 0 all \
        installed plugins load, 1 one does not load, 2 wrong usage."
    )]
    Doctor {
        /// Check only this file; the file name of a TPU or CUDA plugin must contain "tpu" or "cuda"
        #[arg(long, value_name = "FILE")]
        plugin: Option<PathBuf>,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Kind {
    /// The CPU of this machine, by XLA
    Cpu,
    /// The TPU compiler
    Tpu,
    /// NVIDIA GPUs
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
