//! What has arrived from other processes and waits to be taken, and which of them are gone.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::error::{Result, RuntimeError};

/// Values by sender and key, in the order of their arrival.
type Boxes = HashMap<(usize, Vec<u8>), VecDeque<Arc<Vec<u8>>>>;

#[derive(Default)]
struct State {
    boxes: Boxes,
    /// Processes that said goodbye.
    ended: BTreeMap<usize, String>,
    /// The first process that was lost: after that nothing of the job goes on.
    lost: Option<(usize, String)>,
}

/// The mail of a process.
#[derive(Default)]
pub(super) struct Mail {
    state: Mutex<State>,
    changed: Condvar,
}

/// Takes a lock: what a thread that panicked left behind is still a state that can be read.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mail {
    /// Puts a value into the box of its sender and key.
    pub(super) fn deliver(&self, from: usize, key: Vec<u8>, value: Arc<Vec<u8>>) {
        lock(&self.state).boxes.entry((from, key)).or_default().push_back(value);
        self.changed.notify_all();
    }

    /// Notes that a process ended as it should.
    pub(super) fn note_end(&self, process: usize, who: String) {
        lock(&self.state).ended.insert(process, who);
        self.changed.notify_all();
    }

    /// Notes that a process was lost; the first one counts. Returns whether this is the first.
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

    /// Whether a process said goodbye.
    pub(super) fn has_ended(&self, process: usize) -> bool {
        lock(&self.state).ended.contains_key(&process)
    }

    /// An error, if a process was lost.
    pub(super) fn check(&self) -> Result<()> {
        lock(&self.state).check()
    }

    /// An error, if a process was lost or one of these has ended.
    pub(super) fn check_all(&self, mut needed: impl Iterator<Item = usize>) -> Result<()> {
        let state = lock(&self.state);
        state.check()?;
        needed.try_for_each(|process| state.check_process(process))
    }

    /// Takes the next value of a sender and key, and waits for it until `deadline`: `None` then.
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
                let reason = format!("{who} has ended, and this one still waits for it");
                Err(RuntimeError::ProcessLost { process, reason })
            }
            None => Ok(()),
        }
    }
}
