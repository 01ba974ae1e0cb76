//! JAX's own MLIR and CPU client, in a Python process that runs `conformance/jax/peer.py`.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use crate::root;

/// Few optimizations, for short compile times. Every jaxlib since 0.10 has these flags; an unknown flag would abort the process.
const FLAGS: &str = "--xla_backend_optimization_level=0 --xla_cpu_max_isa=AVX2";

/// The Python process with JAX. It is started by the first job, and restarted after a crash.
#[derive(Debug)]
pub struct Peer {
    python: PathBuf,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    jobs: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// JAX's verdict on a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opinion {
    /// Every stage passed.
    Accepted,
    /// A stage failed: `parse`, `verify`, `compile`, `run` or `values`; or `crash` if the process crashed.
    Refused {
        /// The stage.
        stage: String,
        /// The message.
        message: String,
    },
}

impl Opinion {
    fn of(answer: &Value) -> Opinion {
        let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        match answer["ok"] == true {
            true => Opinion::Accepted,
            false => Opinion::Refused { stage: text("stage"), message: text("said") },
        }
    }
}

impl Peer {
    /// A peer that runs in the interpreter `python`, which must have JAX.
    #[must_use]
    pub fn new(python: &Path) -> Peer {
        Peer { python: python.to_owned(), running: None }
    }

    /// The path of the Python interpreter.
    #[must_use]
    pub fn python(&self) -> &Path {
        &self.python
    }

    /// Whether an annotated program verifies, and compiles on its mesh with XLA's own partitioner.
    pub fn original(&mut self, file: &Path) -> Opinion {
        self.ask(&json!({ "op": "original", "file": file }))
    }

    /// Whether the partitioned program of `folder` (`partitioned.mlir`, `manifest.json`) verifies and compiles. With `original`, also
    /// compares its outputs with those of XLA's own partition of that file.
    pub fn partition(&mut self, folder: &Path, original: Option<&Path>) -> Opinion {
        let (text, manifest) = (folder.join("partitioned.mlir"), folder.join("manifest.json"));
        self.ask(&json!({ "op": "partition", "text": text, "manifest": manifest, "original": original }))
    }

    /// Whether two programs return the same value and gradients, within `rtol` (0 means the default of the type).
    pub fn gradient(&mut self, reference: &Path, candidate: &Path, rtol: f64) -> Opinion {
        self.ask(&json!({ "op": "gradient", "reference": reference, "candidate": candidate, "rtol": rtol }))
    }

    fn ask(&mut self, job: &Value) -> Opinion {
        let lost = |message: String| Opinion::Refused { stage: "crash".to_owned(), message };
        let mut running = match self.running.take().map_or_else(|| self.start(), Ok) {
            Ok(running) => running,
            Err(message) => return lost(message),
        };
        let mut line = String::new();
        let answered = writeln!(running.jobs, "{job}")
            .and_then(|()| running.jobs.flush())
            .and_then(|()| running.answers.read_line(&mut line));
        if answered.is_ok_and(|bytes| bytes > 0)
            && let Ok(answer) = serde_json::from_str(&line)
        {
            self.running = Some(running);
            return Opinion::of(&answer);
        }
        let status = running.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        lost(format!("the process of the peer ended: {status}"))
    }

    fn start(&self) -> Result<Running, String> {
        let script = root().join("conformance/jax/peer.py");
        let mut command = Command::new(&self.python);
        command.arg(script).env("JAX_PLATFORMS", "cpu").env("XLA_FLAGS", FLAGS);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("{}: {error}", self.python.display()))?;
        let (Some(jobs), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the process of the peer has no input or output".to_owned());
        };
        Ok(Running { child, jobs, answers: BufReader::new(answers) })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if let Some(Running { mut child, jobs, .. }) = self.running.take() {
            // The process exits when there are no more jobs.
            drop(jobs);
            let _ = child.wait();
        }
    }
}
