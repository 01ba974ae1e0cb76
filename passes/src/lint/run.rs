//! Runs propagation and planning once for all rules.

use shardc_ir::{Diagnostic, FuncId, Module, Severity, ShardingTable};

use super::redundant;
use super::subject::{Facts, Subject};
use super::{Check, Finding, LINTS, Level, Lint, LintOptions, LintReport};
use crate::driver::context::PassContext;
use crate::driver::pipeline::{Flow, Observer, PassRun, Pipeline, attempt_by, run};
use crate::driver::strategy::{Strategy, cost, strategies};

/// Lints the function `func` of an annotated module whose calls are inlined.
///
/// If a program can be propagated but not planned, the rules of earlier stages still run, and a note in the report says that the others did
/// not.
///
/// # Errors
/// Returns an error if the function has no body, or if the annotations do not fit the program.
pub fn lint(module: &Module, func: FuncId, options: &LintOptions) -> Result<LintReport, Vec<Diagnostic>> {
    let Some(body) = module.funcs[func].body else {
        return Err(vec![Diagnostic::invalid("SH0301", "the entry function has no body")]);
    };
    let facts = Facts::new(module, body);
    let subject = Subject { module, base: module, func, body, facts: &facts, options };
    let strategies = strategies(module, func);
    let run = Run { subject, compared: strategies.len() > 1 };
    let mut best: Option<Attempt> = None;
    for strategy in strategies {
        match run.attempt(strategy) {
            Ok(attempt) => {
                // The comparison is strict, so that the first of equal strategies is kept.
                let keep = best.as_ref().is_none_or(|best| attempt.is_better_than(best));
                if keep {
                    best = Some(attempt);
                }
            }
            // If a strategy has succeeded, the errors of other strategies are ignored.
            Err(errors) if best.is_none() => return Err(errors),
            Err(_) => {}
        }
    }
    let mut report = LintReport::default();
    let Some(best) = best else { return Ok(report) };
    let mut found = best.found;
    report.notes.extend(best.not_planned);
    for (lint, list) in LINTS.iter().zip(&mut found) {
        if options.level(lint) == Level::Allow {
            continue;
        }
        match lint.check {
            Check::Annotated(check) => *list = check(&subject),
            Check::Redundancy(check) => {
                *list = check(&subject);
                let (more, note) = redundant::constraints(&subject, best.strategy, &best.shardings);
                list.extend(more);
                report.notes.extend(note);
            }
            Check::Propagated(_) | Check::Planned(_) => {}
        }
        give(lint, std::mem::take(list), options, &mut report);
    }
    Ok(report)
}

struct Run<'a> {
    subject: Subject<'a>,
    /// Whether several propagation strategies are tried and the cheapest is chosen.
    compared: bool,
}

/// The findings with one propagation strategy.
struct Attempt {
    strategy: Strategy,
    /// For each rule, its findings.
    found: Vec<Vec<Diagnostic>>,
    /// The sharding of each value after propagation.
    shardings: ShardingTable,
    /// The cost of the partitioned program, if strategies are compared.
    price: Option<u64>,
    /// The reason why the program could not be planned; `None` if it could.
    not_planned: Option<String>,
}

impl Attempt {
    fn is_better_than(&self, other: &Attempt) -> bool {
        match (self.price, other.price) {
            (Some(one), Some(other)) => one < other,
            (one, other) => one.is_some() && other.is_none(),
        }
    }
}

impl Run<'_> {
    /// Runs the compiler's passes with a strategy, up to the last stage that the rules or the comparison of strategies need. Runs the rules
    /// between passes.
    fn attempt(&self, strategy: Strategy) -> Result<Attempt, Vec<Diagnostic>> {
        let func = self.subject.func;
        let mut module = self.subject.base.clone();
        // `note-annotations` records the annotations for later passes. It is left out, because the rules have their own record (`Facts`).
        let pipeline = Pipeline::partition().without("note-annotations");
        let steps = attempt_by(strategy, &pipeline.attempt);
        let mut context = PassContext {
            in_pipeline: true,
            costs: self.subject.options.costs.clone(),
            ..PassContext::default()
        };
        let mut looks =
            Looks { run: self, found: vec![Vec::new(); LINTS.len()], shardings: None, planned: false };
        let ran = run(&steps, &mut module, &mut context, Some(strategy), &mut 0, &mut looks);
        let Looks { found, shardings, planned, .. } = looks;
        let (shardings, not_planned) = match (shardings, &ran) {
            (None, Err(errors)) => return Err(errors.clone()),
            (shardings, Err(errors)) if !planned => (shardings, Some(not_planned(errors))),
            (shardings, _) => (shardings, None),
        };
        let is_compared = self.compared && matches!(ran, Ok((Flow::Continue, _)));
        let price = is_compared.then(|| cost(&module, func, &context.pass_data.cleaned, &context.costs));
        Ok(Attempt { strategy, found, shardings: shardings.unwrap_or_default(), price, not_planned })
    }

    fn is_on(&self, lint: &Lint) -> bool {
        self.subject.options.level(lint) != Level::Allow
    }

    fn at<'m>(&'m self, module: &'m Module) -> Subject<'m> {
        Subject { module, ..self.subject }
    }
}

/// An observer of the pass pipeline, which runs the rules of a stage after the pass that completes it.
struct Looks<'a> {
    run: &'a Run<'a>,
    /// For each rule, its findings.
    found: Vec<Vec<Diagnostic>>,
    /// The sharding of each value after propagation.
    shardings: Option<ShardingTable>,
    planned: bool,
}

impl Observer for Looks<'_> {
    fn after(
        &mut self,
        pass: &PassRun<'_>,
        module: &mut Module,
        context: &PassContext,
    ) -> Result<Flow, Vec<Diagnostic>> {
        let run = self.run;
        let subject = run.at(module);
        match (pass.step.pass.name, &context.pass_data.plan) {
            ("propagate", _) => {
                for (lint, list) in LINTS.iter().zip(&mut self.found) {
                    if let Check::Propagated(check) = lint.check
                        && run.is_on(lint)
                    {
                        *list = check(&subject);
                    }
                }
                self.shardings = Some(module.shardings.clone());
                let wants_plan =
                    LINTS.iter().any(|lint| run.is_on(lint) && matches!(lint.check, Check::Planned(_)));
                Ok(if run.compared || wants_plan { Flow::Continue } else { Flow::Stop })
            }
            ("plan", Some(plan)) => {
                for (lint, list) in LINTS.iter().zip(&mut self.found) {
                    if let Check::Planned(check) = lint.check
                        && run.is_on(lint)
                    {
                        *list = check(&subject, plan);
                    }
                }
                self.planned = true;
                Ok(if run.compared { Flow::Continue } else { Flow::Stop })
            }
            _ => Ok(Flow::Continue),
        }
    }
}

fn not_planned(errors: &[Diagnostic]) -> String {
    let why = errors.first().map_or_else(String::new, |e| format!(": {} ({})", e.message, e.code));
    let rules: Vec<&str> =
        LINTS.iter().filter(|l| matches!(l.check, Check::Planned(_))).map(|l| l.name).collect();
    format!("the program cannot be partitioned{why}; not checked: {}", rules.join(", "))
}

/// Adds the findings of a rule to the report, by decreasing bytes, and a note with the number of findings that are left out.
fn give(lint: &'static Lint, mut found: Vec<Diagnostic>, options: &LintOptions, report: &mut LintReport) {
    // The sort is stable: equal findings stay in program order.
    found.sort_by_key(|diagnostic| std::cmp::Reverse(diagnostic.bytes.unwrap_or(0)));
    let more = found.len().saturating_sub(options.max_per_rule);
    for mut diagnostic in found.into_iter().take(options.max_per_rule) {
        diagnostic.code = lint.code;
        diagnostic.severity = match options.level(lint) {
            Level::Deny => Severity::Error,
            Level::Allow | Level::Warn => Severity::Warning,
        };
        report.findings.push(Finding { lint, diagnostic });
    }
    if more > 0 {
        report.notes.push(format!("{more} more findings of {} are not shown", lint.name));
    }
}
