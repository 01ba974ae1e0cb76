//! Runs Shardy's own tests with `shardc opt` in place of `sdy_opt`, and counts functions. Each `CHECK-LABEL` begins a function.
//!
//! Expected failures are listed in `tests/conformance/shardy.txt`. An unlisted failure is an error, and so is a listed function that
//! passes. Tests for Shardy's interpreter are counted separately.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use shardc_filetest::{
    files,
    filetest::FileTest,
    functions::{self, Function},
};

use super::{
    ConformanceArgs,
    exceptions::Exceptions,
    tools::{Tools, in_parallel},
};
use xtask::{demo, process, setup, workspace::Workspace};

/// The tool that `shardc opt` replaces.
const TOOL: &str = "sdy_opt";

/// The outcome of one file.
enum Outcome {
    Ran(Vec<Function>),
    /// The `RUN:` lines of the file need Shardy's interpreter.
    NotForUs,
    /// The file could not be run.
    Failed(String),
}

/// Runs the files, and prints the number of functions that passed in each file.
pub(super) fn run(workspace: &Workspace, root: &Path, args: &ConformanceArgs) -> Result<()> {
    setup::run(&[])?;
    let shardc = process::step("build shardc", || demo::build(workspace, args.release))?;
    let exceptions = Exceptions::read(&workspace.root.join("tests/conformance/shardy.txt"))?;
    let dir = workspace.scratch("conformance")?;
    let tools = Tools::new(&dir, &shardc, &[TOOL])?;
    let relative = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    let mut paths = files(root, "mlir").with_context(|| format!("reading {}", root.display()))?;
    paths.retain(|path| args.wants(&format!("conformance/shardy/{}", relative(path))));
    let run = |i: usize, file: &PathBuf| tools.with_scratch(i, |scratch| one(file, scratch, &tools.path));
    let title = format!("run {} Shardy test files", paths.len());
    let outcomes = process::step(&title, || Ok(in_parallel(&paths, run)))?;

    println!("\npassed    of  expected to fail");
    let (mut report, mut wrong, mut crashes) = (String::new(), Vec::new(), BTreeSet::new());
    let (mut covered, mut used) = (BTreeSet::new(), BTreeSet::new());
    let (mut all_passed, mut all_listed, mut all, mut not_for_us) = (0, 0, 0, 0);
    for (path, outcome) in paths.iter().zip(outcomes) {
        let name = relative(path);
        let functions = match outcome {
            Outcome::NotForUs => {
                not_for_us += 1;
                continue;
            }
            Outcome::Failed(message) => bail!("{name}: {message}"),
            Outcome::Ran(functions) => functions,
        };
        let (mut passed, mut listed) = (0, 0);
        for function in &functions {
            let exception = exceptions.find(&name, &function.name);
            covered.extend(exception);
            let Err(message) = &function.outcome else {
                passed += 1;
                continue;
            };
            if message.contains("panicked at") || message.contains("dumped core") {
                crashes.insert(name.clone());
            }
            let text = format!("---- {name}#{}\n{message}\n", function.name);
            if args.verbose {
                println!("{text}");
            }
            report.push_str(&text);
            match exception {
                Some(line) => {
                    used.insert(line);
                    listed += 1;
                }
                None => wrong.push(format!("{name}#{}: {}", function.name, first_error(message))),
            }
        }
        println!("{passed:>6} {:>5} {listed:>5}  {name}", functions.len());
        all_passed += passed;
        all_listed += listed;
        all += functions.len();
    }
    println!(
        "{all_passed:>6} {all:>5} {all_listed:>5}  total; {not_for_us} other files need Shardy's interpreter"
    );
    let report_file = dir.join("shardy-failures.txt");
    fs::write(&report_file, report).with_context(|| format!("writing {}", report_file.display()))?;
    println!("the messages of failed functions are in {}", report_file.display());
    for line in &wrong {
        println!("   {line}");
    }
    // An exception is stale if no program that it covers needs it. With filters, some of these programs may not have been checked, so stale
    // exceptions are not reported.
    let stale = covered.difference(&used).filter(|_| args.filters.is_empty());
    for &line in stale.clone() {
        println!("   {}: listed as an exception, but nothing fails", exceptions.line(line).0);
    }
    if !crashes.is_empty() {
        bail!("shardc crashed on {}", crashes.into_iter().collect::<Vec<_>>().join(", "));
    }
    match wrong.len() + stale.count() {
        0 => Ok(()),
        n => bail!("{n} unexpected failures or stale lines of tests/conformance/shardy.txt"),
    }
}

fn one(file: &Path, scratch: &Path, path: &OsStr) -> Outcome {
    let read = fs::read_to_string(file).map_err(|error| error.to_string());
    let ran = read.and_then(|text| {
        let test = FileTest::parse(&text)?;
        if !test.runs.iter().all(|run| run.starts_with(TOOL)) {
            return Ok(Outcome::NotForUs);
        }
        functions::run(&text, &test, scratch, path).map(Outcome::Ran)
    });
    ran.unwrap_or_else(Outcome::Failed)
}

/// The line of a message that names the error, without the path of a temporary file.
fn first_error(message: &str) -> String {
    let line = message
        .lines()
        .find(|line| line.contains("error"))
        .or_else(|| message.lines().nth(1))
        .unwrap_or_default();
    line.rsplit_once(".mlir:").map_or(line.to_owned(), |(_, rest)| format!("line {rest}"))
}
