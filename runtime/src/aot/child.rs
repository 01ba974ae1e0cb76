//! Child processes for tasks in which a plugin may crash the process: compilation and plugin checks.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use serde::{Deserialize, Serialize};

use super::{CompileReport, CompileRequest, Target, compile};
use crate::error::{ErrorClass, Result, RuntimeError};
use crate::health::{Health, look};
use crate::options::{CompileOptions, OptionValue};
use crate::plugin::{NO_TPU, PluginKind, QUIET};
use crate::scratch::Scratch;

/// The hidden subcommand with which [`compile_in_child`] starts a program. A program that gets this subcommand must call [`run_child`].
pub const CHILD_COMMAND: &str = "__aot-compile";

/// The number of last lines of the child's standard error that an error quotes.
const TAIL_LINES: usize = 20;
const TAIL_LINE_BYTES: usize = 400;

/// A [`CompileRequest`] as sent to the child, with paths of files instead of their bytes.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    target: String,
    plugin: PathBuf,
    program: PathBuf,
    num_replicas: usize,
    num_partitions: usize,
    device_ids: Option<Vec<i32>>,
    shardy: bool,
    xla_options: Vec<(String, Value)>,
    executable: Option<PathBuf>,
    /// The path to which the child writes its [`Answer`].
    answer: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Value {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

/// A task for a child process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Task {
    Compile(Request),
    /// Load a plugin and report its health.
    Look {
        kind: PluginKind,
        plugin: PathBuf,
        answer: PathBuf,
    },
}

/// The outcome of a task, as the child process reports it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Report(CompileReport),
    Error {
        code: String,
        class: ErrorClass,
        message: String,
        hint: Option<String>,
    },
    Health(Health),
    /// The number of devices of the program differs from the number of devices of the target.
    Devices {
        program: usize,
        available: usize,
    },
}

/// Compiles in a child process, so that an aborting compiler causes an error instead of ending this process.
///
/// `program` is an executable that, run as `program __aot-compile REQUEST.json`, calls [`run_child`] with that path and exits with the
/// status that it returns. It is usually the calling program itself ([`std::env::current_exe`]). The child runs with environment variables
/// that silence plugins, and that stop the TPU plugin from querying the network for a TPU.
///
/// # Errors
///
/// [`RuntimeError::ChildDied`], with the end of the child's standard error, if the child was killed or gave no answer.
/// [`RuntimeError::Child`] if the child reported an error.
pub fn compile_in_child(program: &Path, request: &CompileRequest) -> Result<CompileReport> {
    let work = Scratch::new(|| tempfile::Builder::new().prefix("shardc-compile-").tempdir())
        .map_err(RuntimeError::io(&std::env::temp_dir()))?;
    let path = |name: &str| work.path().join(name);
    let absolute = |path: &Path| std::path::absolute(path).map_err(RuntimeError::io(path));
    let value = |value: &OptionValue| match value.clone() {
        OptionValue::Bool(v) => Value::Bool(v),
        OptionValue::Int(v) => Value::Int(v),
        OptionValue::Float(v) => Value::Float(v),
        OptionValue::Text(v) => Value::Text(v),
    };
    let wire = Request {
        target: request.target.to_string(),
        plugin: absolute(&request.plugin)?,
        program: path("program"),
        num_replicas: request.options.num_replicas,
        num_partitions: request.options.num_partitions,
        device_ids: request.options.device_ids.clone(),
        shardy: request.options.shardy,
        xla_options: request.options.xla_options.iter().map(|(name, v)| (name.clone(), value(v))).collect(),
        executable: request.executable.as_deref().map(absolute).transpose()?,
        answer: path("answer.json"),
    };
    std::fs::write(&wire.program, &request.program).map_err(RuntimeError::io(&wire.program))?;
    let answer = wire.answer.clone();
    let kind = request.target.kind();
    let (answer, died) = ask((program, kind), &path("request.json"), &Task::Compile(wire), &answer)?;
    match answer {
        Some(Answer::Report(report)) => Ok(report),
        Some(Answer::Error { code, class, message, hint }) => {
            Err(RuntimeError::Child { code, class, message, hint })
        }
        Some(Answer::Devices { program, available }) => Err(RuntimeError::Devices { program, available }),
        Some(Answer::Health(_)) | None => Err(died),
    }
}

/// Loads a plugin in a child process and reports its health; `program` is as for [`compile_in_child`].
///
/// # Errors
///
/// [`RuntimeError::ChildDied`] if the child was killed, for example because the plugin crashed.
pub(crate) fn look_in_child(program: &Path, kind: PluginKind, plugin: &Path) -> Result<Health> {
    let work = Scratch::new(|| tempfile::Builder::new().prefix("shardc-doctor-").tempdir())
        .map_err(RuntimeError::io(&std::env::temp_dir()))?;
    let answer = work.path().join("answer.json");
    let plugin = std::path::absolute(plugin).map_err(RuntimeError::io(plugin))?;
    let task = Task::Look { kind, plugin, answer: answer.clone() };
    let (answer, died) = ask((program, kind), &work.path().join("request.json"), &task, &answer)?;
    match answer {
        Some(Answer::Health(health)) => Ok(health),
        _ => Err(died),
    }
}

/// Runs a task for a kind of plugin in a child process. Returns the child's answer, which is `None` if the child failed, and an error that
/// describes how the child ended. Callers return this error if they cannot use the answer.
fn ask(
    (program, kind): (&Path, PluginKind),
    request: &Path,
    task: &Task,
    answer: &Path,
) -> Result<(Option<Answer>, RuntimeError)> {
    write_json(request, task)?;
    let mut command = Command::new(program);
    command.arg(CHILD_COMMAND).arg(request);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    for (name, value) in QUIET.iter().chain(NO_TPU) {
        if std::env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
    if let (true, Ok(flags)) = (kind != PluginKind::Cpu, std::env::var("XLA_FLAGS")) {
        command.env("XLA_FLAGS", without_cpu_flags(&flags));
    }
    let mut child = command.spawn().map_err(RuntimeError::io(program))?;
    // Nothing is written to this pipe. When this process ends, even by a crash, the pipe closes and the child ends too.
    let lifeline = child.stdin.take();
    let tail = child.stderr.take().map(read_tail).unwrap_or_default();
    let status = child.wait().map_err(RuntimeError::io(program))?;
    drop(lifeline);
    // A child that was killed may have left an incomplete file, so the file is read only if the exit status is 0.
    let answer = status.success().then(|| read_json::<Answer>(answer)).and_then(Result::ok);
    Ok((answer, RuntimeError::ChildDied { how: how_it_ended(status), stderr_tail: tail }))
}

/// Removes the flags of XLA's CPU compiler from `XLA_FLAGS`: the TPU compiler aborts the process on some of them (libtpu 0.0.51).
fn without_cpu_flags(flags: &str) -> String {
    let flags = flags.split_whitespace().filter(|flag| !flag.starts_with("--xla_cpu_"));
    flags.collect::<Vec<_>>().join(" ")
}

/// The child side of [`compile_in_child`]: reads the request, compiles and writes the answer. Returns the exit status for the process: 0 if
/// an answer was written, even if it is an error.
#[must_use]
pub fn run_child(request: &Path) -> u8 {
    crate::plugin::quiet_plugin_logs();
    std::thread::spawn(end_with_parent);
    let Ok(task) = read_json::<Task>(request) else { return 2 };
    let wire = match task {
        Task::Compile(wire) => wire,
        Task::Look { kind, plugin, answer } => {
            let done = write_json(&answer, &Answer::Health(look(kind, &plugin)));
            return if done.is_ok() { 0 } else { 2 };
        }
    };
    let answer = match compile_wire(&wire) {
        Ok(report) => Answer::Report(report),
        Err(RuntimeError::Devices { program, available }) => Answer::Devices { program, available },
        Err(error) => Answer::Error {
            code: error.code().to_owned(),
            class: error.class(),
            message: error.to_string(),
            hint: error.hint(),
        },
    };
    match write_json(&wire.answer, &answer) {
        Ok(()) => 0,
        Err(_) => 2,
    }
}

/// Kills this process when its parent ends: the parent holds the other end of the pipe that is this process's standard input.
fn end_with_parent() {
    // Blocks until the pipe is closed. An error means that there is no pipe, and thus no parent that waits for an answer.
    let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
    // Uses a signal, because a normal exit would run the destructors of a compiler that still runs.
    #[cfg(unix)]
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    #[cfg(not(unix))]
    std::process::abort();
}

fn compile_wire(wire: &Request) -> Result<CompileReport> {
    let value = |value: &Value| match value {
        Value::Bool(v) => OptionValue::Bool(*v),
        Value::Int(v) => OptionValue::Int(*v),
        Value::Float(v) => OptionValue::Float(*v),
        Value::Text(v) => OptionValue::Text(v.clone()),
    };
    compile(&CompileRequest {
        target: Target::parse(&wire.target)?,
        plugin: wire.plugin.clone(),
        program: std::fs::read(&wire.program).map_err(RuntimeError::io(&wire.program))?,
        options: CompileOptions {
            num_replicas: wire.num_replicas,
            num_partitions: wire.num_partitions,
            device_ids: wire.device_ids.clone(),
            shardy: wire.shardy,
            xla_options: wire.xla_options.iter().map(|(name, v)| (name.clone(), value(v))).collect(),
        },
        executable: wire.executable.clone(),
    })
}

fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    let text = serde_json::to_vec(value).map_err(|e| RuntimeError::io(path)(e.into()))?;
    std::fs::write(path, text).map_err(RuntimeError::io(path))
}

fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T> {
    let text = std::fs::read(path).map_err(RuntimeError::io(path))?;
    serde_json::from_slice(&text).map_err(|e| RuntimeError::io(path)(e.into()))
}

/// Reads the child's standard error to its end, so that the child never blocks on a full pipe. Returns only the last lines, so that memory
/// is bounded.
fn read_tail(stderr: impl std::io::Read) -> String {
    let mut lines: VecDeque<String> = VecDeque::new();
    for line in BufReader::new(stderr).split(b'\n') {
        let Ok(line) = line else { break };
        if lines.len() == TAIL_LINES {
            lines.pop_front();
        }
        let end = line.len().min(TAIL_LINE_BYTES);
        lines.push_back(String::from_utf8_lossy(&line[..end]).into_owned());
    }
    lines.make_contiguous().join("\n")
}

fn how_it_ended(status: ExitStatus) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            let name = match signal {
                4 => " (SIGILL)",
                6 => " (SIGABRT)",
                7 => " (SIGBUS)",
                9 => " (SIGKILL: often because the system ran out of memory)",
                11 => " (SIGSEGV)",
                _ => "",
            };
            return format!("was killed by signal {signal}{name}");
        }
    }
    match status.code() {
        Some(0) => "exited without an answer".to_owned(),
        Some(code) => format!("exited with status {code}"),
        None => "ended in an unknown way".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::without_cpu_flags;

    #[test]
    fn other_compilers_get_no_flags_of_the_cpu_compiler() {
        let flags =
            "--xla_dump_to=/tmp/dump --xla_cpu_use_fusion_emitters=false  --xla_tpu_enable_async=true";
        assert_eq!(without_cpu_flags(flags), "--xla_dump_to=/tmp/dump --xla_tpu_enable_async=true");
        assert_eq!(without_cpu_flags("--xla_cpu_max_isa=AVX2"), "");
    }
}
