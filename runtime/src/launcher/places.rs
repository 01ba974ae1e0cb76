//! How many launches of a client are on their way, and who waits for one of them to be over.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Counts launches that are not over.
#[derive(Default)]
pub(super) struct Places {
    taken: Mutex<usize>,
    left: Condvar,
}

impl Places {
    /// Takes a place, as soon as fewer than `bound` are taken; `false` where that takes longer than `limit`.
    pub(super) fn enter(&self, bound: usize, limit: Option<Duration>) -> bool {
        let end = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken >= bound.max(1) {
            taken = match end {
                None => self.left.wait(taken).unwrap_or_else(PoisonError::into_inner),
                Some(end) => {
                    let Some(rest) = end.checked_duration_since(Instant::now()) else { return false };
                    self.left.wait_timeout(taken, rest).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        *taken += 1;
        true
    }

    /// Waits until no place is taken.
    pub(super) fn wait_until_free(&self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken > 0 {
            taken = self.left.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A launch is over.
    pub(super) fn leave(&self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken = taken.saturating_sub(1);
        self.left.notify_all();
    }
}
