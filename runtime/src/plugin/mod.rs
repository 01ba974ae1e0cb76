//! PJRT plugins: shared libraries that contain XLA for one kind of device.
//!
//! [`find`] looks up a plugin, [`install`] downloads a pinned one from PyPI, [`Plugin::load`] loads one. [`doctor`](crate::doctor) checks
//! all plugins of a machine.

pub(crate) mod cuda;
mod digest;
mod download;
mod elf;
mod environment;
mod find;
mod install;
mod pins;
mod progress;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use shardc_target::DeviceKind;

pub use self::environment::Environment;
pub use self::find::{FoundPlugin, PluginSource, find, list};
pub use self::install::{Libraries, install, install_with};
pub use self::progress::InstallProgress;
use crate::error::{Result, RuntimeError};
use crate::ffi::{self, Api};

/// The kinds of devices on which shardc runs programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PluginKind {
    /// Virtual devices on this machine's CPU: the default, and the reference in tests.
    Cpu,
    /// Google's TPUs; ahead-of-time compilation needs no TPU.
    Tpu,
    /// NVIDIA's GPUs.
    Cuda,
}

impl PluginKind {
    /// All kinds of plugins.
    pub const ALL: [PluginKind; 3] = [PluginKind::Cpu, PluginKind::Tpu, PluginKind::Cuda];

    /// The name of the kind: `cpu`, `tpu` or `cuda`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            PluginKind::Cpu => "cpu",
            PluginKind::Tpu => "tpu",
            PluginKind::Cuda => "cuda",
        }
    }

    /// The environment variable with the path of this plugin's file, such as `SHARDC_PJRT_CPU`.
    #[must_use]
    pub fn variable(self) -> &'static str {
        match self {
            PluginKind::Cpu => "SHARDC_PJRT_CPU",
            PluginKind::Tpu => "SHARDC_PJRT_TPU",
            PluginKind::Cuda => "SHARDC_PJRT_CUDA",
        }
    }
}

impl From<DeviceKind> for PluginKind {
    fn from(kind: DeviceKind) -> PluginKind {
        match kind {
            DeviceKind::Cpu => PluginKind::Cpu,
            DeviceKind::Gpu => PluginKind::Cuda,
            DeviceKind::Tpu => PluginKind::Tpu,
        }
    }
}

impl fmt::Display for PluginKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for PluginKind {
    type Err = RuntimeError;

    fn from_str(text: &str) -> Result<PluginKind> {
        PluginKind::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
            RuntimeError::Argument(format!("unknown kind of plugin `{text}`: must be cpu, tpu or cuda"))
        })
    }
}

/// A loaded plugin. Cheap to clone; usable from any thread. It stays loaded for the life of the process.
#[derive(Clone)]
pub struct Plugin {
    api: Arc<Api>,
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.api_version();
        write!(f, "Plugin({}, C API {major}.{minor})", self.path().display())
    }
}

/// The plugins that this process has loaded, by path: each file is loaded and initialized only once.
static LOADED: Mutex<Vec<(PathBuf, Plugin)>> = Mutex::new(Vec::new());

impl Plugin {
    /// Loads a plugin; if this process has already loaded it, returns the loaded plugin.
    ///
    /// Loading executes the file's code. See [`quiet_plugin_logs`] for the output of plugins on standard error.
    ///
    /// # Errors
    ///
    /// The file is not a shared library for this machine, is truncated, is not a PJRT plugin, or has a different major version of the API;
    /// or the file has changed since [`install`] installed it.
    pub fn load(path: &Path) -> Result<Plugin> {
        let path = path.canonicalize().map_err(RuntimeError::io(path))?;
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, plugin)) = loaded.iter().find(|(known, _)| *known == path) {
            return Ok(plugin.clone());
        }
        digest::check(&path)?;
        elf::check(&path).map_err(|reason| RuntimeError::PluginLoad { path: path.clone(), reason })?;
        let plugin = Plugin { api: Arc::new(Api::load(&path)?) };
        loaded.push((path, plugin.clone()));
        Ok(plugin)
    }

    /// The plugin's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.api.path()
    }

    /// The major and minor version of the C API with which the plugin was built: `(0, 81)`.
    #[must_use]
    pub fn api_version(&self) -> (i32, i32) {
        self.api.version()
    }

    /// The functions that shardc may call and that the plugin lacks.
    #[must_use]
    pub fn missing_functions(&self) -> Vec<&'static str> {
        ffi::FUNCTIONS.iter().filter(|(slot, _)| !self.api.has(*slot)).map(|(_, name)| *name).collect()
    }

    pub(crate) fn api(&self) -> &Arc<Api> {
        &self.api
    }
}

/// Variables that stop plugins from writing to standard error.
pub(crate) const QUIET: &[(&str, &str)] =
    &[("TF_CPP_MIN_LOG_LEVEL", "3"), ("TPU_MIN_LOG_LEVEL", "3"), ("TPU_STDERR_LOG_LEVEL", "3")];

/// Environment variables for the TPU plugin on a machine without a TPU. They disable the plugin's query of the network, and provide the
/// data about the machine that the plugin would otherwise report as missing. They also disable the plugin's lock, so that several processes
/// can compile at the same time. The result of compilation for a named topology does not depend on these variables.
pub(crate) const NO_TPU: &[(&str, &str)] = &[
    ("TPU_SKIP_MDS_QUERY", "1"),
    ("TPU_WORKER_HOSTNAMES", "localhost"),
    ("TPU_ACCELERATOR_TYPE", "v4-8"),
    ("ALLOW_MULTIPLE_LIBTPU_LOAD", "1"),
];

/// Returns whether this machine has a TPU, according to its device files.
pub(crate) fn has_tpu() -> bool {
    ["/dev/accel0", "/dev/vfio/0"].iter().any(|file| Path::new(file).exists())
}

/// XLA's option for the number of seconds after which the CPU plugin ends the process if a device waits for others in a collective.
const TERMINATE: &str = "--xla_cpu_collective_call_terminate_timeout_seconds";

/// Prepares this process for plugins, by setting environment variables that have no value. As a result, plugins do not write logs to
/// standard error. The TPU plugin does not query the network if the machine has no TPU. The CPU plugin does not end the process when a
/// device has waited for others for 40 s (`XLA_FLAGS`): on a busy machine such waits may be legitimate, and an execution has its own [time
/// limit](crate::ExecuteOptions::time_limit). Call this function first in `main`. Returns whether the variables were set.
///
/// A process's environment may only be written while no other thread can read it. If this is not the process's only thread, or that is
/// unknown (as outside Linux), this function changes nothing and returns false. So it is safe to call anywhere, but only useful early.
pub fn quiet_plugin_logs() -> bool {
    let tpu = if has_tpu() { &[] } else { NO_TPU };
    ffi::set_environment_defaults(QUIET)
        && ffi::set_environment_defaults(tpu)
        && ffi::add_option_to_environment("XLA_FLAGS", TERMINATE, "1000000000")
}
