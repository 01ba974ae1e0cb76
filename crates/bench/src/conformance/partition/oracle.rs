//! Compares partitioned programs by `check_partition.py`, which does not use shardc's runtime.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use shardc_filetest::quick::xla_flags;

use super::super::worker::{Reply, Worker};
use super::{
    CheckWith, ConformanceArgs, need,
    programs::{Kind, Program},
    report::Outcome,
};
use xtask::python;

/// The tool's path in the shared data.
const TOOL: &str = "tools/check_partition.py";

/// A script that runs the tool many times in one process.
pub(in crate::conformance) const SCRIPT: &str = include_str!("../../../python/check_many.py");

/// The XLA flag that creates enough virtual devices for any program of the corpus.
const DEVICES: &str = "--xla_force_host_platform_device_count=16";

/// The Python interpreter and the scripts that run `check_partition.py`.
pub(super) struct Oracle {
    python: PathBuf,
    script: PathBuf,
    tool: PathBuf,
}

impl Oracle {
    /// Finds the tools that run `check_partition.py`. Returns `None` if the comparison by this script is disabled.
    pub(super) fn find(root: &Path, dir: &Path, args: &ConformanceArgs) -> Result<Option<Oracle>> {
        if matches!(args.check_with, CheckWith::Nothing) {
            return Ok(None);
        }
        let tool = root.join(TOOL);
        need(&tool)?;
        let python = python::with_jax(args.python.as_deref())?;
        let script = dir.join("check_many.py");
        fs::write(&script, SCRIPT).with_context(|| format!("writing {}", script.display()))?;
        Ok(Some(Oracle { python, script, tool }))
    }

    /// A checker, whose process starts with the first comparison.
    pub(super) fn checker(&self, out: &Path, limit: Duration) -> Checker {
        let Oracle { python, script, tool } = self;
        let (python, script, tool) = (python.clone(), script.clone(), tool.clone());
        let flags = format!("{DEVICES} {}", xla_flags());
        let make = move || {
            let mut command = Command::new(&python);
            command.arg(&script).arg(&tool).env("JAX_PLATFORMS", "cpu").env("XLA_FLAGS", &flags);
            command.env("TF_CPP_MIN_LOG_LEVEL", "3");
            command
        };
        Checker(Worker::new(make, out.join("check.log"), limit))
    }
}

/// A worker process that runs the tool.
pub(super) struct Checker(Worker);

impl Checker {
    /// Compares the partitioned program in the folder `out` with the original program.
    pub(super) fn ask(&mut self, program: &Program, out: &Path) -> Result<Outcome> {
        let oracle = if program.kind == Kind::Manual { "xla" } else { "single" };
        let (partitioned, manifest) = (out.join("partitioned.mlirbc"), out.join("manifest.json"));
        let job = json!([program.file, partitioned, manifest, "--oracle", oracle]);
        Ok(match self.0.ask(&job)? {
            Reply::Lost(how) => Outcome::Crashed(how),
            Reply::Answer(answer) => match (&answer["error"], answer["ok"] == true) {
                (Value::String(error), _) => Outcome::Failed(error.trim_end().to_owned()),
                (_, true) => Outcome::Equal,
                (_, false) => Outcome::Wrong(format!("{}", answer["outputs"])),
            },
        })
    }
}
