//! Background saves, one after the other.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::error::{CheckpointError, Result};

type Job = Box<dyn FnOnce() -> Result<()> + Send>;

/// A queue of saves, and a thread that writes them and ends when the queue is empty.
pub(super) struct Background {
    max_pending: usize,
    shared: Arc<(Mutex<Queue>, Condvar)>,
}

#[derive(Default)]
struct Queue {
    waiting: std::collections::VecDeque<(u64, Job)>,
    is_writing: bool,
    /// The first error that has not been returned yet.
    failed: Option<CheckpointError>,
}

impl Queue {
    fn pending(&self) -> usize {
        self.waiting.len() + usize::from(self.is_writing)
    }
}

impl Background {
    pub(super) fn new(max_pending: usize) -> Background {
        Background { max_pending, shared: Arc::default() }
    }

    /// Returns the error of a failed save, and clears it.
    pub(super) fn check(&self) -> Result<()> {
        let mut queue = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        queue.failed.take().map_or(Ok(()), Err)
    }

    /// Waits until fewer saves are pending than the maximum.
    pub(super) fn wait_for_room(&self) -> Result<()> {
        self.wait_for_fewer_than(self.max_pending)
    }

    /// Waits until no save is pending.
    pub(super) fn wait(&self) -> Result<()> {
        self.wait_for_fewer_than(1)
    }

    fn wait_for_fewer_than(&self, count: usize) -> Result<()> {
        let (queue, changed) = &*self.shared;
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        while queue.pending() >= count {
            queue = changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.failed.take().map_or(Ok(()), Err)
    }

    /// Appends a save to the queue.
    pub(super) fn begin(&self, step: u64, job: impl FnOnce() -> Result<()> + Send + 'static) {
        let mut queue = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        queue.waiting.push_back((step, Box::new(job)));
        if !queue.is_writing {
            queue.is_writing = true;
            let shared = Arc::clone(&self.shared);
            std::thread::spawn(move || work(&shared));
        }
    }
}

/// Dropping waits for the saves. Errors of these saves are lost: to get them, call [`Background::wait`] before dropping.
impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.wait();
    }
}

fn work((queue, changed): &(Mutex<Queue>, Condvar)) {
    let lock = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let Some((step, job)) = lock().waiting.pop_front() else { break };
        // A panic in a callback is an error of that save, and must not block waiters forever.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
        let outcome =
            outcome.unwrap_or_else(|_| Err(CheckpointError::Process("the save panicked".to_owned())));
        let mut queue = lock();
        if let Err(error) = outcome {
            queue.failed.get_or_insert(CheckpointError::Background { step, error: Box::new(error) });
        }
        // This check and the reset of `is_writing` happen under one lock, so that a concurrent `begin` either finds this thread or starts
        // another.
        if queue.waiting.is_empty() {
            queue.is_writing = false;
            changed.notify_all();
            return;
        }
        changed.notify_all();
    }
    lock().is_writing = false;
    changed.notify_all();
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn saves_are_bounded_and_errors_returned_once() {
        let background = Arc::new(Background::new(1));
        let (release, released) = mpsc::channel::<()>();
        background.begin(1, move || {
            let _ = released.recv();
            Err(CheckpointError::Settings("one".to_owned()))
        });
        let second = Arc::clone(&background);
        let waiter = std::thread::spawn(move || second.wait_for_room());
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(!waiter.is_finished(), "there is no room while the first is written");
        release.send(()).unwrap();
        let error = waiter.join().unwrap().unwrap_err();
        assert_eq!(error.to_string(), "the background save of step 1 failed: one");
        assert_eq!(background.check(), Ok(()));
        background.begin(2, || panic!("on purpose"));
        assert_eq!(background.wait().unwrap_err().code(), "SH1313");
        for step in 0..50 {
            background.begin(step, || Ok(()));
        }
        assert_eq!(background.wait(), Ok(()));
    }
}
