//! Training throughput.

use std::time::{Duration, Instant};

/// Measures training throughput from the numbers of steps and tokens and the elapsed time.
#[derive(Clone, Debug)]
pub struct Meter {
    started: Instant,
    steps: u64,
    tokens: u64,
    /// Floating-point operations of one step, on all devices.
    flops: f64,
    /// Peak floating-point operations per second of all devices.
    peak: Option<f64>,
}

/// Average throughput of training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// Steps per second.
    pub steps: f64,
    /// Tokens, or other counted items, per second.
    pub tokens: f64,
    /// Model FLOPs utilization: the fraction of the devices' peak that the model's arithmetic uses (Chowdhery et al., "PaLM", 2022,
    /// appendix B); `None` if the peak is unknown.
    pub mfu: Option<f64>,
}

impl Meter {
    /// Starts the measurement. Call `start` after the warm-up steps, so that they are not counted.
    #[must_use]
    pub fn start() -> Meter {
        Meter { started: Instant::now(), steps: 0, tokens: 0, flops: 0.0, peak: None }
    }

    /// Sets the floating-point operations of one step and the peak per second: `flops` of the model, without rematerialization, and
    /// `peak` of all devices together.
    #[must_use]
    pub fn with_flops(mut self, flops: f64, peak: Option<f64>) -> Meter {
        (self.flops, self.peak) = (flops, peak);
        self
    }

    /// Counts one more step with `tokens` tokens or other items.
    pub fn step(&mut self, tokens: u64) {
        self.steps += 1;
        self.tokens += tokens;
    }

    /// The number of counted steps.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The average throughput since the start of the measurement.
    #[must_use]
    pub fn speed(&self) -> Speed {
        self.speed_after(self.started.elapsed())
    }

    fn speed_after(&self, elapsed: Duration) -> Speed {
        let seconds = elapsed.as_secs_f64().max(1e-9);
        let steps = self.steps as f64 / seconds;
        let mfu = self.peak.filter(|peak| *peak > 0.0).map(|peak| steps * self.flops / peak);
        Speed { steps, tokens: self.tokens as f64 / seconds, mfu }
    }
}

/// Formats the throughput as `12.5 steps/s, 51.2k tokens/s, 38.0 % MFU`.
impl std::fmt::Display for Speed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (tokens, unit) = match self.tokens {
            n if n >= 1e6 => (n / 1e6, "M"),
            n if n >= 1e3 => (n / 1e3, "k"),
            n => (n, ""),
        };
        write!(f, "{:.1} steps/s, {tokens:.1}{unit} tokens/s", self.steps)?;
        match self.mfu {
            Some(mfu) => write!(f, ", {:.1} % MFU", 100.0 * mfu),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_averages() {
        let mut meter = Meter::start().with_flops(2e12, Some(1e13));
        (0..10).for_each(|_| meter.step(4096));
        let speed = meter.speed_after(Duration::from_secs(4));
        assert_eq!(speed.to_string(), "2.5 steps/s, 10.2k tokens/s, 50.0 % MFU");
    }
}
