//! `cargo xtask test`: every check that a change has to pass.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use shardc_filetest::{
    program::FEATURES,
    quick::xla_flags,
    sample, shared,
    skip::{self, Need},
};

use crate::{
    one_build, process, python, selection, setup, slowest,
    workspace::{Workspace, cargo, which},
};

/// The features for lints and documentation: those of tests, and the object stores that tests do not use.
const ALL_STORES: [&str; 2] = ["--features", "shardc/s3,shardc-checkpoint/gcs,shardc-checkpoint/azure"];

/// The program that runs tests in parallel.
const NEXTEST: &str = "cargo-nextest";

/// The selection of tests and checks.
#[derive(Args)]
pub struct TestArgs {
    /// The steps to run; by default `fmt`, `typos`, `deny` and `one-build`.
    steps: Vec<CheckStep>,
    /// Continue after a step that fails.
    #[arg(long)]
    keep_going: bool,
    /// Run only the tests of crates with files that differ from those in the commit BASE.
    #[arg(long, value_name = "BASE", num_args = 0..=1, default_missing_value = "HEAD", conflicts_with_all = ["steps", "slowest"])]
    changed: Option<String>,
    /// Only list the N slowest tests of the last run [default: 20].
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "20", conflicts_with = "steps")]
    slowest: Option<usize>,
}

/// The steps, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CheckStep {
    /// The code is formatted by rustfmt.
    Fmt,
    /// The tool `typos` finds no spelling mistakes. Skipped if it is not installed.
    Typos,
    /// The licenses, versions and sources of dependencies satisfy `deny.toml`. Skipped if `cargo-deny` is not installed.
    Deny,
    /// The steps `clippy`, `test` and `doc` with one build: Clippy compiles what the tests run.
    OneBuild,
    /// Clippy and the compiler report no warnings.
    Clippy,
    /// Every test of every crate passes.
    Test,
    /// The documentation builds without warnings.
    Doc,
    /// Unit tests and filetests pass.
    Quick,
}

impl CheckStep {
    fn title(self) -> &'static str {
        match self {
            CheckStep::Fmt => "format",
            CheckStep::Clippy => "lints",
            CheckStep::Typos => "spelling mistakes",
            CheckStep::Deny => "dependencies",
            CheckStep::OneBuild => "lints, tests and documentation",
            CheckStep::Quick => "unit tests and filetests",
            CheckStep::Test => "tests",
            CheckStep::Doc => "documentation",
        }
    }

    /// Describes how to fix a failure of the step.
    fn advice(self) -> &'static str {
        match self {
            CheckStep::Fmt => "`cargo fmt --all` formats the code",
            CheckStep::Clippy => {
                "the warnings above count as errors; `cargo xtask test clippy` repeats this step alone"
            }
            CheckStep::Typos => {
                "`typos --write-changes` applies unambiguous corrections; add correct words to `typos.toml`"
            }
            CheckStep::Deny => {
                "`deny.toml` has the rules; add duplicate versions that dependencies need to its `skip` list"
            }
            CheckStep::OneBuild => {
                "warnings of the compiler, Clippy and rustdoc count as errors; `cargo test -p CRATE NAME` runs one failed test alone"
            }
            CheckStep::Quick | CheckStep::Test => {
                "the failed tests are listed above; `cargo test -p CRATE NAME` runs one of them alone"
            }
            CheckStep::Doc => {
                "the warnings above are about documentation comments; `cargo xtask test doc` repeats this step"
            }
        }
    }

    /// Whether the step runs by default.
    fn is_default(self) -> bool {
        match self {
            CheckStep::Fmt | CheckStep::Typos | CheckStep::Deny | CheckStep::OneBuild => true,
            CheckStep::Clippy | CheckStep::Test | CheckStep::Doc | CheckStep::Quick => false,
        }
    }

    fn run(self, workspace: &Workspace, python: Option<&Path>) -> Result<()> {
        let cargo = || with_environment(cargo(), workspace, python);
        match self {
            CheckStep::Fmt => process::run(cargo().args(["fmt", "--all", "--check"])),
            CheckStep::Clippy => process::run(
                cargo()
                    .args(["clippy", "--workspace", "--all-targets"])
                    .args(ALL_STORES)
                    .args(["--", "-D", "warnings"]),
            ),
            CheckStep::Typos => typos(workspace),
            CheckStep::Deny => deny(cargo),
            CheckStep::OneBuild => one_build(workspace, cargo),
            CheckStep::Quick => nextest(workspace, quick_xla(cargo), &["-E", selection::QUICK]),
            CheckStep::Test => tests(workspace, cargo),
            CheckStep::Doc => {
                let args = ["doc", "--workspace", "--no-deps"];
                process::run(cargo().env("RUSTDOCFLAGS", "-D warnings").args(args).args(ALL_STORES))
            }
        }
    }
}

/// Sets the working directory of a command, and the environment variables that tests read.
fn with_environment(mut command: Command, workspace: &Workspace, python: Option<&Path>) -> Command {
    command.current_dir(&workspace.root);
    if let Some(list) = required(|name| env::var_os(name), shared().is_some()) {
        command.env(skip::REQUIRE, list);
    }
    if let Some(python) = python {
        command.env(python::VARIABLE, python);
    }
    command
}

/// Returns the value of `SHARDC_REQUIRE`: the resources whose absence is a failure, not a skipped test. In continuous integration (`CI` is
/// set), these are all resources that setup installs, and the shared data if present. Otherwise, returns `None`.
fn required(variable: impl Fn(&str) -> Option<OsString>, has_shared: bool) -> Option<String> {
    let is_set = |name| variable(name).is_some_and(|value| !value.is_empty());
    if !is_set("CI") || is_set(skip::REQUIRE) {
        return None;
    }
    let mut needs = vec![Need::Cxx, Need::CpuPlugin, Need::Mlir, Need::Python];
    needs.extend(has_shared.then_some(Need::Shared));
    Some(needs.into_iter().map(Need::word).collect::<Vec<_>>().join(","))
}

fn typos(workspace: &Workspace) -> Result<()> {
    let Some(program) = which("typos") else { return skipped("`typos` (`cargo install typos-cli`)") };
    process::run(Command::new(program).current_dir(&workspace.root))
}

/// Checks dependencies without downloads. Security advisories are checked if there is a local copy of their database.
fn deny(cargo: impl Fn() -> Command) -> Result<()> {
    if which("cargo-deny").is_none() {
        return skipped("`cargo-deny` (`cargo install cargo-deny`)");
    }
    process::run(cargo().args(["deny", "--offline", "check", "bans", "licenses", "sources"]))?;
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    if home.is_none_or(|home| fs::read_dir(home.join("advisory-dbs")).is_err()) {
        return skipped("local copy of the advisory database (`cargo deny fetch db`)");
    }
    process::run(cargo().args(["deny", "--offline", "check", "advisories"]))
}

/// Reports a check that is skipped because an optional tool is missing.
fn skipped(tool: &str) -> Result<()> {
    println!("SKIPPED: there is no {tool}");
    Ok(())
}

/// Runs all tests, and the doctests separately, because nextest does not run them.
fn tests(workspace: &Workspace, cargo: impl Fn() -> Command) -> Result<()> {
    build_and_test(workspace, quick_xla(&cargo), &FEATURES, &[])?;
    process::run(cargo().args(["test", "--workspace", "--doc"]).args(FEATURES))
}

/// Runs lints, tests, doctests and the checks of documentation with one build of the workspace.
fn one_build(workspace: &Workspace, cargo: impl Fn() -> Command) -> Result<()> {
    let clippy = one_build::Clippy::find()?;
    let linted = || clippy.compiles(cargo());
    build_and_test(workspace, quick_xla(linted), &ALL_STORES, &[])?;
    let mut doctests = linted();
    one_build::with_documentation(&mut doctests, workspace)?;
    process::run(doctests.args(["test", "--workspace", "--doc"]).args(ALL_STORES))
}

/// Runs the tests that nextest selects by the arguments `selection`.
fn nextest(workspace: &Workspace, cargo: impl Fn() -> Command, selection: &[&str]) -> Result<()> {
    if which(NEXTEST).is_none() {
        bail!("cannot select tests without `cargo-nextest`: run `cargo install cargo-nextest`");
    }
    build_and_test(workspace, cargo, &FEATURES, selection)
}

/// Builds and runs tests: with nextest if it is installed, because it runs tests in parallel and continues after a crash; otherwise with
/// `cargo test`, which ignores the arguments `selection`.
fn build_and_test(
    workspace: &Workspace,
    cargo: impl Fn() -> Command,
    features: &[&str],
    selection: &[&str],
) -> Result<()> {
    let (tests, selection): (&[&str], _) = match which(NEXTEST) {
        Some(_) => (&["nextest", "run"], selection),
        None => (&["test", "--all-targets"], &[] as &[&str]),
    };
    let command = || {
        let mut command = cargo();
        command.args(tests).arg("--workspace").args(features);
        command
    };
    // The build of the tests includes `shardc`. A build of `shardc` alone would select other features of dependencies, and compile all
    // crates twice.
    // nextest lists the tests after the build; some lists need a plugin, which only `shardc` installs.
    process::run(command().arg("--no-run").env_remove(skip::REQUIRE))?;
    let shardc = workspace.program(false, "shardc");
    setup::plugins(&shardc, &[])?;
    process::run(command().env("SHARDC_BIN", shardc).arg("--no-fail-fast").args(selection))
}

/// Makes commands minimize XLA's compile time, which is most of the time of tests that execute programs.
fn quick_xla(cargo: impl Fn() -> Command) -> impl Fn() -> Command {
    move || {
        let mut command = cargo();
        command.env("XLA_FLAGS", xla_flags());
        command
    }
}

/// Runs all tests with all their cases, including those that are too slow for every change, with XLA's default options. Also checks the
/// documentation of programs: [`CheckStep::OneBuild`] checks that of libraries.
pub(crate) fn slow_tests(workspace: &Workspace) -> Result<()> {
    let python = setup::to_build()?;
    let cargo = || {
        let mut command = with_environment(cargo(), workspace, python.as_deref());
        command.env(sample::THOROUGH, "1");
        command
    };
    nextest(workspace, cargo, &["--run-ignored", "all"])?;
    CheckStep::Doc.run(workspace, python.as_deref())
}

/// Runs the steps.
pub fn run(workspace: &Workspace, args: &TestArgs) -> Result<()> {
    if let Some(most) = args.slowest {
        return slowest::list(workspace, most);
    }
    let start = Instant::now();
    let mut times: Vec<(&str, Duration, bool)> = Vec::new();
    let begun = Instant::now();
    let python = process::step("setup", setup::to_build)?;
    if let Some(base) = &args.changed {
        let Some(filterset) = selection::changed(workspace, base)? else {
            println!("no crate has a file that differs from {base}");
            return Ok(());
        };
        let cargo = || with_environment(cargo(), workspace, python.as_deref());
        return nextest(workspace, quick_xla(cargo), &["-E", &filterset]);
    }
    times.push(("setup", begun.elapsed(), true));
    let mut first_failure = None;
    let all = CheckStep::value_variants().iter().copied();
    for step in all.filter(|s| if args.steps.is_empty() { s.is_default() } else { args.steps.contains(s) }) {
        let begun = Instant::now();
        let result = process::step(step.title(), || step.run(workspace, python.as_deref()));
        times.push((step.title(), begun.elapsed(), result.is_ok()));
        if let Err(error) = result {
            first_failure.get_or_insert((step, error));
            if !args.keep_going {
                break;
            }
        }
    }
    println!();
    for (title, time, ok) in times {
        println!("{:<15} {:<7} {}", title, if ok { "ok" } else { "FAILED" }, process::seconds(time));
    }
    println!("{:<15} {:<7} {}", "all", "", process::seconds(start.elapsed()));
    match first_failure {
        None => Ok(()),
        Some((step, error)) => bail!("step `{}`: {error:#}\n{}", step.title(), step.advice()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ci_skips_nothing_that_setup_installs() {
        let of = |set: &[(&str, &str)], has_shared| {
            let variable = |name: &str| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
            };
            required(variable, has_shared)
        };
        assert_eq!(of(&[], true), None);
        assert_eq!(of(&[("CI", "")], true), None);
        assert_eq!(of(&[("CI", "true")], false).as_deref(), Some("c++,cpu-plugin,mlir,python"));
        assert_eq!(of(&[("CI", "1")], true).as_deref(), Some("c++,cpu-plugin,mlir,python,shared"));
        assert_eq!(of(&[("CI", "1"), ("SHARDC_REQUIRE", "all")], true), None, "it is set already");
    }
}
