//! # cargo xtask: developer commands of shardc
//!
//! This program builds without LLVM, because it installs LLVM.

#![allow(clippy::print_stdout, reason = "a program for people: what it says is its output")]

mod bench;
mod check;
mod conformance;
mod demo;
mod fuzz;
mod kills;
mod plugins;
mod process;
mod python;
mod sanitize;
mod selection;
mod setup;
mod slowest;
mod sweep;
mod workspace;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use shardc_runtime::plugin::PluginKind;

use crate::workspace::Workspace;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    version,
    about = "Set-up, demo, tests and benchmarks of shardc"
)]
#[command(after_help = "On a new machine, start with:\n  cargo xtask demo")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install what shardc needs: LLVM's MLIR, XLA's CPU plugin, and the Python packages that tests ask.
    ///
    /// Says what it installs; what is there already stays as it is. `test` runs this first. Without a network the Python packages
    /// are left out and said to be, and tests that need them skip; where `CI` is set, that is an error.
    #[command(
        after_help = "Examples:\n  cargo xtask setup\n  cargo xtask setup --tpu    # and the TPU compiler, which needs no TPU\n  cargo xtask setup --cuda   # and the GPU compiler, which needs no GPU"
    )]
    Setup(SetupArgs),
    /// Partition a training step, show what was inserted, and run it on 8 virtual devices.
    #[command(
        after_help = "Examples:\n  cargo xtask demo\n  cargo xtask demo --tpu     # and compile it for a TPU v5e slice\n  cargo xtask demo --program my_step.mlir --devices 4"
    )]
    Demo(demo::DemoArgs),
    /// Check everything: format, lints, tests, documentation, examples.
    #[command(
        after_help = "Examples:\n  cargo xtask test\n  cargo xtask test quick            # unit tests and filetests, after an edit\n  cargo xtask test --changed main   # only tests of crates that differ from main\n  cargo xtask test --slowest        # where the time of the last run went\n  cargo xtask test fmt clippy       # only these steps\n  cargo xtask test --keep-going     # do not stop at the first failure"
    )]
    Test(check::TestArgs),
    /// Run shardc on the test files of Shardy and StableHLO and on the corpus of real programs.
    #[command(
        after_help = "Examples:\n  cargo xtask conformance\n  cargo xtask conformance read\n  cargo xtask conformance shardy transforms/propagation -v"
    )]
    Conformance(conformance::ConformanceArgs),
    /// Partition random programs, or training steps by random settings, and compare them on 8 virtual devices and on one.
    #[command(
        after_help = "Examples:\n  cargo xtask sweep --cases 2000 --seed 7\n  cargo xtask sweep --of settings --cases 1000\n  cargo xtask sweep --seed 7 --first 1234 --cases 1    # one that failed, again"
    )]
    Sweep(sweep::SweepArgs),
    /// Fuzz: damaged text, bytecode and partitions, hostile meshes, passes in any order, wrong inputs, any attributes.
    #[command(
        after_help = "Examples:\n  cargo xtask fuzz all --minutes 60\n  cargo xtask fuzz text --seed 7 --cases 10000\n  cargo xtask fuzz ops --seconds 600 --op scatter\n  cargo xtask fuzz text --seed 7 --case 1234    # one that was found, again\n  cargo xtask fuzz text --file target/fuzz/text/FOUND.mlir"
    )]
    Fuzz(fuzz::FuzzArgs),
    /// Kill a run that saves checkpoints at random times, and see that it goes on from its last whole step with the same bits.
    #[command(
        after_help = "Examples:\n  cargo xtask kills --times 200\n  cargo xtask kills --store s3://bucket/folder"
    )]
    Kills(kills::KillsArgs),
    /// Run tests under AddressSanitizer, which sees memory used wrongly or lost, in all processes that they start; or under Miri.
    #[command(
        after_help = "Examples:\n  cargo xtask sanitize\n  cargo xtask sanitize runtime mlir    # only these parts\n  cargo xtask sanitize --miri          # needs `rustup toolchain install nightly --component miri,rust-src`"
    )]
    Sanitize(sanitize::SanitizeArgs),
    /// Measure shardc beside MLIR and Shardy on the same file, in turns; or its partitions beside XLA's.
    #[command(
        after_help = "Examples:\n  cargo xtask bench\n  cargo xtask bench --only propagate\n  cargo xtask bench big.mlir --runs 9 --python .venv/bin/python\n  cargo xtask bench --tpu --update\n  cargo xtask bench --only step mlp_dp_tp_train"
    )]
    Bench(bench::BenchArgs),
}

#[derive(Args)]
struct SetupArgs {
    /// Install the TPU compiler (libtpu, some 200 MB) too. It compiles for TPUs on any machine.
    #[arg(long)]
    tpu: bool,
    /// Install the GPU compiler (XLA's CUDA plugin and NVIDIA's compiler, some 230 MB) too. It compiles for GPUs on any machine.
    #[arg(long)]
    cuda: bool,
}

impl SetupArgs {
    /// The plugins for devices other than this machine's CPU.
    fn others(&self) -> Vec<PluginKind> {
        let asked = [(self.tpu, PluginKind::Tpu), (self.cuda, PluginKind::Cuda)];
        asked.into_iter().filter_map(|(yes, kind)| yes.then_some(kind)).collect()
    }
}

fn main() -> ExitCode {
    if let Some(code) = shardc_filetest::tools::stand_in() {
        return code;
    }
    let cli = Cli::parse();
    let done = Workspace::find().and_then(|workspace| match cli.command {
        Command::Setup(args) => setup::run(&args.others()).map(|_| ()),
        Command::Demo(args) => demo::run(&workspace, &args),
        Command::Test(args) => check::run(&workspace, &args),
        Command::Conformance(args) => conformance::run(&workspace, &args),
        Command::Sweep(args) => sweep::run(&workspace, &args),
        Command::Fuzz(args) => fuzz::run(&workspace, &args),
        Command::Kills(args) => kills::run(&workspace, &args),
        Command::Sanitize(args) => sanitize::run(&workspace, &args),
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
