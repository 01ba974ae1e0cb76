//! Step times.

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

/// The number of steps whose times are kept: enough for percentiles, in little memory.
const KEPT: usize = 4096;

/// The times of one step. The first four are consecutive periods of host time, in which the devices may compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepTimes {
    /// The time spent waiting for the batch, if a loader provides it.
    pub input: Duration,
    /// The time spent slicing host arrays and passing the slices to the plugin.
    pub transfer: Duration,
    /// The time spent waiting because the maximum number of steps was in flight.
    pub backpressure: Duration,
    /// The time after `backpressure` until the plugin had started all devices.
    pub enqueue: Duration,
    /// The time from when the devices were free for the step until the last device was done.
    pub device: Duration,
}

/// Collects the times of steps.
#[derive(Clone, Debug, Default)]
pub struct Timings {
    last: Option<Instant>,
    /// The times of steps, and the interval from the previous step to each.
    steps: VecDeque<(StepTimes, Duration)>,
}

/// Statistics of one duration over several steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// The mean.
    pub mean: Duration,
    /// The median.
    pub p50: Duration,
    /// The 95th percentile.
    pub p95: Duration,
}

/// A summary of the latest step times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimesReport {
    /// The number of steps.
    pub steps: usize,
    /// The interval between steps.
    pub step: Spread,
    /// [`StepTimes::device`].
    pub device: Spread,
    /// [`StepTimes::input`].
    pub input: Spread,
    /// [`StepTimes::transfer`].
    pub transfer: Spread,
    /// [`StepTimes::backpressure`].
    pub backpressure: Spread,
    /// [`StepTimes::enqueue`].
    pub enqueue: Spread,
    /// The fraction of time in which the host waited for batches, from 0 to 1.
    pub input_share: f64,
}

impl Timings {
    /// Records one more step. The first step is a warm-up: it starts the clock, and its times are not recorded.
    pub fn add(&mut self, times: StepTimes) {
        self.add_at(times, Instant::now());
    }

    fn add_at(&mut self, times: StepTimes, now: Instant) {
        if let Some(last) = self.last.replace(now) {
            if self.steps.len() == KEPT {
                self.steps.pop_front();
            }
            self.steps.push_back((times, now.saturating_duration_since(last)));
        }
    }

    /// Returns the summary, or `None` if no step was recorded.
    #[must_use]
    pub fn report(&self) -> Option<TimesReport> {
        if self.steps.is_empty() {
            return None;
        }
        let of = |part: fn(&StepTimes) -> Duration| spread(self.steps.iter().map(|(times, _)| part(times)));
        let all: Duration = self.steps.iter().map(|(_, step)| *step).sum();
        let input: Duration = self.steps.iter().map(|(times, _)| times.input).sum();
        Some(TimesReport {
            steps: self.steps.len(),
            step: spread(self.steps.iter().map(|(_, step)| *step)),
            device: of(|times| times.device),
            input: of(|times| times.input),
            transfer: of(|times| times.transfer),
            backpressure: of(|times| times.backpressure),
            enqueue: of(|times| times.enqueue),
            input_share: (input.as_secs_f64() / all.as_secs_f64().max(1e-9)).min(1.0),
        })
    }
}

fn spread(durations: impl Iterator<Item = Duration>) -> Spread {
    let mut sorted: Vec<Duration> = durations.collect();
    sorted.sort_unstable();
    let count = sorted.len();
    let at =
        |percent: usize| sorted.get((count * percent).div_ceil(100).max(1) - 1).copied().unwrap_or_default();
    let mean = sorted.iter().sum::<Duration>() / u32::try_from(count).unwrap_or(u32::MAX).max(1);
    Spread { mean, p50: at(50), p95: at(95) }
}

/// Formats the durations as `12.1 ms (p50 11.9, p95 14.0)`.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |duration: Duration| 1e3 * duration.as_secs_f64();
        write!(f, "{:.1} ms (p50 {:.1}, p95 {:.1})", ms(self.mean), ms(self.p50), ms(self.p95))
    }
}

/// Formats the report with one line for each component.
impl fmt::Display for TimesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} steps, each {}", self.steps, self.step)?;
        writeln!(f, "  devices       {}", self.device)?;
        writeln!(f, "  input         {}, {:.1} % of the time", self.input, 100.0 * self.input_share)?;
        writeln!(f, "  transfers     {}", self.transfer)?;
        writeln!(f, "  backpressure  {}", self.backpressure)?;
        write!(f, "  enqueueing    {}", self.enqueue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_leaves_out_the_first_step() {
        let mut timings = Timings::default();
        assert_eq!(timings.report(), None);
        let ms = Duration::from_millis;
        let start = Instant::now();
        for step in 0..=100u64 {
            let times = StepTimes { input: ms(2), device: ms(step), ..StepTimes::default() };
            timings.add_at(times, start + ms(10 * step));
        }
        let report = timings.report().unwrap();
        assert_eq!((report.steps, report.step.mean, report.step.p95), (100, ms(10), ms(10)));
        assert_eq!((report.device.p50, report.device.p95), (ms(50), ms(95)));
        assert!((report.input_share - 0.2).abs() < 1e-9);
        let text = report.to_string();
        assert!(
            text.starts_with("100 steps, each 10.0 ms (p50 10.0, p95 10.0)\n  devices       50.5 ms"),
            "{text}"
        );
        assert!(text.contains("2.0 ms (p50 2.0, p95 2.0), 20.0 % of the time"), "{text}");
    }
}
