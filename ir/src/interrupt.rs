//! Interruption of a compilation, by a token that another thread cancels or by a deadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::Interruption;

/// A request to end a compilation. Clones share the request, so that one thread can cancel the compilation of another.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        CancelToken::default()
    }

    /// Ends every compilation that has this token. A cancelled token stays cancelled.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`CancelToken::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A cancel token and a time limit. Passes check them between operations.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    token: Option<CancelToken>,
    deadline: Option<(Instant, Duration)>,
}

impl Interrupt {
    /// Sets the token that ends the compilation when it is cancelled.
    #[must_use]
    pub fn with_token(mut self, token: CancelToken) -> Self {
        self.token = Some(token);
        self
    }

    /// Sets the time limit of the compilation, counted from now.
    #[must_use]
    pub fn with_time_limit(mut self, limit: Duration) -> Self {
        // A limit beyond the range of the clock is ignored.
        self.deadline = Instant::now().checked_add(limit).map(|deadline| (deadline, limit));
        self
    }

    /// Checks whether the compilation must end.
    ///
    /// # Errors
    /// Returns the reason for ending the compilation.
    pub fn check(&self) -> Result<(), Interruption> {
        if self.token.as_ref().is_some_and(CancelToken::is_cancelled) {
            return Err(Interruption::Cancelled);
        }
        match self.deadline {
            Some((deadline, limit)) if Instant::now() >= deadline => Err(Interruption::TimeLimit(limit)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_shared() {
        let token = CancelToken::new();
        let interrupt = Interrupt::default().with_token(token.clone());
        assert_eq!(interrupt.check(), Ok(()));
        token.cancel();
        assert_eq!(interrupt.check(), Err(Interruption::Cancelled));
    }

    #[test]
    fn a_time_limit_ends() {
        let over = Interrupt::default().with_time_limit(Duration::ZERO);
        assert_eq!(over.check(), Err(Interruption::TimeLimit(Duration::ZERO)));
        assert_eq!(Interrupt::default().with_time_limit(Duration::MAX).check(), Ok(()));
    }
}
