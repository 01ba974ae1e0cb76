//! Jobs of several processes: how they find each other, notice that one is gone, and exchange bytes.
//!
//! Each process of a job calls [`Processes::connect`] with the same options but for its index. All are then connected with all
//! others, each connection after a proof that both ends know the job's secret. What is sent is not encrypted: the network
//! between the processes has to be trusted.
//!
//! Whatever waits for another process ends with an error within seconds after that process is gone: its connection closes, it
//! is silent for longer than [`ProcessOptions::patience`], or it says that its run failed.
//!
//! | file | what it holds |
//! |---|---|
//! | `options` | what a process must know, and how variables of an environment say it |
//! | `connect`, `handshake` | finding each other, and the proof of the secret |
//! | `frame`, `peer` | messages, and the threads that read and write them |
//! | `job`, `mail`, `store` | what the threads share: values that wait to be taken, who is gone, keys and values |
//! | `exchange`, `spec`, `compute`, `tellers` | collectives between processes, for plugins that have none |
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

/// What collectives between processes are calls of, in a program for a plugin that has none.
pub const COLLECTIVE_TARGET: &str = "shardc.collective";
/// What gives the number of a process's first device, as a scalar of type `ui32`, in such a program.
pub const FIRST_DEVICE_TARGET: &str = "shardc.first_device";

/// The processes of a job, seen from one of them. Cheap to clone; the last clone that is dropped says goodbye to the others.
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
    /// Connects with the other processes of the job, and waits for those that are not there yet.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Processes`](crate::RuntimeError::Processes): options that make no sense, an address that nobody listens
    /// on, another secret, processes that do not come within [`ProcessOptions::connect_timeout`].
    pub fn connect(options: ProcessOptions) -> Result<Processes> {
        Ok(Processes { handle: Arc::new(Handle(Job::connect(options)?)) })
    }

    /// Which of the processes this is, from 0.
    #[must_use]
    pub fn index(&self) -> usize {
        self.job().index()
    }

    /// How many processes there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.job().count()
    }

    /// Whether all processes are still there, or ended as they should.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::ProcessLost`](crate::RuntimeError::ProcessLost).
    pub fn check(&self) -> Result<()> {
        self.job().check()
    }

    /// Waits until every process has come to the barrier of this name.
    ///
    /// # Errors
    ///
    /// Those of [`Processes::all_gather`].
    pub fn barrier(&self, name: &str) -> Result<()> {
        self.all_gather(name, &[]).map(drop)
    }

    /// Gives `bytes` to all processes and returns what each of them gave, by index. Every process has to call this with the
    /// same name; a name may be used again.
    ///
    /// # Errors
    ///
    /// - [`RuntimeError::ProcessLost`](crate::RuntimeError::ProcessLost) where one of them is gone.
    /// - [`RuntimeError::ProcessTimeout`](crate::RuntimeError::ProcessTimeout) with those that did not come within
    ///   [`ProcessOptions::time_limit`].
    /// - [`RuntimeError::Processes`](crate::RuntimeError::Processes) for more bytes than [`ProcessOptions::max_message`], or a
    ///   name of more than 1000.
    pub fn all_gather(&self, name: &str, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.job().all_gather(name, bytes)
    }

    /// Sets a value of the job's store, which process 0 keeps.
    ///
    /// # Errors
    ///
    /// A process is lost; a key of more than 1024 bytes or too long a value.
    pub fn put(&self, key: &str, value: &[u8]) -> Result<()> {
        self.job().put(key.as_bytes(), value)
    }

    /// The value of a key in the job's store, which is waited for as long as `patience` says.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::ProcessTimeout`](crate::RuntimeError::ProcessTimeout) where nobody sets it in time; a process is lost.
    pub fn get(&self, key: &str, patience: Duration) -> Result<Vec<u8>> {
        let missing = || crate::RuntimeError::ProcessTimeout {
            what: format!("a value of {key:?}"),
            limit: patience,
            missing: Vec::new(),
        };
        self.job().get(key.as_bytes(), Some(patience))?.ok_or_else(missing)
    }

    /// The value of a key in the job's store, if there is one now.
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
