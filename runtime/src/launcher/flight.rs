//! One launch, as those see it who wait for its end.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Result;

/// A launch: queued, on its way, or over.
pub(crate) struct Flight {
    /// The devices' numbers.
    pub(super) devices: Vec<i32>,
    pub(super) queued: Instant,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// When the plugin's call that starts all devices had returned.
    launched: Option<Instant>,
    end: Option<End>,
}

/// How a launch ended.
struct End {
    outcome: Result<()>,
    /// How long the devices had it.
    device: Duration,
}

/// What a launch took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlightTimes {
    /// From the queueing until the plugin had started all devices.
    pub(crate) enqueue: Duration,
    /// From when the devices were free for it until the last of them was done.
    pub(crate) device: Duration,
}

impl std::fmt::Debug for Flight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Flight({})", if self.is_over() { "over" } else { "on its way" })
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

    /// Whether all devices are done, or it has failed.
    pub(crate) fn is_over(&self) -> bool {
        self.state().end.is_some()
    }

    /// How it ended, once it has.
    pub(crate) fn outcome(&self) -> Option<Result<()>> {
        self.state().end.as_ref().map(|end| end.outcome.clone())
    }

    /// Waits until it is over.
    ///
    /// # Errors
    ///
    /// What it failed with: the same each time.
    pub(crate) fn wait(&self) -> Result<()> {
        self.until(|state| state.end.as_ref().map(|end| end.outcome.clone()))
    }

    /// Waits until the devices are started.
    ///
    /// # Errors
    ///
    /// What it failed with before they were.
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

    /// What it took, once it is over and has not failed.
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
