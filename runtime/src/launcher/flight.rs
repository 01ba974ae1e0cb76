//! State of one launch, shared with the threads that wait for it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Result;

/// The state of a launch, which is queued, in flight, or finished.
pub(crate) struct Flight {
    /// The IDs of the devices on which the program is launched.
    pub(super) devices: Vec<i32>,
    pub(super) queued: Instant,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The time when the plugin's call that starts all devices returned.
    launched: Option<Instant>,
    end: Option<End>,
}

/// The end of a launch: its outcome, and the time that it took.
struct End {
    outcome: Result<()>,
    /// The time that the devices took, as in [`FlightTimes::device`].
    device: Duration,
}

/// Durations of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlightTimes {
    /// The time from when the launch was queued until the plugin had started all devices.
    pub(crate) enqueue: Duration,
    /// The time that the devices took: from the end of earlier launches on them until the last device was done.
    pub(crate) device: Duration,
}

impl std::fmt::Debug for Flight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Flight({})", if self.is_over() { "finished" } else { "in flight" })
    }
}

impl Flight {
    pub(super) fn new(devices: &[i32]) -> Flight {
        let (queued, state) = (Instant::now(), Mutex::default());
        Flight { devices: devices.to_vec(), queued, state, changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether all devices are done, or the launch has failed.
    pub(crate) fn is_over(&self) -> bool {
        self.state().end.is_some()
    }

    /// Returns the outcome; `None` while the launch is unfinished.
    pub(crate) fn outcome(&self) -> Option<Result<()>> {
        self.state().end.as_ref().map(|end| end.outcome.clone())
    }

    /// Waits until the launch is finished.
    ///
    /// # Errors
    ///
    /// The launch's error; every call returns the same error.
    pub(crate) fn wait(&self) -> Result<()> {
        self.until(|state| state.end.as_ref().map(|end| end.outcome.clone()))
    }

    /// Waits until all devices are started.
    ///
    /// # Errors
    ///
    /// The launch's error, if it failed before that.
    pub(super) fn wait_for_launch(&self) -> Result<()> {
        self.until(|state| match &state.end {
            _ if state.launched.is_some() => Some(Ok(())),
            Some(end) => Some(end.outcome.clone()),
            None => None,
        })
    }

    fn until<T>(&self, mut found: impl FnMut(&State) -> Option<T>) -> T {
        let mut state = self.state();
        loop {
            if let Some(found) = found(&state) {
                return found;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns the durations of the launch; `None` if the launch is unfinished or has failed.
    pub(crate) fn times(&self) -> Option<FlightTimes> {
        let state = self.state();
        let end = state.end.as_ref().filter(|end| end.outcome.is_ok())?;
        let enqueue = state.launched?.saturating_duration_since(self.queued);
        Some(FlightTimes { enqueue, device: end.device })
    }

    pub(super) fn set_launched(&self, at: Instant) {
        self.state().launched = Some(at);
        self.changed.notify_all();
    }

    pub(super) fn set_over(&self, outcome: Result<()>, device: Duration) {
        self.state().end = Some(End { outcome, device });
        self.changed.notify_all();
    }
}
