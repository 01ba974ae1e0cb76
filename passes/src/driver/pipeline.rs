//! Pipelines as data, and the one way to run them.
//!
//! The compiler, `lint`, `explain` and `shardc opt` run passes through [`Pipeline`] and [`run`] alone. Whoever wants to
//! know how long passes take, see the module between them, verify it or end early is an [`Observer`].

use shardc_ir::{Diagnostic, Module};

use super::context::PassContext;
use super::pass_options::PassOptions;
use super::passes::{Pass, find};
use super::strategy::Strategy;

/// A pass with its options.
#[derive(Clone, Debug)]
pub struct Step {
    /// The pass.
    pub pass: &'static Pass,
    /// What it is given.
    pub options: PassOptions,
}

impl Step {
    /// The step as `shardc opt --passes` takes it: `name` or `name{option=value}`.
    #[must_use]
    pub fn text(&self) -> String {
        match self.options.to_string() {
            options if options.is_empty() => self.pass.name.to_owned(),
            options => format!("{}{{{options}}}", self.pass.name),
        }
    }
}

/// A run of a pass, as observers see it.
#[derive(Clone, Copy, Debug)]
pub struct PassRun<'a> {
    /// The pass and its options.
    pub step: &'a Step,
    /// How many runs were before it, in all attempts together.
    pub number: usize,
    /// Which attempt it is part of, where a strategy is chosen.
    pub strategy: Option<Strategy>,
}

/// Whether the next pass runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It does.
    Continue,
    /// All ends, with the module as it is.
    Stop,
}

/// Somebody who looks at the module between passes.
pub trait Observer {
    /// A pass is about to run.
    fn before(&mut self, run: &PassRun<'_>, module: &Module) {
        let _ = (run, module);
    }

    /// A pass has run.
    ///
    /// # Errors
    /// What is wrong with the module: the run ends as if the pass had failed.
    fn after(
        &mut self,
        run: &PassRun<'_>,
        module: &mut Module,
        context: &PassContext,
    ) -> Result<Flow, Vec<Diagnostic>> {
        let _ = (run, module, context);
        Ok(Flow::Continue)
    }
}

/// Nobody looks.
impl Observer for () {}

/// The passes of the compiler, in order.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// What runs once.
    pub import: Vec<Step>,
    /// What runs for each [`Strategy`] that may differ, after `prioritize`; what costs least is kept.
    pub attempt: Vec<Step>,
    /// What runs on the program that is kept.
    pub finish: Vec<Step>,
}

const IMPORT: &[&str] = &[
    "resolve-call-rules",
    "import-gspmd",
    "annotate",
    "inline",
    "decompose",
    "batch-indices",
    "fused-parts",
];

const ATTEMPT: &[&str] = &[
    "propagate",
    "note-annotations",
    "diagonals",
    "fold-pads",
    "fold-reshapes",
    "unfuse-products",
    "fold-slices",
    "dce",
    "plan",
    "merge-reductions",
    "defer-sums",
    "trade-sums",
    "lower-reshards",
    "verify-collectives",
    "interface",
    "localize",
    "dce",
    "clean-collectives",
];

const FINISH: &[&str] = &["verify-collectives"];

impl Pipeline {
    /// The whole way from an annotated program to that of each device.
    #[must_use]
    pub fn partition() -> Pipeline {
        Pipeline { import: steps(IMPORT), attempt: steps(ATTEMPT), finish: steps(FINISH) }
    }

    /// The way to a program whose every value has a sharding; nothing is chosen.
    #[must_use]
    pub fn propagate() -> Pipeline {
        Pipeline {
            import: steps(IMPORT).into_iter().chain(steps(&ATTEMPT[..1])).collect(),
            attempt: Vec::new(),
            finish: Vec::new(),
        }
    }

    /// The pipeline without the passes called `name`.
    #[must_use]
    pub fn without(mut self, name: &str) -> Pipeline {
        for steps in [&mut self.import, &mut self.attempt, &mut self.finish] {
            steps.retain(|step| step.pass.name != name);
        }
        self
    }
}

/// The steps of one attempt: `prioritize` by its strategy, and the rest.
pub(crate) fn attempt_by(strategy: Strategy, rest: &[Step]) -> Vec<Step> {
    let prioritize = find("prioritize").map(|pass| {
        let options = PassOptions::parse(&format!("strategy={}", strategy.as_str()), pass.options);
        Step { pass, options: options.unwrap_or_default() }
    });
    prioritize.into_iter().chain(rest.iter().cloned()).collect()
}

fn steps(names: &[&str]) -> Vec<Step> {
    let step = |&name: &&str| find(name).map(|pass| Step { pass, options: PassOptions::default() });
    names.iter().filter_map(step).collect()
}

/// Runs steps one after the other, until an attempt turns out to repeat the one before. `strategy` is that of the attempt which they belong to; `number` counts runs.
///
/// # Errors
/// Why a pass could not do its work, or what the observer found. The module is then not to be used any more.
pub fn run(
    steps: &[Step],
    module: &mut Module,
    context: &mut PassContext,
    strategy: Option<Strategy>,
    number: &mut usize,
    observer: &mut dyn Observer,
) -> Result<(Flow, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut warnings = Vec::new();
    for step in steps {
        let run = PassRun { step, number: *number, strategy };
        *number += 1;
        context.options = step.options.clone();
        observer.before(&run, module);
        warnings.extend(step.pass.run(module, context)?);
        if observer.after(&run, module, context)? == Flow::Stop {
            return Ok((Flow::Stop, warnings));
        }
        if context.handed.shared.is_repeated {
            break;
        }
    }
    Ok((Flow::Continue, warnings))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_a_pass() {
        let Pipeline { import, attempt, finish } = Pipeline::partition();
        let lengths = (import.len(), attempt.len(), finish.len());
        assert_eq!(lengths, (IMPORT.len(), ATTEMPT.len(), FINISH.len()));
        let all = attempt_by(Strategy::BatchFirst, &attempt);
        assert_eq!(all[0].text(), "prioritize{strategy=batch-first}");
    }
}
