//! The training loop that examples share.

use anyhow::{Result, ensure};
use shardc_train::loader::Source;
use shardc_train::{Loader, LoaderOptions, Position, State, Step};

use crate::harness::Options;

/// The result of a training run that was not stopped early.
pub struct Finished {
    /// The variables after the last step.
    pub state: State,
    /// The smoothed loss of the last steps.
    pub loss: f64,
}

/// Trains for `steps` steps on batches of `source`, each with `count` examples or tokens. Resumes from a checkpoint if there is one.
/// Returns `None` if the run was stopped early.
///
/// # Errors
/// The source or a step fails, or a state cannot be saved or read.
pub fn train(
    options: &Options,
    step: &Step,
    steps: u64,
    count: u64,
    source: impl Source + 'static,
) -> Result<Option<Finished>> {
    let (run, mut state) = options.saving.begin(step, options.seed)?;
    ensure!(run.first == 0 || run.position.is_some(), "the checkpoint has no loader position");
    let mut progress = options.progress(step, steps).from(run.first);
    let options = LoaderOptions { position: run.position, ..LoaderOptions::default() };
    let mut loader = Loader::new(step, source, options)?;
    while loader.next_position().batch < steps {
        let Some(batch) = loader.next() else { break };
        // The metrics of the previous step are read while the devices run the current step.
        progress.step(step.run_batch(&mut state, &batch?)?, count)?;
        let Position { batch: done, .. } = loader.next_position();
        if run.after(done, step, &state, loader.next_position())? {
            progress.finish()?;
            run.finish()?;
            return Ok(None);
        }
    }
    let loss = progress.finish()?;
    run.finish()?;
    Ok(Some(Finished { state, loss }))
}
