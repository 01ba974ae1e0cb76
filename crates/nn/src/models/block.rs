//! A transformer layer.

use shardc_graph::{Key, Tensor};

use crate::Scope;
use crate::layers::{Attention, Dropout, LayerNorm, Mlp, RmsNorm};

/// Attention, then an MLP, each with a residual connection. Layers: `ln_1`, `attn`, `ln_2`, `mlp`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    pub(super) attention: Attention,
    pub(super) mlp: Mlp,
    /// Whether RMS norm replaces layer norm.
    pub(super) rms_norm: bool,
    /// Added to the variance.
    pub(super) epsilon: f64,
    /// Whether norms follow the residual sums (post-norm, as in BERT) instead of preceding attention and MLP (pre-norm).
    pub(super) norm_after: bool,
    /// Dropout rate in training.
    pub(super) dropout: f64,
}

impl Block {
    /// Applies the layer to `x`, `[batch, time, features]`; keys are for dropout in training.
    #[track_caller]
    pub(super) fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>, keys: Option<[Key<'g>; 2]>) -> Tensor<'g> {
        let dropout = Dropout::new(self.dropout);
        let (before, after) = (
            |name: &str, x: Tensor<'g>| if self.norm_after { x } else { self.norm(&p.at(name), x) },
            |name: &str, x: Tensor<'g>| if self.norm_after { self.norm(&p.at(name), x) } else { x },
        );
        let y = self.attention.apply(&p.at("attn"), before("ln_1", x));
        let x = after("ln_1", x + dropout.apply(keys.map(|[key, _]| key), y));
        let y = self.mlp.apply(&p.at("mlp"), before("ln_2", x));
        after("ln_2", x + dropout.apply(keys.map(|[_, key]| key), y))
    }

    /// Applies the pre-norm layer to `x` with the attention function `attend`, which has a second output.
    #[track_caller]
    pub(super) fn apply_attending<'g, K>(
        &self,
        p: &Scope<'g>,
        x: Tensor<'g>,
        attend: impl FnOnce(&Scope<'g>, Tensor<'g>) -> (Tensor<'g>, K),
    ) -> (Tensor<'g>, K) {
        let (y, kept) = attend(&p.at("attn"), self.norm(&p.at("ln_1"), x));
        let x = x + y;
        (x + self.mlp.apply(&p.at("mlp"), self.norm(&p.at("ln_2"), x)), kept)
    }

    #[track_caller]
    pub(super) fn norm<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        if self.rms_norm {
            return RmsNorm::new().epsilon(self.epsilon).apply(p, x);
        }
        LayerNorm::new().epsilon(self.epsilon).apply(p, x)
    }
}
