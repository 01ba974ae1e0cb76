//! Encoders: models with bidirectional attention over a token sequence or an image, such as BERT and ViT.

use shardc_graph::{DType, Padding, Tensor};

use super::block::Block;
use crate::layers::{Activation, Attention, Conv, Dense, Embed, Mlp};
use crate::{Init, Scope};

/// A vision transformer ("An Image is Worth 16x16 Words", Dosovitskiy et al., 2021). Layers run in a loop; the leading dimension of their
/// variables indexes the layers.
///
/// | here | Hugging Face |
/// |---|---|
/// | `patches.kernel` (`.bias`) | `embeddings.patch_embeddings.projection.weight` (`.bias`), transposed |
/// | `cls`, `positions` | `embeddings.cls_token`, `embeddings.position_embeddings` |
/// | `h.ln_1`, `h.ln_2` | `encoder.layer.N.layernorm_before`, `layernorm_after` |
/// | `h.attn.{query,key,value}` | `encoder.layer.N.attention.attention.{query,key,value}` |
/// | `h.attn.out` | `encoder.layer.N.attention.output.dense` |
/// | `h.mlp.up`, `h.mlp.down` | `encoder.layer.N.intermediate.dense`, `output.dense` |
/// | `ln_f`, `head` | `layernorm`, `classifier` |
#[derive(Clone, Debug, PartialEq)]
pub struct Vit {
    /// Size of a patch, in each direction.
    pub patch: i64,
    /// Size of the residual stream.
    pub features: i64,
    /// Number of layers.
    pub num_layers: i64,
    /// Attention of a layer.
    pub attention: Attention,
    /// MLP of a layer.
    pub mlp: Mlp,
    /// Added to the variance.
    pub epsilon: f64,
    /// Number of classes.
    pub num_classes: i64,
}

impl Vit {
    /// Creates a vision transformer with an MLP hidden size of four times the features.
    #[must_use]
    pub fn new(patch: i64, features: i64, num_layers: i64, num_heads: i64, num_classes: i64) -> Self {
        let mlp = Mlp { activation: Activation::GeluExact, ..Mlp::new(4 * features) };
        let attention = Attention::new(num_heads);
        Vit { patch, features, num_layers, attention, mlp, epsilon: 1e-12, num_classes }
    }

    /// Returns the class logits, `[batch, num_classes]`, of images, `[batch, height, width, channels]`.
    ///
    /// Reports an error if the images have the wrong rank, or the patch size does not divide them.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, images: Tensor<'g>) -> Tensor<'g> {
        let (g, patch) = (p.graph(), self.patch.max(1));
        if images.is_poisoned() {
            return images;
        }
        if images.rank() != 4 || images.size(1) % patch + images.size(2) % patch != 0 {
            let text = format!(
                "images must have rank 4, with height and width divisible by the patch size {patch}; got shape {:?}",
                images.shape()
            );
            return g.refuse(&[images], text);
        }
        let [batch, height, width, _] = images.dims::<4>();
        let count = (height / patch) * (width / patch);
        let patches = Conv::new(self.features, &[patch; 2]).strides(&[patch; 2]).padding(Padding::Valid);
        let x = patches.apply(&p.at("patches"), images).reshape([batch, count, self.features]);
        let cls = p.parameter("cls", [1, 1, self.features], Init::zeros());
        let positions = p.parameter("positions", [1, count + 1, self.features], Init::normal(0.02));
        let cls = cls.broadcast_to([batch, 1, self.features]);
        let x = g.concatenate(&[cls, x], 1) + positions;
        let block = Block {
            attention: self.attention.clone(),
            mlp: self.mlp.clone(),
            rms_norm: false,
            epsilon: self.epsilon,
            norm_after: false,
            dropout: 0.0,
        };
        let x = g.track_caller(|| p.stack("h", self.num_layers, x, |p, x| block.apply(p, x, None)));
        let x = block.norm(&p.at("ln_f"), x.slice(1, 0..1).squeeze(1));
        Dense::new(self.num_classes).apply(&p.at("head").output(), x)
    }
}

/// A text encoder ("BERT", Devlin et al., 2019). Layers run in a loop; the leading dimension of their variables indexes the layers.
///
/// | here | Hugging Face |
/// |---|---|
/// | `wte`, `wpe`, `types` | `embeddings.word_embeddings`, `position_embeddings`, `token_type_embeddings` |
/// | `ln_0` | `embeddings.LayerNorm` |
/// | `h.attn.{query,key,value}` | `encoder.layer.N.attention.self.{query,key,value}` |
/// | `h.attn.out`, `h.ln_1` | `encoder.layer.N.attention.output.{dense,LayerNorm}` |
/// | `h.mlp.up`, `h.mlp.down`, `h.ln_2` | `encoder.layer.N.{intermediate.dense,output.dense,output.LayerNorm}` |
#[derive(Clone, Debug, PartialEq)]
pub struct Bert {
    /// Size of the vocabulary.
    pub vocab_size: i64,
    /// Number of learned positions.
    pub max_positions: i64,
    /// Number of token types; BERT has two, for the first and the second text of a pair.
    pub num_types: i64,
    /// Size of the residual stream.
    pub features: i64,
    /// Number of layers.
    pub num_layers: i64,
    /// Attention of a layer.
    pub attention: Attention,
    /// MLP of a layer.
    pub mlp: Mlp,
    /// Added to the variance.
    pub epsilon: f64,
}

impl Bert {
    /// Creates a BERT encoder with an MLP hidden size of four times the features, and two token types.
    #[must_use]
    pub fn new(vocab_size: i64, max_positions: i64, features: i64, num_layers: i64, num_heads: i64) -> Self {
        let init = Init::normal(0.02);
        let mlp =
            Mlp { activation: Activation::GeluExact, ..Mlp::new(4 * features).kernel_init(init.clone()) };
        let attention = Attention::new(num_heads).kernel_init(init);
        Bert { vocab_size, max_positions, num_types: 2, features, num_layers, attention, mlp, epsilon: 1e-12 }
    }

    /// Returns the final hidden states, `[batch, time, features]`, of `tokens`, integers of shape `[batch, time]`; `types` has the same
    /// shape.
    ///
    /// Reports an error if the shapes differ, or if `time` exceeds the number of positions.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, tokens: Tensor<'g>, types: Tensor<'g>) -> Tensor<'g> {
        let (g, time) = (p.graph(), tokens.size(1));
        if time > self.max_positions {
            return g.refuse(
                &[tokens],
                format!("{time} tokens exceed the maximum of {} positions", self.max_positions),
            );
        }
        let table = |count: i64| Embed::new(count, self.features).embedding_init(Init::normal(0.02));
        let x = table(self.vocab_size).apply(&p.at("wte"), tokens)
            + table(self.max_positions).apply(&p.at("wpe"), g.arange(time, DType::I32))
            + table(self.num_types).apply(&p.at("types"), types);
        let block = Block {
            attention: self.attention.clone(),
            mlp: self.mlp.clone(),
            rms_norm: false,
            epsilon: self.epsilon,
            norm_after: true,
            dropout: 0.0,
        };
        let x = block.norm(&p.at("ln_0"), x);
        g.track_caller(|| p.stack("h", self.num_layers, x, |p, x| block.apply(p, x, None)))
    }
}
