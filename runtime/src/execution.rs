//! Executions that may still be in flight.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{Result, RuntimeError};
use crate::launcher::Flight;

/// A started execution: [`LoadedExecutable::launch`](crate::LoadedExecutable::launch). Cheap to clone; usable from any thread. The
/// execution completes even if nobody waits for it or keeps this handle.
#[derive(Clone, Debug)]
pub struct Execution {
    pub(crate) flight: Arc<Flight>,
    pub(crate) waited: Duration,
}

/// The times of an execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExecutionTimes {
    /// The time that the execution waited to start, because the maximum number of executions was in flight.
    pub backpressure: Duration,
    /// The time after `backpressure` until the plugin had started the program on all devices. A plugin may run cheap programs meanwhile.
    pub enqueue: Duration,
    /// The time that the devices took: from the end of earlier executions on them until the last device was done.
    pub device: Duration,
}

impl Execution {
    /// Whether all devices are done, or the execution has failed. Does not wait.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.flight.is_over()
    }

    /// Waits until all devices are done, and returns the execution's times.
    ///
    /// # Errors
    ///
    /// The error of the execution, as from [`LoadedExecutable::execute_with`](crate::LoadedExecutable::execute_with); every call returns
    /// the same error.
    pub fn wait(&self) -> Result<ExecutionTimes> {
        self.flight.wait()?;
        self.times().ok_or_else(|| RuntimeError::Protocol {
            call: "PJRT_LoadedExecutable_Execute",
            what: "an execution without recorded times".to_owned(),
        })
    }

    /// Returns the execution's times; `None` if the execution is still in flight or has failed.
    #[must_use]
    pub fn times(&self) -> Option<ExecutionTimes> {
        let times = self.flight.times()?;
        let (enqueue, device) = (times.enqueue, times.device);
        Some(ExecutionTimes { backpressure: self.waited, enqueue, device })
    }
}
