//! The whole of partitioning: each strategy is tried, and what costs less is kept.

use shardc_ir::{Diagnostic, FuncId, Module};

use super::context::PassContext;
use super::interface::lost_aliases;
use super::pipeline::{Flow, Observer, Pipeline, Step, attempt_by, run};
use super::strategy::{Strategy, bytes_sent, cost, strategies};
use crate::collectives::clean::CleanReport;
use crate::cost::memory::{lacking, too_much};
use crate::report::warnings::{select, worth_telling};
pub use crate::sharding::interface::{Interface, InterfaceTensor};

/// What partitioning has to say, besides the program.
#[derive(Clone, Debug)]
pub struct Partitioned {
    /// Which annotations were let speak first.
    pub strategy: Strategy,
    /// How the program is fed.
    pub interface: Interface,
    /// What is right but not what the user would expect.
    pub warnings: Vec<Diagnostic>,
    /// The bytes from which on a warning about cost is worth telling.
    pub warn_bytes: u64,
    /// What clean-up did to the collectives.
    pub cleaned: CleanReport,
}

/// How far a run came.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// To the end.
    Done(Box<Partitioned>),
    /// The observer ended it; the module is as it was then.
    Stopped,
}

/// Runs the first half of `pipeline`, on a verified module: what is said about the program becomes part of it.
///
/// # Errors
/// An annotation that does not fit, a recursive call, no entry function.
pub fn import(
    pipeline: &Pipeline,
    module: &mut Module,
    context: &mut PassContext,
    observer: &mut dyn Observer,
) -> Result<Flow, Vec<Diagnostic>> {
    if module.entry().is_none() {
        return Err(vec![module.no_entry()]);
    }
    context.in_pipeline = true;
    let (flow, _) = run(&pipeline.import, module, context, None, &mut 0, observer)?;
    if module.entry().is_none() {
        return Err(vec![module.no_entry()]);
    }
    Ok(flow)
}

/// Runs the second half of `pipeline` on what [`import`] left: the module becomes the program that each device runs.
///
/// # Errors
/// What the passes say of the strategy that is tried first; what only another one cannot do is no error.
pub fn partition(
    pipeline: &Pipeline,
    module: &mut Module,
    context: &PassContext,
    observer: &mut dyn Observer,
) -> Result<Outcome, Vec<Diagnostic>> {
    let Some(func) = module.entry() else { return Err(vec![module.no_entry()]) };
    let mut rest = strategies(module, func);
    let first = rest.remove(0);
    // Only a program with a choice is copied.
    let alternatives: Vec<(Strategy, Module)> = rest.into_iter().map(|s| (s, module.clone())).collect();
    let mut number = pipeline.import.len();
    let attempt = |strategy, module: &mut Module, number: &mut usize, observer: &mut dyn Observer| {
        let steps = attempt_by(strategy, &pipeline.attempt);
        attempt(&steps, strategy, module, func, context, number, observer)
    };
    let Outcome::Done(mut best) = attempt(first, module, &mut number, observer)? else {
        return Ok(Outcome::Stopped);
    };
    for (strategy, mut other) in alternatives {
        match attempt(strategy, &mut other, &mut number, observer) {
            Ok(Outcome::Done(done)) => {
                if price(&other, func, &done, context) < price(module, func, &best, context) {
                    (*module, best) = (other, done);
                }
            }
            Ok(Outcome::Stopped) => {
                *module = other;
                return Ok(Outcome::Stopped);
            }
            Err(_) => {}
        }
    }
    Ok(Outcome::Done(best))
}

/// Partitions a module that is propagated already, and has no calls.
///
/// # Errors
/// What the passes after propagation say.
pub fn partition_propagated(
    module: &mut Module,
    context: &PassContext,
) -> Result<Partitioned, Vec<Diagnostic>> {
    let Some(func) = module.entry() else { return Err(vec![module.no_entry()]) };
    let steps = Pipeline::partition().without("propagate").attempt;
    match attempt(&steps, Strategy::default(), module, func, context, &mut 0, &mut ())? {
        Outcome::Done(done) => Ok(*done),
        Outcome::Stopped => Err(vec![Diagnostic::internal("SH0829", "the pipeline ended early")]),
    }
}

/// Orders partitions of a program: less memory than a device lacks comes first, where that is known, then less cost.
fn price(module: &Module, func: FuncId, done: &Partitioned, context: &PassContext) -> (u64, u64) {
    let lacks = context.clean.memory_bytes.map_or(0, |has| lacking(module, func, has));
    (lacks, cost(module, func, &done.cleaned))
}

fn attempt(
    steps: &[Step],
    strategy: Strategy,
    module: &mut Module,
    func: FuncId,
    context: &PassContext,
    number: &mut usize,
    observer: &mut dyn Observer,
) -> Result<Outcome, Vec<Diagnostic>> {
    let mut context = PassContext { in_pipeline: true, ..context.clone() };
    let (flow, _) = run(steps, module, &mut context, Some(strategy), number, observer)?;
    let handed = context.handed;
    let (Flow::Continue, Some(interface)) = (flow, handed.interface) else { return Ok(Outcome::Stopped) };
    let warn_bytes = context.warn_bytes.unwrap_or_else(|| worth_telling(bytes_sent(module)));
    let gathered: Vec<Diagnostic> =
        handed.propagated.uneven_results.into_iter().chain(handed.gathered).collect();
    if context.strict {
        let refused = select(&gathered, warn_bytes).into_errors();
        if !refused.is_empty() {
            return Err(refused);
        }
    }
    let mut warnings = handed.propagated.warnings;
    warnings.extend(gathered);
    warnings.extend(handed.notes);
    let aliases = handed.before.map(|before| before.aliases).unwrap_or_default();
    warnings.extend(lost_aliases(module, func, &aliases, &interface));
    warnings.extend(context.clean.memory_bytes.and_then(|limit| too_much(module, func, limit)));
    let cleaned = handed.cleaned;
    Ok(Outcome::Done(Box::new(Partitioned { strategy, interface, warnings, warn_bytes, cleaned })))
}
