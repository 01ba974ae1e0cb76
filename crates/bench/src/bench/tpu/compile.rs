//! Runs the TPU compiler, and caches its results.

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
use xtask::{process, python};

/// The compiler's results for a program, per device.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Verdict {
    /// Bytes sent in one execution; an all-gather that the compiler overlaps with compute counts once.
    pub(super) sent: f64,
    /// Bytes sent if an overlapped all-gather counts once for each of its steps.
    pub(super) sent_by_steps: f64,
    /// Bytes of temporaries.
    pub(super) temporaries: f64,
    /// The compiler's estimate of compute cycles.
    pub(super) cycles: f64,
    /// Number of executed collectives of each kind.
    pub(super) collectives: BTreeMap<String, u64>,
}

/// A script that counts the bytes that a compiled program sends.
const SENT_ONCE: &str = include_str!("../../../python/sent_once.py");

/// The TPU compiler, which runs in a tool that prints its results as JSON.
pub(super) struct Compiler {
    python: PathBuf,
    tool: PathBuf,
    /// The folder of cached results.
    dir: PathBuf,
    /// A hash of the texts of the tool and the script, and of the compiler's version, on which a cached result depends in addition to the
    /// program.
    version: u64,
}

impl Compiler {
    pub(super) fn new(python: &Path, tool: &Path, dir: &Path) -> Result<Compiler> {
        let text = fs::read(tool).with_context(|| format!("reading {}", tool.display()))?;
        let mut hasher = DefaultHasher::new();
        (text, SENT_ONCE, python::version_of(python, "libtpu"), python::version_of(python, "jaxlib"))
            .hash(&mut hasher);
        Ok(Compiler {
            python: python.to_owned(),
            tool: tool.to_owned(),
            dir: dir.to_owned(),
            version: hasher.finish(),
        })
    }

    /// Returns the compiler's results for a program on `devices` devices, from the cache if possible. If the compiler rejects the program
    /// or aborts, the inner result is an error, which is also cached.
    pub(super) fn compile(&self, topology: &str, mode: &str, program: &Path, devices: u64) -> Result<Side> {
        let kept = self.kept(topology, mode, program)?;
        if let Ok(json) = fs::read_to_string(&kept) {
            return read(&json);
        }
        // The compiler writes the compiled program next to its source, whose folder may be read-only, so the source is copied.
        let copy = self.dir.join("compiled.mlir");
        fs::copy(program, &copy).with_context(|| format!("copying {}", program.display()))?;
        let mut command = Command::new(&self.python);
        // libtpu allows one process per TPU. The check is disabled, because compilation uses no TPU.
        command.env("ALLOW_MULTIPLE_LIBTPU_LOAD", "1").env("DUMP_HLO", "1");
        command.arg(&self.tool).args([topology, mode]).arg(&copy);
        let out = command.output().with_context(|| format!("starting {}", process::shown(&command)))?;
        let json = if out.status.success() {
            let stdout = String::from_utf8(out.stdout).context("reading the output of the TPU compiler")?;
            let hlo = PathBuf::from(format!("{}.{mode}.hlo", copy.display()));
            if hlo.is_file() { self.with_sent_once(&stdout, &hlo, devices)? } else { stdout }
        } else {
            let stderr = String::from_utf8_lossy(&out.stderr);
            let why = stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            serde_json::json!({ "error": format!("the compiler exited ({}): {why}", out.status) }).to_string()
        };
        fs::write(&kept, &json).with_context(|| format!("writing {}", kept.display()))?;
        read(&json)
    }

    /// Adds to the compiler's results `verdict` the number of bytes sent if each overlapped all-gather counts once. Deletes the compiled
    /// program `hlo`.
    fn with_sent_once(&self, verdict: &str, hlo: &Path, devices: u64) -> Result<String> {
        let mut results: Value =
            serde_json::from_str(verdict).context("parsing the output of the TPU compiler")?;
        let mut count = Command::new(&self.python);
        count.args(["-c", SENT_ONCE]).arg(&self.tool).arg(hlo).arg(devices.to_string());
        let once: Value = serde_json::from_str(&process::output(&mut count)?)
            .context("parsing the number of bytes that the collectives send")?;
        for key in ["sent", "collectives"] {
            results[format!("{key}_once")] = once[key].clone();
        }
        fs::remove_file(hlo).with_context(|| format!("removing {}", hlo.display()))?;
        Ok(results.to_string())
    }

    /// The cache file of a program's results, whose name is a hash of the program's text.
    fn kept(&self, topology: &str, mode: &str, program: &Path) -> Result<PathBuf> {
        let text = fs::read(program).with_context(|| format!("reading {}", program.display()))?;
        let mut hasher = DefaultHasher::new();
        (self.version, topology, mode, text).hash(&mut hasher);
        Ok(self.dir.join(format!("{:016x}.json", hasher.finish())))
    }
}

fn read(json: &str) -> Result<Side> {
    let output: Value = serde_json::from_str(json).context("parsing the output of the TPU compiler")?;
    if let Some(error) = output["error"].as_str() {
        return Ok(Err(error.lines().next().unwrap_or_default().to_owned()));
    }
    let number = |key: &str| {
        output[key].as_f64().with_context(|| format!("the output of the TPU compiler has no `{key}`"))
    };
    let kinds = output["collectives_once"].as_object().into_iter().flatten();
    let collectives = kinds.map(|(kind, of)| (kind.clone(), of[0].as_u64().unwrap_or(0))).collect();
    Ok(Ok(Verdict {
        sent: number("sent_once")?,
        sent_by_steps: number("sent")?,
        temporaries: number("temp")?,
        cycles: number("cycles")?,
        collectives,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_numbers_or_a_reason() {
        let json = r#"{"temp": 8, "cycles": 5, "sent": 512, "sent_once": 384,
            "collectives_once": {"all-reduce": [2, 384]}}"#;
        let verdict = read(json).unwrap().unwrap();
        assert_eq!((verdict.sent, verdict.sent_by_steps), (384.0, 512.0));
        assert_eq!((verdict.temporaries, verdict.cycles), (8.0, 5.0));
        assert_eq!(verdict.collectives["all-reduce"], 2);
        let refused = read(r#"{"error": "RESOURCE_EXHAUSTED: out of memory\nmore"}"#).unwrap();
        assert_eq!(refused, Err("RESOURCE_EXHAUSTED: out of memory".to_owned()));
        assert!(read(r#"{"temp": 8}"#).is_err());
    }
}
