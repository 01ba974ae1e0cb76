//! A run of training that goes on where it ended: its state is saved every so many steps, and when it is told to end.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use shardc::checkpoint::{self, Alone, CheckpointManager, Fit, Info, Job, Keep, Options, Processes, Store};
use shardc::train::{Position, State, Step};

/// Where a run saves its state, and when.
#[derive(Args, Clone, Debug)]
pub struct Saving {
    /// Save the state of training in this folder, and go on from the last step that is there, on any mesh and by any strategy
    #[arg(long, value_name = "DIR")]
    pub checkpoints: Option<PathBuf>,
    /// Save after every so many steps; SIGTERM saves, too
    #[arg(long, value_name = "N", default_value_t = 50, requires = "checkpoints")]
    pub save_every: u64,
    /// Wait so many milliseconds after each step: for trying out what a killed run leaves
    #[arg(long, value_name = "MS", default_value_t = 0, hide = true)]
    pub pause: u64,
}

/// A run, which begins anew or goes on.
pub struct Run {
    manager: Option<CheckpointManager>,
    /// Those that save together.
    processes: Arc<dyn Processes>,
    /// How many steps are done already.
    pub first: u64,
    /// Where the batches go on, where a checkpoint says so.
    pub position: Option<Position>,
    pause: Duration,
}

impl Saving {
    /// Begins a run: with the state of the last checkpoint, or the first one.
    ///
    /// # Errors
    /// The folder cannot be read, or a checkpoint is of another model.
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
        // Two to fall back on, whatever happens to the last one.
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
    /// After `done` steps: saves the state and the position of the batches where it is time to. Returns whether the run is to end, as
    /// it was told to.
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

    /// Waits until all is saved.
    ///
    /// # Errors
    /// A save failed.
    pub fn finish(self) -> Result<()> {
        self.manager.map_or(Ok(()), |manager| Ok(manager.wait()?))
    }
}
