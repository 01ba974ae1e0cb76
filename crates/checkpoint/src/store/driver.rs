//! Threads that run the requests of object stores, which are asynchronous.

use std::sync::mpsc;

use tokio::runtime::{Builder, Runtime};

use crate::error::{CheckpointError, Result};

/// The number of threads for requests.
const THREADS: usize = 2;

/// Runs requests for blocking callers.
#[derive(Debug)]
pub(super) struct Driver {
    /// The runtime; `None` only during drop.
    runtime: Option<Runtime>,
}

/// A pending answer.
pub(super) struct Answer<T>(mpsc::Receiver<T>);

impl Driver {
    pub(super) fn start() -> Result<Driver> {
        let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
        let runtime = runtime.map_err(|e| CheckpointError::Settings(format!("cannot start threads: {e}")))?;
        Ok(Driver { runtime: Some(runtime) })
    }

    /// Starts a request.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        request: impl Future<Output = T> + Send + 'static,
    ) -> Answer<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        if let Some(runtime) = &self.runtime {
            runtime.spawn(async move {
                // The answer is dropped if nobody waits for it.
                let _ = sender.send(request.await);
            });
        }
        Answer(receiver)
    }

    /// Waits for an answer; `None` if the request panicked.
    pub(super) fn answer<T>(&self, answer: Answer<T>) -> Option<T> {
        answer.0.recv().ok()
    }

    /// Makes a request and waits for its answer; `None` if the request panicked.
    pub(super) fn wait_for<T: Send + 'static>(
        &self,
        request: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        self.answer(self.spawn(request))
    }
}

/// Dropping a runtime waits for its threads, which an asynchronous caller must not do.
impl Drop for Driver {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
