//! Batch normalization.

use shardc_graph::Tensor;

use super::norm::{Affine, moments};
use crate::{Init, Kind, Scope};

/// Normalizes to mean zero and variance one over all but the last dimension, then scales and shifts. Training uses mean and variance of the
/// global batch, over all devices, and updates running statistics in the variables `mean` and `var`; inference uses the running statistics.
///
/// ```
/// # use shardc_graph::{DType::F32, Graph, Mesh};
/// # use shardc_nn::{Scope, layers::*};
/// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
/// # let p = Scope::new(&g);
/// let x = g.parameter("x", [8, 16], F32);
/// assert_eq!(BatchNorm::new().apply(&p.at("norm"), x, true).shape(), [8, 16]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BatchNorm {
    /// Decay of the running mean and variance.
    pub momentum: f64,
    /// Added to the variance.
    pub epsilon: f64,
    /// Whether there is a bias.
    pub use_bias: bool,
    /// Whether there is a scale.
    pub use_scale: bool,
    /// Initial values of the scale.
    pub scale_init: Init,
}

impl Default for BatchNorm {
    fn default() -> Self {
        BatchNorm { momentum: 0.99, epsilon: 1e-5, use_bias: true, use_scale: true, scale_init: Init::ones() }
    }
}

impl BatchNorm {
    /// Creates a batch normalization with scale and bias, a momentum of 0.99 and an epsilon of 1e-5.
    #[must_use]
    pub fn new() -> Self {
        BatchNorm::default()
    }

    /// Sets the decay of the running mean and variance.
    #[must_use]
    pub fn momentum(self, momentum: f64) -> Self {
        BatchNorm { momentum, ..self }
    }

    /// Sets the initial values of the scale.
    #[must_use]
    pub fn scale_init(self, scale_init: Init) -> Self {
        BatchNorm { scale_init, ..self }
    }

    /// Normalizes `x`, with batch statistics if `train`. Parameters: `scale` and `bias`; statistics: `mean` and `var`; each has the size of
    /// the last dimension. With `train`, the layer cannot be used in a [`Scope::stack`] or in [`accumulated`](crate::optim::accumulated):
    /// variables cannot be set in loops.
    ///
    /// Reports an error if `x` is a scalar or not of a float type, or if `train` is set in a loop.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>, train: bool) -> Tensor<'g> {
        let (features, reduce) = (x.size(-1), p.policy().reduce);
        let running_mean = p.variable("mean", Kind::Statistics, [features], reduce, Init::zeros());
        let running_var = p.variable("var", Kind::Statistics, [features], reduce, Init::ones());
        let wide = x.to(reduce);
        let (mean, var) = if train {
            let over: Vec<i64> = (0..x.rank() as i64 - 1).collect();
            let (mean, var) = moments(wide, &over);
            let stays = self.momentum;
            for (name, running, now) in [("mean", running_mean, mean), ("var", running_var, var)] {
                let next = running * stays + now.reshape([features]) * (1.0 - stays);
                p.set(&p.full_name(name), next);
            }
            (mean, var)
        } else {
            (running_mean, running_var)
        };
        let affine = Affine {
            scale_init: self.scale_init.clone(),
            ..Affine::new(features, self.use_scale, self.use_bias)
        };
        affine.normalized(p, x, wide - mean, var, self.epsilon)
    }
}
