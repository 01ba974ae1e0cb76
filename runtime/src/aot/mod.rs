//! Ahead-of-time compilation, including for devices that this machine does not have, with a report of memory use per device, cost and
//! collectives.
//!
//! The TPU compiler aborts its process on some invalid programs. To survive such an abort, call [`compile_in_child`]: it runs a copy of the
//! calling program as `PROGRAM __aot-compile REQUEST.json`, and that copy calls [`run_child`].

mod child;
mod gpus;
mod grid;
mod target;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub(crate) use self::child::look_in_child;
pub use self::child::{CHILD_COMMAND, compile_in_child, run_child};
pub use self::target::Target;
use crate::client::Client;
use crate::error::{Result, RuntimeError};
use crate::executable::{self, MemoryStats};
use crate::ffi::{RawExecutable, RawTopology};
use crate::hlo::{Collectives, Summary};
use crate::options::CompileOptions;
use crate::plugin::{Plugin, PluginKind};
use crate::plugin_options::{ClientOptions, Value};

/// A request to compile a program: the program, its target and the plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct CompileRequest {
    /// The devices to compile for.
    pub target: Target,
    /// The path of the plugin's file; see [`crate::plugin::find`].
    pub plugin: PathBuf,
    /// StableHLO as text or bytecode.
    pub program: Vec<u8>,
    /// The compile options, such as the number of devices. If they have no device IDs, the IDs of the target's devices are used.
    pub options: CompileOptions,
    /// The path to which the serialized executable is written; `None` to write no file.
    pub executable: Option<PathBuf>,
}

/// The compiler's report of a program, for one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompileReport {
    /// The target as the caller gave it: `tpu:v5e:4x4`.
    pub target: String,
    /// The number of devices of the program.
    pub devices: usize,
    /// The memory size of a device in bytes, if the target is a kind of GPU; otherwise absent. The TPU compiler rejects programs that do
    /// not fit; the GPU compiler does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_bytes: Option<u64>,
    /// Bytes of arguments.
    pub argument_bytes: u64,
    /// Bytes of results, including those that alias arguments.
    pub output_bytes: u64,
    /// Bytes of temporaries.
    pub temp_bytes: u64,
    /// Bytes of results that alias arguments.
    pub alias_bytes: u64,
    /// Peak of live bytes of device memory. Absent if the compiler does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// Bytes of host memory: for arguments, results that do not alias arguments, and temporaries. The other numbers are for device memory
    /// only.
    #[serde(default)]
    pub host_bytes: u64,
    /// Bytes of machine code. Absent if the compiler does not report it, as for the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated_code_bytes: Option<u64>,
    /// The compiler's count of floating-point operations; the body of a loop is counted once, regardless of the trip count. Absent if the
    /// compiler has no count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flops: Option<f64>,
    /// The compiler's estimate of the compute cycles of one execution, loops included. Absent if the compiler has none, as for TPUs other
    /// than v5e.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// Collectives by kind, in one execution of the program.
    pub collectives: Collectives,
    /// Size of the serialized executable in bytes. Absent if the plugin cannot serialize it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executable_bytes: Option<u64>,
    /// Compilation time in seconds.
    pub compile_seconds: f64,
}

impl CompileReport {
    /// The number of bytes that one device sends in all collectives of one execution.
    #[must_use]
    pub fn bytes_sent(&self) -> u64 {
        self.collectives.values().fold(0, |sum, stat| sum.saturating_add(stat.bytes_sent))
    }

    /// The number of bytes of device memory that the program needs: arguments, temporaries, and results that do not alias arguments.
    #[must_use]
    pub fn needed_bytes(&self) -> u64 {
        let results = self.output_bytes.saturating_sub(self.alias_bytes);
        self.argument_bytes.saturating_add(self.temp_bytes).saturating_add(results)
    }

    /// Returns an error if the program needs more memory than a device has, if the size of the device's memory is known.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::DoesNotFit`].
    pub fn require_fit(&self) -> Result<()> {
        let needed = self.needed_bytes();
        match self.device_bytes {
            Some(memory) if needed > memory => {
                Err(RuntimeError::DoesNotFit { target: self.target.clone(), needed, memory })
            }
            _ => Ok(()),
        }
    }
}

/// Returns the number of devices of a target. `None` if the target does not determine it: on the CPU, the program determines the number of
/// virtual devices; for `cuda`, it is the number of the machine's GPUs. The grid of a TPU slice does not determine the number: a chip is
/// one or two devices, depending on its generation.
///
/// # Errors
///
/// The plugin does not load, or does not know the topology.
pub fn device_count(target: &Target, plugin: &Path) -> Result<Option<usize>> {
    let Some(name) = target.topology() else { return Ok(None) };
    Ok(Some(topology(target, name, &Plugin::load(plugin)?)?.1.len()))
}

/// Returns the description of the devices of a target, which need not exist, and their IDs in ascending order. `name` is its topology name.
fn topology(target: &Target, name: &str, plugin: &Plugin) -> Result<(Arc<RawTopology>, Vec<i32>)> {
    let created = match target.gpus() {
        None => RawTopology::create(plugin.api(), name, &[]),
        Some((gpu, grid)) => {
            let text = |text: String| Value::Text(text.into());
            let name = gpus::topology_name(grid);
            let options = [("topology", text(name.clone())), ("target_config", text(gpu.target_config()))];
            RawTopology::create(plugin.api(), &name, &options)
        }
    };
    let topology = created.map(Arc::new).map_err(|error| match error {
        RuntimeError::Pjrt { message, .. } => {
            RuntimeError::Target { text: target.to_string(), reason: message }
        }
        other => other,
    })?;
    let mut ids: Vec<i32> = topology.devices()?.into_iter().map(|(id, _)| id).collect();
    ids.sort_unstable();
    Ok((topology, ids))
}

/// Compiles a program in this process and returns the compiler's report.
///
/// For `cpu` and `cuda`, this function starts a client, with as many virtual devices on the CPU as the program needs. For `tpu:` targets,
/// and for `cuda:` targets with a kind and a number of GPUs, the compiler gets a description of the devices, which need not exist. If the
/// machine has a GPU, XLA chooses GPU kernels by timing them on that GPU; otherwise it chooses those that it expects to be fast. **The TPU
/// compiler may abort the process**. The TPU compiler queries the network for a TPU unless `TPU_SKIP_MDS_QUERY` is set (see
/// [`crate::plugin::quiet_plugin_logs`]).
///
/// # Errors
///
/// The plugin does not load, does not know the topology, or rejects the program; the slice and the program have different numbers of
/// devices; the executable cannot be written.
pub fn compile(request: &CompileRequest) -> Result<CompileReport> {
    let plugin = Plugin::load(&request.plugin)?;
    let started = std::time::Instant::now();
    let report = |executable: &RawExecutable, devices: usize| {
        let seconds = started.elapsed().as_secs_f64();
        report(request, executable, devices, seconds)
    };
    match request.target.topology() {
        Some(name) => {
            let (topology, ids) = topology(&request.target, name, &plugin)?;
            let wanted = request.options.num_devices();
            let chosen = request.options.device_ids.clone().unwrap_or(ids.clone());
            // The program must use all devices of the slice. The compiler requires this for v5e; for other kinds, a program with fewer
            // devices is most likely a mistake.
            if chosen.len() != wanted || ids.len() != wanted {
                return Err(RuntimeError::Devices { program: wanted, available: ids.len() });
            }
            let executable = topology
                .compile(&request.program, &request.options.encode(&chosen))
                .map_err(RuntimeError::in_compilation)?;
            report(&executable, wanted)
        }
        None => {
            let count = (request.target.kind() == PluginKind::Cpu).then(|| request.options.num_devices());
            let client = Client::new(&plugin, ClientOptions { cpu_device_count: count })?;
            let loaded = client.compile(&request.program, &request.options)?;
            report(loaded.info(), loaded.devices().len())
        }
    }
}

fn report(
    request: &CompileRequest,
    executable: &RawExecutable,
    devices: usize,
    compile_seconds: f64,
) -> Result<CompileReport> {
    // Statistics that a plugin cannot provide are omitted from the report; the compilation still succeeds.
    let memory = executable::memory_stats(executable).or_else(absent(MemoryStats::default()))?;
    let cost = executable::cost(executable).or_else(absent(executable::Cost::default()))?;
    let hlo = executable::hlo_summary(executable, devices).or_else(absent(Summary::default()))?;
    let serialized = match &request.executable {
        Some(_) => executable.serialize()?,
        None => executable.serialize().unwrap_or_default(),
    };
    if let Some(path) = &request.executable {
        std::fs::write(path, &serialized).map_err(RuntimeError::io(path))?;
    }
    Ok(CompileReport {
        target: request.target.to_string(),
        devices,
        device_bytes: request.target.gpus().map(|(gpu, _)| gpu.memory()),
        argument_bytes: memory.argument_bytes,
        output_bytes: memory.output_bytes,
        temp_bytes: memory.temp_bytes,
        alias_bytes: memory.alias_bytes,
        peak_bytes: known(memory.peak_bytes).or((memory.host_bytes > 0).then_some(0)),
        host_bytes: memory.host_bytes,
        generated_code_bytes: known(memory.generated_code_bytes),
        flops: cost.properties.contains_key("flops").then_some(cost.flops).filter(|n| *n >= 0.0),
        collectives: hlo.collectives,
        cycles: hlo.cycles,
        executable_bytes: known(serialized.len() as u64),
        compile_seconds,
    })
}

/// Returns `None` for 0, which compilers report for an unknown number.
fn known(bytes: u64) -> Option<u64> {
    (bytes > 0).then_some(bytes)
}

/// Returns a handler that replaces an error by `value` if the plugin does not provide the data. Other errors are returned.
fn absent<T>(value: T) -> impl FnOnce(RuntimeError) -> Result<T> {
    use crate::error::PjrtCode;
    move |error| match error {
        RuntimeError::PluginLacks { .. } | RuntimeError::Pjrt { code: PjrtCode::UNIMPLEMENTED, .. } => {
            Ok(value)
        }
        other => Err(other),
    }
}
