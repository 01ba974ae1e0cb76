//! Processes that save and restore one checkpoint together.

mod folder;
mod threads;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

pub use self::folder::Folder;
pub use self::threads::Threads;
use crate::error::{CheckpointError, Result};

/// One process's view of the processes of a job.
///
/// The n-th call with a name on one process matches the n-th call with that name on the others. Calls with different names may overlap: a
/// background save communicates while training continues.
pub trait Processes: Send + Sync {
    /// Returns the index of this process, from 0.
    fn index(&self) -> usize;

    /// Returns the number of processes.
    fn count(&self) -> usize;

    /// Sends `value` to all processes, and waits for their values. Returns one value per process, in the order of process indices.
    ///
    /// # Errors
    /// A process is gone or does not answer.
    fn gather(&self, name: &str, value: Vec<u8>) -> Result<Vec<Vec<u8>>>;

    /// Waits until all processes reach the barrier.
    ///
    /// # Errors
    /// A process is gone or does not answer.
    fn barrier(&self, name: &str) -> Result<()> {
        self.gather(name, Vec::new()).map(|_| ())
    }

    /// Returns whether `value` is true on any process.
    ///
    /// # Errors
    /// A process is gone or does not answer.
    fn any(&self, name: &str, value: bool) -> Result<bool> {
        Ok(self.gather(name, vec![u8::from(value)])?.iter().any(|value| value == &[1]))
    }
}

/// For each name, the number of calls so far.
#[derive(Debug, Default)]
struct Calls(Mutex<BTreeMap<String, u64>>);

impl Calls {
    /// Returns a key that is unique to the next call with this name: the name, followed by the number of the call.
    fn next(&self, name: &str) -> String {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = calls.entry(name.to_owned()).or_default();
        *count += 1;
        format!("{name} {count}")
    }
}

/// The only process of a job.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Processes for Alone {
    fn index(&self) -> usize {
        0
    }

    fn count(&self) -> usize {
        1
    }

    fn gather(&self, _name: &str, value: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        Ok(vec![value])
    }
}

/// Exchanges the outcome of an operation between all processes, and returns the values of all. If any process failed, all return an error:
/// the failed process its own error, the others an error that names the failed process.
pub(crate) fn agree(processes: &dyn Processes, name: &str, own: Result<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
    let (mark, mut bytes, own) = match own {
        Ok(bytes) => (0, bytes, None),
        Err(error) => (1, error.to_string().into_bytes(), Some(error)),
    };
    bytes.insert(0, mark);
    let all = processes.gather(name, bytes);
    if let Some(error) = own {
        return Err(error);
    }
    let mut values = Vec::new();
    for (process, mut value) in all?.into_iter().enumerate() {
        match value.first() {
            Some(0) => values.push(value.split_off(1)),
            Some(_) => {
                let text = String::from_utf8_lossy(&value[1..]);
                return Err(CheckpointError::Process(format!("process {process} failed: {text}")));
            }
            None => return Err(CheckpointError::Process(format!("process {process} sent an empty message"))),
        }
    }
    Ok(values)
}
