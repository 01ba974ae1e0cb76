//! Writing with decoders: a prompt in one pass, then token by token, with keys and values kept in between.

use shardc_graph::{DType, Tensor};

use super::Decoder;
use crate::{Init, Kind, Scope};

/// What is kept of tokens that were given.
struct Cache<'g> {
    /// Their keys and values, each `[layers, batch, context, kv_heads, head_dim]`.
    kept: [Tensor<'g>; 2],
    /// The position at which each text begins, `[batch]`.
    first: Tensor<'g>,
    /// The position of what follows.
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

    /// Keeps keys and values of positions from `at` on.
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
    /// The logits of what follows prompts, `[batch, time]` integers from position 0 on, which are read in one pass: `[batch, vocab_size]`. What was
    /// kept before is forgotten. Keys and values go into the variables of [`Decoder::next`], which goes on at position `time`, in a program
    /// of its own that adopts the state of this one.
    ///
    /// Prompts of different lengths are aligned at their ends, as `generate` of Hugging Face's transformers takes them from a tokenizer with
    /// `padding_side="left"`: `lengths`, `[batch]` integers, says how many of the last tokens of each row are its prompt. What is before
    /// these is not seen, and positions count from where a prompt begins. Logits of a prompt that is empty, or longer than `time`, are NaN.
    ///
    /// Reported: as for [`Decoder::apply`]; `tokens` or `lengths` have another shape; prompts are longer than `context`; there are fewer
    /// positions than `context`; attention is not causal; there are `lengths`, and attention is [by blocks](Decoder::attention_block); it is in a
    /// loop.
    ///
    /// ```
    /// # use shardc_graph::{DType::I32, Graph, Mesh};
    /// # use shardc_nn::{Scope, models::Decoder};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mesh = Mesh::new(&[])?;
    /// let llama = Decoder::llama(512, 64, 128, 2, 4, 2);
    /// // One program reads prompts of up to 32 tokens; the other one is given the token that was chosen, and its position.
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
            return g.refuse(&given, "prompts are of shape [batch, time], of one token or more");
        }
        let [batch, time] = tokens.dims::<2>();
        if time > context {
            return g.refuse(&given, format!("prompts of {time} tokens in a context of {context}"));
        }
        if let Some(text) = self.beyond(context) {
            return g.refuse(&given, text);
        }
        if lengths.is_some_and(|lengths| lengths.shape() != [batch] || !lengths.dtype().is_integer()) {
            return g.refuse(&given, format!("lengths of {batch} prompts are integers of shape [{batch}]"));
        }
        let cache = Cache::of(self, p, batch, context);
        let begin = lengths.map(|lengths| time - lengths.to(DType::I32));
        let mut x = self.table(self.vocab_size).apply(&p.at("wte"), tokens);
        if let Some(positions) = self.max_positions {
            let mut at = g.arange(time, DType::I32);
            if let Some(begin) = begin {
                // Padding has no position: it has that of the first token, and nobody sees it.
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

    /// The logits of what follows one more token of each text, `[batch]` integers at `position`, a scalar `i32`: `[batch, vocab_size]`.
    /// Keys and values of up to `context` positions are kept in the variables `cache.key` and `cache.value`, from step to step; with
    /// heads split, as [`megatron`](super::megatron) does it, they are, too. One program is one token: it does not go into loops, which
    /// cannot set variables. [`Decoder::prefill`] is given all tokens of a prompt.
    ///
    /// A text goes on at the position behind the last one, or at one before, from which on it is forgotten. It begins at any other position: a
    /// token sees those alone that were given since (the variables `cache.first`, `[batch]`, and `cache.next` say which), and learnt positions
    /// are counted from there. Logits at a position that is not in the context are NaN.
    ///
    /// Reported: as for [`Decoder::apply`]; there are fewer positions than `context`; it is in a loop.
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
        // Where there would be a gap, or where nothing is left, a text begins.
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

    /// What is wrong with so long a context.
    fn beyond(&self, context: i64) -> Option<String> {
        let positions = self.max_positions.filter(|&positions| positions < context)?;
        Some(format!("a context of {context} tokens at {positions} positions"))
    }
}
