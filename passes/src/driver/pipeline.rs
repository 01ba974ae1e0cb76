//! Pipelines as data, and the function that runs them.
//!
//! The compiler, `lint`, `explain` and `shardc opt` run passes only through [`Pipeline`] and [`run`]. An [`Observer`] can measure passes,
//! see the module between them, verify it, or end the run early.

use std::str::FromStr;

use shardc_ir::suggest::nearest;
use shardc_ir::{Diagnostic, Module};

use super::context::PassContext;
use super::pass_options::PassOptions;
use super::passes::{PASSES, PLANNING, Pass, find};
use super::strategy::Strategy;

/// A step of a pipeline: a pass with its options.
#[derive(Clone, Debug)]
pub struct Step {
    /// The pass that this step runs.
    pub pass: &'static Pass,
    /// The option values for this run of the pass.
    pub options: PassOptions,
}

impl Step {
    /// Returns the step in the notation of `shardc opt --passes`: `name` or `name{option=value}`.
    #[must_use]
    pub fn text(&self) -> String {
        match self.options.to_string() {
            options if options.is_empty() => self.pass.name.to_owned(),
            options => format!("{}{{{options}}}", self.pass.name),
        }
    }
}

/// Parses the notation of `shardc opt --passes`: `name` or `name{option=value}`.
///
/// # Errors
/// Returns SH0395 if there is no such pass or option.
impl FromStr for Step {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        Step::parse_among(text, find, &PASSES.iter().map(|pass| pass.name).collect::<Vec<_>>())
    }
}

impl Step {
    /// Parses a step as [`FromStr`] does, with the passes that `find` knows; `names` lists them for messages.
    ///
    /// # Errors
    /// Returns SH0395 if there is no such pass or option.
    pub fn parse_among(
        text: &str,
        find: impl Fn(&str) -> Option<&'static Pass>,
        names: &[&str],
    ) -> Result<Step, Diagnostic> {
        let text = text.trim();
        let (name, options) = match text.split_once('{') {
            Some((name, rest)) => (name, rest.trim_end_matches('}')),
            None => (text, ""),
        };
        let refused = |message: String| Diagnostic::invalid("SH0395", message);
        let Some(pass) = find(name) else {
            let error = refused(format!("unknown pass {name}"));
            return Err(match nearest(name, names.iter().copied()) {
                Some(meant) => error.hint(format!("did you mean {meant}?")),
                None => error,
            });
        };
        let options = PassOptions::parse(options, pass.options)
            .map_err(|what| refused(format!("options of pass {name}: {what}")))?;
        Ok(Step { pass, options })
    }
}

/// An execution of a pass, as it is described to observers.
#[derive(Clone, Copy, Debug)]
pub struct PassRun<'a> {
    /// The pass and its options.
    pub step: &'a Step,
    /// The number of passes that ran before this one, under all propagation strategies together.
    pub number: usize,
    /// The propagation strategy under which the pass runs; `None` for import passes.
    pub strategy: Option<Strategy>,
}

/// The decision of an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Run the next pass.
    Continue,
    /// End the run, with the module as it is.
    Stop,
}

/// A callback between passes.
pub trait Observer {
    /// Called before a pass runs.
    fn before(&mut self, run: &PassRun<'_>, module: &Module) {
        let _ = (run, module);
    }

    /// Called after a pass has run.
    ///
    /// # Errors
    /// If it returns errors, the run ends as if the pass had failed.
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

/// The observer that does nothing.
impl Observer for () {}

/// The passes of the compiler, in order.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// The steps that run once, before the program is partitioned under each propagation strategy.
    pub import: Vec<Step>,
    /// The steps that run after `prioritize` for each [`Strategy`]; the cheapest result is kept.
    pub attempt: Vec<Step>,
    /// The steps that run on the partitioned program with the lowest cost.
    pub finish: Vec<Step>,
}

const IMPORT: &[&str] = &[
    "refine-shapes",
    "resolve-call-rules",
    "import-gspmd",
    "annotate",
    "inline",
    "decompose",
    "batch-indices",
    "fused-parts",
    "fold-edges",
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
    "legalize-shardings",
    "unify-meshes",
    "expand-sharded-ops",
    "replicate-small-dims",
    "delay-reductions",
    "propagate-unreduced",
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
    /// Returns the complete pipeline from an annotated program to the program of each device.
    #[must_use]
    pub fn partition() -> Pipeline {
        Pipeline { import: steps(IMPORT), attempt: steps(ATTEMPT), finish: steps(FINISH) }
    }

    /// Returns the pipeline up to propagation, after which every value has a sharding; no strategy is chosen.
    #[must_use]
    pub fn propagate() -> Pipeline {
        Pipeline {
            import: steps(IMPORT).into_iter().chain(steps(&ATTEMPT[..1])).collect(),
            attempt: Vec::new(),
            finish: Vec::new(),
        }
    }

    /// Returns the pipeline without the passes called `name`.
    #[must_use]
    pub fn without(mut self, name: &str) -> Pipeline {
        for steps in [&mut self.import, &mut self.attempt, &mut self.finish] {
            steps.retain(|step| step.pass.name != name);
        }
        self
    }
}

/// Returns the steps for one propagation strategy: `prioritize` with this strategy, then the steps `rest`.
pub(crate) fn attempt_by(strategy: Strategy, rest: &[Step]) -> Vec<Step> {
    let prioritize = find("prioritize").map(|pass| {
        let options = PassOptions::parse(&format!("strategy={}", strategy.as_str()), pass.options);
        Step { pass, options: options.unwrap_or_default() }
    });
    prioritize.into_iter().chain(rest.iter().cloned()).collect()
}

/// Returns the steps with the passes that prepare `plan` inserted before it, unless one of these passes is already among the preceding
/// steps.
#[must_use]
pub fn with_planning(steps: Vec<Step>) -> Vec<Step> {
    let mut all: Vec<Step> = Vec::new();
    let mut is_prepared = false;
    for step in steps {
        if step.pass.name == "plan" && !std::mem::take(&mut is_prepared) {
            all.extend(self::steps(PLANNING));
        }
        is_prepared |= PLANNING.contains(&step.pass.name);
        all.push(step);
    }
    all
}

fn steps(names: &[&str]) -> Vec<Step> {
    let step = |&name: &&str| find(name).map(|pass| Step { pass, options: PassOptions::default() });
    names.iter().filter_map(step).collect()
}

/// Runs the passes of `steps` in order. Skips the remaining steps of an attempt once its propagated shardings equal those of the previous
/// attempt. `strategy` is the strategy of this attempt; `number` is incremented for each pass that runs.
///
/// # Errors
/// Returns the errors of a pass or of the observer, or an error if the run was interrupted (SH0393, SH0394). The module must then be
/// dropped.
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
        check(context)?;
        let run = PassRun { step, number: *number, strategy };
        *number += 1;
        context.options = step.options.clone();
        observer.before(&run, module);
        let done = step.pass.run(module, context);
        // An interrupted pass is incomplete, so its errors may not be errors in the program.
        check(context)?;
        warnings.extend(done?);
        if observer.after(&run, module, context)? == Flow::Stop {
            return Ok((Flow::Stop, warnings));
        }
        if context.pass_data.shared.is_repeated {
            break;
        }
    }
    Ok((Flow::Continue, warnings))
}

/// Returns an error if the run was interrupted.
fn check(context: &PassContext) -> Result<(), Vec<Diagnostic>> {
    context.interrupt.check().map_err(|interruption| vec![interruption.to_diagnostic()])
}

#[cfg(test)]
mod tests {
    use shardc_ir::Interrupt;

    use super::*;

    #[test]
    fn nothing_runs_after_the_time_limit() {
        let interrupt = Interrupt::default().with_time_limit(std::time::Duration::ZERO);
        let mut context = PassContext { interrupt, ..PassContext::default() };
        let steps = Pipeline::partition().import;
        let errors = run(&steps, &mut Module::default(), &mut context, None, &mut 0, &mut ()).unwrap_err();
        assert_eq!(errors[0].code, "SH0394");
    }

    #[test]
    fn plan_is_prepared_once() {
        let names = |text: &str| {
            let steps = text.split(',').map(|name| name.parse().unwrap()).collect();
            with_planning(steps).iter().map(Step::text).collect::<Vec<_>>().join(",")
        };
        let all = PLANNING.join(",");
        assert_eq!(names("propagate,plan,dce"), format!("propagate,{all},plan,dce"));
        assert_eq!(names("unify-meshes,plan"), "unify-meshes,plan");
        assert_eq!(names("unify-meshes,plan,plan"), format!("unify-meshes,plan,{all},plan"));
    }

    #[test]
    fn the_pipeline_prepares_plan() {
        let place = ATTEMPT.iter().position(|&name| name == "plan").unwrap();
        assert_eq!(&ATTEMPT[place - PLANNING.len()..place], PLANNING);
    }

    #[test]
    fn every_step_is_a_pass() {
        let Pipeline { import, attempt, finish } = Pipeline::partition();
        let lengths = (import.len(), attempt.len(), finish.len());
        assert_eq!(lengths, (IMPORT.len(), ATTEMPT.len(), FINISH.len()));
        let all = attempt_by(Strategy::BatchFirst, &attempt);
        assert_eq!(all[0].text(), "prioritize{strategy=batch-first}");
    }
}
