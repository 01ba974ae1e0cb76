//! The received values that no caller has taken yet, and the processes that ended or were lost.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::error::{Result, RuntimeError};

/// The received values, by index of the sender and by key, in the order of arrival.
type Boxes = HashMap<(usize, Vec<u8>), VecDeque<Arc<Vec<u8>>>>;

#[derive(Default)]
struct State {
    boxes: Boxes,
    /// The processes that left the job normally: their descriptions (for messages), keyed by process index.
    ended: BTreeMap<usize, String>,
    /// The index of the first process that was lost, and the reason; the job cannot continue after a loss.
    lost: Option<(usize, String)>,
}

/// The received messages of a process.
#[derive(Default)]
pub(super) struct Mail {
    state: Mutex<State>,
    changed: Condvar,
}

/// Locks a mutex, even if a thread panicked while it held the lock: the state is still consistent.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mail {
    /// Stores a value under its sender and key.
    pub(super) fn deliver(&self, from: usize, key: Vec<u8>, value: Arc<Vec<u8>>) {
        lock(&self.state).boxes.entry((from, key)).or_default().push_back(value);
        self.changed.notify_all();
    }

    /// Records that a process ended normally.
    pub(super) fn note_end(&self, process: usize, who: String) {
        lock(&self.state).ended.insert(process, who);
        self.changed.notify_all();
    }

    /// Records that a process was lost, unless another process was lost before. Returns whether this is the first process that was lost.
    pub(super) fn note_loss(&self, process: usize, reason: &str) -> bool {
        let mut state = lock(&self.state);
        let is_first = state.lost.is_none();
        if is_first {
            state.lost = Some((process, reason.to_owned()));
        }
        drop(state);
        self.changed.notify_all();
        is_first
    }

    /// Returns whether a process left the job normally.
    pub(super) fn has_ended(&self, process: usize) -> bool {
        lock(&self.state).ended.contains_key(&process)
    }

    /// Returns an error if a process was lost.
    pub(super) fn check(&self) -> Result<()> {
        lock(&self.state).check()
    }

    /// Returns an error if a process was lost, or if one of the `needed` processes has ended.
    pub(super) fn check_all(&self, mut needed: impl Iterator<Item = usize>) -> Result<()> {
        let state = lock(&self.state);
        state.check()?;
        needed.try_for_each(|process| state.check_process(process))
    }

    /// Takes the next value with this key from process `from`, and waits for it until `deadline`; `None` if it has not arrived by then.
    pub(super) fn take(
        &self,
        from: usize,
        key: &[u8],
        deadline: Option<Instant>,
    ) -> Result<Option<Arc<Vec<u8>>>> {
        let place = (from, key.to_vec());
        let mut state = lock(&self.state);
        loop {
            if let Some(queue) = state.boxes.get_mut(&place) {
                let value = queue.pop_front();
                if queue.is_empty() {
                    state.boxes.remove(&place);
                }
                if value.is_some() {
                    return Ok(value);
                }
            }
            state.check()?;
            state.check_process(from)?;
            state = match deadline {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(None);
                    }
                    self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

impl State {
    fn check(&self) -> Result<()> {
        match &self.lost {
            Some((process, reason)) => {
                Err(RuntimeError::ProcessLost { process: *process, reason: reason.clone() })
            }
            None => Ok(()),
        }
    }

    fn check_process(&self, process: usize) -> Result<()> {
        match self.ended.get(&process) {
            Some(who) => {
                let reason = format!("{who} has ended, but this process waits for it");
                Err(RuntimeError::ProcessLost { process, reason })
            }
            None => Ok(()),
        }
    }
}
