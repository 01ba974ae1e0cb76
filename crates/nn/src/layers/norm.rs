//! Normalisation along the last dimension. Statistics are summed in the policy's element type for sums.

use shardc_graph::Tensor;

use crate::{Init, Scope};

/// Mean 0 and variance 1, scaled and shifted ("Layer Normalization", Ba et al., 2016).
#[derive(Clone, Debug)]
pub struct LayerNorm {
    /// Added to the variance.
    pub epsilon: f64,
    /// Whether it is shifted.
    pub bias: bool,
}

impl Default for LayerNorm {
    /// flax's: with a shift, and 1e-6.
    fn default() -> Self {
        LayerNorm { epsilon: 1e-6, bias: true }
    }
}

impl LayerNorm {
    /// The layer of the scope's `scale` and `bias`.
    ///
    /// Reported: `x` is a scalar, or its elements are no floats.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        let (n, dtype, wide) = (x.size(-1), x.dtype(), x.to(p.policy().reduce));
        let mean = wide.mean_keepdims(-1);
        // As flax: E[x^2] - E[x]^2 needs one walk over the elements.
        let variance = (wide.square().mean_keepdims(-1) - mean.square()).max(0);
        let scale = p.parameter("scale", [n], Init::ones()).to(wide.dtype());
        let y = (wide - mean) * ((variance + self.epsilon).rsqrt() * scale);
        let y = if self.bias { y + p.parameter("bias", [n], Init::zeros()).to(wide.dtype()) } else { y };
        y.to(dtype)
    }
}

/// Mean square 1, scaled ("Root Mean Square Layer Normalization", Zhang and Sennrich, 2019).
#[derive(Clone, Debug)]
pub struct RmsNorm {
    /// Added to the mean square.
    pub epsilon: f64,
}

impl Default for RmsNorm {
    /// flax's: 1e-6.
    fn default() -> Self {
        RmsNorm { epsilon: 1e-6 }
    }
}

impl RmsNorm {
    /// The layer of the scope's `scale`.
    ///
    /// Reported: `x` is a scalar, or its elements are no floats.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        let (n, dtype, wide) = (x.size(-1), x.dtype(), x.to(p.policy().reduce));
        let scale = p.parameter("scale", [n], Init::ones()).to(wide.dtype());
        (wide * ((wide.square().mean_keepdims(-1) + self.epsilon).rsqrt() * scale)).to(dtype)
    }
}
