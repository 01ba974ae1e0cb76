//! Checks programs of `tests/conformance/jax`, lowered by the JAX of a Python installation. shardc must parse each program, print it
//! unchanged byte for byte, and partition it in both SPMD modes. jaxlib must accept the partitions, their results must equal those on one
//! device, and the gradient must equal JAX's.
//!
//! The checks run in the worker of `shardc-tests`. Expected failures are listed in `tests/conformance/jax.txt`, as
//! `VERSION/KIND/NAME#check: reason`. `--update` writes the table of results to `docs/JAX.md`.

mod report;

use std::{path::PathBuf, process::Command, time::Duration};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use shardc_filetest::quick::xla_flags;

use self::report::{Report, Row};
use super::{
    ConformanceArgs,
    exceptions::Exceptions,
    worker::{self, Reply, Worker},
};
use xtask::{process, python, setup, workspace::Workspace};

/// Time limit of all checks of one program.
const LIMIT: Duration = Duration::from_secs(600);

/// The exporter's path in the workspace.
const EXPORT: &str = "tests/conformance/jax/export.py";

/// Number of programs between progress messages.
const PROGRESS_EVERY: usize = 25;

pub(super) fn run(workspace: &Workspace, args: &ConformanceArgs) -> Result<()> {
    setup::run(&[])?;
    let python = python::with_any_jax(args.python.as_deref())?;
    let program =
        process::step("build the worker", || worker::build(workspace, worker::WORKER, args.release))?;
    let exceptions = Exceptions::read(&workspace.root.join("tests/conformance/jax.txt"))?;
    let dir = workspace.scratch("conformance/jax")?;
    let folder = dir.join("programs");
    let manifest = process::step("export programs", || export(workspace, &python, &folder, args))?;
    let version = manifest["jax"].as_str().context("the manifest has no JAX version")?.to_owned();
    let programs = manifest["programs"].as_array().context("the manifest has no `programs`")?;
    let out = dir.join("out");
    let make = move || {
        let mut command = Command::new(&program);
        command.env("XLA_FLAGS", xla_flags());
        command
    };
    let mut worker = Worker::new(make, dir.join("worker.log"), LIMIT);
    let title = format!("check {} programs of JAX {version}", programs.len());
    let rows = process::step(&title, || {
        let mut rows = Vec::new();
        for (i, program) in programs.iter().enumerate() {
            if i > 0 && i % PROGRESS_EVERY == 0 {
                println!("   {i} of {} programs", programs.len());
            }
            let job =
                json!({ "kind": "jax", "python": python, "folder": folder, "program": program, "out": out });
            rows.push(check(program, &job, &mut worker)?);
        }
        Ok(rows)
    })?;
    let report = Report::new(&version, &rows, &exceptions);
    report.print(args.verbose);
    let is_whole = args.filters.is_empty();
    if args.update {
        if !is_whole {
            bail!("--update cannot be combined with filters, because it needs the results of all programs");
        }
        report.update(&workspace.root.join("docs/JAX.md"))?;
    }
    report.finish(&dir.join("said.txt"), is_whole)
}

fn export(
    workspace: &Workspace,
    python: &PathBuf,
    folder: &PathBuf,
    args: &ConformanceArgs,
) -> Result<Value> {
    if folder.is_dir() {
        std::fs::remove_dir_all(folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    let mut command = Command::new(python);
    command.arg(workspace.root.join(EXPORT)).arg(folder);
    if !args.filters.is_empty() {
        command.arg("--only").args(&args.filters);
    }
    process::run(&mut command)?;
    let file = folder.join("manifest.json");
    let text = std::fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("reading {}", file.display()))
}

/// Runs the checks of one program.
fn check(program: &Value, job: &Value, worker: &mut Worker) -> Result<Row> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut row = Row {
        kind: text(&program["kind"]),
        name: text(&program["name"]),
        skip: program["skip"].as_str().map(str::to_owned),
        checks: Vec::new(),
    };
    if row.skip.is_some() {
        return Ok(row);
    }
    match worker.ask(job)? {
        Reply::Lost(how) => row.checks.push(("process".to_owned(), "failed".to_owned(), how)),
        Reply::Answer(answer) => {
            let checks = answer["checks"]
                .as_array()
                .with_context(|| format!("invalid answer from the conformance worker: {answer}"))?;
            row.checks = checks.iter().map(|c| (text(&c[0]), text(&c[1]), text(&c[2]))).collect();
        }
    }
    Ok(row)
}
