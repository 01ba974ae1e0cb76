//! Retries of requests.

use std::time::{Duration, SystemTime};

use object_store::Error;

use super::PATIENCE;

/// The number of attempts of a request to an object store, and the delays between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Maximum number of attempts; at least one.
    pub attempts: u32,
    /// The delay after the first failure. It doubles after each further failure, up to a minute.
    pub first_wait: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Retry { attempts: 6, first_wait: Duration::from_millis(200) }
    }
}

impl Retry {
    /// Returns the delay before each retry; no delays, and thus no retries, if `again` is false.
    ///
    /// Each delay is shortened by up to a quarter, depending on the clock, so that processes that failed at the same time do not retry at
    /// the same time.
    pub(super) fn waits(self, again: bool) -> impl Iterator<Item = Duration> {
        let count = if again { self.attempts.saturating_sub(1) } else { 0 };
        (0..count).map(move |i| {
            let wait = self.first_wait.saturating_mul(1u32.checked_shl(i).unwrap_or(u32::MAX)).min(PATIENCE);
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            wait - wait.mul_f64(f64::from(now.subsec_micros() % 1000) / 4000.0)
        })
    }
}

/// Returns whether a retry of the request may succeed.
pub(super) fn may_pass(error: &Error) -> bool {
    matches!(error, Error::Generic { .. } | Error::JoinError { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute() {
        let retry = Retry { attempts: 12, first_wait: Duration::from_millis(100) };
        let waits: Vec<Duration> = retry.waits(true).collect();
        assert_eq!(waits.len(), 11);
        for (i, wait) in waits.iter().enumerate() {
            let whole = Duration::from_millis(100 << i).min(PATIENCE);
            assert!(*wait <= whole && *wait >= whole.mul_f64(0.74), "{i}: {wait:?} of {whole:?}");
        }
        assert_eq!(retry.waits(false).count(), 0);
    }
}
