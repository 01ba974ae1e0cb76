//! Decoders like GPT-2.

use shardc_graph::{DType, PartitionSpec, Tensor, spec};

use crate::layers::{Attention, Embedding, LayerNorm, Mlp};
use crate::{Init, Scope, Variable};

/// A decoder like GPT-2 ("Language Models are Unsupervised Multitask Learners", Radford et al., 2019): tokens in, logits of the
/// next ones out. The output is the table of the input.
#[derive(Clone, Debug)]
pub struct Gpt {
    /// How many tokens there are.
    pub tokens: i64,
    /// How many positions.
    pub context: i64,
    /// Features of a position.
    pub features: i64,
    /// Heads of attention.
    pub heads: i64,
    /// Layers.
    pub layers: i64,
}

impl Gpt {
    /// Logits, `[batch, time, tokens]`, for tokens `[batch, time]`. Layers are one loop: each variable has all of them in front.
    ///
    /// Reported: `tokens` have not two dimensions, or more positions than the context.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, tokens: Tensor<'g>) -> Tensor<'g> {
        let [_, time] = tokens.dims();
        let table = Embedding::new(self.tokens, self.features);
        let positions = p.parameter("wpe", [self.context, self.features], Init::normal(0.01));
        let x = table.apply(&p.at("wte"), tokens) + positions.slice(0, ..time);
        let attention = Attention::causal(self.heads);
        let mlp = Mlp { hidden: 4 * self.features };
        let x = p.stack("h", self.layers, x, |p, x| {
            let x = x + attention.apply(&p.at("attn"), LayerNorm::default().apply(&p.at("ln_1"), x));
            x + mlp.apply(&p.at("mlp"), LayerNorm::default().apply(&p.at("ln_2"), x))
        });
        table.attend(&p.at("wte"), LayerNorm::default().apply(&p.at("ln_f"), x))
    }

    /// How its variables are split where heads, hidden features and the vocabulary are split over `axis` (Megatron-LM, Shoeybi et
    /// al., 2019); for [`Scope::mark_sharding`].
    #[must_use]
    pub fn megatron(variable: &Variable, axis: &str) -> Option<PartitionSpec> {
        let name = variable.name.as_str();
        let ends = |end: &str| name.ends_with(end);
        Some(match name {
            "wte.embedding" => spec![axis, None],
            _ if ends("query.kernel") || ends("key.kernel") || ends("value.kernel") || ends("up.kernel") => {
                spec![None, None, axis]
            }
            _ if ends("query.bias") || ends("key.bias") || ends("value.bias") || ends("up.bias") => {
                spec![None, axis]
            }
            _ if ends("out.kernel") || ends("down.kernel") => spec![None, axis, None],
            _ if variable.of.is_none() && variable.dtype != DType::I32 => {
                PartitionSpec::replicated(variable.shape.len())
            }
            _ => return None,
        })
    }
}
