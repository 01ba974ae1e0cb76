//! Installs XLA's PJRT plugins, which compile and run partitioned programs, with `shardc plugin install`.

use std::{path::Path, process::Command};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;

/// A plugin that the checks of `cargo xtask` need. The names are those of `shardc plugin install`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plugin {
    /// XLA's CPU plugin, which runs programs on this machine.
    Cpu,
    /// The TPU compiler, which needs no TPU.
    Tpu,
    /// The GPU compiler, which needs no GPU: no check runs on a GPU.
    Cuda,
}

impl Plugin {
    fn name(self) -> &'static str {
        match self {
            Plugin::Cpu => "cpu",
            Plugin::Tpu => "tpu",
            Plugin::Cuda => "cuda",
        }
    }
}

/// Installs the pinned version of `plugin` into shardc's cache with the program `shardc`, unless `shardc plugin list` already lists a file
/// of the plugin.
///
/// # Errors
/// `shardc` cannot be run, or the installation fails.
pub fn ensure(shardc: &Path, plugin: Plugin) -> Result<()> {
    let name = plugin.name();
    let list = process::output(Command::new(shardc).args(["plugin", "list", "--format", "json"]))?;
    if let Some(file) =
        file_of(name, &list).context("reading the output of `shardc plugin list --format json`")?
    {
        println!("PJRT plugin for {name}: already installed ({file})");
        return Ok(());
    }
    let mut install = Command::new(shardc);
    install.args(["plugin", "install", name]);
    if plugin == Plugin::Cuda {
        install.arg("--compiler-only");
    }
    process::run(&mut install).with_context(|| format!("installing the PJRT plugin for {name}"))
}

/// The file of the first plugin of a kind in the output of `shardc plugin list --format json`.
fn file_of(kind: &str, list: &str) -> Result<Option<String>> {
    let list: Value = serde_json::from_str(list)?;
    let plugins = list["plugins"].as_array().context("it has no array `plugins`")?;
    let found = plugins.iter().find(|plugin| plugin["kind"] == kind);
    Ok(found.and_then(|plugin| plugin["file"].as_str()).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_plugins_are_found() {
        let list = r#"{"version":1,"plugins":[{"kind":"tpu","file":"/a"},{"kind":"cpu","file":"/b"},{"kind":"cpu","file":"/c"}]}"#;
        assert_eq!(file_of("cpu", list).unwrap().as_deref(), Some("/b"));
        assert_eq!(file_of("cuda", list).unwrap(), None);
        assert!(file_of("cpu", "{}").is_err());
    }
}
