//! Jobs of several processes: connection, detection of lost processes, exchange of bytes.
//!
//! Each process of a job calls [`Processes::connect`] with the same options except its index. Each is then connected to all others, after a
//! mutual proof that both processes know the job's secret. Data is not encrypted: the network between the processes must be trusted.
//!
//! A wait for another process ends with an error within seconds if that process is lost: its connection closes, it is silent for longer
//! than [`ProcessOptions::patience`], or it reports a failed execution.
//!
//! | file | contents |
//! |---|---|
//! | `options` | the options of a process, and their environment variables |
//! | `connect`, `handshake` | connecting, and the proof of the secret |
//! | `frame`, `peer` | messages, and the threads that read and write them |
//! | `job`, `mail`, `store` | state that the threads share: received values, lost processes, the key-value store |
//! | `exchange`, `spec`, `compute`, `tellers` | cross-process collectives, for plugins that do not implement them |
//!
//! ```no_run
//! use shardc_runtime::{ProcessOptions, Processes, Secret};
//!
//! # fn main() -> Result<(), shardc_runtime::RuntimeError> {
//! let variables = ProcessOptions::from_variables(|name| std::env::var(name).ok())?;
//! if let Some(options) = variables {
//!     let processes = Processes::connect(options)?;
//!     let names = processes.all_gather("names", b"a name")?;
//!     assert_eq!(names.len(), processes.count());
//!     processes.barrier("done")?;
//! }
//! # Ok(())
//! # }
//! ```

mod compute;
mod connect;
mod exchange;
mod frame;
mod handshake;
mod job;
mod mail;
mod options;
mod peer;
mod spec;
mod store;
mod tellers;

use std::sync::Arc;
use std::time::Duration;

pub(crate) use job::Job;
pub use options::{MAX_PROCESSES, ProcessOptions, Secret, local_job};
pub(crate) use spec::ATTRIBUTE;

use crate::error::Result;

/// The custom call target by which programs run cross-process collectives, for plugins that do not implement such collectives.
pub const COLLECTIVE_TARGET: &str = "shardc.collective";
/// The custom call target that returns the index of the calling process's first device among all devices of the program, as a scalar of
/// type `ui32`.
pub const FIRST_DEVICE_TARGET: &str = "shardc.first_device";

/// One process's view of the processes of a job. Cheap to clone; dropping the last clone notifies the others that this process leaves the
/// job.
#[derive(Clone)]
pub struct Processes {
    handle: Arc<Handle>,
}

struct Handle(Arc<Job>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl std::fmt::Debug for Processes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} of {}", self.index(), self.count())
    }
}

impl Processes {
    /// Connects to the other processes of the job, and waits for processes that have not started yet.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Processes`](crate::RuntimeError::Processes): invalid options, no listener at an address, a different secret, or
    /// processes that do not connect within [`ProcessOptions::connect_timeout`].
    pub fn connect(options: ProcessOptions) -> Result<Processes> {
        Ok(Processes { handle: Arc::new(Handle(Job::connect(options)?)) })
    }

    /// The index of this process, from 0.
    #[must_use]
    pub fn index(&self) -> usize {
        self.job().index()
    }

    /// The number of processes.
    #[must_use]
    pub fn count(&self) -> usize {
        self.job().count()
    }

    /// Returns an error if a process was lost. If there is no error, all other processes are still running or ended normally.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::ProcessLost`](crate::RuntimeError::ProcessLost).
    pub fn check(&self) -> Result<()> {
        self.job().check()
    }

    /// Waits until every process has reached the barrier with this name.
    ///
    /// # Errors
    ///
    /// The errors of [`Processes::all_gather`].
    pub fn barrier(&self, name: &str) -> Result<()> {
        self.all_gather(name, &[]).map(drop)
    }

    /// Sends `bytes` to all processes, and returns the bytes of each process, by index. Every process must call this function with the same
    /// name; a name may be reused.
    ///
    /// # Errors
    ///
    /// - [`RuntimeError::ProcessLost`](crate::RuntimeError::ProcessLost) if a process is gone.
    /// - [`RuntimeError::ProcessTimeout`](crate::RuntimeError::ProcessTimeout) with the processes that did not call within
    ///   [`ProcessOptions::time_limit`].
    /// - [`RuntimeError::Processes`](crate::RuntimeError::Processes) if there are more bytes than [`ProcessOptions::max_message`], or the
    ///   name is longer than 1000 bytes.
    pub fn all_gather(&self, name: &str, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.job().all_gather(name, bytes)
    }

    /// Sets a value in the job's key-value store, which process 0 keeps.
    ///
    /// # Errors
    ///
    /// A process is lost; the key is longer than 1024 bytes, or the value is too long.
    pub fn put(&self, key: &str, value: &[u8]) -> Result<()> {
        self.job().put(key.as_bytes(), value)
    }

    /// Returns the value of a key in the job's key-value store. Waits at most `patience` until the key has a value.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::ProcessTimeout`](crate::RuntimeError::ProcessTimeout) if the key has no value by then; a process is lost.
    pub fn get(&self, key: &str, patience: Duration) -> Result<Vec<u8>> {
        let missing = || crate::RuntimeError::ProcessTimeout {
            what: format!("a value of {key:?}"),
            limit: patience,
            missing: Vec::new(),
        };
        self.job().get(key.as_bytes(), Some(patience))?.ok_or_else(missing)
    }

    /// Returns the current value of a key in the job's key-value store; `None` if it has none. Does not wait for a value.
    ///
    /// # Errors
    ///
    /// A process is lost.
    pub fn try_get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.job().get(key.as_bytes(), None)
    }

    pub(crate) fn job(&self) -> &Arc<Job> {
        &self.handle.0
    }
}
