//! Decoders: models that predict the next token of a sequence, such as GPT-2 and Llama.

use shardc_graph::{DType, Key, Tensor};

use super::block::Block;
use crate::layers::{Attention, Dense, Dropout, Embed, Mlp, Rope};
use crate::{Init, Scope};

/// A decoder of identical layers, run in a loop. The leading dimension of layer variables indexes the layers.
///
/// | here | GPT-2 (Hugging Face) | Llama (Hugging Face) |
/// |---|---|---|
/// | `wte.embedding` | `wte.weight` | `embed_tokens.weight` |
/// | `wpe.embedding` | `wpe.weight` | |
/// | `h.ln_1.scale` (`.bias`) | `h.N.ln_1.weight` (`.bias`) | `layers.N.input_layernorm.weight` |
/// | `h.attn.{query,key,value}.kernel` | column thirds of `h.N.attn.c_attn.weight` | `layers.N.self_attn.{q,k,v}_proj.weight`, transposed |
/// | `h.attn.out.kernel` | `h.N.attn.c_proj.weight` | `layers.N.self_attn.o_proj.weight`, transposed |
/// | `h.ln_2.scale` (`.bias`) | `h.N.ln_2.weight` (`.bias`) | `layers.N.post_attention_layernorm.weight` |
/// | `h.mlp.up.kernel` | `h.N.mlp.c_fc.weight` | `layers.N.mlp.up_proj.weight`, transposed |
/// | `h.mlp.gate.kernel` | | `layers.N.mlp.gate_proj.weight`, transposed |
/// | `h.mlp.down.kernel` | `h.N.mlp.c_proj.weight` | `layers.N.mlp.down_proj.weight`, transposed |
/// | `ln_f.scale` (`.bias`) | `ln_f.weight` (`.bias`) | `norm.weight` |
/// | `lm_head.kernel` | tied to `wte` | `lm_head.weight`, transposed |
///
/// Kernels of `query`, `key` and `value` have the shape `[features, heads, head_dim]`, and kernels of `out` the shape
/// `[heads, head_dim, features]`, with the same elements in the same order.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoder {
    /// Size of the vocabulary.
    pub vocab_size: i64,
    /// Size of the residual stream.
    pub features: i64,
    /// Number of layers.
    pub num_layers: i64,
    /// Attention of a layer.
    pub attention: Attention,
    /// MLP of a layer.
    pub mlp: Mlp,
    /// Number of learned positions; `None` with rotary embeddings.
    pub max_positions: Option<i64>,
    /// Whether RMS norm replaces layer norm.
    pub rms_norm: bool,
    /// Added to the variance.
    pub epsilon: f64,
    /// Whether the output layer is tied to the embedding table.
    pub tied: bool,
    /// Dropout rate in training.
    pub dropout: f64,
}

impl Decoder {
    /// GPT-2: learned positions, layer norm, gelu, tied output.
    #[must_use]
    pub fn gpt2(vocab_size: i64, max_positions: i64, features: i64, num_layers: i64, num_heads: i64) -> Self {
        let init = Init::normal(0.02);
        Decoder {
            vocab_size,
            features,
            num_layers,
            attention: Attention::new(num_heads).causal().kernel_init(init.clone()),
            mlp: Mlp::new(4 * features).kernel_init(init),
            max_positions: Some(max_positions),
            rms_norm: false,
            epsilon: 1e-5,
            tied: true,
            dropout: 0.0,
        }
    }

    /// Llama: rotary positions, RMS norm, SwiGLU, no biases.
    #[must_use]
    pub fn llama(
        vocab_size: i64,
        features: i64,
        hidden: i64,
        num_layers: i64,
        num_heads: i64,
        num_kv_heads: i64,
    ) -> Self {
        let init = Init::normal(0.02);
        let attention = Attention::new(num_heads).num_kv_heads(num_kv_heads).causal();
        Decoder {
            vocab_size,
            features,
            num_layers,
            attention: attention.use_bias(false).rope(Rope::default()).kernel_init(init.clone()),
            mlp: Mlp::swiglu(hidden).kernel_init(init),
            max_positions: None,
            rms_norm: true,
            epsilon: 1e-5,
            tied: false,
            dropout: 0.0,
        }
    }

    /// Sets the dropout rate in training.
    #[must_use]
    pub fn dropout(self, dropout: f64) -> Self {
        Decoder { dropout, ..self }
    }

    /// Enables blockwise attention over blocks of this many keys: see [`Attention::block`].
    #[must_use]
    pub fn attention_block(self, block: i64) -> Self {
        Decoder { attention: self.attention.block(block), ..self }
    }

    pub(super) fn block(&self) -> Block {
        Block {
            attention: self.attention.clone(),
            mlp: self.mlp.clone(),
            rms_norm: self.rms_norm,
            epsilon: self.epsilon,
            norm_after: false,
            dropout: self.dropout,
        }
    }

    /// Returns the logits of the output of the last layer.
    #[track_caller]
    pub(super) fn logits<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        if self.tied {
            return self.table(self.vocab_size).attend(&p.at("wte"), x);
        }
        let head = Dense::new(self.vocab_size).use_bias(false).kernel_init(Init::normal(0.02));
        head.apply(&p.at("lm_head").output(), x)
    }

    /// Returns an embedding table of tokens or positions.
    pub(super) fn table(&self, count: i64) -> Embed {
        Embed::new(count, self.features).embedding_init(Init::normal(0.02))
    }

    /// Returns the next-token logits, `[batch, time, vocab_size]`, for each of `tokens`, integers of shape `[batch, time]`. `key` is for
    /// dropout in training.
    ///
    /// Reports an error if `tokens` do not have this shape, or if `time` exceeds the number of positions.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, tokens: Tensor<'g>, key: Option<Key<'g>>) -> Tensor<'g> {
        let g = p.graph();
        let time = tokens.size(1);
        let mut x = self.table(self.vocab_size).apply(&p.at("wte"), tokens);
        if let Some(positions) = self.max_positions {
            if time > positions {
                return g
                    .refuse(&[tokens], format!("{time} tokens exceed the maximum of {positions} positions"));
            }
            x = x + self.table(positions).apply(&p.at("wpe"), g.arange(time, DType::I32));
        }
        let key = match key {
            Some(key) if self.dropout > 0.0 => Some(p.key_of_trip(key)),
            _ => None,
        };
        let dropout = Dropout::new(self.dropout);
        x = dropout.apply(key.map(|key| key.fold_in(0)), x);
        let block = self.block();
        let layer = g.scalar(0.0, DType::I32);
        let (x, _) = g.track_caller(|| {
            p.stack("h", self.num_layers, (x, layer), |p, (x, layer)| {
                let next = layer + 1;
                let keys = key.map(|key| key.fold_in(next).pair());
                (block.apply(p, x, keys), next)
            })
        });
        self.logits(p, block.norm(&p.at("ln_f"), x))
    }
}
