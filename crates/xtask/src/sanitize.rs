//! `cargo xtask sanitize`: runs the tests of code that uses FFI under AddressSanitizer and LeakSanitizer. With `--miri`, runs tests of
//! the other crates under Miri, if installed.
//!
//! All of shardc's code is built with the sanitizer, including the programs that tests start. The standard library, LLVM and XLA's plugin
//! are not, but their allocations are tracked. Each process writes its findings to a file, so that they are not lost if a test expects a
//! process to fail.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use shardc_filetest::skip::{self, Need};

use crate::{
    plugins::{self, Plugin},
    process,
    workspace::{Workspace, cargo, which},
};

/// The tests to run, and the tool.
#[derive(Args)]
pub struct SanitizeArgs {
    /// The parts of the tests to run; by default all.
    parts: Vec<Part>,
    /// Use Miri instead of AddressSanitizer, for crates and tests that do not call foreign functions.
    #[arg(long, conflicts_with = "parts")]
    miri: bool,
    /// The crates to test under Miri; by default all crates that Miri supports.
    #[arg(long, value_name = "CRATE", requires = "miri", value_parser = UNDER_MIRI)]
    package: Vec<String>,
    /// The toolchain with Miri.
    #[arg(long, default_value = "nightly", requires = "miri")]
    toolchain: String,
}

/// The parts of the tests that run under AddressSanitizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// All tests of the runtime, with XLA's CPU plugin: calls, callbacks, asynchronous runs, jobs of several processes.
    Runtime,
    /// All tests of the lowering to MLIR.
    Mlir,
    /// Checkpoints, data sets and state dicts: files, and the threads that read and write them.
    Files,
    /// The facade and `shardc-train`: compiled programs, training state on devices, loaders.
    Facade,
    /// Partitioned programs in two and four processes.
    Processes,
    /// Training examples, three steps each.
    Training,
}

impl Part {
    /// The arguments of each cargo command.
    fn commands(self) -> Vec<Vec<&'static str>> {
        let tests = |packages: &[&'static str]| {
            let named = packages.iter().flat_map(|package| ["--package", package]);
            // Doctests are excluded: rustdoc links them without the sanitizer.
            ["test", "--no-fail-fast", "--tests"].into_iter().chain(named).collect()
        };
        match self {
            Part::Runtime => vec![tests(&["shardc-runtime"])],
            Part::Mlir => vec![tests(&["shardc-mlir"])],
            Part::Files => {
                let mut tests: Vec<_> = tests(&["shardc-checkpoint", "shardc-data", "shardc-statedict"]);
                tests.extend(["--", "--skip", MEASURES_MEMORY]);
                vec![tests]
            }
            Part::Facade => vec![tests(&["shardc", "shardc-train"])],
            Part::Processes => {
                vec![vec!["test", "--no-fail-fast", "--package", "shardc-tests", "--test", "processes"]]
            }
            Part::Training => ["mnist", "mnist_fsdp"]
                .map(|name| vec!["run", "--package", "shardc-examples", "--bin", name, "--", "--steps", "3"])
                .to_vec(),
        }
    }
}

/// Options of AddressSanitizer other than paths. Tests make the plugin request terabytes of memory; the allocator must then return null, as
/// in the C library.
const OPTIONS: &str =
    "detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:allocator_may_return_null=1";

/// The text that distinguishes a report of an error from a report of a warning.
const FAULT: &str = "ERROR: ";

/// The test that measures the memory of a process. It is skipped, because the sanitizer itself uses most of the memory.
const MEASURES_MEMORY: &str = "saving_and_restoring_need_no_more_than_two_shards";

/// Crates with little or no FFI, which Miri can run. They are tested one by one, because features that other crates enable would make more
/// crates need [`BY_TREE_BORROWS`].
const UNDER_MIRI: [&str; 13] = [
    "shardc-statedict",
    "shardc-data",
    "shardc-stablehlo",
    "shardc-autodiff",
    "shardc-strategy",
    "shardc-graph",
    "shardc-shardy",
    "shardc-ir",
    "shardc-analysis",
    "shardc-cost",
    "shardc-passes",
    "shardc-runtime",
    "shardc-checkpoint",
];

/// The crate that Miri checks with the Tree Borrows model: `zlib-rs` 0.6 violates the stricter Stacked Borrows model on deallocation, and
/// `crossbeam-epoch` casts integers to pointers.
const BY_TREE_BORROWS: &str = "shardc-checkpoint";

/// Tests of the runtime that use system calls that Miri does not support: file times, processes, libraries, sockets.
const WITHOUT_MIRI: [&str; 5] =
    ["cache::", "launcher::", "plugin::", "processes::handshake", "local_job_needs_only_an_index"];

/// Large or exhaustive tests, which are too slow under Miri: it is about a thousand times slower.
const TOO_LONG_FOR_MIRI: [&str; 13] = [
    "every_small_float_reads_back",
    "large_sources_are_read_in_parts",
    "small_floats_round_trip",
    "random_is_repeatable_and_in_range",
    "coordinates_and_devices_are_equivalent",
    "far_operations_that_free_more_than_they_allocate",
    "reshard::pairs::",
    "reshard::simulate::",
    "windows::edges::tests::runs_list",
    "windows::exchange::",
    "each_device_does_all_windows_that_touch_its_block",
    "each_element_of_a_slice_is_held_where_it_is_in_a_block",
    // Compression tests.
    "layout::encode::",
];

/// The number of cases of each property test under Miri, as an environment variable of proptest.
const CASES_UNDER_MIRI: (&str, &str) = ("PROPTEST_CASES", "2");

/// Runs tests under a memory checker. Any finding is an error.
pub fn run(workspace: &Workspace, args: &SanitizeArgs) -> Result<()> {
    if args.miri { miri(workspace, args) } else { address(workspace, &args.parts) }
}

fn address(workspace: &Workspace, parts: &[Part]) -> Result<()> {
    plugins::ensure(&workspace.build_shardc()?, Plugin::Cpu)?;
    let reports = Reports::new(workspace.scratch("sanitize")?)?;
    let host = host()?;
    let mut failed = Vec::new();
    for &part in Part::value_variants().iter().filter(|part| parts.is_empty() || parts.contains(part)) {
        for arguments in part.commands() {
            let mut command = cargo();
            sanitized(&mut command, &host, env::var_os("RUSTFLAGS"));
            command.current_dir(&workspace.root).args(arguments);
            command.envs(reports.environment(&workspace.root));
            if env::var_os(skip::REQUIRE).is_none() {
                command.env(skip::REQUIRE, format!("{},{}", Need::CpuPlugin.word(), Need::Mlir.word()));
            }
            let title = process::shown(&command);
            if process::step(&title, || process::run(&mut command)).is_err() {
                failed.push(title);
            }
        }
    }
    let mut found = reports.found()?;
    found.retain(|(_, text)| text.contains(FAULT));
    for (file, text) in &found {
        println!("\n== {}\n{text}", file.display());
    }
    ensure!(
        found.is_empty(),
        "the sanitizer found errors in {} processes; see the reports above",
        found.len()
    );
    ensure!(
        failed.is_empty(),
        "these commands failed, but the sanitizer reported no error:\n{}",
        failed.join("\n")
    );
    println!("\nthe sanitizer found no errors");
    Ok(())
}

/// The host triple. It is passed as an explicit target, so that cargo's flags do not apply to build scripts and procedural macros, which
/// cannot be loaded with a sanitizer.
fn host() -> Result<String> {
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc")));
    let version = process::output(rustc.arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("the output of `rustc -vV` has no host")
}

/// Makes cargo build with AddressSanitizer, an unstable feature that `RUSTC_BOOTSTRAP` enables in a stable compiler.
fn sanitized(command: &mut Command, host: &str, flags: Option<OsString>) {
    let mut flags = flags.unwrap_or_default();
    flags.push(" -Zsanitizer=address");
    command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", flags).env("CARGO_BUILD_TARGET", host);
}

/// A folder to which each process with a finding writes a report.
struct Reports(PathBuf);

impl Reports {
    fn new(folder: PathBuf) -> Result<Reports> {
        let reports = Reports(folder);
        for (old, _) in reports.found()? {
            fs::remove_file(&old).with_context(|| format!("removing {}", old.display()))?;
        }
        Ok(reports)
    }

    /// The environment variables of the sanitizer.
    fn environment(&self, root: &Path) -> Vec<(&'static str, OsString)> {
        let mut address = OsString::from(format!("{OPTIONS}:log_path="));
        address.push(self.0.join("report"));
        let mut leaks = OsString::from("print_suppressions=0:suppressions=");
        leaks.push(root.join("crates/xtask/sanitize/leaks.supp"));
        let mut environment = vec![("ASAN_OPTIONS", address), ("LSAN_OPTIONS", leaks)];
        // Without a symbolizer, stack traces have only addresses.
        let prefix = env::var_os("MLIR_SYS_220_PREFIX").unwrap_or_else(|| OsString::from("/usr/lib/llvm-22"));
        let beside_llvm = Path::new(&prefix).join("bin/llvm-symbolizer");
        let symbolizer = Some(beside_llvm).filter(|path| path.is_file()).or_else(|| which("llvm-symbolizer"));
        environment.extend(symbolizer.map(|path| ("ASAN_SYMBOLIZER_PATH", path.into_os_string())));
        environment
    }

    /// The report files, sorted by name, with their contents.
    fn found(&self) -> Result<Vec<(PathBuf, String)>> {
        let entries = fs::read_dir(&self.0).with_context(|| format!("reading {}", self.0.display()))?;
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("report."))
        });
        files.sort();
        let read = |path: PathBuf| {
            let text = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
            Ok((path, String::from_utf8_lossy(&text).into_owned()))
        };
        files.into_iter().map(read).collect()
    }
}

fn miri(workspace: &Workspace, args: &SanitizeArgs) -> Result<()> {
    let toolchain = &args.toolchain;
    let tests_of = |package: &str| {
        // The command is `cargo` of rustup, because the cargo that runs this process belongs to a different toolchain.
        let mut command = Command::new("cargo");
        command.current_dir(&workspace.root).env_remove("RUSTUP_TOOLCHAIN").arg(format!("+{toolchain}"));
        command.args(["miri", "test", "--package", package, "--lib", "--"]);
        command.args(TOO_LONG_FOR_MIRI.iter().chain(&WITHOUT_MIRI).flat_map(|name| ["--skip", name]));
        // Isolation is disabled, because tests read files and the clock.
        let mut flags = String::from("-Zmiri-disable-isolation");
        if package == BY_TREE_BORROWS {
            flags.push_str(" -Zmiri-tree-borrows -Zmiri-permissive-provenance");
        }
        command.env("MIRIFLAGS", flags);
        let (cases, few) = CASES_UNDER_MIRI;
        if env::var_os(cases).is_none() {
            command.env(cases, few);
        }
        command
    };
    let mut version = Command::new("cargo");
    version.arg(format!("+{toolchain}")).args(["miri", "--version"]);
    version.env_remove("RUSTUP_TOOLCHAIN").stdout(Stdio::null()).stderr(Stdio::null());
    if !version.status().is_ok_and(|status| status.success()) {
        bail!(
            "the toolchain {toolchain} has no Miri; install it with `rustup toolchain install {toolchain} --component miri,rust-src`. \
             Without Miri, `cargo xtask sanitize` checks the crates with `unsafe` code, and \
             `cargo test -p xtask --test rooms` checks that no other crate has any"
        );
    }
    let is_asked = |package: &str| args.package.is_empty() || args.package.iter().any(|of| of == package);
    for package in UNDER_MIRI.into_iter().filter(|package| is_asked(package)) {
        process::step("Miri", || process::run(&mut tests_of(package)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_the_caller_are_kept() {
        let mut command = Command::new("cargo");
        sanitized(&mut command, "x86_64-unknown-linux-gnu", Some(OsString::from("-Cdebuginfo=1")));
        let set: Vec<(String, String)> = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value?.to_str()?.to_owned())))
            .collect();
        let expected = [
            ("CARGO_BUILD_TARGET", "x86_64-unknown-linux-gnu"),
            ("RUSTC_BOOTSTRAP", "1"),
            ("RUSTFLAGS", "-Cdebuginfo=1 -Zsanitizer=address"),
        ];
        assert_eq!(set, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn reports_of_an_earlier_run_are_removed() {
        let folder = env::temp_dir().join(format!("shardc-sanitize-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("report.shardc.12"), "old").unwrap();
        let reports = Reports::new(folder.clone()).unwrap();
        assert!(reports.found().unwrap().is_empty());
        fs::write(folder.join("report.shardc.7"), "a leak").unwrap();
        fs::write(folder.join("other"), "").unwrap();
        let found = reports.found().unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, [(folder.join("report.shardc.7"), "a leak".to_owned())]);
    }

    /// Checks that no suppression covers functions of shardc, and that each suppression has a reason.
    #[test]
    fn every_suppression_has_a_reason() {
        let text = include_str!("../sanitize/leaks.supp");
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        for pair in lines.windows(2).filter(|pair| !pair[1].starts_with('#')) {
            assert!(
                pair[0].starts_with("# "),
                "{}: the preceding line must be a comment with the reason",
                pair[1]
            );
            assert!(
                pair[1].starts_with("leak:") && !pair[1].contains("shardc"),
                "{}: a suppression must not name functions of shardc",
                pair[1]
            );
        }
    }
}
