//! The loop of training that examples share.

use anyhow::{Result, ensure};
use shardc::train::loader::Source;
use shardc::train::{Loader, LoaderOptions, Position, State, Step};

use crate::harness::Options;

/// What a run of training leaves that was not told to end.
pub struct Finished {
    /// The variables after the last step.
    pub state: State,
    /// The loss, smoothed.
    pub loss: f64,
}

/// Trains for so many steps, each on a batch of the source, in which there are so many examples or tokens. Begins anew, or goes on
/// where a checkpoint was saved. `None` where the run was told to end before.
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
    ensure!(run.first == 0 || run.position.is_some(), "the checkpoint does not say where the batches go on");
    let mut progress = options.progress(step, steps).from(run.first);
    let options = LoaderOptions { position: run.position, ..LoaderOptions::default() };
    let mut loader = Loader::new(step, source, options)?;
    while loader.next_position().batch < steps {
        let Some(batch) = loader.next() else { break };
        // What the step before tells is looked at while the devices are at this one.
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
