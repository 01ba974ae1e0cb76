//! Errors of the runtime.
//!
//! Every error has a class (who must fix it), a stable code (`RT0101`), a message, and often a hint with the next step. The first two
//! digits of a code are: 01 plugins, 02 PJRT calls, 03 arguments, 04 shardings, 05 ahead-of-time compilation, 06 files, 07 several
//! processes.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::memory::{Bytes, MemoryLimit, MemoryNeed, Shortage};
use crate::mismatch::{self, Mismatch};

/// The result type of this crate.
pub type Result<T, E = RuntimeError> = std::result::Result<T, E>;

/// The class of an error: who must fix the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorClass {
    /// The program, the arguments or the machine's setup is wrong: the user can fix it.
    InvalidInput,
    /// A valid request that this runtime or this plugin does not support.
    Unsupported,
    /// A bug in shardc or in the plugin, to be reported.
    Internal,
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorClass::InvalidInput => "invalid input",
            ErrorClass::Unsupported => "unsupported",
            ErrorClass::Internal => "internal error",
        })
    }
}

/// The status code that a PJRT call returned; the numbers are those of `absl::StatusCode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PjrtCode(pub i32);

impl PjrtCode {
    /// The status has no specific code.
    pub const UNKNOWN: PjrtCode = PjrtCode(2);
    /// The argument is invalid regardless of the system's state.
    pub const INVALID_ARGUMENT: PjrtCode = PjrtCode(3);
    /// A named object does not exist.
    pub const NOT_FOUND: PjrtCode = PjrtCode(5);
    /// Out of memory, most often on the device.
    pub const RESOURCE_EXHAUSTED: PjrtCode = PjrtCode(8);
    /// The plugin does not support the request.
    pub const UNIMPLEMENTED: PjrtCode = PjrtCode(12);

    /// The name that XLA prints for the code: `INVALID_ARGUMENT`.
    #[must_use]
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 17] = [
            "OK",
            "CANCELLED",
            "UNKNOWN",
            "INVALID_ARGUMENT",
            "DEADLINE_EXCEEDED",
            "NOT_FOUND",
            "ALREADY_EXISTS",
            "PERMISSION_DENIED",
            "RESOURCE_EXHAUSTED",
            "FAILED_PRECONDITION",
            "ABORTED",
            "OUT_OF_RANGE",
            "UNIMPLEMENTED",
            "INTERNAL",
            "UNAVAILABLE",
            "DATA_LOSS",
            "UNAUTHENTICATED",
        ];
        usize::try_from(self.0).ok().and_then(|i| NAMES.get(i).copied()).unwrap_or("UNKNOWN")
    }

    fn class(self) -> ErrorClass {
        match self.0 {
            // FAILED_PRECONDITION (9) and OUT_OF_RANGE (11) are returned for invalid arguments, too.
            3 | 5 | 8 | 9 | 11 => ErrorClass::InvalidInput,
            12 => ErrorClass::Unsupported,
            _ => ErrorClass::Internal,
        }
    }
}

/// An error of the runtime. `Debug` prints the same as `Display`, for errors returned from `main`.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// No plugin of this kind is installed in the search path.
    #[error("no PJRT plugin for {kind} was found")]
    PluginNotFound {
        /// `cpu`, `tpu` or `cuda`.
        kind: String,
        /// The searched locations, in order.
        looked: Vec<String>,
    },
    /// The plugin's file exists but cannot be loaded.
    #[error("cannot load the PJRT plugin {}: {reason}", .path.display())]
    PluginLoad {
        /// The path of the plugin's file.
        path: PathBuf,
        /// The error of the dynamic loader or the plugin.
        reason: String,
    },
    /// The plugin's C API lacks a required function.
    #[error("the PJRT plugin {} (C API {version}) has no {function}", .path.display())]
    PluginLacks {
        /// The path of the plugin's file.
        path: PathBuf,
        /// The C API version.
        version: String,
        /// The missing function.
        function: &'static str,
    },
    /// There is no pinned wheel of this plugin for this machine.
    #[error("shardc has no {kind} plugin to install for {platform}")]
    NotInstallable {
        /// `cpu`, `tpu` or `cuda`.
        kind: String,
        /// Operating system and processor.
        platform: String,
    },
    /// The plugin's wheel could not be downloaded or unpacked.
    #[error("cannot install {package}: {reason}")]
    Install {
        /// The package on the index, with its version.
        package: String,
        /// The cause.
        reason: String,
    },
    /// The checksum of a download differs from the pinned one.
    #[error("{package} has sha256 {got}, expected {expected}")]
    Digest {
        /// The name of the downloaded file.
        package: String,
        /// The pinned checksum, in hexadecimal.
        expected: String,
        /// The checksum of the download, in hexadecimal.
        got: String,
    },
    /// An installed plugin was changed since its installation.
    #[error("the PJRT plugin {} is damaged: it has sha256 {got}, and had {expected} when it was installed", .path.display())]
    Damaged {
        /// The path of the plugin's file.
        path: PathBuf,
        /// The checksum at installation, in hexadecimal.
        expected: String,
        /// The checksum now, in hexadecimal.
        got: String,
    },
    /// The CUDA plugin cannot start because the machine has no GPU or no driver.
    #[error("the PJRT plugin {} finds no GPU on this machine: {message}", .plugin.display())]
    NoGpu {
        /// The plugin's file.
        plugin: PathBuf,
        /// XLA's message.
        message: String,
    },
    /// A PJRT call failed.
    #[error("{call}: {}: {message}", .code.name())]
    Pjrt {
        /// The name of the function of the C API.
        call: &'static str,
        /// The status code.
        code: PjrtCode,
        /// XLA's message.
        message: String,
    },
    /// Out of memory on a device.
    #[error("out of memory{}: {call}: {message}", size_asked(*.asked))]
    OutOfMemory {
        /// The name of the function of the C API.
        call: &'static str,
        /// The status code.
        code: PjrtCode,
        /// The number of requested bytes, if the message contains it.
        asked: Option<u64>,
        /// XLA's message.
        message: String,
    },
    /// The plugin does not provide the requested data.
    #[error("the plugin for {kind} does not provide {what}")]
    NotAvailable {
        /// The data that was requested.
        what: &'static str,
        /// The kind of device.
        kind: String,
    },
    /// XLA rejected the program.
    #[error("XLA cannot compile this program: {}: {message}", .code.name())]
    Compile {
        /// XLA's status code.
        code: PjrtCode,
        /// XLA's message.
        message: String,
    },
    /// The plugin returned a value that the API does not permit.
    #[error("{call} returned {what}")]
    Protocol {
        /// The name of the function of the C API.
        call: &'static str,
        /// A description of the returned value.
        what: String,
    },
    /// An execution exceeded its time limit.
    #[error("the program did not finish within {}: {}", seconds(*.limit), progress(.done, .waiting))]
    TimeLimit {
        /// The time limit.
        limit: Duration,
        /// The IDs of the devices that finished the execution.
        done: Vec<i32>,
        /// The IDs of the devices that are still running, or waiting for other devices.
        waiting: Vec<i32>,
    },
    /// Devices of the client hang, so no program can run on the client any more.
    #[error("this client cannot run programs any more: {reason}")]
    ClientLost {
        /// The event that made the devices hang.
        reason: String,
    },
    /// Arguments are inconsistent or out of range.
    #[error("{0}")]
    Argument(String),
    /// The number of devices of the program differs from the number of devices of the target.
    #[error("the program needs {program} devices, but there are {available}")]
    Devices {
        /// The number of devices of the program.
        program: usize,
        /// The number of devices of the target.
        available: usize,
    },
    /// The number of virtual devices is zero or exceeds the maximum of a process.
    #[error("cannot use {wanted} virtual devices: the CPU plugin supports 1 to {limit}")]
    DeviceLimit {
        /// The requested number of virtual devices.
        wanted: usize,
        /// The maximum number of virtual devices.
        limit: usize,
    },
    /// Inputs do not match the program's parameters.
    #[error("{}", mismatch::describe(.mismatches, *.parameters))]
    Inputs {
        /// All mismatches; each contains the index of its input.
        mismatches: Vec<Mismatch>,
        /// The number of the program's parameters.
        parameters: usize,
    },
    /// The array's memory was freed.
    #[error("the memory of the array was freed: it cannot be read or passed to a program any more")]
    Deleted,
    /// The plugin does not support the layout that a program requests for an argument.
    #[error("the plugin cannot store a {ty} in the memory layout {layout} that the program requests")]
    DeviceLayout {
        /// The array's type.
        ty: String,
        /// The layout, in XLA's notation.
        layout: String,
    },
    /// An execution needs more memory than this machine has.
    #[error("{0}")]
    Memory(Box<Shortage>),
    /// An element type that the runtime or the device does not support.
    #[error("{what} does not support elements of type {dtype}")]
    ElementType {
        /// The component that does not support the type.
        what: &'static str,
        /// The MLIR name of the type, or the plugin's number for it.
        dtype: String,
    },
    /// A sharding is invalid, or does not match its arrays or devices.
    #[error("{0}")]
    Layout(String),
    /// The operation needs the full array, but other processes hold shards of it.
    #[error(
        "this process has {here} of the {devices} devices of an array {ty}, which do not hold the full array"
    )]
    Elsewhere {
        /// Type of the array.
        ty: String,
        /// The number of devices of the array in this process.
        here: usize,
        /// The number of devices of the array in all processes.
        devices: usize,
    },
    /// An invalid target string.
    #[error("invalid target `{text}`: {reason}")]
    Target {
        /// The target string.
        text: String,
        /// The reason why the target is invalid.
        reason: String,
    },
    /// The compiler's process died.
    #[error("the compiler's process {how}{}", if .stderr_tail.is_empty() { String::new() } else { format!("; its last output was:\n{}", .stderr_tail) })]
    ChildDied {
        /// How the process ended: `was killed by signal 6 (SIGABRT)`, `exited with status 3`.
        how: String,
        /// The last lines that the compiler's process wrote to standard error.
        stderr_tail: String,
    },
    /// A compiled program needs more memory than a device of its target has.
    #[error("the program needs {} on a device, but a device of {target} has {}", Bytes(*.needed), Bytes(*.memory))]
    DoesNotFit {
        /// The target.
        target: String,
        /// The number of bytes that a device needs.
        needed: u64,
        /// The number of bytes that a device has.
        memory: u64,
    },
    /// An error reported by a child process.
    #[error("{message}")]
    Child {
        /// The error code that the child process reported, such as `RT0202`.
        code: String,
        /// The class of the error that the child process reported.
        class: ErrorClass,
        /// The message that the child process reported.
        message: String,
        /// The hint that the child process reported, if any.
        hint: Option<String>,
    },
    /// A job of several processes is set up incorrectly.
    #[error("{0}")]
    Processes(String),
    /// Another process of the job was lost, or its execution failed.
    #[error("{reason}")]
    ProcessLost {
        /// The index of the process.
        process: usize,
        /// The process and the failure, as a message.
        reason: String,
    },
    /// Other processes of the job did not reach a barrier or provide a value in time.
    #[error("{what:?}: timed out after {}{}", seconds(*.limit), absent(.missing))]
    ProcessTimeout {
        /// The name of the barrier, or the key of the value.
        what: String,
        /// The time limit of the wait.
        limit: Duration,
        /// The indices of the missing processes.
        missing: Vec<usize>,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: Arc<std::io::Error>,
    },
}

/// Prints the same as `Display`, for errors returned from `main`.
impl fmt::Debug for RuntimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl RuntimeError {
    /// Returns a function that converts a file system error for this path.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> RuntimeError + '_ {
        move |source| RuntimeError::Io { path: path.to_owned(), source: Arc::new(source) }
    }

    /// Converts the status code and the message of a failed PJRT call to an error.
    pub(crate) fn of_call(call: &'static str, code: PjrtCode, message: String) -> RuntimeError {
        if code == PjrtCode::RESOURCE_EXHAUSTED || is_out_of_memory(&message) {
            return RuntimeError::OutOfMemory { call, code, asked: bytes_asked(&message), message };
        }
        RuntimeError::Pjrt { call, code, message }
    }

    /// Converts an error of PJRT's compile call to [`RuntimeError::Compile`], which refers to the program.
    pub(crate) fn in_compilation(self) -> RuntimeError {
        match self {
            RuntimeError::Pjrt { code, message, .. } | RuntimeError::OutOfMemory { code, message, .. } => {
                RuntimeError::Compile { code, message }
            }
            other => other,
        }
    }

    /// Returns an error if `mismatches`, the mismatches of the inputs of a program with `parameters` parameters, is not empty. If an input
    /// has the same mismatch on several devices, it is reported once.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Inputs`] with all mismatches, in the order of the inputs.
    pub fn unless_fitting(mismatches: Vec<Mismatch>, parameters: usize) -> Result<()> {
        if mismatches.is_empty() {
            return Ok(());
        }
        Err(RuntimeError::Inputs { mismatches: mismatch::distinct(mismatches), parameters })
    }

    /// The class of the error.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            RuntimeError::PluginNotFound { .. }
            | RuntimeError::PluginLoad { .. }
            | RuntimeError::Install { .. }
            | RuntimeError::Digest { .. }
            | RuntimeError::Damaged { .. }
            | RuntimeError::NoGpu { .. }
            | RuntimeError::TimeLimit { .. }
            | RuntimeError::ClientLost { .. }
            | RuntimeError::Argument(_)
            | RuntimeError::Devices { .. }
            | RuntimeError::DeviceLimit { .. }
            | RuntimeError::Inputs { .. }
            | RuntimeError::Deleted
            | RuntimeError::Memory(_)
            | RuntimeError::OutOfMemory { .. }
            | RuntimeError::Layout(_)
            | RuntimeError::Elsewhere { .. }
            | RuntimeError::Target { .. }
            | RuntimeError::DoesNotFit { .. }
            | RuntimeError::Processes(_)
            | RuntimeError::ProcessLost { .. }
            | RuntimeError::ProcessTimeout { .. }
            | RuntimeError::Io { .. } => ErrorClass::InvalidInput,
            RuntimeError::PluginLacks { .. }
            | RuntimeError::NotAvailable { .. }
            | RuntimeError::DeviceLayout { .. }
            | RuntimeError::NotInstallable { .. }
            | RuntimeError::ElementType { .. } => ErrorClass::Unsupported,
            RuntimeError::Pjrt { message, .. } | RuntimeError::Compile { message, .. }
                if is_missing_custom_call(message) =>
            {
                ErrorClass::Unsupported
            }
            // If MLIR rejects a program, the error has no specific code.
            RuntimeError::Compile { code: PjrtCode::UNKNOWN, .. } => ErrorClass::InvalidInput,
            // XLA's verifier of HLO programs returns the status code that is used for failed assertions (INTERNAL), so the message is
            // checked.
            RuntimeError::Compile { message, .. } if message.contains("hlo_verifier") => {
                ErrorClass::InvalidInput
            }
            RuntimeError::Pjrt { code, .. } | RuntimeError::Compile { code, .. } => code.class(),
            RuntimeError::Protocol { .. } | RuntimeError::ChildDied { .. } => ErrorClass::Internal,
            RuntimeError::Child { class, .. } => *class,
        }
    }

    /// The stable code: `RT` and four digits.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            RuntimeError::PluginNotFound { .. } => "RT0101",
            RuntimeError::PluginLoad { .. } => "RT0102",
            RuntimeError::PluginLacks { .. } => "RT0103",
            RuntimeError::NotInstallable { .. } => "RT0104",
            RuntimeError::Install { .. } => "RT0105",
            RuntimeError::Digest { .. } => "RT0106",
            RuntimeError::Damaged { .. } => "RT0107",
            RuntimeError::NoGpu { .. } => "RT0108",
            RuntimeError::Pjrt { .. } => "RT0201",
            RuntimeError::Compile { .. } => "RT0202",
            RuntimeError::Protocol { .. } => "RT0203",
            RuntimeError::TimeLimit { .. } => "RT0204",
            RuntimeError::ClientLost { .. } => "RT0205",
            RuntimeError::NotAvailable { .. } => "RT0206",
            RuntimeError::OutOfMemory { .. } => "RT0207",
            RuntimeError::Argument(_) | RuntimeError::Devices { .. } | RuntimeError::DeviceLimit { .. } => {
                "RT0301"
            }
            RuntimeError::ElementType { .. } => "RT0302",
            RuntimeError::Inputs { .. } => "RT0303",
            RuntimeError::Memory(_) => "RT0304",
            RuntimeError::Deleted => "RT0305",
            RuntimeError::DeviceLayout { .. } => "RT0306",
            RuntimeError::Layout(_) => "RT0401",
            RuntimeError::Elsewhere { .. } => "RT0402",
            RuntimeError::Target { .. } => "RT0501",
            RuntimeError::ChildDied { .. } => "RT0502",
            RuntimeError::DoesNotFit { .. } => "RT0503",
            RuntimeError::Child { code, .. } => code,
            RuntimeError::Io { .. } => "RT0601",
            RuntimeError::Processes(_) => "RT0701",
            RuntimeError::ProcessLost { .. } => "RT0702",
            RuntimeError::ProcessTimeout { .. } => "RT0703",
        }
    }

    /// Returns the action that the user can take to fix the problem, if there is one.
    #[must_use]
    #[expect(clippy::too_many_lines, reason = "a table: an arm for each error")]
    pub fn hint(&self) -> Option<String> {
        match self {
            RuntimeError::PluginNotFound { kind, .. } => Some(format!(
                "install one with `shardc plugin install {kind}`, or set SHARDC_PJRT_{} to the path of one",
                kind.to_uppercase()
            )),
            RuntimeError::PluginLoad { reason, .. } if reason.contains("lockfile") => Some(
                "another process has the TPU plugin loaded; if there is no TPU to share, set ALLOW_MULTIPLE_LIBTPU_LOAD=1"
                    .to_owned(),
            ),
            RuntimeError::PluginLoad { .. } => Some("`shardc plugin doctor` reports the problem".to_owned()),
            RuntimeError::PluginLacks { .. } => Some("install a newer plugin".to_owned()),
            RuntimeError::NotInstallable { kind, .. } => {
                Some(format!("set SHARDC_PJRT_{} to the path of the plugin", kind.to_uppercase()))
            }
            RuntimeError::Install { .. } => {
                Some("check the network, or set PIP_INDEX_URL to another package index".to_owned())
            }
            RuntimeError::Digest { .. } => {
                Some("the download is damaged or was tampered with; nothing was installed".to_owned())
            }
            RuntimeError::Damaged { .. } => Some("reinstall the plugin with `shardc plugin install`".to_owned()),
            RuntimeError::NoGpu { .. } => Some(
                "`nvidia-smi` must list the GPU: install NVIDIA's driver, which includes libcuda.so.1, give a container its \
                 devices (`--gpus all`), and check CUDA_VISIBLE_DEVICES; see docs/GPU.md"
                    .to_owned(),
            ),
            RuntimeError::Pjrt { message, .. } | RuntimeError::Compile { message, .. }
                if is_missing_custom_call(message) =>
            {
                Some(
                    "the plugin has no LAPACK routines and no Python callbacks: in JAX, they are registered by jaxlib"
                        .to_owned(),
                )
            }
            RuntimeError::OutOfMemory { .. } => Some(
                "the program with its arguments does not fit in the device's memory: shard more, use more devices or smaller batches, \
                 donate arguments that are not needed any more, or have fewer steps in flight; `Device::memory_stats` reports the memory in use"
                    .to_owned(),
            ),
            RuntimeError::Compile { message, .. } if message.contains("libdevice not found") => {
                Some("install libdevice with `shardc plugin install cuda --compiler-only`".to_owned())
            }
            RuntimeError::DoesNotFit { .. } => Some(
                "shard more, use more devices or smaller batches, or rematerialize activations (checkpointing)".to_owned(),
            ),
            RuntimeError::Compile { code, message }
                if *code == PjrtCode::RESOURCE_EXHAUSTED || is_out_of_memory(message) =>
            {
                Some("the program does not fit in the device's memory: shard more, or use more devices".to_owned())
            }
            RuntimeError::TimeLimit { .. } => Some(
                "raise the time limit if the program is slow; a device that waits forever is in a collective that \
                 another device never reaches"
                    .to_owned(),
            ),
            RuntimeError::ClientLost { .. } => Some("create another client".to_owned()),
            RuntimeError::Devices { program, .. } => Some(format!(
                "use a target or a client of {program} devices, or partition the program for the available devices"
            )),
            RuntimeError::DeviceLimit { limit, .. } => Some(format!(
                "run the program on a mesh of at most {limit} devices with the same axes; partitioning and compiling for a TPU \
                 have no such limit"
            )),
            RuntimeError::Inputs { .. } => Some(
                "pass the inputs in the program's order, with its element types and shapes: nothing is converted"
                    .to_owned(),
            ),
            RuntimeError::DeviceLayout { .. } => {
                Some("remove `mhlo.layout_mode` from the argument, or update the plugin".to_owned())
            }
            RuntimeError::Deleted => {
                Some("free the array only after its last use, or donate it to its last user".to_owned())
            }
            RuntimeError::Memory(_) => Some(
                "try smaller sizes or fewer layers; `shardc compile --target` reports memory and collectives \
                 without running anything; if the estimate is too high here, raise the limit (`--host-memory`, `Limits::memory`)"
                    .to_owned(),
            ),
            RuntimeError::Elsewhere { .. } => Some(
                "read this process's blocks (`ShardedArray::shard`), or assemble the array on all processes \
                 (`ShardedArray::to_host_across`)"
                    .to_owned(),
            ),
            RuntimeError::Target { .. } => {
                Some("targets are `cpu`, `cuda`, `cuda:KIND:GPUS` such as `cuda:h100:8`, and `tpu:TOPOLOGY` such as `tpu:v5e:4x4`".to_owned())
            }
            RuntimeError::ChildDied { .. } => Some(
                "the TPU compiler aborts on malformed programs, most often wrong replica groups: run `shardc verify` first"
                    .to_owned(),
            ),
            RuntimeError::Child { hint, .. } => hint.clone(),
            RuntimeError::Processes(_) => Some(
                "every process needs the same count, coordinator (`host:port`, where process 0 listens) and secret, and its own \
                 index; see docs/PROCESSES.md"
                    .to_owned(),
            ),
            RuntimeError::ProcessLost { .. } => Some(
                "check the last output of that process, then restart all processes from the last checkpoint".to_owned(),
            ),
            RuntimeError::ProcessTimeout { .. } => {
                Some("every process must make the same calls in the same order".to_owned())
            }
            RuntimeError::Pjrt { .. }
            | RuntimeError::Compile { .. }
            | RuntimeError::NotAvailable { .. }
            | RuntimeError::Protocol { .. }
            | RuntimeError::Argument(_)
            | RuntimeError::ElementType { .. }
            | RuntimeError::Layout(_)
            | RuntimeError::Io { .. } => None,
        }
    }
    /// Details that would make the message too long, such as searched locations; one per line.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        match self {
            RuntimeError::PluginNotFound { looked, .. } => {
                looked.iter().map(|place| format!("looked in {place}")).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl MemoryNeed {
    /// Compares the memory need with a limit. `doing` names the activity that needs the memory, as the subject of a sentence in the error
    /// message.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Memory`] with the figures if the limit is below the need.
    pub fn check(self, doing: &str, limit: MemoryLimit) -> Result<()> {
        match limit.bytes() {
            Some(bytes) if bytes < self.total() => {
                let shortage = Shortage { doing: doing.to_owned(), need: self, limit, bytes };
                Err(RuntimeError::Memory(Box::new(shortage)))
            }
            _ => Ok(()),
        }
    }
}

/// Returns whether the message reports a failed allocation: the CPU plugin returns the code INTERNAL for it.
fn is_out_of_memory(message: &str) -> bool {
    message.contains("Out of memory allocating")
}

/// Parses the number of requested bytes from an out-of-memory message: `allocate 1024 bytes`, `allocating 1.50GiB`, `reserve 9.75G`.
fn bytes_asked(message: &str) -> Option<u64> {
    let words: Vec<&str> = message.split_whitespace().collect();
    let verbs = ["allocate", "allocating", "reserve"];
    words.iter().enumerate().filter(|(_, word)| verbs.contains(word)).find_map(|(at, _)| {
        let (size, next) = (words.get(at + 1)?, words.get(at + 2));
        let end = size.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(size.len());
        let (number, unit) = size.split_at(end);
        let unit = unit.trim_end_matches(['.', ',', ';', ':']);
        let shift = match unit {
            "" if next.is_some_and(|next| next.starts_with("byte")) => 0,
            "B" => 0,
            "K" | "KiB" => 10,
            "M" | "MiB" => 20,
            "G" | "GiB" => 30,
            "T" | "TiB" => 40,
            _ => return None,
        };
        match number.parse::<u64>() {
            Ok(whole) => whole.checked_shl(shift).filter(|bytes| bytes >> shift == whole),
            Err(_) => number.parse::<f64>().ok().map(|part| (part * (1u64 << shift) as f64) as u64),
        }
    })
}

/// Formats the requested number of bytes for a message.
fn size_asked(bytes: Option<u64>) -> String {
    bytes.map(|bytes| format!(" ({} requested)", Bytes(bytes))).unwrap_or_default()
}

fn seconds(limit: Duration) -> String {
    let seconds = limit.as_secs_f64();
    if seconds == seconds.trunc() { format!("{seconds:.0} s") } else { format!("{seconds:.1} s") }
}

/// Formats the indices of missing processes for a message.
fn absent(processes: &[usize]) -> String {
    match processes {
        [] => String::new(),
        [only] => format!(", waiting for process {only}"),
        _ => format!(", waiting for processes {processes:?}"),
    }
}

/// Formats the IDs of finished and unfinished devices for a message.
fn progress(done: &[i32], waiting: &[i32]) -> String {
    if done.is_empty() {
        return format!("no device is done, {} running or waiting for others", devices(waiting));
    }
    format!("{} done, {} running or waiting for others", devices(done), devices(waiting))
}

/// Formats device IDs for a message; a long list is truncated.
fn devices(ids: &[i32]) -> String {
    const SHOWN: usize = 16;
    let mut list: Vec<String> = ids.iter().take(SHOWN).map(ToString::to_string).collect();
    if ids.len() > SHOWN {
        list.push(format!("and {} more", ids.len() - SHOWN));
    }
    match ids {
        [] => "no device is".to_owned(),
        [only] => format!("device {only} is"),
        _ => format!("devices {} are", list.join(", ")),
    }
}

/// Returns whether XLA's message reports that a custom call has no implementation in this plugin.
fn is_missing_custom_call(message: &str) -> bool {
    // XLA has two custom-call mechanisms, with a message for each.
    message.contains("No FFI handler registered")
        || (message.contains("custom call") && message.contains("No registered"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_memory_has_its_own_error() {
        let says = |code, message: &str| RuntimeError::of_call("execute", PjrtCode(code), message.to_owned());
        for (code, message, bytes) in [
            (13, "INTERNAL: Out of memory allocating 1099511627776 bytes.", Some(1 << 40)),
            (8, "Out of memory while trying to allocate 1048576 bytes.", Some(1 << 20)),
            (8, "Failed to allocate 1.50GiB for new buffer", Some(3 << 29)),
            (8, "Attempting to reserve 2G at the bottom of memory. That was not possible.", Some(2 << 30)),
            (8, "Ran out of memory in memory space hbm", None),
            (8, "cannot allocate 99999999999999T", None),
        ] {
            let error = says(code, message);
            let RuntimeError::OutOfMemory { asked, .. } = &error else { panic!("{error}") };
            assert_eq!((*asked, error.code()), (bytes, "RT0207"), "{message}");
            assert_eq!(error.class(), ErrorClass::InvalidInput);
            assert!(error.hint().is_some_and(|hint| hint.contains("shard more")));
        }
        assert_eq!(says(13, "something else").code(), "RT0201");
        assert!(
            says(8, "allocate 1024 bytes").to_string().starts_with("out of memory (1.0 KiB requested): ")
        );
        assert_eq!(says(8, "no memory").in_compilation().code(), "RT0202");
    }

    #[test]
    fn debug_equals_display() {
        let error =
            RuntimeError::TimeLimit { limit: Duration::from_secs(2), done: vec![0], waiting: vec![1] };
        assert_eq!(format!("{error:?}"), error.to_string());
        assert!(error.to_string().starts_with("the program did not finish within 2 s: "), "{error}");
    }
}
