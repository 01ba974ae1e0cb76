//! Times Shardy's propagation in jaxlib on one thread.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use super::{Seconds, json_member, seconds, shared};
use xtask::{process, workspace::Workspace};

const SHARDY: &str = include_str!("../../python/shardy_propagation.py");

/// The program that times Shardy: the separate tool in the shared data if available, otherwise the bundled script.
pub(super) struct Peer {
    script: PathBuf,
    arguments: &'static [&'static str],
}

impl Peer {
    pub(super) fn new(workspace: &Workspace, dir: &Path) -> Result<Peer> {
        let tool = shared(workspace).join("tools/shardy_pipeline.py");
        if tool.is_file() {
            return Ok(Peer { script: tool, arguments: &["--propagate-only"] });
        }
        let script = dir.join("shardy_propagation.py");
        fs::write(&script, SHARDY).with_context(|| format!("writing {}", script.display()))?;
        Ok(Peer { script, arguments: &[] })
    }

    pub(super) fn seconds(&self, python: &Path, file: &Path) -> Result<Seconds> {
        let json = process::output(Command::new(python).arg(&self.script).args(self.arguments).arg(file))?;
        // The tool of the shared data reports the time of propagation under the name of Shardy's pass pipeline.
        let mut times = seconds(json_member(&json, "seconds")?)?;
        if let Some(time) = times.remove("sdy-propagation-pipeline") {
            times.insert("propagate".to_owned(), time);
        }
        Ok(times)
    }
}
