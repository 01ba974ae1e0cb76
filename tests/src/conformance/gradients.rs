//! Functions with JAX's gradients: differentiated, and partitioned with random shardings.

use std::path::Path;

use serde_json::{Value, json};
use shardc::{Error, SpmdMode};

use super::{Answer, Devices, Outcome};
use crate::devices::DEVICES;
use crate::gradients::Wrong;
use crate::gradients::pairs::{Pair, Reference};

/// A cache of the last function, and its gradients on one device.
#[derive(Default)]
pub(super) struct Gradients {
    pairs: Vec<Pair>,
    known: Option<(String, Reference)>,
}

impl Gradients {
    /// Runs a job `{"dir", "name", "step"}`, where the step is
    /// * `write`: writes value and gradients to the file `out`,
    /// * `derivatives`: compares the derivatives with finite differences, and forward with reverse mode, also for second derivatives, or
    /// * `partition`: shards arguments at random (`seed`), partitions (`mode`) and compares with one device. If `out` is given, writes the
    ///   partitioned program to that file.
    pub(super) fn answer(&mut self, job: &Value, devices: &mut Devices) -> Answer {
        match self.try_answer(job, devices) {
            Ok(answer) => answer,
            Err(Wrong::Values(message) | Wrong::BackEnd(message)) => Answer::new(Outcome::Wrong, message),
            Err(Wrong::Refused(error)) => {
                let is_refusal = matches!(error, Error::Diagnostics(_)) && !error.is_internal();
                let outcome = if is_refusal { Outcome::Refused } else { Outcome::Failed };
                Answer::new(outcome, error.render(job["name"].as_str().unwrap_or_default(), "", false))
            }
        }
    }

    fn try_answer(&mut self, job: &Value, devices: &mut Devices) -> Result<Answer, Wrong> {
        let text = |name: &str| job[name].as_str().unwrap_or_default();
        if self.pairs.is_empty() {
            self.pairs = Pair::all(Path::new(text("dir"))).map_err(Wrong::Values)?;
        }
        let name = text("name");
        let Some(pair) = self.pairs.iter().find(|pair| pair.name == name) else {
            return Err(Wrong::Values(format!("there is no {name}")));
        };
        let equal = Answer::new(Outcome::Equal, "");
        if text("step") == "write" {
            let options = shardc_stablehlo::PrintOptions::default();
            let out = text("out");
            std::fs::write(out, shardc_stablehlo::print(&pair.gradient()?, &options))
                .map_err(|e| Wrong::Values(format!("{out}: {e}")))?;
            return Ok(equal);
        }
        let client = devices.at_least(DEVICES).map_err(Wrong::Values)?;
        let seed = job["seed"].as_u64().unwrap_or_default();
        if text("step") == "derivatives" {
            let compared = pair.derivatives(client, seed)?;
            let figures = compared.map(|c| vec![("smooth", json!(c.smooth)), ("rough", json!(c.rough))]);
            return Ok(Answer { figures: figures.unwrap_or_default(), ..equal });
        }
        let reference = match self.known.take().filter(|(of, _)| of == name) {
            Some((_, reference)) => reference,
            None => pair.reference(client)?,
        };
        let mode = if text("mode") == "partition" { SpmdMode::Partition } else { SpmdMode::Replica };
        let done = pair.partitioned(client, &reference, mode, seed, job["out"].as_str().map(Path::new));
        self.known = Some((name.to_owned(), reference));
        done.map(|()| equal)
    }
}
