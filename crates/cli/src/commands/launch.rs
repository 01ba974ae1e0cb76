//! `shardc launch`: starts a command as several processes on this machine.
//!
//! Environment variables tell each process its index ([`shardc::runtime::ProcessOptions::from_variables`]). The launcher prints the output
//! of the processes line by line, and forwards signals to them. It exits when all of them have exited.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;
use shardc::runtime::processes::{MAX_PROCESSES, local_job};

use super::client::runtime_error;
use crate::args::LaunchArgs;
use crate::failure::usage;
use crate::signals::{self, Forwarding};
use crate::ui::Ui;

/// The time that processes have to exit after SIGTERM, before they are killed.
const GRACE: Duration = Duration::from_secs(10);
/// The interval at which processes are polled.
const TICK: Duration = Duration::from_millis(20);

pub(crate) fn run(args: &LaunchArgs, ui: &Ui) -> Result<ExitCode> {
    match args.command.split_first() {
        Some((program, rest)) => start(args.processes, program, rest, Labels::All, ui),
        None => Err(usage("no command is given")),
    }
}

/// Starts this command again in several processes. The output of process 0 gets no prefix, since it is the result.
pub(crate) fn again(count: usize, ui: &Ui) -> Result<ExitCode> {
    let program = std::env::current_exe().context("cannot find the path of this executable")?;
    let rest: Vec<OsString> = std::env::args_os().skip(1).collect();
    start(count, program.as_os_str(), &rest, Labels::AllButFirst, ui)
}

/// The processes whose output lines are prefixed with the process index.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Labels {
    All,
    AllButFirst,
}

/// A child process.
struct Started {
    child: Child,
    status: Option<ExitStatus>,
}

/// Kills the remaining processes when the launcher returns.
struct Group(Vec<Started>);

impl Drop for Group {
    fn drop(&mut self) {
        for started in self.0.iter_mut().filter(|started| started.status.is_none()) {
            let _ = started.child.kill();
            let _ = started.child.wait();
        }
    }
}

fn start(count: usize, program: &OsStr, rest: &[OsString], labels: Labels, ui: &Ui) -> Result<ExitCode> {
    if count == 0 || count > MAX_PROCESSES {
        return Err(usage(format!("{count} processes: the number must be 1 to {MAX_PROCESSES}")));
    }
    let variables = local_job(count).map_err(runtime_error)?;
    let mut group = Group(Vec::new());
    let mut writers = Vec::new();
    // Starts forwarding signals to the processes.
    let forwarding = signals::forward();
    for index in 0..count {
        let inherits = labels == Labels::AllButFirst && index == 0;
        let pipe = || if inherits { Stdio::inherit() } else { Stdio::piped() };
        let mut command = Command::new(program);
        command.args(rest).envs(variables.iter().map(|(name, value)| (name, value)));
        command.env("SHARDC_PROCESS_ID", index.to_string()).stdout(pipe()).stderr(pipe());
        if index > 0 {
            command.stdin(Stdio::null());
        }
        let mut child =
            command.spawn().with_context(|| format!("cannot start {}", program.to_string_lossy()))?;
        forwarding.add(&child);
        if let Some(out) = child.stdout.take() {
            writers.push(labelled(index, out, std::io::stdout()));
        }
        if let Some(err) = child.stderr.take() {
            writers.push(labelled(index, err, std::io::stderr()));
        }
        group.0.push(Started { child, status: None });
    }
    let failed = wait(&mut group, &forwarding, ui)?;
    drop(forwarding);
    // A grandchild process may keep a pipe open; its output is awaited for at most one second.
    let until = Instant::now() + Duration::from_secs(1);
    for writer in writers {
        let _ = writer.recv_timeout(until.saturating_duration_since(Instant::now()));
    }
    Ok(failed.map_or(ExitCode::SUCCESS, |status| ExitCode::from(code(status))))
}

/// Waits for all processes. Returns the status of the first process that failed, if any. After a failure, the other processes get SIGTERM,
/// and are killed after [`GRACE`].
fn wait(group: &mut Group, forwarding: &Forwarding, ui: &Ui) -> Result<Option<ExitStatus>> {
    let mut failed: Option<(ExitStatus, Instant)> = None;
    let mut is_killed = false;
    while group.0.iter().any(|started| started.status.is_none()) {
        for index in 0..group.0.len() {
            let started = &mut group.0[index];
            if started.status.is_some() {
                continue;
            }
            started.status = started.child.try_wait().context("cannot wait for a process")?;
            if started.status.is_some() {
                forwarding.remove(&started.child);
            }
            let Some(status) = started.status.filter(|status| !status.success()) else { continue };
            if failed.is_none() {
                failed = Some((status, Instant::now()));
                ui.summary(
                    || format!("process {index} failed ({status}); the other processes are terminated\n"),
                    || json!({ "failed": index, "code": code(status) }),
                );
                for other in group.0.iter().filter(|other| other.status.is_none()) {
                    signals::terminate(&other.child);
                }
            }
        }
        if let Some((_, since)) = &failed
            && !is_killed
            && since.elapsed() > GRACE
        {
            is_killed = true;
            for other in group.0.iter_mut().filter(|other| other.status.is_none()) {
                let _ = other.child.kill();
            }
        }
        std::thread::sleep(TICK);
    }
    Ok(failed.map(|(status, _)| status))
}

/// The exit code that a shell reports for the status of a process.
fn code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(1);
    }
    status.code().and_then(|code| u8::try_from(code).ok()).filter(|&code| code != 0).unwrap_or(1)
}

/// Copies lines, each with the index of the process as a prefix. The receiver gets a message at the end of the input.
fn labelled(
    index: usize,
    from: impl Read + Send + 'static,
    mut to: impl Write + Send + 'static,
) -> mpsc::Receiver<()> {
    let (end, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            if line.last() != Some(&b'\n') {
                line.push(b'\n');
            }
            let mut whole = format!("[{index}] ").into_bytes();
            whole.append(&mut line);
            // The process continues even if its output is not read.
            let _ = to.write_all(&whole).and_then(|()| to.flush());
        }
        let _ = end.send(());
    });
    ended
}
