//! What is there, and what is wrong with it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Environment, FoundPlugin, Plugin, PluginKind, has_tpu, list};
use crate::aot::look_in_child;
use crate::client::{Client, ClientOptions};
use crate::error::{Result, RuntimeError};

/// What a check of one plugin found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What it is for.
    pub kind: PluginKind,
    /// The plugin, or `None` where there is none of this kind.
    pub found: Option<FoundPlugin>,
    /// What it is good for.
    pub health: Health,
}

/// What a plugin is good for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// No plugin of this kind.
    Absent {
        /// What to do about it.
        hint: String,
    },
    /// The file does not load.
    Broken {
        /// Why.
        reason: String,
    },
    /// It loads.
    Loads {
        /// Version of its C API.
        api_version: (i32, i32),
        /// Functions that shardc may call and that it lacks.
        missing_functions: Vec<String>,
        /// Its platform and number of devices, or why it has none here. A TPU or CUDA plugin without its hardware
        /// compiles ahead of time and runs nothing.
        devices: Result<(String, usize), String>,
    },
}

/// Looks at every plugin that can be found; one entry for each, and one for each kind that has none.
///
/// Each plugin is loaded in a process of its own, so that one that crashes is told, and not the end of the caller.
/// `program` is as for [`crate::aot::compile_in_child`]; without it, plugins are loaded in this process. The TPU plugin is
/// not asked for devices unless the machine has TPU device files, because looking for a TPU that is not there may end the
/// process.
#[must_use]
pub fn doctor(environment: &Environment, program: Option<&Path>) -> Vec<Check> {
    let check = |found: FoundPlugin| {
        let health = match program {
            None => look(found.kind, &found.path),
            Some(program) => look_in_child(program, found.kind, &found.path).unwrap_or_else(|error| {
                let reason = match error {
                    RuntimeError::ChildDied { how, stderr_tail } if stderr_tail.is_empty() => {
                        format!("its process {how}")
                    }
                    RuntimeError::ChildDied { how, stderr_tail } => {
                        format!("its process {how}; it last wrote:\n{stderr_tail}")
                    }
                    other => other.to_string(),
                };
                Health::Broken { reason }
            }),
        };
        Check { kind: found.kind, found: Some(found), health }
    };
    let mut checks: Vec<Check> = list(environment).into_iter().map(check).collect();
    for kind in PluginKind::ALL {
        if !checks.iter().any(|check| check.kind == kind) {
            let absent = RuntimeError::PluginNotFound { kind: kind.to_string(), looked: Vec::new() };
            let hint = absent.hint().unwrap_or_default();
            checks.push(Check { kind, found: None, health: Health::Absent { hint } });
        }
    }
    checks.sort_by_key(|check| check.kind);
    checks
}

/// Loads a plugin in this process.
pub(crate) fn look(kind: PluginKind, path: &Path) -> Health {
    match Plugin::load(path) {
        Err(error) => Health::Broken { reason: error.to_string() },
        Ok(plugin) => Health::Loads {
            api_version: plugin.api_version(),
            missing_functions: plugin.missing_functions().into_iter().map(str::to_owned).collect(),
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
    let client = Client::new(plugin, ClientOptions::default())?;
    Ok((client.platform_name().to_owned(), client.devices().len()))
}
