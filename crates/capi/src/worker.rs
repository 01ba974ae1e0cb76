//! Work on a thread with a large stack.

use std::thread;

use crate::failure::Failure;

/// The stack of the thread: programs may be nested deeply.
const STACK: usize = 64 << 20;

/// Runs `work` on another thread and waits for it. A panic becomes an internal error.
pub(crate) fn run<T: Send>(work: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
    thread::scope(|scope| {
        let worker = thread::Builder::new().name("shardc".to_owned()).stack_size(STACK);
        let worker = worker.spawn_scoped(scope, work);
        let worker =
            worker.map_err(|error| Failure::internal(&format!("no thread can be started: {error}")))?;
        worker
            .join()
            .unwrap_or_else(|_| Err(Failure::internal("a thread of shardc panicked; please report this bug")))
    })
}

#[cfg(test)]
mod tests {
    use shardc::Cause;

    use super::*;

    #[test]
    fn panics_are_internal_errors() {
        let failure = run::<()>(|| panic!("a test")).unwrap_err();
        assert_eq!(failure.cause, Cause::Internal);
        assert!(failure.message.bytes().starts_with(b"a thread of shardc panicked"));
    }
}
