//! Learning rate schedules.

use std::f64::consts::PI;

use shardc_graph::{DType, Tensor};

/// A learning rate that depends on the number of completed steps.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Schedule {
    /// A constant learning rate.
    Constant(f64),
    /// Linear interpolation over `steps` steps, then constant.
    Linear {
        /// The initial value.
        from: f64,
        /// The final value.
        to: f64,
        /// The number of steps.
        steps: f64,
    },
    /// Linear warmup, then cosine decay.
    WarmupCosine {
        /// The initial value.
        from: f64,
        /// The value after the first `warmup` steps.
        peak: f64,
        /// The number of warmup steps.
        warmup: f64,
        /// The total number of steps, including warmup.
        steps: f64,
        /// The final value.
        to: f64,
    },
    /// Piecewise constant: the rate is multiplied by a factor at each step of `factors`.
    Piecewise {
        /// The initial value.
        from: f64,
        /// Pairs of a step, and the factor from that step on.
        factors: Vec<(f64, f64)>,
    },
    /// Linear warmup of another schedule: the rate of `then` is multiplied by the completed fraction of the warmup steps.
    Warmup {
        /// The number of warmup steps.
        steps: f64,
        /// The other schedule, which also starts at step zero.
        then: Box<Schedule>,
    },
}

impl From<f64> for Schedule {
    fn from(rate: f64) -> Self {
        Schedule::Constant(rate)
    }
}

impl Schedule {
    /// Adds a linear warmup from zero over this many steps.
    #[must_use]
    pub fn with_warmup(self, steps: f64) -> Schedule {
        Schedule::Warmup { steps, then: Box::new(self) }
    }

    /// Returns the learning rate after `count` steps, a scalar `f32`.
    #[must_use]
    #[track_caller]
    pub fn at<'g>(&self, count: Tensor<'g>) -> Tensor<'g> {
        let g = count.graph();
        let line = |from: f64, to: f64, steps: f64| {
            let left = 1.0 - count.clamp(0.0, steps) / steps.max(1.0);
            (from - to) * left + to
        };
        match *self {
            Schedule::Constant(rate) => g.scalar(rate, DType::F32),
            Schedule::Linear { from, to, steps } => line(from, to, steps),
            Schedule::WarmupCosine { from, peak, warmup, steps, to } => {
                let decay = (steps - warmup).max(1.0);
                let done = (count - warmup).clamp(0.0, decay);
                let wave = 0.5 * (1.0 + (done * (PI / decay)).cos());
                let alpha = if peak == 0.0 { 0.0 } else { to / peak };
                let down = peak * ((1.0 - alpha) * wave + alpha);
                count.lt(warmup).select(line(from, peak, warmup), down)
            }
            Schedule::Warmup { steps, ref then } => {
                let steps = steps.max(1.0);
                then.at(count) * (count.clamp(0.0, steps) / steps)
            }
            Schedule::Piecewise { from, ref factors } => {
                let rate = g.scalar(from, DType::F32);
                factors.iter().fold(rate, |rate, &(at, by)| count.ge(at).select(rate * by, rate))
            }
        }
    }
}
