//! Threads that simulate processes.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Calls, Processes};
use crate::error::{CheckpointError, Result};

/// One thread of a group that simulates processes, for tests.
#[derive(Clone, Debug)]
pub struct Threads {
    index: usize,
    made: Arc<Calls>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    count: usize,
    patience: Duration,
    calls: Mutex<BTreeMap<String, Call>>,
    changed: Condvar,
}

/// A call of [`Processes::gather`] that is in progress: the values sent so far by thread index, and the number of threads that have
/// received all values.
#[derive(Debug, Default)]
struct Call {
    values: BTreeMap<usize, Vec<u8>>,
    taken: usize,
}

impl Threads {
    /// Creates the views of `count` threads of one group. Each thread waits at most `patience` for the values of the others.
    #[must_use]
    pub fn group(count: usize, patience: Duration) -> Vec<Threads> {
        let shared = Arc::new(Shared { count, patience, calls: Mutex::default(), changed: Condvar::new() });
        (0..count).map(|index| Threads { index, made: Arc::default(), shared: Arc::clone(&shared) }).collect()
    }
}

impl Processes for Threads {
    fn index(&self) -> usize {
        self.index
    }

    fn count(&self) -> usize {
        self.shared.count
    }

    fn gather(&self, name: &str, value: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        let name = &self.made.next(name);
        let Shared { count, patience, calls, changed } = &*self.shared;
        let end = Instant::now() + *patience;
        let mut all = calls.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(name.to_owned()).or_default().values.insert(self.index, value);
        changed.notify_all();
        loop {
            let call = all.entry(name.to_owned()).or_default();
            if call.values.len() == *count {
                let values = call.values.values().cloned().collect();
                call.taken += 1;
                if call.taken == *count {
                    all.remove(name);
                }
                return Ok(values);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let missing: Vec<String> = (0..*count)
                    .filter(|index| !call.values.contains_key(index))
                    .map(|index| index.to_string())
                    .collect();
                let text = format!("timed out waiting for process {} at {name:?}", missing.join(", "));
                return Err(CheckpointError::Process(text));
            }
            all = changed.wait_timeout(all, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
