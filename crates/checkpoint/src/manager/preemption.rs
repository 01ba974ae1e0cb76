//! The signal that a machine is about to be taken away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Result;

/// Whether this process was told to end.
#[derive(Debug)]
pub struct Preemption {
    requested: Arc<AtomicBool>,
    #[cfg(unix)]
    id: signal_hook::SigId,
}

impl Preemption {
    /// From now on `SIGTERM` does not end the process, but is noted.
    ///
    /// # Errors
    /// The system does not let anybody listen.
    #[cfg(unix)]
    pub fn listen() -> Result<Preemption> {
        let requested = Arc::new(AtomicBool::new(false));
        let id = signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::clone(&requested));
        let id = id.map_err(|error| {
            crate::error::CheckpointError::Settings(format!("cannot listen for SIGTERM: {error}"))
        })?;
        Ok(Preemption { requested, id })
    }

    /// There are no signals: nothing is noted but what [`Preemption::request`] says.
    ///
    /// # Errors
    /// None.
    #[cfg(not(unix))]
    pub fn listen() -> Result<Preemption> {
        Ok(Preemption { requested: Arc::default() })
    }

    /// Whether the signal has come.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Notes that the process is to end, as the signal does.
    pub fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }
}

#[cfg(unix)]
impl Drop for Preemption {
    fn drop(&mut self) {
        signal_hook::low_level::unregister(self.id);
    }
}
