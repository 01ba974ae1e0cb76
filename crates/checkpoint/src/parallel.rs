//! Runs jobs on several threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Returns the number of threads that the machine can run in parallel, but at least `least` and at most `most`.
pub(crate) fn threads(least: usize, most: usize) -> usize {
    std::thread::available_parallelism().map_or(least, usize::from).clamp(least, most)
}

/// Calls a function with each index below `count`, on several threads, and returns the results in the order of indices. After an error, no
/// further call is started.
pub(crate) fn each<T: Send, E: Send>(
    threads: usize,
    count: usize,
    job: &(dyn Fn(usize) -> Result<T, E> + Sync),
) -> Result<Vec<T>, E> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let outcomes = Mutex::new(Vec::with_capacity(count));
    let work = || {
        while !failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            let outcome = job(number);
            if outcome.is_err() {
                failed.store(true, Ordering::Relaxed);
            }
            outcomes.lock().unwrap_or_else(PoisonError::into_inner).push((number, outcome));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(count) {
            scope.spawn(work);
        }
        work();
    });
    let mut outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcomes.sort_unstable_by_key(|(number, _)| *number);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_come_in_order_and_an_error_ends_the_work() {
        let doubled: Result<Vec<usize>, ()> = each(3, 50, &|i| Ok(2 * i));
        assert_eq!(doubled, Ok((0..50).map(|i| 2 * i).collect()));
        let begun = AtomicUsize::new(0);
        let failed: Result<Vec<()>, usize> = each(1, 50, &|i| {
            begun.fetch_add(1, Ordering::Relaxed);
            if i < 7 { Ok(()) } else { Err(i) }
        });
        assert_eq!((failed, begun.into_inner()), (Err(7), 8));
        assert_eq!(each::<(), ()>(4, 0, &|_| Err(())), Ok(Vec::new()));
    }
}
