//! The worker side of `cargo xtask conformance`: partitions programs, runs them and compares, in a process that may crash.
//!
//! A crash of the back end ends its process, so programs run in a separate process (`conformance-worker`). The worker reads one JSON job
//! per line of input and answers with one line of JSON. The state of the last program (its module and its results on one device) is cached
//! for the next job.

mod gradients;
mod interpreted;
pub mod jax;
pub mod peer;
mod peers;
mod verify;

use std::{fmt, path::Path};

use serde_json::{Value, json};
use shardc_runtime::{Client, ClientOptions, Environment, Plugin, PluginKind, plugin};

use self::{gradients::Gradients, peer::Peer, verify::Verify};

/// The outcome of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every output equals the output of one device.
    Equal,
    /// Some output differs.
    Wrong,
    /// shardc rejects the program with an error.
    Refused,
    /// The back end rejects the program, or its execution fails.
    Failed,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Equal => "equal",
            Outcome::Wrong => "wrong",
            Outcome::Refused => "refused",
            Outcome::Failed => "failed",
        })
    }
}

/// The answer to a job.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The outcome.
    pub outcome: Outcome,
    /// A description of the failure in a few lines.
    pub message: String,
    /// Additional figures, by name.
    pub figures: Vec<(&'static str, Value)>,
}

impl Answer {
    /// An answer without figures.
    pub fn new(outcome: Outcome, message: impl Into<String>) -> Answer {
        Answer { outcome, message: message.into(), figures: Vec::new() }
    }

    /// The answer as one line of JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut line = json!({ "outcome": self.outcome.to_string(), "said": self.message });
        for (name, value) in &self.figures {
            line[*name] = value.clone();
        }
        line
    }
}

/// The state that the worker process keeps between jobs.
#[derive(Default)]
pub struct Worker {
    devices: Devices,
    verify: Verify,
    gradients: Gradients,
    peer: Option<Peer>,
}

impl Worker {
    /// Runs the job on one line.
    pub fn answer(&mut self, line: &str) -> Answer {
        let job: Value = match serde_json::from_str(line) {
            Ok(job) => job,
            Err(error) => return Answer::new(Outcome::Failed, format!("the job cannot be read: {error}")),
        };
        match job["kind"].as_str() {
            Some("verify") => self.verify.answer(&job, &mut self.devices),
            Some("gradient") => self.gradients.answer(&job, &mut self.devices),
            Some("jax") => {
                let (peer, verify, devices) = self.with_peer(&job);
                jax::answer(&job, peer, verify, devices)
            }
            Some("peer") => {
                let (peer, _, _) = self.with_peer(&job);
                peers::answer(&job, peer)
            }
            Some("interpreted") => interpreted::answer(&job, &mut self.devices),
            kind => Answer::new(Outcome::Failed, format!("there are no jobs of kind {kind:?}")),
        }
    }

    /// The JAX process ([`Peer`]) of the Python interpreter that the job names, and the other state of the worker.
    fn with_peer(&mut self, job: &Value) -> (&mut Peer, &mut Verify, &mut Devices) {
        let python = Path::new(job["python"].as_str().unwrap_or_default());
        let known = self.peer.take().filter(|peer| peer.python() == python);
        let peer = self.peer.insert(known.unwrap_or_else(|| Peer::new(python)));
        (peer, &mut self.verify, &mut self.devices)
    }
}

/// Virtual CPU devices, whose number grows as needed.
#[derive(Default)]
struct Devices {
    client: Option<(usize, Client)>,
}

impl Devices {
    /// Returns a client with at least `devices` devices.
    fn at_least(&mut self, devices: usize) -> Result<&Client, String> {
        if self.client.as_ref().is_none_or(|(count, _)| *count < devices) {
            // There is only one client at a time, because each has one thread per device.
            self.client = None;
            let found =
                plugin::find(PluginKind::Cpu, &Environment::from_process()).map_err(|e| e.to_string())?;
            let count = devices.max(crate::devices::DEVICES);
            let client = Plugin::load(&found.path)
                .and_then(|plugin| Client::new(&plugin, ClientOptions { cpu_device_count: Some(count) }))
                .map_err(|e| e.to_string())?;
            self.client = Some((count, client));
        }
        self.client.as_ref().map(|(_, client)| client).ok_or_else(|| "there is no client".to_owned())
    }
}
