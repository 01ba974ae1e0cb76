//! Attention.

use shardc_graph::Tensor;

use super::Dense;
use crate::Scope;

/// Attention of a sequence to itself, `[batch, time, features]`, by several heads ("Attention Is All You Need", Vaswani et al.,
/// 2017).
#[derive(Clone, Debug)]
pub struct Attention {
    /// How many heads ask.
    pub heads: i64,
    /// How many answer: as many, fewer (grouped queries), or one (multi-query).
    pub kv_heads: i64,
    /// Size of a head; the features divided by the heads where `None`.
    pub head_size: Option<i64>,
    /// Whether a position attends to those behind it.
    pub causal: bool,
    /// Of how many positions before it, where they are limited, itself included.
    pub window: Option<i64>,
    /// Base of the frequencies by which queries and keys are turned by their position ([`rope`]); `None` for not at all.
    pub rope: Option<f64>,
    /// Whether products have a bias.
    pub bias: bool,
}

impl Attention {
    /// Causal, with as many heads that answer, and biases.
    #[must_use]
    pub fn causal(heads: i64) -> Attention {
        Attention {
            heads,
            kv_heads: heads,
            head_size: None,
            causal: true,
            window: None,
            rope: None,
            bias: true,
        }
    }

    /// The layer of the scope's `query`, `key`, `value` and `out`.
    ///
    /// Reported: `x` has not three dimensions, or heads do not go into features or each other.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        let [batch, time, features] = x.dims();
        let size = self.head_size.unwrap_or(features / self.heads.max(1));
        if self.kv_heads == 0 || self.heads % self.kv_heads != 0 {
            let text = format!("{} heads ask {} that answer", self.heads, self.kv_heads);
            return p.graph().refuse(&[x], text);
        }
        let groups = self.heads / self.kv_heads;
        let linear = |name: &str, x: Tensor<'g>, features: i64| {
            let layer = Dense { bias: self.bias, ..Dense::new(features) };
            layer.apply(&p.at(name), x)
        };
        let query =
            linear("query", x, self.heads * size).reshape([batch, time, self.kv_heads * groups, size]);
        let key = linear("key", x, self.kv_heads * size).reshape([batch, time, self.kv_heads, size]);
        let value = linear("value", x, self.kv_heads * size).reshape([batch, time, self.kv_heads, size]);
        let (query, key) = match self.rope {
            Some(base) => (rope(query, base), rope(key, base)),
            None => (query, key),
        };
        let g = p.graph();
        let query = query.reshape([batch, time, self.kv_heads, groups, size]) * (1.0 / (size as f64).sqrt());
        let scores = g.einsum("btkgd,bskd->bkgts", &[query, key]).to(p.policy().reduce);
        let weights = match self.mask(p, time) {
            Some(mask) => mask.select(scores, f64::MIN.max(-1e30)).softmax(-1),
            None => scores.softmax(-1),
        };
        let mixed = g.einsum("bkgts,bskd->btkgd", &[weights.to(value.dtype()), value]);
        linear("out", mixed.reshape([batch, time, self.heads * size]), features)
    }

    /// Which positions attend to which.
    #[track_caller]
    fn mask<'g>(&self, p: &Scope<'g>, time: i64) -> Option<Tensor<'g>> {
        let g = p.graph();
        let causal = self.causal.then(|| g.tri(time, time, 0));
        let near = self.window.map(|window| !g.tri(time, time, -window));
        match (causal, near) {
            (Some(causal), Some(near)) => Some(causal & near),
            (mask, None) | (None, mask) => mask,
        }
    }
}

/// Turns pairs of features by angles that grow with the position, `[batch, time, heads, size]`: the first half of a head with the
/// second, as Llama does ("RoFormer", Su et al., 2021).
#[must_use]
#[track_caller]
pub fn rope(x: Tensor<'_>, base: f64) -> Tensor<'_> {
    let ([_, time, _, size], g, dtype) = (x.dims(), x.graph(), x.dtype());
    let wide = shardc_graph::DType::F32;
    let half = size / 2;
    let position = g.iota([time, half], 0, wide);
    let pair = g.iota([time, half], 1, wide);
    let angle = position * (pair * (-base.ln() / half.max(1) as f64)).exp();
    let (sin, cos) = (angle.sin().reshape([time, 1, half]), angle.cos().reshape([time, 1, half]));
    let wide = x.to(wide);
    let (a, b) = (wide.slice(-1, ..half), wide.slice(-1, half..));
    g.concatenate(&[a * cos - b * sin, b * cos + a * sin], -1).to(dtype)
}
