//! Partitioning: runs the two halves of the pipeline on the entry function and on the functions that it calls.

use shardc_ir::{Diagnostic, Module};

use super::attempts::partition_alone;
pub use super::attempts::{Outcome, Partitioned, partition_propagated};
use super::context::PassContext;
use super::link::link;
use super::pipeline::{Flow, Observer, Pipeline, run};
pub use crate::sharding::interface::{Interface, InterfaceTensor};

/// Runs the first half of `pipeline` on a verified module: annotations and options become shardings of the program.
///
/// # Errors
/// Returns an error if an annotation does not fit, if a call is recursive, or if there is no entry function.
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

/// Runs the second half of `pipeline` on the result of [`import`]: the module becomes the program that each device runs.
///
/// # Errors
/// Returns the errors of the passes under the first strategy. Failures of other strategies are ignored.
pub fn partition(
    pipeline: &Pipeline,
    module: &mut Module,
    context: &PassContext,
    observer: &mut dyn Observer,
) -> Result<Outcome, Vec<Diagnostic>> {
    let mut outcome = partition_alone(pipeline, module, context, observer)?;
    if let Outcome::Done(done) = &mut outcome
        && !context.pass_data.kept.is_empty()
    {
        link(pipeline, module, done, context)?;
    }
    Ok(outcome)
}
