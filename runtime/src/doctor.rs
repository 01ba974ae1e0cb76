//! Health checks of plugins.

use std::path::Path;

use crate::aot::look_in_child;
use crate::error::RuntimeError;
pub use crate::health::Health;
use crate::health::look;
use crate::plugin::{Environment, FoundPlugin, PluginKind, list};

/// The result of a check of one plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The kind of plugin.
    pub kind: PluginKind,
    /// The plugin; `None` if no plugin of this kind was found.
    pub found: Option<FoundPlugin>,
    /// The state of the plugin.
    pub health: Health,
}

/// Checks every plugin that can be found. Returns one result for each plugin, and one for each kind of which no plugin was found.
///
/// Each plugin is loaded in its own process, so a plugin that crashes is reported and does not end the caller. `program` is as for
/// [`crate::aot::compile_in_child`]; if it is `None`, plugins are loaded in this process. The TPU plugin is queried for devices only if the
/// machine has TPU device files, because a search for an absent TPU may end the process.
#[must_use]
pub fn doctor(environment: &Environment, program: Option<&Path>) -> Vec<Check> {
    let mut checks: Vec<Check> = list(environment).into_iter().map(|found| check(found, program)).collect();
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

/// Checks one plugin; `program` is as for [`doctor`].
#[must_use]
pub fn check(found: FoundPlugin, program: Option<&Path>) -> Check {
    let health = match program {
        None => look(found.kind, &found.path),
        Some(program) => look_in_child(program, found.kind, &found.path).unwrap_or_else(|error| {
            let reason = match error {
                RuntimeError::ChildDied { how, stderr_tail } if stderr_tail.is_empty() => {
                    format!("the process that loaded the plugin {how}")
                }
                RuntimeError::ChildDied { how, stderr_tail } => {
                    format!("the process that loaded the plugin {how}; its last output was:\n{stderr_tail}")
                }
                other => other.to_string(),
            };
            Health::Broken { reason }
        }),
    };
    Check { kind: found.kind, found: Some(found), health }
}
