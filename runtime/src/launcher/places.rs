//! Limits the number of launches in flight on a client.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A counter of the launches in flight on a client.
#[derive(Default)]
pub(super) struct Places {
    taken: Mutex<usize>,
    left: Condvar,
}

impl Places {
    /// Waits until fewer than `bound` launches are in flight, and adds one; returns `false` if the wait takes longer than `limit`.
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

    /// Waits until no launch is in flight.
    pub(super) fn wait_until_free(&self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken > 0 {
            taken = self.left.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Removes a finished launch from the count.
    pub(super) fn leave(&self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken = taken.saturating_sub(1);
        self.left.notify_all();
    }
}
