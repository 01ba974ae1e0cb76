//! `cargo xtask fuzz`: fuzzes shardc with corrupted programs, extreme meshes, passes in any order, invalid inputs, and operations with any
//! attributes.
//!
//! The fuzzers are in the package `shardc-tests`; this module builds and starts them.

mod readers;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::{
    plugins::{self, Plugin},
    process,
    workspace::{Workspace, cargo},
};
use shardc_filetest::quick::{xla_flags, xla_flags_for_gradients};

/// The cargo profile of the fuzzers: optimized, with the checks of a debug build.
const PROFILE: &str = "checked";

/// The fuzzers to run, and their inputs.
#[derive(Args)]
pub struct FuzzArgs {
    /// The fuzzers to run, one after the other.
    #[arg(required = true)]
    fuzzers: Vec<Fuzzer>,
    /// The minutes that each fuzzer runs.
    #[arg(long, default_value_t = 1)]
    minutes: u64,
    /// The seconds that each fuzzer runs, instead of `--minutes`.
    #[arg(long, conflicts_with = "minutes")]
    seconds: Option<u64>,
    /// The number of cases that each fuzzer runs, instead of a time limit.
    #[arg(long)]
    cases: Option<u64>,
    /// The random seed; the same seed gives the same inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of a case to repeat.
    #[arg(long)]
    case: Option<u64>,
    /// The number of parallel processes.
    #[arg(long, default_value_t = 2)]
    jobs: u64,
    /// The only operation for which `ops` generates cases; its dialect may be left out.
    #[arg(long, value_name = "NAME")]
    op: Option<String>,
    /// The input file of an earlier failure, to repeat it.
    #[arg(long, conflicts_with_all = ["cases", "case"])]
    file: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Fuzzer {
    /// Corrupted text, read by every parser of programs.
    Text,
    /// Corrupted MLIR bytecode and portable artifacts.
    Bytecode,
    /// Corrupted partitioned programs, for the collective verifier.
    Partitions,
    /// Small programs on extreme meshes.
    Meshes,
    /// Passes in any order.
    Passes,
    /// Invalid inputs to a program that is executed on devices.
    Inputs,
    /// Every operation with any attributes, partitioned, executed, and compared with one device.
    Ops,
    /// Operations on meshes of up to a million devices, partitioned and verified.
    Devices,
    /// All fuzzers above.
    All,
    /// Random reshards: their collectives are simulated, and the search for collectives is timed.
    Reshards,
    /// Derivatives of random programs, compared with finite differences and with each other.
    Gradients,
    /// Corrupted programs for the readers, guided by coverage. Needs a nightly compiler and cargo-fuzz.
    Readers,
}

const ALL: [Fuzzer; 8] = [
    Fuzzer::Text,
    Fuzzer::Bytecode,
    Fuzzer::Partitions,
    Fuzzer::Meshes,
    Fuzzer::Passes,
    Fuzzer::Inputs,
    Fuzzer::Ops,
    Fuzzer::Devices,
];

impl Fuzzer {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// Runs fuzzers. Returns an error if there are findings, which are written to files under `target/fuzz`.
pub fn run(workspace: &Workspace, args: &FuzzArgs) -> Result<()> {
    let mut chosen: Vec<Fuzzer> = Vec::new();
    for &fuzzer in &args.fuzzers {
        match fuzzer {
            Fuzzer::All => chosen.extend(ALL),
            Fuzzer::Readers => readers::run(workspace, args.minutes)?,
            Fuzzer::Reshards => reshards(workspace, args)?,
            Fuzzer::Gradients => gradients(workspace, args)?,
            other => chosen.push(other),
        }
    }
    if chosen.is_empty() {
        return Ok(());
    }
    if chosen.contains(&Fuzzer::Inputs) || chosen.contains(&Fuzzer::Ops) {
        plugins::ensure(&workspace.build_shardc()?, Plugin::Cpu)?;
    }
    process::run(cargo().current_dir(&workspace.root).args([
        "build",
        "--profile",
        PROFILE,
        "--package",
        "shardc-tests",
        "--bin",
        "fuzz",
    ]))?;
    let program = workspace.target.join(PROFILE).join(format!("fuzz{}", std::env::consts::EXE_SUFFIX));
    let mut command = std::process::Command::new(program);
    command.arg("--dir").arg(workspace.target.join("fuzz"));
    command.env("XLA_FLAGS", xla_flags());
    for (name, value) in [
        ("--seconds", Some(args.seconds.unwrap_or(60 * args.minutes))),
        ("--cases", args.cases),
        ("--seed", Some(args.seed)),
        ("--case", args.case),
        ("--jobs", Some(args.jobs)),
    ] {
        if let Some(value) = value {
            command.arg(name).arg(value.to_string());
        }
    }
    if let Some(op) = &args.op {
        command.env("SHARDC_FUZZ_OP", op);
    }
    if let Some(file) = &args.file {
        command.arg("--file").arg(file);
    }
    command.args(chosen.into_iter().map(Fuzzer::name));
    process::run(&mut command)
}

/// Runs the test of random gradients in a release build.
fn gradients(workspace: &Workspace, args: &FuzzArgs) -> Result<()> {
    plugins::ensure(&workspace.build_shardc()?, Plugin::Cpu)?;
    let mut command = cargo();
    command.current_dir(&workspace.root).args(["test", "--release", "--package", "shardc-tests"]);
    command.args(["--test", "gradients"]).env("XLA_FLAGS", xla_flags_for_gradients());
    command.env("SHARDC_SEED", args.seed.to_string());
    match (args.case, args.cases) {
        (Some(case), _) => command.env("SHARDC_FIRST", case.to_string()).env("SHARDC_CASES", "1"),
        (None, cases) => command.env("SHARDC_CASES", cases.unwrap_or(10_000).to_string()),
    };
    process::run(&mut command)
}

/// Runs the test of random reshards in a release build, because each case has a time limit.
fn reshards(workspace: &Workspace, args: &FuzzArgs) -> Result<()> {
    let mut command = cargo();
    command.current_dir(&workspace.root).args(["test", "--release", "--package", "shardc-passes", "--lib"]);
    command.arg("reshard::simulate::paths_bring");
    command.env("SHARDC_SEED", args.seed.to_string());
    match (args.case, args.cases) {
        (Some(case), _) => command.env("SHARDC_FIRST", case.to_string()).env("SHARDC_CASES", "1"),
        (None, Some(cases)) => command.env("SHARDC_CASES", cases.to_string()),
        (None, None) => command.env("SHARDC_MINUTES", args.minutes.to_string()),
    };
    process::run(&mut command)
}
