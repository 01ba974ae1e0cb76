//! Runs random programs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use shardc::{Compiler, Error, Output, SpmdMode, exec::Program};
use shardc_ir::Class;
use shardc_runtime::{Client, HostArray};

use super::{
    Case, Drawn,
    compare::{Verdict, judge},
    draw::plain,
    expect::Closeness,
};

/// The outcome of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The results equal the expected ones.
    Equal,
    /// The results are equal up to the rounding of float sums.
    Rounded,
    /// The results equal those of one device, which differ slightly from the interpreter's.
    LikeOneDevice,
    /// The program is rejected as unsupported.
    Unsupported(String),
    /// The program is rejected for a different reason, or its partition is invalid or cannot be executed.
    Failed(String),
    /// Some result is wrong.
    Wrong(String),
}

/// The results of a test on one device; empty if they are unknown and the test states its expected results.
#[derive(Clone, Debug)]
pub struct Reference(Vec<HostArray>);

/// Runs tests on the devices of a client.
#[derive(Debug)]
pub struct Runner<'c> {
    client: &'c Client,
}

impl<'c> Runner<'c> {
    /// A runner on these devices.
    #[must_use]
    pub fn new(client: &'c Client) -> Self {
        Runner { client }
    }

    /// Runs a test on one device.
    ///
    /// # Errors
    /// The back end cannot run the test.
    pub fn reference(&self, case: &Case) -> Result<Reference, String> {
        let (module, inputs) = plain(case);
        let run = || Program::single(self.client, &module)?.run(self.client, &inputs);
        match run() {
            Ok(results) => Ok(Reference(results)),
            // Some collectives cannot be expressed for one device. The results on one device are not needed if the test states all expected
            // results.
            Err(_) if case.mesh.is_some() && case.expectations.iter().all(|e| e.expected.is_some()) => {
                Ok(Reference(Vec::new()))
            }
            Err(error) => Err(first_line(&error.to_string())),
        }
    }

    /// Partitions a program, runs it, and compares the results. Also returns the messages of warnings.
    #[must_use]
    pub fn run(
        &self,
        case: &Case,
        reference: &Reference,
        drawn: &Drawn,
        mode: SpmdMode,
    ) -> (Outcome, Vec<String>) {
        let partition = || Compiler::new().spmd_mode(mode).partition_module(drawn.module.clone());
        let output = match catch_unwind(AssertUnwindSafe(partition)) {
            Err(_) => return (Outcome::Failed("shardc panicked".to_owned()), Vec::new()),
            Ok(Err(error)) => return (refusal(&error), Vec::new()),
            Ok(Ok(output)) => output,
        };
        let warnings = output.warnings.iter().map(|w| format!("{}: {}", w.code, w.message)).collect();
        (self.outcome(case, reference, drawn, &output), warnings)
    }

    fn outcome(&self, case: &Case, reference: &Reference, drawn: &Drawn, output: &Output) -> Outcome {
        if let Err(errors) = shardc_ir::verify(&output.module) {
            let first = errors.first().map(ToString::to_string).unwrap_or_default();
            return Outcome::Failed(format!("the partitioned program is invalid: {first}"));
        }
        let run = || Program::partitioned(self.client, output)?.run(self.client, &drawn.inputs);
        let got = match run() {
            Ok(got) => got,
            Err(error) => {
                return Outcome::Failed(format!("running it: {}", first_line(&error.to_string())));
            }
        };
        let mut outcome = Outcome::Equal;
        for (i, (expectation, single)) in case.expectations.iter().zip(&reference.0).enumerate() {
            let Some(got) = got.get(i) else {
                return Outcome::Failed("it returns too few results".to_owned());
            };
            let expected = expectation.expected.as_ref().unwrap_or(single);
            let Verdict::Off(text) = judge(expected, got, expectation.closeness) else {
                if judge(expected, got, expectation.closeness) == Verdict::Rounded
                    && outcome == Outcome::Equal
                {
                    outcome = Outcome::Rounded;
                }
                continue;
            };
            // The back end may also differ from the interpreter on one device.
            let single_is_off = matches!(judge(expected, single, expectation.closeness), Verdict::Off(_));
            if single_is_off && !matches!(judge(single, got, Closeness::Steps(3.0)), Verdict::Off(_)) {
                outcome = Outcome::LikeOneDevice;
            } else {
                return Outcome::Wrong(format!(
                    "result {i} ({}): {text}",
                    output.interface.outputs[i].global
                ));
            }
        }
        outcome
    }
}

fn refusal(error: &Error) -> Outcome {
    let text = first_line(&error.to_string());
    match error {
        Error::Diagnostics(all) if all.iter().all(|d| d.class == Class::Unsupported) => {
            Outcome::Unsupported(text)
        }
        _ => Outcome::Failed(text),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
