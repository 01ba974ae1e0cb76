//! # cargo xtask: developer commands of shardc
//!
//! This program builds without LLVM, because it installs LLVM.

#![allow(clippy::print_stdout, reason = "the output of this program is text for its user")]

use std::{ffi::OsString, process::ExitCode};

use clap::{Args, Parser, Subcommand};

use xtask::plugins::Plugin;
use xtask::workspace::{Workspace, cargo};
use xtask::{
    book, capi, check, demo, dist, features, fuzz, jax_suite, kills, one_build, process, sanitize, setup,
    sweep, wheel,
};

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    version,
    about = "Set-up, demo, tests, documentation and benchmarks of shardc"
)]
#[command(after_help = "On a new machine, start with:\n  cargo xtask demo")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install the requirements of shardc: LLVM's MLIR, XLA's CPU plugin, and the Python packages of tests.
    ///
    /// Installed packages are not changed. `test` runs this first. Without a network, the Python packages are not installed, and tests that
    /// need them are skipped; if `CI` is set, this is an error.
    #[command(
        after_help = "Examples:\n  cargo xtask setup\n  cargo xtask setup --tpu    # and the TPU compiler, which needs no TPU\n  cargo xtask setup --cuda   # and the GPU compiler, which needs no GPU"
    )]
    Setup(SetupArgs),
    /// Partition a training step, show the inserted collectives, and run it on 8 virtual devices.
    #[command(
        after_help = "Examples:\n  cargo xtask demo\n  cargo xtask demo --tpu     # and compile it for a TPU v5e slice\n  cargo xtask demo --program my_step.mlir --devices 4"
    )]
    Demo(demo::DemoArgs),
    /// Check everything: formatting, lints, tests, documentation, examples.
    #[command(
        after_help = "Examples:\n  cargo xtask test\n  cargo xtask test quick            # only unit tests and filetests\n  cargo xtask test --changed main   # only tests of crates that differ from main\n  cargo xtask test --slowest        # list the slowest tests of the last run\n  cargo xtask test fmt clippy       # only these steps\n  cargo xtask test --keep-going     # do not stop at the first failure"
    )]
    Test(check::TestArgs),
    /// Check that `shardc` and `shardc-train` compile without features, with each feature alone, and with all.
    #[command(
        after_help = "Examples:\n  cargo xtask features\n  cargo xtask features strategy runtime    # only these, each alone"
    )]
    Features(features::FeaturesArgs),
    /// Run shardc on the test files of Shardy and StableHLO, and on the corpus of real programs.
    #[command(disable_help_flag = true)]
    Conformance(Forwarded),
    /// Partition random programs, or training steps with random settings, and compare the results on 8 virtual devices and on one; or run
    /// all tests with all their cases.
    #[command(
        after_help = "Examples:\n  cargo xtask sweep --cases 2000 --seed 7\n  cargo xtask sweep --of settings --cases 1000\n  cargo xtask sweep --of tests                         # all tests, with all their cases\n  cargo xtask sweep --seed 7 --first 1234 --cases 1    # repeat a failed case"
    )]
    Sweep(sweep::SweepArgs),
    /// Fuzz shardc: corrupted text, bytecode and partitions, extreme meshes, passes in any order, invalid inputs, any attributes.
    #[command(
        after_help = "Examples:\n  cargo xtask fuzz all --minutes 60\n  cargo xtask fuzz text --seed 7 --cases 10000\n  cargo xtask fuzz ops --seconds 600 --op scatter\n  cargo xtask fuzz text --seed 7 --case 1234    # repeat a case that failed\n  cargo xtask fuzz text --file target/fuzz/text/FOUND.mlir"
    )]
    Fuzz(fuzz::FuzzArgs),
    /// Kill a training run at random times while it saves checkpoints, and check that it resumes from its last complete step with bitwise
    /// equal results.
    #[command(
        after_help = "Examples:\n  cargo xtask kills --times 200\n  cargo xtask kills --store s3://bucket/folder"
    )]
    Kills(kills::KillsArgs),
    /// Run tests and their child processes under AddressSanitizer, which detects memory errors and leaks; or under Miri.
    #[command(
        after_help = "Examples:\n  cargo xtask sanitize\n  cargo xtask sanitize runtime mlir    # only these parts\n  cargo xtask sanitize --miri          # needs `rustup toolchain install nightly --component miri,rust-src`"
    )]
    Sanitize(sanitize::SanitizeArgs),
    /// Build the Python package with the program as a wheel, which needs neither Rust nor LLVM.
    #[command(
        after_help = "Examples:\n  cargo xtask wheel\n  cargo xtask wheel --check python3.11 --check python3.13"
    )]
    Wheel(wheel::WheelArgs),
    /// Build and install the C library with its headers, for pkg-config and CMake.
    #[command(
        after_help = "Examples:\n  cargo xtask capi --prefix ~/shardc\n  cargo xtask capi --profile release"
    )]
    Capi(capi::CapiArgs),
    /// Build what is distributed: tarballs, Debian packages, wheels, the list of components, and checksums.
    #[command(
        after_help = "Examples:\n  cargo xtask dist\n  cargo xtask dist --no-wheel -o ~/files\n  cargo xtask dist --target aarch64-unknown-linux-gnu"
    )]
    Dist(dist::DistArgs),
    /// Run JAX's own tests of sharded programs with shardc as JAX's partitioner.
    #[command(
        after_help = "Examples:\n  cargo xtask jax-suite --jax ~/jax --python ~/venv/bin/python\n  cargo xtask jax-suite --jax ~/jax shard_map_test.py -- -k psum\n\nThe tests that are excluded, with their reasons: crates/python/tests/jax_suite/excluded.txt."
    )]
    JaxSuite(jax_suite::JaxSuiteArgs),
    /// Build the documentation as a book, with mdBook, after checking its pages and links.
    #[command(
        after_help = "Examples:\n  cargo xtask book            # target/book/index.html\n  cargo xtask book --check    # only the check"
    )]
    Book(book::BookArgs),
    /// Compare the speed of shardc with MLIR and Shardy on the same file, or its partitions with XLA's.
    #[command(disable_help_flag = true)]
    Bench(Forwarded),
}

/// The arguments of a command that `shardc-bench` implements, because the command links the compiler.
#[derive(Args)]
struct Forwarded {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Forwarded {
    /// Builds and runs `shardc-bench`.
    fn run(&self, workspace: &Workspace, command: &str) -> anyhow::Result<()> {
        let run = ["run", "--quiet", "--package", "shardc-bench", "--", command];
        process::run(cargo().current_dir(&workspace.root).args(run).args(&self.arguments))
    }
}

#[derive(Args)]
struct SetupArgs {
    /// Also install the TPU compiler (libtpu, about 200 MB), which needs no TPU.
    #[arg(long)]
    tpu: bool,
    /// Also install the GPU compiler (XLA's CUDA plugin and NVIDIA's compiler, about 230 MB), which needs no GPU.
    #[arg(long)]
    cuda: bool,
}

impl SetupArgs {
    /// The plugins for devices other than this machine's CPU.
    fn others(&self) -> Vec<Plugin> {
        let asked = [(self.tpu, Plugin::Tpu), (self.cuda, Plugin::Cuda)];
        asked.into_iter().filter_map(|(yes, kind)| yes.then_some(kind)).collect()
    }
}

fn main() -> ExitCode {
    if let Some(code) = one_build::stand_in().or_else(shardc_filetest::tools::stand_in) {
        return code;
    }
    let cli = Cli::parse();
    let done = Workspace::find().and_then(|workspace| match cli.command {
        Command::Setup(args) => setup::run(&args.others()).map(|_| ()),
        Command::Demo(args) => demo::run(&workspace, &args),
        Command::Test(args) => check::run(&workspace, &args),
        Command::Conformance(args) => args.run(&workspace, "conformance"),
        Command::Features(args) => features::run(&workspace, &args),
        Command::Sweep(args) => sweep::run(&workspace, &args),
        Command::Fuzz(args) => fuzz::run(&workspace, &args),
        Command::Kills(args) => kills::run(&workspace, &args),
        Command::Sanitize(args) => sanitize::run(&workspace, &args),
        Command::Wheel(args) => wheel::run(&workspace, &args),
        Command::JaxSuite(args) => jax_suite::run(&workspace, &args),
        Command::Dist(args) => dist::run(&workspace, &args),
        Command::Capi(args) => capi::run(&workspace, &args),
        Command::Book(args) => book::run(&workspace, &args),
        Command::Bench(args) => args.run(&workspace, "bench"),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn commands_have_consistent_arguments() {
        super::Cli::command().debug_assert();
    }
}
