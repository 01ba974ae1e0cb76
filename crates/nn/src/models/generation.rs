//! Text generation with decoders: prefill of a prompt in one pass, then decoding token by token with a KV cache.

use shardc_graph::{DType, Tensor};

use super::Decoder;
use crate::{Init, Kind, Scope};

/// The variables of the KV cache.
struct Cache<'g> {
    /// Keys and values, each `[layers, batch, context, kv_heads, head_dim]`.
    kept: [Tensor<'g>; 2],
    /// The position at which each sequence begins, `[batch]`.
    first: Tensor<'g>,
    /// The position after the last cached token, a scalar.
    next: Tensor<'g>,
}

impl<'g> Cache<'g> {
    #[track_caller]
    fn of(decoder: &Decoder, p: &Scope<'g>, batch: i64, context: i64) -> Self {
        let attention = &decoder.attention;
        let heads = [attention.num_kv_heads, attention.head_size(decoder.features)];
        let shape = [&[decoder.num_layers, batch, context][..], &heads].concat();
        let (p, dtype) = (p.at("cache"), p.policy().compute);
        let kept = p.graph().track_caller(|| {
            ["key", "value"].map(|name| p.variable(name, Kind::Statistics, &shape, dtype, Init::zeros()))
        });
        let first = p.variable("first", Kind::Counter, [batch], DType::I32, Init::zeros());
        Cache { kept, first, next: p.variable("next", Kind::Counter, (), DType::I32, Init::zeros()) }
    }

    /// Writes the keys and values of consecutive positions into the cache, starting at position `at`.
    #[track_caller]
    fn keep(self, p: &Scope<'g>, new: [Tensor<'g>; 2], at: Tensor<'g>, first: Tensor<'g>, next: Tensor<'g>) {
        let p = p.at("cache");
        let zero = p.graph().scalar(0.0, DType::I32);
        for ((name, kept), new) in ["key", "value"].into_iter().zip(self.kept).zip(new) {
            p.set(&p.full_name(name), kept.dynamic_update(new, &[zero, zero, at, zero, zero]));
        }
        p.set(&p.full_name("first"), first);
        p.set(&p.full_name("next"), next);
    }
}

impl Decoder {
    /// Prefill: the next-token logits, `[batch, vocab_size]`, of prompts, `[batch, time]` integers from position 0 on, which are
    /// processed in one pass. The KV cache is overwritten. [`Decoder::next`] has the same variables and continues at position `time`,
    /// in a separate program that takes these variables as input.
    ///
    /// Prompts of different lengths are left-padded, as for Hugging Face's `generate` with `padding_side="left"`: `lengths`, `[batch]`
    /// integers, is the number of tokens at the end of each row that form its prompt. Padding is masked, and positions count from the start
    /// of the prompt. Logits of a prompt that is empty, or longer than `time`, are NaN.
    ///
    /// Reports the errors of [`Decoder::apply`], and an error if `tokens` or `lengths` do not have these shapes, if prompts are longer than
    /// `context`, or if there are fewer positions than `context`. Attention must be causal, and with `lengths` it must not be
    /// [blockwise](Decoder::attention_block). The call must not be in a loop.
    ///
    /// ```
    /// # use shardc_graph::{DType::I32, Graph, Mesh};
    /// # use shardc_nn::{Scope, models::Decoder};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mesh = Mesh::new(&[])?;
    /// let llama = Decoder::llama(512, 64, 128, 2, 4, 2);
    /// // One program reads prompts of up to 32 tokens; the other takes the chosen token and its position.
    /// let g = Graph::new("prefill", &mesh);
    /// let p = Scope::new(&g);
    /// let (tokens, lengths) = (g.parameter("tokens", [4, 32], I32), g.parameter("lengths", [4], I32));
    /// let logits = llama.prefill(&p, tokens, Some(lengths), 256);
    /// let prefill = p.finish(&[("token", logits.argmax(-1))])?;
    ///
    /// let g = Graph::new("next", &mesh);
    /// let p = Scope::new(&g);
    /// let logits = llama.next(&p, g.parameter("token", [4], I32), g.parameter("position", (), I32), 256);
    /// let next = p.finish(&[("token", logits.argmax(-1))])?;
    /// assert_eq!(prefill.variables, next.variables);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[track_caller]
    pub fn prefill<'g>(
        &self,
        p: &Scope<'g>,
        tokens: Tensor<'g>,
        lengths: Option<Tensor<'g>>,
        context: i64,
    ) -> Tensor<'g> {
        let given: Vec<Tensor<'g>> = [tokens].into_iter().chain(lengths).collect();
        if let Some(&nothing) = given.iter().find(|t| t.is_poisoned()) {
            return nothing;
        }
        let g = p.graph();
        if tokens.rank() != 2 || tokens.size(1) < 1 {
            return g.refuse(&given, "prompts must have shape [batch, time] and at least one token");
        }
        let [batch, time] = tokens.dims::<2>();
        if time > context {
            return g.refuse(&given, format!("prompts of {time} tokens exceed the context of {context}"));
        }
        if let Some(text) = self.beyond(context) {
            return g.refuse(&given, text);
        }
        if lengths.is_some_and(|lengths| lengths.shape() != [batch] || !lengths.dtype().is_integer()) {
            return g.refuse(&given, format!("prompt lengths must be integers of shape [{batch}]"));
        }
        let cache = Cache::of(self, p, batch, context);
        let begin = lengths.map(|lengths| time - lengths.to(DType::I32));
        let mut x = self.table(self.vocab_size).apply(&p.at("wte"), tokens);
        if let Some(positions) = self.max_positions {
            let mut at = g.arange(time, DType::I32);
            if let Some(begin) = begin {
                // Padding, which is masked, gets position 0.
                at = (at - begin.expand_dims(-1)).max(0);
            }
            x = x + self.table(positions).apply(&p.at("wpe"), at);
        }
        let block = self.block();
        let (x, new) = g.track_caller(|| {
            p.stack_with("h", self.num_layers, x, |p, x| {
                block.apply_attending(p, x, |p, x| self.attention.apply_prompt(p, x, begin))
            })
        });
        let first = begin.unwrap_or_else(|| g.zeros([batch], DType::I32));
        let (start, end) = (g.scalar(0.0, DType::I32), g.scalar(time as f64, DType::I32));
        cache.keep(p, new, start, first, end);
        let logits = self.logits(p, block.norm(&p.at("ln_f"), x.slice(1, -1..))).squeeze(1);
        let Some(lengths) = lengths else { return logits };
        let is_text = lengths.ge(1) & lengths.le(time);
        is_text.expand_dims(-1).select(logits, f64::NAN)
    }

    /// Decode step: the next-token logits, `[batch, vocab_size]`, after one more token per sequence, `[batch]` integers at `position`,
    /// a scalar `i32`. Keys and values of up to `context` positions are cached in the variables `cache.key` and `cache.value`, which
    /// are sharded over heads if the attention is, for example by [`megatron`](super::megatron). A program decodes one token: `next`
    /// cannot be called in a loop, since variables cannot be set in loops. [`Decoder::prefill`] processes an entire prompt.
    ///
    /// A sequence continues if `position` is the one after the last token, or an earlier position of the sequence; later cache entries are
    /// then ignored. At any other position a new sequence begins: its tokens attend only to each other, and learned positions count from
    /// its first token (variables `cache.first`, `[batch]`, and `cache.next`). Logits at a position outside the context are NaN.
    ///
    /// Reports the errors of [`Decoder::apply`], and an error if there are fewer positions than `context`, or if the call is in a loop.
    #[must_use]
    #[track_caller]
    pub fn next<'g>(
        &self,
        p: &Scope<'g>,
        tokens: Tensor<'g>,
        position: Tensor<'g>,
        context: i64,
    ) -> Tensor<'g> {
        let g = p.graph();
        if let Some(text) = self.beyond(context) {
            return g.refuse(&[tokens], text);
        }
        let cache = Cache::of(self, p, tokens.size(0), context);
        // A position after a gap, or before the first position of the sequence, starts a new sequence.
        let goes_on = position.ge(cache.first) & position.le(cache.next);
        let first = goes_on.select(cache.first, position);
        let mut x = self.table(self.vocab_size).apply(&p.at("wte"), tokens.expand_dims(1));
        if let Some(positions) = self.max_positions {
            x = x + self.table(positions).apply(&p.at("wpe"), (position - first).expand_dims(1));
        }
        let (block, layer) = (self.block(), g.scalar(0.0, DType::I32));
        let ((x, _), new) = g.track_caller(|| {
            p.stack_with("h", self.num_layers, (x, layer), |p, (x, layer)| {
                let of_layer = cache.kept.map(|kept| kept.dynamic_index(0, layer));
                let attend = |p: &Scope<'g>, x| self.attention.apply_next(p, x, of_layer, first, position);
                let (x, new) = block.apply_attending(p, x, attend);
                ((x, layer + 1), new)
            })
        });
        cache.keep(p, new, position, first, position + 1);
        let logits = self.logits(p, block.norm(&p.at("ln_f"), x)).squeeze(1);
        let is_kept = position.ge(0) & position.lt(context);
        is_kept.select(logits, f64::NAN)
    }

    /// Returns the error message if the context exceeds the number of positions.
    fn beyond(&self, context: i64) -> Option<String> {
        let positions = self.max_positions.filter(|&positions| positions < context)?;
        Some(format!("a context of {context} tokens exceeds the maximum of {positions} positions"))
    }
}
