//! Preemption: detects `SIGTERM`, the signal that this machine is about to be reclaimed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Result;

/// Records whether this process received `SIGTERM`.
#[derive(Debug)]
pub struct Preemption {
    requested: Arc<AtomicBool>,
    #[cfg(unix)]
    id: signal_hook::SigId,
}

impl Preemption {
    /// Installs a handler for `SIGTERM` that records the signal instead of ending the process.
    ///
    /// # Errors
    /// The system does not permit the handler.
    #[cfg(unix)]
    pub fn listen() -> Result<Preemption> {
        let requested = Arc::new(AtomicBool::new(false));
        let id = signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::clone(&requested));
        let id = id.map_err(|error| {
            crate::error::CheckpointError::Settings(format!("cannot listen for SIGTERM: {error}"))
        })?;
        Ok(Preemption { requested, id })
    }

    /// Installs no signal handler, because this system has no `SIGTERM`: only [`Preemption::request`] requests a preemption.
    ///
    /// # Errors
    /// None.
    #[cfg(not(unix))]
    pub fn listen() -> Result<Preemption> {
        Ok(Preemption { requested: Arc::default() })
    }

    /// Returns whether the signal was received, or [`Preemption::request`] was called.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Has the same effect as receiving `SIGTERM`.
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
