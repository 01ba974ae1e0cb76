//! A training run that can resume: its state is saved at an interval of steps, and on SIGTERM.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use shardc::checkpoint::{Alone, CheckpointManager, Fit, Info, Job, Keep, Options, Processes, Store};
use shardc_train::{Position, State, Step, checkpoint};

/// The location of the saved state, and when to save it.
#[derive(Args, Clone, Debug)]
pub struct Saving {
    /// Save checkpoints in this folder, and resume from the last one in it, on any mesh and with any strategy
    #[arg(long, value_name = "DIR")]
    pub checkpoints: Option<PathBuf>,
    /// Save every N steps, and on SIGTERM
    #[arg(long, value_name = "N", default_value_t = 50, requires = "checkpoints")]
    pub save_every: u64,
    /// Wait this many milliseconds after each step, so that tests can end the process in the middle of a run
    #[arg(long, value_name = "MS", default_value_t = 0, hide = true)]
    pub pause: u64,
}

/// A new or resumed training run.
pub struct Run {
    manager: Option<CheckpointManager>,
    /// The processes that save checkpoints together.
    processes: Arc<dyn Processes>,
    /// The number of completed steps.
    pub first: u64,
    /// The position in the batches, if a checkpoint has one.
    pub position: Option<Position>,
    pause: Duration,
}

impl Saving {
    /// Starts a training run from the last checkpoint, or from initial values.
    ///
    /// # Errors
    /// The folder cannot be read, or a checkpoint belongs to another model.
    pub fn begin(&self, step: &Step, seed: u64) -> Result<(Run, State)> {
        let pause = Duration::from_millis(self.pause);
        let processes: Arc<dyn Processes> = match step.processes() {
            Some(job) => Arc::new(Job::new(job)),
            None => Arc::new(Alone),
        };
        let Some(folder) = &self.checkpoints else {
            let run = Run { manager: None, processes, first: 0, position: None, pause };
            return Ok((run, step.init(seed)?));
        };
        // Two checkpoints before the last one are kept as a fallback.
        let options = Options {
            save_interval: self.save_every.max(1),
            keep: Keep { newest: Some(3), ..Keep::default() },
            ..Options::default()
        };
        let store = Store::folder(folder)?;
        let manager = CheckpointManager::with_processes(&store, "", options, Arc::clone(&processes))?;
        let (first, position, state) = match manager.latest()? {
            Some(done) => {
                let saved = manager.open(done)?;
                let state = checkpoint::restore(&saved, step, &Fit::default())?;
                (done, Position::noted(saved.info())?, state)
            }
            None => (0, None, step.init(seed)?),
        };
        Ok((Run { manager: Some(manager), processes, first, position, pause }, state))
    }
}

impl Run {
    /// Saves the state and the position in the batches if a save is due after `done` steps. Returns whether the training run was requested
    /// to stop.
    ///
    /// # Errors
    /// The state cannot be saved.
    pub fn after(&self, done: u64, step: &Step, state: &State, position: Position) -> Result<bool> {
        std::thread::sleep(self.pause);
        let Some(manager) = &self.manager else { return Ok(false) };
        let ends = manager.reached_preemption(done)?;
        if ends || manager.should_save(done)? {
            let mut info = Info::default();
            position.note(&mut info);
            let parts = checkpoint::parts(step, state, &info, &*self.processes)?;
            let reader = checkpoint::reader(state);
            match ends {
                true => manager.save(done, &parts, &reader)?,
                false => manager.save_async(done, &parts, &reader)?,
            }
        }
        Ok(ends)
    }

    /// Waits for the saves in progress.
    ///
    /// # Errors
    /// A save failed.
    pub fn finish(self) -> Result<()> {
        self.manager.map_or(Ok(()), |manager| Ok(manager.wait()?))
    }
}
