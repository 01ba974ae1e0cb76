//! Partitions the entry function under each propagation strategy (an *attempt* each), and keeps the cheapest program.

use shardc_ir::{Diagnostic, FuncId, Module};

use super::context::{PassContext, Shared};
use super::interface::lost_aliases;
use super::pipeline::{Flow, Observer, Pipeline, attempt_by, run};
use super::strategy::{Priorities, Strategy, bytes_sent, cost, strategies};
use crate::collectives::clean::CleanReport;
use crate::cost::memory::{lacking, too_much};
use crate::report::warnings::{select, warning_threshold};
use crate::sharding::interface::Interface;
use crate::sharding::signature::Signatures;

/// The results of partitioning, in addition to the program.
#[derive(Clone, Debug)]
pub struct Partitioned {
    /// The propagation strategy of the result: which annotations propagated first.
    pub strategy: Strategy,
    /// Shardings, memory kinds and donations of arguments and results.
    pub interface: Interface,
    /// Warnings: the program is correct, but may not be what the user intended.
    pub warnings: Vec<Diagnostic>,
    /// The threshold for warnings about communication, in bytes.
    pub warn_bytes: u64,
    /// Statistics of the clean-up of collectives.
    pub cleaned: CleanReport,
    /// The signatures (argument and result shardings) of calls of functions that still have to be partitioned.
    pub(crate) signatures: Signatures,
}

/// The outcome of a pipeline run.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The run completed.
    Done(Box<Partitioned>),
    /// The observer ended the run; the module is in the state at that time.
    Stopped,
}

/// Partitions the entry function. Calls of functions that are partitioned separately stay custom calls.
pub(super) fn partition_alone(
    pipeline: &Pipeline,
    module: &mut Module,
    context: &PassContext,
    observer: &mut dyn Observer,
) -> Result<Outcome, Vec<Diagnostic>> {
    let Some(func) = module.entry() else { return Err(vec![module.no_entry()]) };
    let mut run = Run { pipeline, func, number: pipeline.import.len() };
    let all = strategies(module, func);
    let Some(&second) = all.get(1) else {
        let first = run.attempt(Strategy::default(), module, context.clone(), observer)?;
        return run.finish(first.done(), module, observer);
    };
    // The prepared module before propagation is the same for all strategies and is computed once. The exception is a mesh with an axis of
    // size 1: propagation removes such axes from annotations, and priorities with them.
    let has_trivial = module.meshes.values().any(|mesh| mesh.axes.values().any(|&n| n == 1));
    let mut other = module.clone();
    // The priorities are computed before the first attempt: afterwards, arguments also have shardings from constraints.
    let priorities = Priorities::of(module, func, second);
    let mut context = context.clone();
    context.pass_data.shared.is_wanted = !has_trivial;
    let Some(mut best) = run.attempt(Strategy::default(), module, context.clone(), observer)?.done() else {
        return Ok(Outcome::Stopped);
    };
    let Shared { begun, propagated, .. } = std::mem::take(&mut best.context.pass_data.shared);
    context.pass_data.shared =
        Shared { begun, priorities: Some(priorities), propagated, ..Shared::default() };
    match run.attempt(second, &mut other, context, observer) {
        Ok(Attempted::Done(done)) => {
            if price(&other, func, &done) < price(module, func, &best)
                && let Ok(finished) = run.finish(Some(*done), &mut other, observer)
            {
                *module = other;
                return Ok(finished);
            }
        }
        Ok(Attempted::Stopped) => {
            *module = other;
            return Ok(Outcome::Stopped);
        }
        Ok(Attempted::Repeated) | Err(_) => {}
    }
    drop(other);
    run.finish(Some(best), module, observer)
}

/// Partitions a module that is already propagated and has no calls.
///
/// # Errors
/// Returns errors of the passes after propagation.
pub fn partition_propagated(
    module: &mut Module,
    context: &PassContext,
) -> Result<Partitioned, Vec<Diagnostic>> {
    let Some(func) = module.entry() else { return Err(vec![module.no_entry()]) };
    let pipeline = Pipeline::partition().without("propagate");
    let mut run = Run { pipeline: &pipeline, func, number: 0 };
    let done = run.attempt(Strategy::default(), module, context.clone(), &mut ())?;
    match run.finish(done.done(), module, &mut ())? {
        Outcome::Done(done) => Ok(*done),
        Outcome::Stopped => {
            Err(vec![Diagnostic::internal("SH0829", "the pass pipeline ended before its last pass")])
        }
    }
}

/// Returns the key by which attempts are compared: first the bytes by which the program exceeds device memory, if that is known, then the
/// cost.
fn price(module: &Module, func: FuncId, done: &Attempt) -> (u64, u64) {
    let clean = &done.context.clean;
    let lacks = clean.memory_bytes.map_or(0, |has| lacking(module, func, clean.machine, has));
    (lacks, cost(module, func, &done.context.pass_data.cleaned, &done.context.costs))
}

/// The results of an attempt, besides the program.
struct Attempt {
    strategy: Strategy,
    context: PassContext,
    warn_bytes: u64,
    warnings: Vec<Diagnostic>,
}

/// The outcome of an attempt.
enum Attempted {
    /// The program is partitioned.
    Done(Box<Attempt>),
    /// The attempt ended early, since it would have produced the same program as the previous attempt.
    Repeated,
    /// The observer ended the attempt.
    Stopped,
}

impl Attempted {
    fn done(self) -> Option<Attempt> {
        match self {
            Attempted::Done(attempt) => Some(*attempt),
            Attempted::Repeated | Attempted::Stopped => None,
        }
    }
}

/// One execution of a pipeline on an entry function.
struct Run<'a> {
    pipeline: &'a Pipeline,
    func: FuncId,
    /// The number of passes that have run so far.
    number: usize,
}

impl Run<'_> {
    /// Partitions the entry function under one propagation strategy.
    fn attempt(
        &mut self,
        strategy: Strategy,
        module: &mut Module,
        context: PassContext,
        observer: &mut dyn Observer,
    ) -> Result<Attempted, Vec<Diagnostic>> {
        let steps = attempt_by(strategy, &self.pipeline.attempt);
        let mut context = PassContext { in_pipeline: true, ..context };
        let (flow, _) = run(&steps, module, &mut context, Some(strategy), &mut self.number, observer)?;
        let pass_data = &mut context.pass_data;
        if flow == Flow::Continue && pass_data.shared.is_repeated {
            return Ok(Attempted::Repeated);
        }
        let (Flow::Continue, Some(interface)) = (flow, &pass_data.interface) else {
            return Ok(Attempted::Stopped);
        };
        let warn_bytes = context.warn_bytes.unwrap_or_else(|| warning_threshold(bytes_sent(module)));
        let mut warnings = std::mem::take(&mut pass_data.propagated.warnings);
        let uneven = std::mem::take(&mut pass_data.propagated.uneven_results);
        let gathered: Vec<Diagnostic> =
            uneven.into_iter().chain(std::mem::take(&mut pass_data.gathered)).collect();
        if context.strict {
            let refused = select(&gathered, warn_bytes).into_errors();
            if !refused.is_empty() {
                return Err(refused);
            }
        }
        warnings.extend(gathered);
        warnings.append(&mut pass_data.notes);
        let aliases = pass_data.before.as_ref().map_or(&[][..], |before| &before.aliases);
        warnings.extend(lost_aliases(module, self.func, aliases, interface));
        let machine = context.clean.machine;
        let limit = context.clean.memory_bytes;
        warnings.extend(limit.and_then(|limit| too_much(module, self.func, machine, limit)));
        Ok(Attempted::Done(Box::new(Attempt { strategy, context, warn_bytes, warnings })))
    }

    /// Runs the last steps of the pipeline ([`Pipeline::finish`]) on the chosen program.
    fn finish(
        &mut self,
        attempt: Option<Attempt>,
        module: &mut Module,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Vec<Diagnostic>> {
        let Some(Attempt { strategy, mut context, warn_bytes, warnings }) = attempt else {
            return Ok(Outcome::Stopped);
        };
        let steps = &self.pipeline.finish;
        let (flow, _) = run(steps, module, &mut context, Some(strategy), &mut self.number, observer)?;
        let (cleaned, signatures) = (context.pass_data.cleaned, context.pass_data.signatures);
        let (Flow::Continue, Some(interface)) = (flow, context.pass_data.interface) else {
            return Ok(Outcome::Stopped);
        };
        Ok(Outcome::Done(Box::new(Partitioned {
            strategy,
            interface,
            warnings,
            warn_bytes,
            cleaned,
            signatures,
        })))
    }
}
