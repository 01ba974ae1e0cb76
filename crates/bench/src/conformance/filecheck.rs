//! StableHLO's own test files, run with `shardc opt` in place of `stablehlo-opt`.
//!
//! A file passes if all its `RUN:` lines succeed. Not every difference is a bug: some files test StableHLO's implementation choices, which
//! may differ in shardc.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use shardc_filetest::{files, filetest::FileTest};

use super::{
    ConformanceArgs,
    tools::{Tools, in_parallel},
};
use xtask::{demo, process, setup, workspace::Workspace};

/// The tool that `shardc opt` replaces.
const TOOL: &str = "stablehlo-opt";

/// The outcome of one file.
enum Outcome {
    Passed,
    Failed(String),
    /// The test has no `RUN:` line that shardc supports, or needs another tool.
    NotForUs,
}

/// Runs the files and prints the pass rate of each folder.
pub(super) fn run(workspace: &Workspace, root: &Path, args: &ConformanceArgs) -> Result<()> {
    setup::run(&[])?;
    let shardc = process::step("build shardc", || demo::build(workspace, args.release))?;
    let dir = workspace.scratch("conformance")?;
    let tools = Tools::new(&dir, &shardc, &[TOOL])?;
    let mut paths = files(root, "mlir").with_context(|| format!("reading {}", root.display()))?;
    let relative = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    paths.retain(|path| args.wants(&relative(path)));

    let run = |i: usize, file: &PathBuf| tools.with_scratch(i, |scratch| one(file, scratch, &tools.path));
    let title = format!("run {} StableHLO test files", paths.len());
    let outcomes = process::step(&title, || Ok(in_parallel(&paths, run)))?;

    let mut folders: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let (mut report, mut crashes) = (String::new(), Vec::new());
    for (path, outcome) in paths.iter().zip(outcomes) {
        let name = relative(path);
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let (passed, total) = folders.entry(folder).or_default();
        match outcome {
            Outcome::NotForUs => continue,
            Outcome::Passed => *passed += 1,
            Outcome::Failed(message) => {
                if message.contains("panicked at") || message.contains("dumped core") {
                    crashes.push(name.clone());
                }
                if args.verbose {
                    println!("---- {name}\n{message}");
                }
                report.push_str(&format!("---- {name}\n{message}\n"));
            }
        }
        *total += 1;
    }
    let report_file = dir.join("failures.txt");
    fs::write(&report_file, report).with_context(|| format!("writing {}", report_file.display()))?;
    println!();
    let (mut all_passed, mut all) = (0, 0);
    for (folder, (passed, total)) in folders.iter().filter(|(_, (_, total))| *total > 0) {
        println!("{passed:>5} of {total:<5} {folder}");
        all_passed += passed;
        all += total;
    }
    println!(
        "{all_passed:>5} of {all:<5} total; the messages of failed files are in {}",
        report_file.display()
    );
    if !crashes.is_empty() {
        bail!("shardc crashed on {}", crashes.join(", "));
    }
    Ok(())
}

fn one(file: &Path, scratch: &Path, path: &OsStr) -> Outcome {
    let Ok(text) = fs::read_to_string(file) else { return Outcome::NotForUs };
    let Some(test) = FileTest::parse(&text).ok().and_then(|test| for_us(&text, test)) else {
        return Outcome::NotForUs;
    };
    match test.run(file, scratch, path) {
        Ok(()) => Outcome::Passed,
        Err(message) => Outcome::Failed(message),
    }
}

/// Returns the test with only its supported `RUN:` lines, or `None` if shardc cannot run the test. Lines under a condition (`%if`) are
/// omitted, because they depend on builds of StableHLO's tools. A test that runs `stablehlo-translate`, such as StableHLO's interpreter, is
/// replaced by a round trip: printing and parsing must produce the same text.
fn for_us(text: &str, mut test: FileTest) -> Option<FileTest> {
    if text.contains("stablehlo-translate") {
        test.runs = vec![format!("{TOOL} %s > %t.0"), format!("{TOOL} %t.0 | diff %t.0 -")];
        return Some(test);
    }
    test.runs.retain(|run| !run.starts_with("%if"));
    let known = |run: &String| run.contains(TOOL) || run.starts_with("diff ");
    (!test.runs.is_empty() && test.runs.iter().all(known)).then_some(test)
}
