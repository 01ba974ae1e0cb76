//! Runs Shardy's propagation in jaxlib, and caches the results because jaxlib is slow.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

/// Runs Shardy with the tool in the shared data.
pub(super) struct Peer {
    pub(super) python: PathBuf,
    pub(super) tool: PathBuf,
    /// The folder with cached programs and results.
    pub(super) dir: PathBuf,
}

impl Peer {
    /// Propagates a program with Shardy, and returns the propagated program. The inner `Err` is Shardy's error message.
    pub(super) fn propagate(&self, name: &str, program: &str) -> Result<Result<String, String>> {
        let [input, output, error_file] =
            ["in.mlir", "out.mlir", "said.txt"].map(|end| self.dir.join(format!("{name}.{end}")));
        let read = |file: &Path| fs::read_to_string(file).ok();
        if read(&input).as_deref() != Some(program) || !(output.is_file() || error_file.is_file()) {
            for old in [&output, &error_file] {
                let _ = fs::remove_file(old);
            }
            fs::write(&input, program).with_context(|| format!("writing {}", input.display()))?;
            let out = Command::new(&self.python)
                .arg(&self.tool)
                .arg(&input)
                .args(["--propagate-only", "-o"])
                .arg(&output)
                .stdin(Stdio::null())
                .output()
                .with_context(|| format!("starting {}", self.python.display()))?;
            if !out.status.success() {
                let _ = fs::remove_file(&output);
                let text = String::from_utf8_lossy(&out.stderr);
                // If jax is missing, that is not an error of Shardy.
                ensure!(!text.contains("ModuleNotFoundError"), "{text}");
                let line = text.lines().rfind(|line| line.contains("error")).unwrap_or("it crashed");
                fs::write(&error_file, line).with_context(|| format!("writing {}", error_file.display()))?;
            }
        }
        match read(&output) {
            Some(text) => Ok(Ok(text)),
            None => Ok(Err(read(&error_file).unwrap_or_default())),
        }
    }
}
