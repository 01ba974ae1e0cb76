//! `cargo xtask sweep --of exact`: compares each program of the corpora with its partition in exact arithmetic.

use std::{
    collections::BTreeMap,
    env, fmt,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use shardc_filetest::{files, shared};

use crate::{demo, process, workspace::Workspace};

/// Number of programs that run in parallel; each has one thread per device.
const SIDE_BY_SIDE: usize = 2;
/// Time limit in seconds of each of the two executions of a program.
const LIMIT: &str = "30";
/// Memory limit of a comparison.
const MEMORY: &str = "8GiB";

/// The outcome of a comparison.
enum Outcome {
    /// All elements are equal.
    Equal,
    /// Some elements differ; the text lists the outputs.
    Different(String),
    /// The programs cannot be compared.
    Skipped(Reason),
}

/// The code and the message of the error because of which a program was not compared.
struct Reason {
    code: String,
    message: String,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.message.lines().next().unwrap_or_default();
        write!(f, "{}: {line}", self.code)
    }
}

/// Compares `count` programs, beginning with number `first`, in both modes. The seed is that of the inputs.
///
/// # Errors
/// An output differs, or the corpora are missing.
pub(crate) fn run(workspace: &Workspace, first: u64, count: u64, seed: u64) -> Result<()> {
    let Some(corpora) = shared().map(|dir| dir.join("corpus")).filter(|dir| dir.is_dir()) else {
        bail!("the corpora are in the shared data, which is not here (SHARDC_SHARED)");
    };
    // The variable names a build, as in the tests.
    let shardc = match env::var_os("SHARDC_BIN") {
        Some(path) => PathBuf::from(path),
        None => process::step("build shardc", || demo::build(workspace, true))?,
    };
    let (first, count) = (usize::try_from(first)?, usize::try_from(count)?);
    let all: Vec<_> = files(&corpora, "mlir")?.into_iter().skip(first).take(count).collect();
    ensure!(!all.is_empty(), "there are fewer than {first} programs");
    let outcomes = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    process::step(&format!("compare {} programs in exact arithmetic", all.len()), || {
        thread::scope(|scope| {
            let lanes: Vec<_> = (0..SIDE_BY_SIDE)
                .map(|_| {
                    scope.spawn(|| -> Result<()> {
                        while let Some(path) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                            for mode in ["replica", "partition"] {
                                let outcome = compare(&shardc, path, mode, seed)?;
                                let name = path.strip_prefix(&corpora).unwrap_or(path).display();
                                let name = format!("{name} ({mode})");
                                match &outcome {
                                    Outcome::Equal => {}
                                    Outcome::Different(text) => println!("{name} DIFFERS\n{text}"),
                                    Outcome::Skipped(reason) => println!("{name} is skipped: {reason}"),
                                }
                                outcomes.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
                            }
                        }
                        Ok(())
                    })
                })
                .collect();
            lanes.into_iter().try_for_each(|lane| match lane.join() {
                Ok(done) => done,
                Err(_) => bail!("a thread panicked"),
            })
        })
    })?;
    report(&outcomes.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn compare(shardc: &Path, program: &Path, mode: &str, seed: u64) -> Result<Outcome> {
    let mut command = Command::new(shardc);
    command.args(["verify", "--exact", "--format", "json", "--time-limit", LIMIT, "--host-memory", MEMORY]);
    command.args(["--spmd-mode", mode, "--seed"]);
    let out = command.arg(seed.to_string()).arg(program).output().context("starting shardc")?;
    if let Ok(document) = serde_json::from_slice::<Value>(&out.stdout) {
        let wrong =
            document["outputs"].as_array().into_iter().flatten().filter(|output| output["ok"] != true);
        let lines: Vec<String> = wrong.map(ToString::to_string).collect();
        return Ok(if lines.is_empty() { Outcome::Equal } else { Outcome::Different(lines.join("\n")) });
    }
    let text = String::from_utf8_lossy(&out.stderr);
    let errors = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let error = errors.into_iter().find(|line| line["severity"] == "error");
    let field = |name: &str| error.as_ref().and_then(|error| error[name].as_str()).map(str::to_owned);
    Ok(Outcome::Skipped(Reason {
        code: field("code").unwrap_or_else(|| out.status.to_string()),
        message: field("message").unwrap_or_else(|| text.into_owned()),
    }))
}

/// Prints the counts.
fn report(outcomes: &[Outcome]) -> Result<()> {
    let (mut equal, mut different, mut skipped) = (0, 0, BTreeMap::new());
    for outcome in outcomes {
        match outcome {
            Outcome::Equal => equal += 1,
            Outcome::Different(_) => different += 1,
            Outcome::Skipped(reason) => *skipped.entry(reason.code.as_str()).or_insert(0) += 1,
        }
    }
    println!("\n{equal} comparisons are equal, {different} differ");
    for (code, count) in skipped {
        println!("{count} are skipped: {code}");
    }
    ensure!(different == 0, "{different} comparisons differ");
    Ok(())
}
