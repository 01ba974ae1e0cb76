//! Two linear layers with something in between.

use shardc_graph::Tensor;

use super::Dense;
use crate::Scope;

/// `down(gelu(up(x)))`.
#[derive(Clone, Debug)]
pub struct Mlp {
    /// Features in between.
    pub hidden: i64,
}

impl Mlp {
    /// The layer of the scope's `up` and `down`.
    ///
    /// Reported: `x` is a scalar, or of another element type than the scope computes with.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        let hidden = Dense::new(self.hidden).apply(&p.at("up"), x).gelu();
        Dense::new(x.size(-1)).apply(&p.at("down"), hidden)
    }
}

/// `down(silu(gate(x)) * up(x))`, without biases ("GLU Variants Improve Transformer", Shazeer, 2020).
#[derive(Clone, Debug)]
pub struct SwiGlu {
    /// Features in between.
    pub hidden: i64,
}

impl SwiGlu {
    /// The layer of the scope's `gate`, `up` and `down`.
    ///
    /// Reported: `x` is a scalar, or of another element type than the scope computes with.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        let wide = Dense::new(self.hidden).without_bias();
        let hidden = wide.apply(&p.at("gate"), x).silu() * wide.apply(&p.at("up"), x);
        Dense::new(x.size(-1)).without_bias().apply(&p.at("down"), hidden)
    }
}
