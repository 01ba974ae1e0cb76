//! Asks the TPU compiler, and remembers what it said.

use std::{
    collections::{BTreeMap, hash_map::DefaultHasher},
    fs,
    hash::{Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use serde_json::Value;

use super::Side;
use crate::{process, python};

/// What the compiler says of a program, per device.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Verdict {
    /// Bytes sent in one run.
    pub(super) sent: f64,
    /// Bytes of temporaries.
    pub(super) temporaries: f64,
    /// The compiler's estimate of compute cycles.
    pub(super) cycles: f64,
    /// How often each kind of collective runs.
    pub(super) collectives: BTreeMap<String, u64>,
}

/// Counts overlapped all-gathers once.
const SENT_ONCE: &str = include_str!("../../../python/sent_once.py");

/// The TPU compiler, through a tool that prints JSON.
pub(super) struct Compiler {
    python: PathBuf,
    tool: PathBuf,
    /// Where verdicts are kept.
    dir: PathBuf,
    /// What a verdict depends on besides the program: the tool's text and the compiler's version.
    version: u64,
}

impl Compiler {
    pub(super) fn new(python: &Path, tool: &Path, dir: &Path) -> Result<Compiler> {
        let text = fs::read(tool).with_context(|| format!("reading {}", tool.display()))?;
        let mut hasher = DefaultHasher::new();
        (text, python::version_of(python, "libtpu"), python::version_of(python, "jaxlib")).hash(&mut hasher);
        Ok(Compiler {
            python: python.to_owned(),
            tool: tool.to_owned(),
            dir: dir.to_owned(),
            version: hasher.finish(),
        })
    }

    /// The verdict on a program, from an earlier run if there was one. The compiler may end the process: then, and where
    /// it refuses the program, the answer says so, and is kept too.
    pub(super) fn compile(&self, topology: &str, mode: &str, program: &Path) -> Result<Side> {
        let kept = self.kept(topology, mode, program, "json")?;
        if let Ok(json) = fs::read_to_string(&kept) {
            return read(&json);
        }
        let mut command = self.command(topology, mode, program);
        let out = command.output().with_context(|| format!("starting {}", process::shown(&command)))?;
        let json = if out.status.success() {
            String::from_utf8(out.stdout).context("reading what the compiler prints")?
        } else {
            let said = String::from_utf8_lossy(&out.stderr);
            let why = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            serde_json::json!({ "error": format!("the compiler ended ({}): {why}", out.status) }).to_string()
        };
        fs::write(&kept, &json).with_context(|| format!("writing {}", kept.display()))?;
        read(&json)
    }

    /// The bytes that each of so many devices sends for a program that compiles, where the steps of an all-gather that the
    /// compiler overlaps count once.
    pub(super) fn sent_once(&self, topology: &str, mode: &str, program: &Path, devices: u64) -> Result<f64> {
        let kept = self.kept(topology, mode, program, "once.json")?;
        if !kept.is_file() {
            process::output(self.command(topology, mode, program).env("DUMP_HLO", "1"))?;
            let hlo = PathBuf::from(format!("{}.{mode}.hlo", program.display()));
            let mut count = Command::new(&self.python);
            count.args(["-c", SENT_ONCE]).arg(&self.tool).arg(&hlo).arg(devices.to_string());
            fs::write(&kept, process::output(&mut count)?)
                .with_context(|| format!("writing {}", kept.display()))?;
            fs::remove_file(&hlo).with_context(|| format!("removing {}", hlo.display()))?;
        }
        let json = fs::read_to_string(&kept).with_context(|| format!("reading {}", kept.display()))?;
        let said: Value = serde_json::from_str(&json).context("reading what is sent")?;
        said["sent"].as_f64().context("what is sent is no number")
    }

    /// Where what the compiler says of a program is kept, by the program's text.
    fn kept(&self, topology: &str, mode: &str, program: &Path, extension: &str) -> Result<PathBuf> {
        let text = fs::read(program).with_context(|| format!("reading {}", program.display()))?;
        let mut hasher = DefaultHasher::new();
        (self.version, topology, mode, text).hash(&mut hasher);
        Ok(self.dir.join(format!("{:016x}.{extension}", hasher.finish())))
    }

    fn command(&self, topology: &str, mode: &str, program: &Path) -> Command {
        let mut command = Command::new(&self.python);
        // Only one process at a time may have the TPU, but there is none.
        command.env("ALLOW_MULTIPLE_LIBTPU_LOAD", "1");
        command.arg(&self.tool).args([topology, mode]).arg(program);
        command
    }
}

fn read(json: &str) -> Result<Side> {
    let said: Value = serde_json::from_str(json).context("reading the compiler's verdict")?;
    if let Some(error) = said["error"].as_str() {
        return Ok(Err(error.lines().next().unwrap_or_default().to_owned()));
    }
    let number = |key: &str| said[key].as_f64().with_context(|| format!("the verdict has no {key}"));
    let kinds = said["collectives"].as_object().into_iter().flatten();
    let collectives = kinds.map(|(kind, of)| (kind.clone(), of[0].as_u64().unwrap_or(0))).collect();
    Ok(Ok(Verdict {
        sent: number("sent")?,
        temporaries: number("temp")?,
        cycles: number("cycles")?,
        collectives,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_numbers_or_a_reason() {
        let json = r#"{"temp": 8, "cycles": 5, "sent": 384, "collectives": {"all-reduce": [2, 384]}}"#;
        let verdict = read(json).unwrap().unwrap();
        assert_eq!((verdict.sent, verdict.temporaries, verdict.cycles), (384.0, 8.0, 5.0));
        assert_eq!(verdict.collectives["all-reduce"], 2);
        let refused = read(r#"{"error": "RESOURCE_EXHAUSTED: out of memory\nmore"}"#).unwrap();
        assert_eq!(refused, Err("RESOURCE_EXHAUSTED: out of memory".to_owned()));
        assert!(read(r#"{"temp": 8}"#).is_err());
    }
}
