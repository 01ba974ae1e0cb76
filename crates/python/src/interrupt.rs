//! Work without the interpreter's lock, which Ctrl-C ends.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use shardc::CancelToken;

/// How often the main thread looks for signals while a compilation runs on another one.
const POLL: Duration = Duration::from_millis(50);

/// The stack of the thread that compiles: programs may be nested deeply.
const STACK: usize = 64 << 20;

/// Runs `work` on another thread. Python's signal handlers run meanwhile; if one raises an exception, as that of Ctrl-C does, `token` is cancelled, and
/// the exception is raised when `work` has ended.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    token: &CancelToken,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    py.detach(|| {
        std::thread::scope(|scope| {
            let (done, ended) = channel();
            let worker = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || {
                let result = work();
                // The receiver may have stopped waiting after an exception.
                let _ = done.send(());
                result
            });
            let worker = worker.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
            let mut signal = Ok(());
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(POLL) {
                signal = Python::attach(|py| py.check_signals());
                if signal.is_err() {
                    token.cancel();
                    break;
                }
            }
            let result = worker.join().map_err(|_| PyRuntimeError::new_err("a thread of shardc panicked"));
            signal.and(result)
        })
    })
}
