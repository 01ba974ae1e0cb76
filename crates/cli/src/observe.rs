//! Observation between passes: times, the printed module, verification, and the end of the pipeline.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};
use shardc::{Diagnostic, Module, Stage};
use shardc_ir::suggest::nearest;
use shardc_ir::{Class, Span, verify};
use shardc_passes::driver::context::PassContext;
use shardc_passes::driver::passes::PASSES;
use shardc_passes::driver::pipeline::{Flow, Observer, PassRun};
use shardc_shardy::find;
use shardc_stablehlo::PrintOptions;

use crate::args::{ObserveArgs, StopArgs};
use crate::failure::usage;
use crate::ui::progress::Progress;
use crate::ui::table::Table;
use crate::ui::{Ui, complain};

/// A pass that ran, and its time.
struct Timed {
    step: String,
    strategy: Option<&'static str>,
    time: Duration,
}

/// The point at which `--stop-after` ends the pipeline.
enum Stop {
    Number(usize),
    Pass(&'static str),
}

/// Observes the passes as the options request.
pub(crate) struct Watch<'a> {
    progress: &'a mut Progress,
    stage: Option<Stage>,
    printed: Vec<&'static str>,
    prints_all: bool,
    verifies: bool,
    /// Whether the user chose the order of passes, so that an invalid module is not an internal compiler error.
    pub(crate) in_any_order: bool,
    stop: Option<Stop>,
    began: Instant,
    runs: Vec<Timed>,
    /// The module at which `--stop-after` ended the pipeline.
    pub(crate) stopped: Option<Module>,
}

impl<'a> Watch<'a> {
    /// # Errors
    /// Invalid usage: an unknown pass.
    pub(crate) fn new(
        args: &ObserveArgs,
        stop: Option<&StopArgs>,
        progress: &'a mut Progress,
    ) -> Result<Watch<'a>> {
        let known = |name: &str| {
            find(name).map(|pass| pass.name).ok_or_else(|| {
                let names = PASSES.iter().map(|pass| pass.name);
                let hint = match nearest(name, names) {
                    Some(meant) => format!("did you mean {meant}?"),
                    None => "`shardc opt --passes list` lists the passes".to_owned(),
                };
                usage(format!("unknown pass {name}; {hint}"))
            })
        };
        let stop = match stop.and_then(|stop| stop.stop_after.as_deref()) {
            None => None,
            Some(text) => Some(match text.parse() {
                Ok(0) => return Err(usage("--stop-after 0: passes are numbered from 1")),
                Ok(number) => Stop::Number(number),
                Err(_) => Stop::Pass(known(text)?),
            }),
        };
        let named = args.print_after.iter().filter(|name| *name != "all");
        Ok(Watch {
            progress,
            stage: None,
            printed: named.map(|name| known(name)).collect::<Result<_>>()?,
            prints_all: args.print_after.iter().any(|name| name == "all"),
            verifies: args.verify_each,
            in_any_order: false,
            stop,
            began: Instant::now(),
            runs: Vec::new(),
            stopped: None,
        })
    }

    /// Records that a stage begins.
    pub(crate) fn stage(&mut self, stage: Stage) {
        if self.stage != Some(stage) {
            self.progress.stage(stage.as_str());
            self.stage = Some(stage);
        }
    }

    /// The number of passes that ran, and the last of them with its options and strategy.
    pub(crate) fn last(&self) -> Option<(usize, String)> {
        let last = self.runs.last()?;
        let strategy = last.strategy.map(|s| format!(" (strategy {s})")).unwrap_or_default();
        Some((self.runs.len(), format!("{}{strategy}", last.step)))
    }

    /// The passes that ran, in the syntax of `shardc opt --passes`.
    pub(crate) fn pipeline(&self) -> String {
        let steps: Vec<&str> = self.runs.iter().map(|run| run.step.as_str()).collect();
        steps.join(",")
    }

    /// The time of each pass, and its fraction of the total.
    pub(crate) fn timings(&self) -> Timings {
        let total: Duration = self.runs.iter().map(|run| run.time).sum();
        let share = |time: Duration| match total.as_secs_f64() {
            0.0 => 0.0,
            total => time.as_secs_f64() / total,
        };
        let mut table = Table::new(&["pass", "strategy", ">milliseconds", ">share"]);
        let mut passes = Vec::new();
        for Timed { step, strategy, time } in &self.runs {
            let milliseconds = format!("{:.3}", time.as_secs_f64() * 1e3);
            let percent = format!("{:.1} %", share(*time) * 100.0);
            table.row(vec![step.clone(), strategy.unwrap_or("").to_owned(), milliseconds, percent]);
            passes.push(json!({
                "pass": step, "strategy": strategy, "seconds": time.as_secs_f64(), "share": share(*time),
            }));
        }
        let total_text = format!("{:.3}", total.as_secs_f64() * 1e3);
        table.row(vec!["all passes".to_owned(), String::new(), total_text, String::new()]);
        Timings { table, passes: json!(passes), seconds: total.as_secs_f64() }
    }
}

/// The times of passes.
pub(crate) struct Timings {
    table: Table,
    passes: Value,
    seconds: f64,
}

impl Timings {
    /// Renders the document of `--timings`, a table or JSON, with the times of passes and of the other stages.
    pub(crate) fn document(&self, stages: &Value, ui: &Ui) -> String {
        if ui.is_json() {
            let document = json!({
                "version": 1, "seconds": stages, "passes": self.passes, "seconds_in_passes": self.seconds,
            });
            return format!("{document}\n");
        }
        let mut out = self.table.to_text(None);
        let mut around = Table::new(&["stage", ">milliseconds"]);
        for (name, seconds) in stages.as_object().into_iter().flatten() {
            around.row(vec![name.clone(), format!("{:.3}", seconds.as_f64().unwrap_or(0.0) * 1e3)]);
        }
        let _ = write!(out, "\n{}", around.to_text(None));
        out
    }
}

impl Observer for Watch<'_> {
    fn before(&mut self, run: &PassRun<'_>, _: &Module) {
        self.stage(Stage::of(run));
        let strategy = run.strategy.map(|strategy| strategy.as_str());
        self.runs.push(Timed { step: run.step.text(), strategy, time: Duration::ZERO });
        self.began = Instant::now();
    }

    fn after(
        &mut self,
        run: &PassRun<'_>,
        module: &mut Module,
        _: &PassContext,
    ) -> Result<Flow, Vec<Diagnostic>> {
        if let Some(last) = self.runs.last_mut() {
            last.time = self.began.elapsed();
        }
        let name = run.step.pass.name;
        if self.prints_all || self.printed.contains(&name) {
            let strategy = run.strategy.map(|s| format!(" ({})", s.as_str())).unwrap_or_default();
            let text = shardc_stablehlo::print(module, &PrintOptions::default());
            complain(&format!("// -----// after {}{strategy} //----- //\n{text}\n", run.step.text()));
        }
        if self.verifies {
            verify(module).map_err(|mut errors| {
                for error in &mut errors {
                    error.notes.push((Span::NONE, format!("after the pass {name}")));
                    if !self.in_any_order {
                        error.class = Class::Internal;
                    }
                }
                errors
            })?;
        }
        let ends = match self.stop {
            None => false,
            Some(Stop::Number(number)) => self.runs.len() == number,
            Some(Stop::Pass(pass)) => pass == name,
        };
        if !ends {
            return Ok(Flow::Continue);
        }
        self.stopped = Some(module.clone());
        Ok(Flow::Stop)
    }
}
