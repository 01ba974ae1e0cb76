//! Runs that may not be over yet.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{Result, RuntimeError};
use crate::launcher::Flight;

/// A run of a program that was started: [`LoadedExecutable::launch`](crate::LoadedExecutable::launch). Cheap to clone; usable from
/// any thread. It ends whether or not anyone waits for it or keeps this.
#[derive(Clone, Debug)]
pub struct Execution {
    pub(crate) flight: Arc<Flight>,
    pub(crate) waited: Duration,
}

/// Where the time of a run went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExecutionTimes {
    /// How long the caller waited because as many runs as may be were on their way.
    pub backpressure: Duration,
    /// From then until the plugin had started all devices. A plugin may run cheap programs meanwhile.
    pub enqueue: Duration,
    /// From when the devices were free for the run until the last of them was done.
    pub device: Duration,
}

impl Execution {
    /// Whether all devices are done, or the run has failed. Does not wait.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.flight.is_over()
    }

    /// Waits until all devices are done, and says what the run took.
    ///
    /// # Errors
    ///
    /// What the run failed with, as [`LoadedExecutable::execute_with`](crate::LoadedExecutable::execute_with) has it; the same each
    /// time.
    pub fn wait(&self) -> Result<ExecutionTimes> {
        self.flight.wait()?;
        self.times().ok_or_else(|| RuntimeError::Protocol {
            call: "PJRT_LoadedExecutable_Execute",
            what: "a run without times".to_owned(),
        })
    }

    /// What the run took; `None` where it is not over or has failed.
    #[must_use]
    pub fn times(&self) -> Option<ExecutionTimes> {
        let times = self.flight.times()?;
        let (enqueue, device) = (times.enqueue, times.device);
        Some(ExecutionTimes { backpressure: self.waited, enqueue, device })
    }
}
