//! A folder of steps: save intervals, retention, and saves in the background.

mod background;
mod keep;
mod preemption;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use self::background::Background;
pub use self::keep::Keep;
pub use self::preemption::Preemption;
use crate::checkpoint::Checkpoint;
use crate::entry::{Entry, Slice};
use crate::error::{CheckpointError, Result};
use crate::parallel;
use crate::place::{self, Place};
use crate::processes::{Alone, Processes, agree};
use crate::region::Region;
use crate::restore::{Fit, Take, Wanted};
use crate::save::{Progress, Read, State, write};
use crate::store::Store;

/// The maximum number of threads that copy the elements of a state for a background save.
const COPIERS: usize = 4;

/// The options of a [`CheckpointManager`].
pub struct Options {
    /// The save interval, at least 1: steps that are multiples of this number are saved.
    pub save_interval: u64,
    /// The retention policy.
    pub keep: Keep,
    /// The maximum number of background saves that wait to be written; at least 1. If this number is reached, the next save waits
    /// until one of the pending saves is written.
    pub max_pending: usize,
    /// Whether `SIGTERM` causes the current step to be saved before the process stops (on Unix).
    pub save_on_preemption: bool,
    /// A callback that receives the progress of the writes of this process.
    pub progress: Option<StepProgress>,
}

/// A progress callback for the writing of a step. Its arguments are the step, the bytes written so far, and the total bytes.
pub type StepProgress = Arc<dyn Fn(u64, u64, u64) + Send + Sync>;

impl Default for Options {
    fn default() -> Self {
        Options {
            save_interval: 1,
            keep: Keep::default(),
            max_pending: 1,
            save_on_preemption: true,
            progress: None,
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("save_interval", &self.save_interval)
            .field("keep", &self.keep)
            .field("max_pending", &self.max_pending)
            .field("save_on_preemption", &self.save_on_preemption)
            .finish_non_exhaustive()
    }
}

/// The checkpoints of a training run, by step: `FOLDER/STEP`, as in Orbax's `CheckpointManager`.
///
/// All processes make the same calls in the same order. Only one training run may write to the folder.
pub struct CheckpointManager {
    shared: Arc<Shared>,
    preemption: Option<Preemption>,
    background: Background,
}

/// The data that the background thread shares with the manager.
pub(crate) struct Shared {
    store: Store,
    folder: String,
    options: Options,
    processes: Arc<dyn Processes>,
}

impl std::fmt::Debug for CheckpointManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CheckpointManager")
            .field("store", &self.shared.store)
            .field("folder", &self.shared.folder)
            .field("options", &self.shared.options)
            .finish_non_exhaustive()
    }
}

impl CheckpointManager {
    /// Creates a manager that saves steps in a folder of a store, for a job of one process. Files left by interrupted saves are deleted.
    ///
    /// # Errors
    /// An option is invalid (SH1312), or the store fails (SH1301).
    pub fn new(store: &Store, folder: &str, options: Options) -> Result<CheckpointManager> {
        CheckpointManager::with_processes(store, folder, options, Arc::new(Alone))
    }

    /// Creates the manager of one of the processes of a job.
    ///
    /// # Errors
    /// The errors of [`CheckpointManager::new`], here or on another process (SH1310).
    pub fn with_processes(
        store: &Store,
        folder: &str,
        options: Options,
        processes: Arc<dyn Processes>,
    ) -> Result<CheckpointManager> {
        for (name, is_zero) in [
            ("save_interval", options.save_interval == 0),
            ("max_pending", options.max_pending == 0),
            ("max_to_keep", options.keep.newest == Some(0)),
            ("keep_every", options.keep.every == Some(0)),
        ] {
            if is_zero {
                return Err(CheckpointError::Settings(format!("{name} must be at least 1, got 0")));
            }
        }
        let folder = folder.trim_matches('/').to_owned();
        let cleaned = match processes.index() {
            0 => place::clean(store, &folder),
            _ => Ok(()),
        };
        agree(&*processes, &format!("open {folder}"), cleaned.map(|()| Vec::new()))?;
        let preemption = if options.save_on_preemption { Some(Preemption::listen()?) } else { None };
        let background = Background::new(options.max_pending);
        let shared = Arc::new(Shared { store: store.clone(), folder, options, processes });
        Ok(CheckpointManager { shared, preemption, background })
    }

    /// Returns the steps with a complete checkpoint, in ascending order.
    ///
    /// # Errors
    /// The store fails.
    pub fn all_steps(&self) -> Result<Vec<u64>> {
        place::steps(&self.shared.store, &self.shared.folder)
    }

    /// Returns the highest step with a complete checkpoint; `None` if there is none.
    ///
    /// # Errors
    /// The store fails.
    pub fn latest(&self) -> Result<Option<u64>> {
        Ok(self.all_steps()?.pop())
    }

    /// Returns whether a step should be saved: it is a multiple of the interval, or the job is about to be preempted. If preemption is
    /// enabled, this method calls [`CheckpointManager::reached_preemption`].
    ///
    /// # Errors
    /// A save in the background failed (SH1313), or a process does not answer.
    pub fn should_save(&self, step: u64) -> Result<bool> {
        self.background.check()?;
        let is_due = step.is_multiple_of(self.shared.options.save_interval);
        Ok(match &self.preemption {
            Some(_) => self.reached_preemption(step)? || is_due,
            None => is_due,
        })
    }

    /// Returns whether any process of the job received `SIGTERM`; if so, all processes should save this step and stop. All processes
    /// must call this method at the same steps, and get the same answer.
    ///
    /// # Errors
    /// Preemption is not enabled (SH1312), or a process does not answer.
    pub fn reached_preemption(&self, step: u64) -> Result<bool> {
        let Some(preemption) = &self.preemption else {
            let text = "preemption is not enabled: set save_on_preemption".to_owned();
            return Err(CheckpointError::Settings(text));
        };
        self.shared.processes.any(&format!("preemption at {step}"), preemption.is_requested())
    }

    /// Saves a step, and returns when it is complete; earlier background saves finish first. Then the steps that the retention policy does
    /// not keep are deleted.
    ///
    /// # Errors
    /// The errors of [`save`](crate::save), or the error of an earlier background save (SH1313).
    pub fn save(&self, step: u64, state: &State, read: &Read<'_>) -> Result<()> {
        self.wait()?;
        self.shared.save(step, state, read)
    }

    /// Copies the values of a step and returns; the values are written in the background. If the maximum number of saves is pending,
    /// the call first waits until one of them is written. The next call of any kind returns the error of a failed save.
    ///
    /// # Errors
    /// A value cannot be read (SH1304), or an earlier background save failed (SH1313).
    pub fn save_async(&self, step: u64, state: &State, read: &Read<'_>) -> Result<()> {
        self.background.check()?;
        self.background.wait_for_room()?;
        let copy = |number: usize| {
            let slice: &Slice = &state.slices[number];
            let Some(entry) = state.entries.get(slice.entry) else {
                return Err(CheckpointError::Slices(vec![format!("there is no entry {}", slice.entry)]));
            };
            let value = read(entry, &slice.region).map_err(|reason| CheckpointError::Values {
                entry: format!("{}{}", entry.name, slice.region),
                reason,
            })?;
            Ok(((entry.name.clone(), slice.region.clone()), value))
        };
        // Several threads copy in parallel, because page faults on newly allocated memory take longer than the copy.
        let values = parallel::each(parallel::threads(1, COPIERS), state.slices.len(), &copy)?;
        let values: BTreeMap<_, _> = values.into_iter().collect();
        let (shared, state) = (Arc::clone(&self.shared), state.clone());
        self.background.begin(step, move || {
            // Each value is taken out of the map when it is read, so that it is freed once it is written.
            let values = Mutex::new(values);
            let read = |entry: &Entry, region: &Region| {
                let mut values = values.lock().unwrap_or_else(PoisonError::into_inner);
                let value = values.remove(&(entry.name.clone(), region.clone()));
                value.ok_or_else(|| "there is no such value".to_owned())
            };
            shared.save(step, &state, &read)
        });
        Ok(())
    }

    /// Waits until all background saves are done.
    ///
    /// # Errors
    /// One of them failed (SH1313).
    pub fn wait(&self) -> Result<()> {
        self.background.wait()
    }

    /// Opens a step for reading.
    ///
    /// # Errors
    /// The errors of [`Checkpoint::open`]; if the step does not exist, the error lists the existing steps. A background save failed
    /// (SH1313).
    pub fn open(&self, step: u64) -> Result<Checkpoint> {
        self.wait()?;
        let Shared { store, folder, .. } = &*self.shared;
        let path = Place::step(folder, step);
        Checkpoint::open(store, path.path()).map_err(|error| match error {
            CheckpointError::NotFound { path, .. } => {
                CheckpointError::NotFound { path, there: self.all_steps().unwrap_or_default() }
            }
            other => other,
        })
    }

    /// Reads regions of a step; see [`Checkpoint::restore`].
    ///
    /// # Errors
    /// The errors of [`CheckpointManager::open`] and [`Checkpoint::restore`].
    pub fn restore(
        &self,
        step: u64,
        wanted: &[Wanted],
        fit: &Fit,
        take: &mut Take<'_>,
        progress: Option<&Progress<'_>>,
    ) -> Result<()> {
        self.open(step)?.restore(wanted, fit, take, progress)
    }

    /// Deletes a step, on all processes together. If the deletion is interrupted, the step no longer counts as complete.
    ///
    /// # Errors
    /// There is no such step (SH1305), or the store fails.
    pub fn delete(&self, step: u64) -> Result<()> {
        self.wait()?;
        let Shared { store, folder, processes, .. } = &*self.shared;
        let delete = || {
            let there = place::steps(store, folder)?;
            let place = Place::step(folder, step);
            match there.contains(&step) {
                true => place::delete(store, place.path()),
                false => Err(CheckpointError::NotFound { path: store.shown(place.path()), there }),
            }
        };
        let deleted = if processes.index() == 0 { delete() } else { Ok(()) };
        agree(&**processes, &format!("delete {folder}/{step}"), deleted.map(|()| Vec::new())).map(|_| ())
    }
}

impl Shared {
    fn save(&self, step: u64, state: &State, read: &Read<'_>) -> Result<()> {
        let Shared { store, folder, options, processes } = self;
        let mut state = state.clone();
        state.info.step = Some(step);
        let place = Place::step(folder, step);
        let report = options.progress.clone().map(|progress| move |done, all| progress(step, done, all));
        let progress = report.as_ref().map(|report| report as &Progress<'_>);
        write(store, &place, &state, read, &**processes, progress)?;
        let expire = || -> Result<()> {
            for old in options.keep.expired(&place::steps(store, folder)?) {
                place::delete(store, Place::step(folder, old).path())?;
            }
            Ok(())
        };
        let expired = if processes.index() == 0 { expire() } else { Ok(()) };
        agree(&**processes, &format!("expire {folder}"), expired.map(|()| Vec::new())).map(|_| ())
    }
}
