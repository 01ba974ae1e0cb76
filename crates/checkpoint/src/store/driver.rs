//! Runs the asynchronous requests of object stores on separate threads.

use std::sync::mpsc;

use tokio::runtime::{Builder, Runtime};

use crate::error::{CheckpointError, Result};

/// The number of threads that run requests.
const THREADS: usize = 2;

/// An asynchronous runtime that runs requests for callers that block.
#[derive(Debug)]
pub(super) struct Driver {
    /// The runtime; `None` only during drop.
    runtime: Option<Runtime>,
}

/// The answer of a request that may still be running.
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
                // Sending fails if the caller no longer waits for the answer, which is then dropped.
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

/// Shuts down without waiting for the threads: dropping a tokio runtime would wait, which is not permitted in asynchronous code.
impl Drop for Driver {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
