//! Threads that do the work of object stores, which are asynchronous.

use std::sync::mpsc;

use tokio::runtime::{Builder, Runtime};

use crate::error::{CheckpointError, Result};

/// Threads for requests.
const THREADS: usize = 2;

/// Runs requests for callers that wait.
#[derive(Debug)]
pub(super) struct Driver {
    /// There until it is dropped.
    runtime: Option<Runtime>,
}

/// An answer that is on its way.
pub(super) struct Answer<T>(mpsc::Receiver<T>);

impl Driver {
    pub(super) fn start() -> Result<Driver> {
        let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
        let runtime = runtime.map_err(|e| CheckpointError::Settings(format!("starting threads: {e}")))?;
        Ok(Driver { runtime: Some(runtime) })
    }

    /// Begins a request.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        request: impl Future<Output = T> + Send + 'static,
    ) -> Answer<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        if let Some(runtime) = &self.runtime {
            runtime.spawn(async move {
                // Where nobody waits any more, the answer goes.
                let _ = sender.send(request.await);
            });
        }
        Answer(receiver)
    }

    /// Waits for an answer; `None` where the request panicked.
    pub(super) fn answer<T>(&self, answer: Answer<T>) -> Option<T> {
        answer.0.recv().ok()
    }

    /// Makes a request and waits for its answer; `None` where the request panicked.
    pub(super) fn wait_for<T: Send + 'static>(
        &self,
        request: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        self.answer(self.spawn(request))
    }
}

/// A runtime that is dropped waits for its threads, which an asynchronous caller must not do.
impl Drop for Driver {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
