//! Checks that jaxlib's MLIR parses and verifies the partitions of the corpora and of `tests/programs`, in both SPMD modes, and that
//! jaxlib's CPU client compiles them if it compiles the original program.
//!
//! Expected failures are listed in `tests/conformance/peer.txt`, as `path: reason`.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use serde_json::json;
use shardc_filetest::{files, quick::xla_flags};

use super::{
    ConformanceArgs,
    exceptions::Exceptions,
    worker::{self, Reply, Worker},
};
use xtask::{process, python, setup, workspace::Workspace};

/// Time limit of the checks of both partitions of a program.
const LIMIT: Duration = Duration::from_secs(600);

/// Number of programs between progress messages.
const PROGRESS_EVERY: usize = 25;

pub(super) fn run(workspace: &Workspace, root: &Path, args: &ConformanceArgs) -> Result<()> {
    setup::run(&[])?;
    let python = python::with_any_jax(args.python.as_deref())?;
    let program =
        process::step("build the worker", || worker::build(workspace, worker::WORKER, args.release))?;
    let exceptions = Exceptions::read(&workspace.root.join("tests/conformance/peer.txt"))?;
    let dir = workspace.scratch("conformance/peer")?;
    let make = move || {
        let mut command = Command::new(&program);
        command.env("XLA_FLAGS", xla_flags());
        command
    };
    let mut worker = Worker::new(make, dir.join("worker.log"), LIMIT);
    let mut programs = Vec::new();
    for (base, folder) in
        [(root, "corpus/jax"), (root, "corpus/torch_xla"), (workspace.root.as_path(), "tests/programs")]
    {
        programs.extend(named(base, folder)?);
    }
    programs.retain(|(path, _)| args.wants(path));
    let title = format!("partition {} programs and check them with jaxlib", programs.len());
    let (mut wrong, mut listed) = (Vec::new(), 0);
    process::step(&title, || {
        for (i, (path, file)) in programs.iter().enumerate() {
            if i > 0 && i % PROGRESS_EVERY == 0 {
                println!("   {i} of {} programs", programs.len());
            }
            let job = json!({ "kind": "peer", "python": python, "file": file, "out": dir.join("out") });
            let message = match worker.ask(&job)? {
                Reply::Answer(answer) if answer["outcome"] == "equal" => None,
                Reply::Answer(answer) => Some(answer["said"].as_str().unwrap_or_default().to_owned()),
                Reply::Lost(how) => Some(how),
            };
            match (message, exceptions.find(path, "")) {
                (None, None) => {}
                (None, Some(_)) => {
                    wrong.push(format!("{path}: listed as an exception, but jaxlib accepts its partitions"))
                }
                (Some(_), Some(_)) => listed += 1,
                (Some(message), None) => {
                    let line =
                        format!("{path}: {}", if args.verbose { &message } else { first_line(&message) });
                    println!("   {line}");
                    wrong.push(line);
                }
            }
        }
        Ok(())
    })?;
    println!(
        "   {} programs, {listed} expected failures, {} unexpected results",
        programs.len(),
        wrong.len()
    );
    for line in &wrong {
        println!("   {line}");
    }
    if !wrong.is_empty() {
        bail!("{} unexpected failures or stale lines of tests/conformance/peer.txt", wrong.len());
    }
    Ok(())
}

/// The programs of a folder, with their paths relative to `base`.
fn named(base: &Path, folder: &str) -> Result<Vec<(String, PathBuf)>> {
    let dir = base.join(folder);
    let found = files(&dir, "mlir").with_context(|| format!("reading {}", dir.display()))?;
    let name = |file: &PathBuf| file.strip_prefix(base).unwrap_or(file).display().to_string();
    Ok(found.into_iter().map(|file| (name(&file), file)).collect())
}

/// The line of a message that names the error.
fn first_line(message: &str) -> &str {
    message.lines().find(|line| line.contains("error")).or_else(|| message.lines().next()).unwrap_or_default()
}
