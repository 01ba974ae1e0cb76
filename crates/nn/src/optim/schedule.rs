//! Step sizes over time.

use std::f64::consts::PI;

use shardc_graph::{DType, Tensor};

/// A step size that depends on how many steps were done.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Schedule {
    /// Always the same.
    Constant(f64),
    /// From one to another in so many steps, in a straight line; the latter from then on.
    Linear {
        /// At the start.
        from: f64,
        /// At the end.
        to: f64,
        /// How many steps it takes.
        steps: f64,
    },
    /// Up in a straight line, then down along half a cosine wave.
    WarmupCosine {
        /// At the start.
        from: f64,
        /// After the first `warmup` steps.
        peak: f64,
        /// How many steps it takes to get there.
        warmup: f64,
        /// How many steps it takes to the end, those included.
        steps: f64,
        /// At the end, and from then on.
        to: f64,
    },
    /// Multiplied by a number at each of these steps.
    Piecewise {
        /// At the start.
        from: f64,
        /// From which step on it is multiplied by what.
        factors: Vec<(f64, f64)>,
    },
    /// Another schedule, which over the first steps is multiplied by the part of them that was done.
    Warmup {
        /// How many steps it takes to get to the schedule.
        steps: f64,
        /// The schedule, from the first step on.
        then: Box<Schedule>,
    },
}

impl From<f64> for Schedule {
    fn from(rate: f64) -> Self {
        Schedule::Constant(rate)
    }
}

impl Schedule {
    /// The same, reached from zero in a straight line in so many steps.
    #[must_use]
    pub fn with_warmup(self, steps: f64) -> Schedule {
        Schedule::Warmup { steps, then: Box::new(self) }
    }

    /// The step size after `count` steps, a scalar `f32`.
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
