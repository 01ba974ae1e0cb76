//! Comparisons of shardc with StableHLO, Shardy, XLA and JAX: `cargo xtask bench` and `cargo xtask conformance`.

#![allow(clippy::print_stdout, reason = "the output of these commands is for people")]

mod bench;
mod conformance;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::workspace::Workspace;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    version,
    about = "Conformance and benchmarks of shardc"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run shardc on the test files of Shardy and StableHLO, and on the corpus of real programs.
    #[command(
        after_help = "Examples:\n  cargo xtask conformance\n  cargo xtask conformance read\n  cargo xtask conformance shardy transforms/propagation -v"
    )]
    Conformance(conformance::ConformanceArgs),
    /// Compare the speed of shardc with MLIR and Shardy on the same file, or its partitions with XLA's.
    #[command(
        after_help = "Examples:\n  cargo xtask bench\n  cargo xtask bench --only propagate\n  cargo xtask bench big.mlir --runs 9 --python .venv/bin/python\n  cargo xtask bench --tpu --update\n  cargo xtask bench --only step mlp_dp_tp_train"
    )]
    Bench(bench::BenchArgs),
}

fn main() -> ExitCode {
    if let Some(code) = shardc_filetest::tools::stand_in() {
        return code;
    }
    let cli = Cli::parse();
    let done = Workspace::find().and_then(|workspace| match cli.command {
        Command::Conformance(args) => conformance::run(&workspace, &args),
        Command::Bench(args) => bench::run(&workspace, &args),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}
