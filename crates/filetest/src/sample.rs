//! The cases that a test runs: a sample in every test run, all of them in `cargo xtask sweep --of tests`.

use std::env;

/// The environment variable that requests all cases.
pub const THOROUGH: &str = "SHARDC_THOROUGH";

/// Whether tests run all their cases.
#[must_use]
pub fn is_thorough() -> bool {
    env::var_os(THOROUGH).is_some()
}

/// Every `step`-th case beginning with case `first % step`, or all cases in a thorough run. A test with several programs passes a different
/// `first` for each program, so that together the programs cover all cases.
pub fn sample<I: Iterator>(cases: I, first: usize, step: usize) -> impl Iterator<Item = I::Item> {
    let (first, step) = if is_thorough() { (0, 1) } else { (first % step.max(1), step.max(1)) };
    cases.skip(first).step_by(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_with_different_starts_have_all_cases() {
        let all: Vec<u32> = (0..10).collect();
        let parts: Vec<Vec<u32>> =
            (0..3).map(|first| sample(all.iter().copied(), first, 3).collect()).collect();
        if is_thorough() {
            assert!(parts.iter().all(|part| *part == all));
            return;
        }
        assert_eq!(parts[1], [1, 4, 7]);
        let mut together = parts.concat();
        together.sort_unstable();
        assert_eq!(together, all);
    }
}
