//! `cargo xtask sweep`: runs more random programs and strategy settings than the tests do, comparisons in exact arithmetic, and tests that are
//! too slow for every change.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::{
    check, exact,
    plugins::Plugin,
    process, python, setup,
    workspace::{Workspace, cargo},
};
use shardc_filetest::quick::xla_flags;

/// The cases to run.
#[derive(Args)]
pub struct SweepArgs {
    /// The kind of cases.
    #[arg(long, value_enum, default_value_t = Of::Programs)]
    of: Of,
    /// The number of cases.
    #[arg(long, default_value_t = 2000)]
    cases: u64,
    /// The random seed; the same seed gives the same cases.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of the first case, to repeat a failed case.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// For proofs: a class of mutations, `damages` or `rewrites`.
    #[arg(long)]
    only: Option<String>,
    /// For proofs: find the places of damages without the certificates of the partitions.
    #[arg(long)]
    without_certificate: bool,
    /// For proofs: the folder of the programs.
    #[arg(long, value_name = "FOLDER")]
    programs: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Of {
    /// Programs with random shardings.
    Programs,
    /// Training steps with random settings of strategies, on random meshes.
    Settings,
    /// Like `settings`, but for eight TPUs: programs are compiled but not run.
    SettingsForTpus,
    /// The programs of the corpora, each compared with its partition in exact arithmetic, in both modes.
    Exact,
    /// Damaged and rewritten partitions of the programs of the checkout and the corpora: the prover must refute those that compute something
    /// else, and only those.
    Proofs,
    /// All tests with all their cases, of which `cargo xtask test` runs only a sample if there are many. The other options have no effect.
    Tests,
}

/// Runs the cases.
///
/// # Errors
/// A case fails.
pub fn run(workspace: &Workspace, args: &SweepArgs) -> Result<()> {
    let (test, trial, others): (_, _, &[Plugin]) = match args.of {
        Of::Programs => ("random", "random programs", &[]),
        Of::Settings => ("settings", "values", &[]),
        Of::SettingsForTpus => ("settings", "for TPUs", &[Plugin::Tpu]),
        Of::Exact => return exact::run(workspace, args.first, args.cases, args.seed),
        Of::Proofs => return proofs(workspace, args),
        Of::Tests => return check::slow_tests(workspace),
    };
    let python = setup::run(others)?;
    process::run(
        cargo()
            .current_dir(&workspace.root)
            .args(["test", "--release", "--package", "shardc-tests", "--test", test, "--", trial])
            .env("SHARDC_CASES", args.cases.to_string())
            .env("SHARDC_SEED", args.seed.to_string())
            .env("SHARDC_FIRST", args.first.to_string())
            // The TPU compiler rejects flags of the CPU compiler.
            .envs(others.is_empty().then(|| ("XLA_FLAGS", xla_flags())))
            .envs(python.map(|python| (python::VARIABLE, python))),
    )
}

fn proofs(workspace: &Workspace, args: &SweepArgs) -> Result<()> {
    let mut command = cargo();
    command.current_dir(&workspace.root);
    command.args(["run", "--release", "--package", "shardc-tests", "--bin", "mutants", "--"]);
    for (option, value) in [("--cases", args.cases), ("--first", args.first), ("--seed", args.seed)] {
        command.args([option, &value.to_string()]);
    }
    if let Some(only) = &args.only {
        command.args(["--only", only]);
    }
    if args.without_certificate {
        command.arg("--without-certificate");
    }
    if let Some(programs) = &args.programs {
        command.arg("--programs").arg(std::path::absolute(programs)?);
    }
    process::run(&mut command)
}
