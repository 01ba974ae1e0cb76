//! XLA's plugins: what runs a partitioned program.

use anyhow::Result;

use crate::workspace::Workspace;

/// A plugin that development needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plugin {
    /// Virtual devices on this machine's processor.
    Cpu,
    /// The TPU compiler.
    Tpu,
}

impl Plugin {
    fn title(self) -> &'static str {
        match self {
            Plugin::Cpu => "XLA's CPU plugin",
            Plugin::Tpu => "the TPU compiler",
        }
    }
}

/// Installs a plugin unless there is one.
#[allow(clippy::unnecessary_wraps, reason = "installing can fail")]
pub(crate) fn ensure(workspace: &Workspace, plugin: Plugin) -> Result<()> {
    let _ = workspace;
    println!("{}: skipped, this checkout has no runtime to install it", plugin.title());
    Ok(())
}
