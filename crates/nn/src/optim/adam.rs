//! Adam with decoupled weight decay, and Lion.

use shardc_graph::{DType, Tensor};

use super::{Optimizer, Schedule};
use crate::{Init, Param, Scope};

/// Adam ("Adam: A Method for Stochastic Optimization", Kingma and Ba, 2015) with decoupled weight decay ("Decoupled Weight Decay
/// Regularization", Loshchilov and Hutter, 2019).
#[derive(Clone, Debug)]
pub struct AdamW {
    /// The learning rate.
    pub rate: Schedule,
    /// First-moment decay (beta1).
    pub b1: f64,
    /// Second-moment decay (beta2).
    pub b2: f64,
    /// Added to the root of the second moment.
    pub eps: f64,
    /// Decoupled weight decay, scaled by the learning rate; zero for Adam.
    pub weight_decay: f64,
}

impl AdamW {
    /// Creates AdamW with this learning rate and optax's defaults.
    #[must_use]
    pub fn new(rate: impl Into<Schedule>) -> AdamW {
        AdamW { rate: rate.into(), b1: 0.9, b2: 0.999, eps: 1e-8, weight_decay: 1e-4 }
    }

    /// Creates Adam: AdamW without weight decay.
    #[must_use]
    pub fn adam(rate: impl Into<Schedule>) -> AdamW {
        AdamW { weight_decay: 0.0, ..AdamW::new(rate) }
    }

    /// Sets the weight decay.
    #[must_use]
    pub fn with_weight_decay(self, weight_decay: f64) -> AdamW {
        AdamW { weight_decay, ..self }
    }
}

impl Optimizer for AdamW {
    fn updates<'g>(
        &self,
        p: &Scope<'g>,
        params: &[Param<'g>],
        gradients: &[Tensor<'g>],
        count: Tensor<'g>,
    ) -> Vec<Tensor<'g>> {
        let (rate, done) = (self.rate.at(count), count + 1);
        let g = count.graph();
        // Bias correction: moments start at zero.
        let unbiased = |b: f64| 1.0 - g.scalar(b, DType::F32).pow(done);
        let (c1, c2) = (unbiased(self.b1), unbiased(self.b2));
        let update = |(param, &gradient): (&Param<'g>, &Tensor<'g>)| {
            let gradient = gradient.to(DType::F32);
            let mean = p.variable_of(param, "mu", DType::F32, Init::zeros());
            let square = p.variable_of(param, "nu", DType::F32, Init::zeros());
            let mean = (1.0 - self.b1) * gradient + self.b1 * mean;
            let square = (1.0 - self.b2) * gradient.square() + self.b2 * square;
            p.set_of(param, "mu", mean);
            p.set_of(param, "nu", square);
            let mut update = (mean / c1) / ((square / c2).sqrt() + self.eps);
            if self.weight_decay != 0.0 {
                update = update + self.weight_decay * param.tensor.to(DType::F32);
            }
            -rate * update
        };
        params.iter().zip(gradients).map(update).collect()
    }
}

/// Lion ("Symbolic Discovery of Optimization Algorithms", Chen et al., 2023).
#[derive(Clone, Debug)]
pub struct Lion {
    /// The learning rate.
    pub rate: Schedule,
    /// Weight of the momentum in the update (beta1).
    pub b1: f64,
    /// Momentum decay (beta2).
    pub b2: f64,
    /// Decoupled weight decay, scaled by the learning rate.
    pub weight_decay: f64,
}

impl Lion {
    /// Creates Lion with this learning rate and optax's defaults.
    #[must_use]
    pub fn new(rate: impl Into<Schedule>) -> Lion {
        Lion { rate: rate.into(), b1: 0.9, b2: 0.99, weight_decay: 1e-3 }
    }
}

impl Optimizer for Lion {
    fn updates<'g>(
        &self,
        p: &Scope<'g>,
        params: &[Param<'g>],
        gradients: &[Tensor<'g>],
        count: Tensor<'g>,
    ) -> Vec<Tensor<'g>> {
        let rate = self.rate.at(count);
        let update = |(param, &gradient): (&Param<'g>, &Tensor<'g>)| {
            let gradient = gradient.to(DType::F32);
            let mean = p.variable_of(param, "mu", DType::F32, Init::zeros());
            let sign = ((1.0 - self.b1) * gradient + self.b1 * mean).sign();
            p.set_of(param, "mu", (1.0 - self.b2) * gradient + self.b2 * mean);
            -rate * (sign + self.weight_decay * param.tensor.to(DType::F32))
        };
        params.iter().zip(gradients).map(update).collect()
    }
}
