//! `cargo xtask sweep`: runs more random programs and strategy settings than the tests do, comparisons in exact arithmetic, and tests that are
//! too slow for every change.

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
