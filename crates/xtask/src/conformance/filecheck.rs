//! The peers' own test files, run with `shardc opt` in the place of their tools.
//!
//! A file counts as passed if all its `RUN:` lines succeed. Not every difference is a fault: where the peers test
//! choices of their own, ours may differ.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use anyhow::{Context, Result, bail};
use shardc_filetest::{files, filetest::FileTest, program};

use super::ConformanceArgs;
use crate::{demo, process, setup, workspace::Workspace};

/// The peers' tools that `shardc opt` stands in for.
const TOOLS: [&str; 2] = ["sdy_opt", "stablehlo-opt"];

/// How one file went.
enum Outcome {
    Passed,
    Failed(String),
    /// Its `RUN:` lines need a tool that has no counterpart here.
    NotForUs,
}

/// Runs the files and prints the share that passed in each folder.
pub(super) fn run(workspace: &Workspace, root: &Path, args: &ConformanceArgs) -> Result<()> {
    setup::run(false)?;
    let shardc = process::step("build shardc", || demo::build(workspace, args.release))?;
    let dir = workspace.scratch("conformance")?;
    let path = search_path(&dir, &shardc)?;
    let mut paths = files(root, "mlir").with_context(|| format!("reading {}", root.display()))?;
    let relative = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    paths.retain(|path| args.wants(&relative(path)));

    let outcomes = process::step(&format!("run {} files", paths.len()), || Ok(run_all(&paths, &dir, &path)))?;

    let mut folders: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let (mut report, mut crashes) = (String::new(), Vec::new());
    for (path, outcome) in paths.iter().zip(outcomes) {
        let name = relative(path);
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let (passed, total) = folders.entry(folder).or_default();
        match outcome {
            Outcome::NotForUs => continue,
            Outcome::Passed => *passed += 1,
            Outcome::Failed(said) => {
                if said.contains("panicked at") || said.contains("dumped core") {
                    crashes.push(name.clone());
                }
                if args.verbose {
                    println!("---- {name}\n{said}");
                }
                report.push_str(&format!("---- {name}\n{said}\n"));
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
    println!("{all_passed:>5} of {all:<5} in all; what the others said is in {}", report_file.display());
    if !crashes.is_empty() {
        bail!("shardc crashed on {}", crashes.join(", "));
    }
    Ok(())
}

/// Stand-ins for the peers' tools, each with a limit on its time, and the search path that finds them.
fn search_path(dir: &Path, shardc: &Path) -> Result<OsString> {
    let bin = dir.join("bin");
    fs::create_dir_all(&bin).with_context(|| format!("making {}", bin.display()))?;
    for tool in TOOLS {
        let file = bin.join(tool);
        let script = format!("#!/bin/sh\nexec timeout 60 '{}' opt \"$@\"\n", shardc.display());
        fs::write(&file, script).with_context(|| format!("writing {}", file.display()))?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755))
            .with_context(|| format!("making {} executable", file.display()))?;
    }
    let usual = env::var_os("PATH").unwrap_or_default();
    let llvm = program::llvm_tools().context("LLVM's FileCheck is not there")?;
    env::join_paths([bin, llvm].into_iter().chain(env::split_paths(&usual)))
        .context("joining the search path")
}

fn run_all(paths: &[PathBuf], dir: &Path, path: &OsString) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let outcomes: Mutex<BTreeMap<usize, Outcome>> = Mutex::new(BTreeMap::new());
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let (i, Some(file)) = {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    (i, paths.get(i))
                } {
                    let scratch = dir.join("work").join(i.to_string());
                    let outcome = one(file, &scratch, path);
                    let _ = fs::remove_dir_all(&scratch);
                    if let Ok(mut all) = outcomes.lock() {
                        all.insert(i, outcome);
                    }
                }
            });
        }
    });
    outcomes.into_inner().unwrap_or_default().into_values().collect()
}

fn one(file: &Path, scratch: &Path, path: &OsString) -> Outcome {
    let Ok(text) = fs::read_to_string(file) else { return Outcome::NotForUs };
    let Some(test) = FileTest::parse(&text).ok().and_then(|test| for_us(&text, test)) else {
        return Outcome::NotForUs;
    };
    if let Err(error) = fs::create_dir_all(scratch) {
        return Outcome::Failed(error.to_string());
    }
    match test.run(file, scratch, path) {
        Ok(()) => Outcome::Passed,
        Err(said) => Outcome::Failed(said),
    }
}

/// The test with the lines that we can run. Lines under a condition (`%if`) are about builds of the peers' tools.
/// Programs that the peers interpret are read and printed twice here, which must give the same text.
fn for_us(text: &str, mut test: FileTest) -> Option<FileTest> {
    if text.contains("stablehlo-translate") {
        test.runs = vec!["stablehlo-opt %s > %t.0".into(), "stablehlo-opt %t.0 | diff %t.0 -".into()];
        return Some(test);
    }
    test.runs.retain(|run| !run.starts_with("%if"));
    let known = |run: &String| TOOLS.iter().any(|tool| run.contains(tool)) || run.starts_with("diff ");
    (!test.runs.is_empty() && test.runs.iter().all(known)).then_some(test)
}
