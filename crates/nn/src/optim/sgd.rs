//! Stochastic gradient descent.

use shardc_graph::{DType, Tensor};

use super::{Optimizer, Schedule};
use crate::{Init, Param, Scope};

/// Gradient descent, with optional momentum.
#[derive(Clone, Debug)]
pub struct Sgd {
    /// The learning rate.
    pub rate: Schedule,
    /// Momentum decay.
    pub momentum: f64,
    /// Whether to use Nesterov momentum.
    pub nesterov: bool,
    /// Coefficient of L2 regularization: this fraction of a parameter is added to its gradient.
    pub weight_decay: f64,
}

impl Sgd {
    /// Creates gradient descent without momentum.
    #[must_use]
    pub fn new(rate: impl Into<Schedule>) -> Sgd {
        Sgd { rate: rate.into(), momentum: 0.0, nesterov: false, weight_decay: 0.0 }
    }

    /// Sets the momentum decay.
    #[must_use]
    pub fn with_momentum(self, momentum: f64) -> Sgd {
        Sgd { momentum, ..self }
    }

    /// Sets the coefficient of L2 regularization.
    #[must_use]
    pub fn with_weight_decay(self, weight_decay: f64) -> Sgd {
        Sgd { weight_decay, ..self }
    }
}

impl Optimizer for Sgd {
    fn updates<'g>(
        &self,
        p: &Scope<'g>,
        params: &[Param<'g>],
        gradients: &[Tensor<'g>],
        count: Tensor<'g>,
    ) -> Vec<Tensor<'g>> {
        let rate = self.rate.at(count);
        let update = |(param, &gradient): (&Param<'g>, &Tensor<'g>)| {
            let gradient = match self.weight_decay {
                0.0 => gradient.to(DType::F32),
                decay => gradient.to(DType::F32) + decay * param.tensor.to(DType::F32),
            };
            if self.momentum == 0.0 {
                return -rate * gradient;
            }
            let trace = p.variable_of(param, "trace", DType::F32, Init::zeros());
            let next = gradient + self.momentum * trace;
            p.set_of(param, "trace", next);
            -rate * if self.nesterov { gradient + self.momentum * next } else { next }
        };
        params.iter().zip(gradients).map(update).collect()
    }
}
