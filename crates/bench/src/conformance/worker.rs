//! Worker processes that may crash. Each line of standard input is a job in JSON, and each line of standard output is an answer. Each job
//! has a time limit.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use anyhow::{Context, Result};
use serde_json::Value;

use xtask::{
    process,
    workspace::{Workspace, cargo},
};

/// The worker program, which partitions, runs and compares programs.
pub(super) const WORKER: &str = "conformance-worker";

/// Builds a program of the tests, such as [`WORKER`], and returns its path.
pub(super) fn build(workspace: &Workspace, program: &str, release: bool) -> Result<PathBuf> {
    let mut command = cargo();
    command.current_dir(&workspace.root).args(["build", "--package", "shardc-tests", "--bin", program]);
    if release {
        command.arg("--release");
    }
    process::run(&mut command)?;
    Ok(workspace.program(release, program))
}

/// The number of last output lines of a crashed process that are shown.
const LAST_LINES: usize = 12;

/// The outcome of a job.
pub(super) enum Reply {
    Answer(Value),
    /// The process crashed, or was killed at the time limit; contains its last output.
    Lost(String),
}

/// A worker process, which is replaced by a new one after a crash.
pub(super) struct Worker {
    make: Box<dyn Fn() -> Command + Send>,
    log: PathBuf,
    limit: Duration,
    running: Option<Running>,
}

struct Running {
    child: Child,
    jobs: ChildStdin,
    answers: Receiver<String>,
}

impl Worker {
    /// Creates a worker whose processes `make` starts. Their standard error goes to the file `log`.
    pub(super) fn new(make: impl Fn() -> Command + Send + 'static, log: PathBuf, limit: Duration) -> Worker {
        Worker { make: Box::new(make), log, limit, running: None }
    }

    /// Runs a job.
    pub(super) fn ask(&mut self, job: &Value) -> Result<Reply> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        let sent = writeln!(running.jobs, "{job}").and_then(|()| running.jobs.flush());
        let answer = match sent {
            Ok(()) => running.answers.recv_timeout(self.limit),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        };
        let how = match answer {
            Ok(line) => {
                let answer = serde_json::from_str(&line)
                    .with_context(|| format!("unexpected output of the worker: {line}"))?;
                self.running = Some(running);
                return Ok(Reply::Answer(answer));
            }
            Err(RecvTimeoutError::Timeout) => {
                running.child.kill().context("killing the worker")?;
                running.child.wait().context("waiting for the worker")?;
                format!("the worker took more than {} s", self.limit.as_secs())
            }
            Err(RecvTimeoutError::Disconnected) => {
                format!(
                    "the worker process exited: {}",
                    running.child.wait().context("waiting for the worker")?
                )
            }
        };
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
        Ok(Reply::Lost(format!("{how}\n{}", last.join("\n")).trim_end().to_owned()))
    }

    fn start(&self) -> Result<Running> {
        let log = File::create(&self.log).with_context(|| format!("writing {}", self.log.display()))?;
        let mut command = (self.make)();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().with_context(|| format!("starting {command:?}"))?;
        let jobs = child.stdin.take().context("the worker has no standard input")?;
        let output = child.stdout.take().context("the worker has no standard output")?;
        let (send, answers) = mpsc::channel();
        // The thread ends with the process whose output it reads.
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Running { child, jobs, answers })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(Running { mut child, jobs, .. }) = self.running.take() {
            // The process exits when there are no more jobs.
            drop(jobs);
            let _ = child.wait();
        }
    }
}
