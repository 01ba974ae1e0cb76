//! The health of one plugin: whether it can be loaded, what it lacks, and which devices it has.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::error::{Result, RuntimeError};
use crate::plugin::{Environment, Plugin, PluginKind, cuda, has_tpu};
use crate::plugin_options::PluginOptions;

/// The state in which a check found a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// There is no plugin of this kind.
    Absent {
        /// The action that the user can take.
        hint: String,
    },
    /// The plugin's file cannot be loaded.
    Broken {
        /// The reason why the file cannot be loaded.
        reason: String,
    },
    /// The plugin can be loaded.
    Loads {
        /// The major and minor version of the C API of the plugin.
        api_version: (i32, i32),
        /// Functions that shardc may call and that the plugin lacks.
        missing_functions: Vec<String>,
        /// Libraries that the plugin loads on demand, and that are missing in the folders that it searches.
        missing_libraries: Vec<String>,
        /// The platform and the number of devices, or the reason why the plugin has no devices on this machine. Without its hardware, a TPU
        /// or CUDA plugin can only compile ahead of time.
        devices: Result<(String, usize), String>,
    },
}

/// Loads a plugin in this process and checks it.
pub(crate) fn look(kind: PluginKind, path: &Path) -> Health {
    match Plugin::load(path) {
        Err(error) => Health::Broken { reason: error.to_string() },
        Ok(plugin) => Health::Loads {
            api_version: plugin.api_version(),
            missing_functions: plugin.missing_functions().into_iter().map(str::to_owned).collect(),
            missing_libraries: match kind {
                PluginKind::Cuda => cuda::missing(path, &Environment::from_process()),
                PluginKind::Cpu | PluginKind::Tpu => Vec::new(),
            },
            devices: devices(kind, &plugin).map_err(|error| error.to_string()),
        },
    }
}

fn devices(kind: PluginKind, plugin: &Plugin) -> Result<(String, usize)> {
    if kind == PluginKind::Tpu && !has_tpu() {
        return Err(RuntimeError::Argument(
            "this machine has no TPU; ahead-of-time compilation works".to_owned(),
        ));
    }
    let client = Client::new(plugin, PluginOptions::default()).map_err(|error| match error {
        RuntimeError::NoGpu { plugin, message } if cuda::has_compiler(&plugin) => {
            RuntimeError::NoGpu { plugin, message: format!("{message} Ahead-of-time compilation works") }
        }
        other => other,
    })?;
    Ok((client.platform_name().to_owned(), client.devices().len()))
}
