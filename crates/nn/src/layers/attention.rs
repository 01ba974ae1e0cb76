//! Attention.

use shardc_graph::{DType, Tensor};

use super::{DenseGeneral, Rope, blockwise_attention};
use crate::{Init, Scope};

/// Which positions a query attends to, and how attention scores are modified.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Causal attention: a position attends only to itself and earlier positions.
    pub causal: bool,
    /// Sliding window: a position attends only to itself and to the positions before it, this many in total. Implies causal attention.
    pub window: Option<i64>,
    /// ALiBi: adds `slope * (key position - query position)` to the scores, with a slope per head (Press et al., "Train Short, Test Long",
    /// 2021).
    pub alibi: bool,
    /// Soft capping: scores are limited to plus or minus this number, as `cap * tanh(score / cap)`.
    pub softcap: Option<f64>,
}

impl Seen {
    /// Returns the attention mask for these positions of queries and keys, `[.., queries, keys]`; `None` if nothing is masked.
    #[track_caller]
    pub(super) fn mask<'g>(&self, queries: Tensor<'g>, keys: Tensor<'g>) -> Option<Tensor<'g>> {
        let (queries, keys) = (queries.expand_dims(-1), keys.expand_dims(-2));
        let causal = (self.causal || self.window.is_some()).then(|| keys.le(queries));
        match (causal, self.window) {
            (Some(causal), Some(window)) => Some(causal & keys.gt(queries - window)),
            (causal, _) => causal,
        }
    }
}

/// Returns the ALiBi slope of each head: powers of `2^(-8 / heads)` if the number of heads is a power of two. Otherwise, returns the
/// slopes for the next smaller power of two, followed by every second slope for the next larger power of two.
///
/// ```
/// # use shardc_nn::layers::*;
/// assert_eq!(alibi_slopes(2), [0.0625, 0.003_906_25]);
/// ```
#[must_use]
pub fn alibi_slopes(heads: i64) -> Vec<f32> {
    let powers = |n: i64| (1..=n).map(move |i| 2f64.powf(-8.0 * i as f64 / n as f64) as f32);
    let mut whole = 1;
    while whole * 2 <= heads {
        whole *= 2;
    }
    powers(whole).chain(powers(2 * whole).step_by(2)).take(heads.max(0) as usize).collect()
}

/// Positions, segments and masks of queries and keys.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places<'g> {
    /// Positions of queries, `[time]` or `[batch, time]`; `0, 1, 2, ...` by default.
    pub queries: Option<Tensor<'g>>,
    /// Positions of keys, `[keys]` or `[batch, keys]`; `0, 1, 2, ...` by default.
    pub keys: Option<Tensor<'g>>,
    /// For packed sequences, the segment of each position, `[batch, time]`: a position attends only to its own segment.
    pub segments: Option<Tensor<'g>>,
    /// An explicit mask of each query and key, `[batch, queries, keys]` or without the batch.
    pub mask: Option<Tensor<'g>>,
}

/// Computes attention of queries `[batch, time, heads, head_dim]` over keys and values `[batch, keys, kv_heads, head_dim]`. If there
/// are fewer KV heads than query heads, consecutive query heads share a KV head. Scores and softmax are computed in the type `reduce`.
///
/// ```
/// # use shardc_graph::{DType::F32, Graph, Mesh};
/// # use shardc_nn::layers::*;
/// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
/// let [q, k, v] = ["q", "k", "v"].map(|name| g.parameter(name, [2, 8, 4, 16], F32));
/// let seen = Seen { causal: true, ..Seen::default() };
/// assert_eq!(dot_product_attention(q, k, v, &seen, &Places::default(), F32).shape(), [2, 8, 4, 16]);
/// ```
///
/// Reports an error if the shapes do not match.
#[must_use]
#[track_caller]
pub fn dot_product_attention<'g>(
    q: Tensor<'g>,
    k: Tensor<'g>,
    v: Tensor<'g>,
    seen: &Seen,
    places: &Places<'g>,
    reduce: DType,
) -> Tensor<'g> {
    let g = q.graph();
    if let Some(&nothing) = [q, k, v].iter().find(|t| t.is_poisoned()) {
        return nothing;
    }
    let ([batch, time, heads, head_dim], [_, keys, kv_heads, _]) = (q.dims::<4>(), k.dims::<4>());
    if kv_heads < 1 || heads % kv_heads != 0 {
        return g.refuse(
            &[q, k],
            format!(
                "the number of query heads, {heads}, is not divisible by the number of key/value heads, \
         {kv_heads}"
            ),
        );
    }
    let group = heads / kv_heads;
    let q = (q / (head_dim as f64).sqrt()).reshape([batch, time, kv_heads, group, head_dim]);
    let mut scores = g.einsum("btkgd,bskd->bkgts", &[q, k]).to(reduce);
    if let Some(cap) = seen.softcap {
        scores = (scores / cap).tanh() * cap;
    }
    let numbers = |n: i64| g.arange(n, DType::I32);
    let at = places.queries.unwrap_or_else(|| numbers(time));
    let of = places.keys.unwrap_or_else(|| numbers(keys));
    if seen.alibi {
        let away = over_heads(of.expand_dims(-2) - at.expand_dims(-1)).to(reduce);
        let slopes = g.constant(&alibi_slopes(heads), [kv_heads, group, 1, 1]).to(reduce);
        scores = scores + away * slopes;
    }
    let mut masks: Vec<Tensor<'g>> = seen.mask(at, of).into_iter().collect();
    if let Some(segments) = places.segments {
        masks.push(segments.expand_dims(-1).eq(segments.expand_dims(-2)));
    }
    masks.extend(places.mask);
    for mask in masks {
        scores = over_heads(mask).broadcast_to(scores.shape()).select(scores, lowest(reduce));
    }
    let weights = scores.softmax(-1).to(v.dtype());
    g.einsum("bkgts,bskd->btkgd", &[weights, v]).reshape([batch, time, heads, head_dim])
}

/// Creates a mask of shape `[batch, 1, keys]` that excludes, in each row, the positions before `first`, `[batch]`.
#[track_caller]
fn since(first: Tensor<'_>, keys: i64) -> Tensor<'_> {
    first.graph().arange(keys, DType::I32).ge(first.reshape([-1, 1, 1]))
}

/// Adds the head dimensions to a mask: `[batch, 1, 1, queries, keys]`. A mask without a batch dimension is unchanged.
#[track_caller]
fn over_heads(mask: Tensor<'_>) -> Tensor<'_> {
    if mask.rank() == 3 { mask.expand_dims(1).expand_dims(1) } else { mask }
}

/// Returns the score of masked positions: the lowest finite number. The softmax weight of a masked position is zero if any position of the
/// row is not masked, and the softmax of a fully masked row is not NaN.
pub(super) fn lowest(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => -65_504.0,
        DType::BF16 => -3.389_531_389_251_535e38,
        DType::F64 => f64::MIN,
        _ => f64::from(f32::MIN),
    }
}

/// Attention with its projections: multi-head attention, or grouped-query or multi-query attention if there are fewer KV heads.
///
/// ```
/// # use shardc_graph::{DType::F32, Graph, Mesh};
/// # use shardc_nn::{Scope, layers::*};
/// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
/// # let p = Scope::new(&g);
/// let x = g.parameter("x", [2, 8, 64], F32);
/// let layer = Attention::new(4).num_kv_heads(2).causal();
/// assert_eq!(layer.apply(&p.at("attention"), x).shape(), [2, 8, 64]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// Number of query heads.
    pub num_heads: i64,
    /// Number of KV heads, a divisor of `num_heads`.
    pub num_kv_heads: i64,
    /// Size of a head; by default, the features of `x` divided by the number of heads.
    pub head_dim: Option<i64>,
    /// Whether the projections have biases.
    pub use_bias: bool,
    /// Which positions a query attends to.
    pub seen: Seen,
    /// Rotary position embedding of queries and keys.
    pub rope: Option<Rope>,
    /// Initial values of kernels; LeCun normal by default.
    pub kernel_init: Option<Init>,
    /// Block size of keys in blockwise attention; all keys at once by default.
    pub block: Option<i64>,
}

impl Attention {
    /// Creates attention with this many heads, no masking, and biases.
    #[must_use]
    pub fn new(num_heads: i64) -> Self {
        Attention {
            num_heads,
            num_kv_heads: num_heads,
            head_dim: None,
            use_bias: true,
            seen: Seen::default(),
            rope: None,
            kernel_init: None,
            block: None,
        }
    }

    /// Makes attention causal: see [`Seen::causal`].
    #[must_use]
    pub fn causal(mut self) -> Self {
        self.seen.causal = true;
        self
    }

    /// Sets the number of KV heads.
    #[must_use]
    pub fn num_kv_heads(self, num_kv_heads: i64) -> Self {
        Attention { num_kv_heads, ..self }
    }

    /// Sets the size of a head.
    #[must_use]
    pub fn head_dim(self, head_dim: i64) -> Self {
        Attention { head_dim: Some(head_dim), ..self }
    }

    /// Sets whether there are biases.
    #[must_use]
    pub fn use_bias(self, use_bias: bool) -> Self {
        Attention { use_bias, ..self }
    }

    /// Adds rotary position embeddings.
    #[must_use]
    pub fn rope(self, rope: Rope) -> Self {
        Attention { rope: Some(rope), ..self }
    }

    /// Sets a sliding window of this many positions, including the position itself.
    #[must_use]
    pub fn window(mut self, window: i64) -> Self {
        self.seen.window = Some(window);
        self
    }

    /// Adds ALiBi: see [`Seen::alibi`].
    #[must_use]
    pub fn alibi(mut self) -> Self {
        self.seen.alibi = true;
        self
    }

    /// Enables soft capping of scores to plus or minus this number.
    #[must_use]
    pub fn softcap(mut self, cap: f64) -> Self {
        self.seen.softcap = Some(cap);
        self
    }

    /// Sets the initial values of kernels.
    #[must_use]
    pub fn kernel_init(self, kernel_init: Init) -> Self {
        Attention { kernel_init: Some(kernel_init), ..self }
    }

    /// Computes attention over blocks of this many keys ([`blockwise_attention`]): no tensor of all queries by all keys is created.
    /// Requires consecutive positions, and no segments, masks or ALiBi; the block size must divide the keys.
    #[must_use]
    pub fn block(self, block: i64) -> Self {
        Attention { block: Some(block), ..self }
    }

    /// Computes self-attention of `x`, `[batch, time, features]`. Layers: `query`, `key`, `value`, whose kernels are
    /// `[features, heads, head_dim]`, and `out`, `[heads, head_dim, features]`.
    ///
    /// Reports an error if `x` has the wrong rank, if `features` is not divisible by the number of heads, or if the number of heads is not
    /// divisible by the number of KV heads.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        self.apply_at(p, x, x, &Places::default())
    }

    /// Computes attention of `x` over `memory` (cross-attention if `memory` is not `x`), with positions, segments and masks.
    ///
    /// Reports the errors of [`Attention::apply`].
    #[must_use]
    #[track_caller]
    pub fn apply_at<'g>(
        &self,
        p: &Scope<'g>,
        x: Tensor<'g>,
        memory: Tensor<'g>,
        places: &Places<'g>,
    ) -> Tensor<'g> {
        self.attend(p, x, memory, places).0
    }

    /// Prefill: self-attention of prompts `x`, `[batch, time, features]`. Returns the result of [`Attention::apply`], and the keys and
    /// values to cache for [`Attention::apply_next`], `[batch, time, kv_heads, head_dim]`. Positions of a row before `first`, `[batch]`
    /// integers, are padding and masked.
    ///
    /// Reports the errors of [`Attention::apply`], and an error if attention is not causal, or if blockwise attention is used with padding.
    #[must_use]
    #[track_caller]
    pub fn apply_prompt<'g>(
        &self,
        p: &Scope<'g>,
        x: Tensor<'g>,
        first: Option<Tensor<'g>>,
    ) -> (Tensor<'g>, [Tensor<'g>; 2]) {
        if !x.is_poisoned() && !self.seen.causal {
            let wrong = p.graph().refuse(&[x], "a key/value cache needs causal attention");
            return (wrong, [wrong; 2]);
        }
        let mask = first.filter(|_| !x.is_poisoned()).map(|first| since(first, x.size(1)));
        self.attend(p, x, x, &Places { mask, ..Places::default() })
    }

    /// Returns attention of `x` over `memory`, and the keys and values of `memory`.
    #[track_caller]
    fn attend<'g>(
        &self,
        p: &Scope<'g>,
        x: Tensor<'g>,
        memory: Tensor<'g>,
        places: &Places<'g>,
    ) -> (Tensor<'g>, [Tensor<'g>; 2]) {
        let nothing = |nothing: Tensor<'g>| (nothing, [nothing; 2]);
        if let Some(&poison) = [x, memory].iter().find(|t| t.is_poisoned()) {
            return nothing(poison);
        }
        let g = p.graph();
        if x.rank() != 3 || memory.rank() != 3 || self.num_heads < 1 {
            let text = "attention needs tensors of shape [batch, time, features] and at least one head";
            return nothing(g.refuse(&[x, memory], text));
        }
        if let Some(text) = self.undivided(x.size(-1)) {
            return nothing(g.refuse(&[x], text));
        }
        let [q, k, v] = self.mapped(p, x, memory, places);
        let reduce = p.policy().reduce;
        let is_plain =
            [places.queries, places.keys, places.segments, places.mask].iter().all(Option::is_none);
        let y = match self.block {
            Some(block) if is_plain => blockwise_attention(q, k, v, &self.seen, block, reduce),
            Some(_) => {
                g.refuse(&[x], "blockwise attention supports no masks, segments or explicit positions")
            }
            None => dot_product_attention(q, k, v, &self.seen, places, reduce),
        };
        (self.map(&[x.size(-1)], 2).apply(&p.at("out"), y), [k, v])
    }

    /// Decode step: computes attention of `x`, `[batch, 1, features]`, at `position`, a scalar `i32`. The keys are those of `x` and of
    /// the earlier positions, starting at `first`, `[batch]` integers. `cache` contains the keys and the values of earlier positions,
    /// each of shape `[batch, context, kv_heads, head_dim]`. Returns the result of [`Attention::apply`] at `position`, and the key and
    /// value of `x`, `[batch, 1, kv_heads, head_dim]`.
    ///
    /// Reports the errors of [`Attention::apply`], and an error if attention is not causal.
    #[must_use]
    #[track_caller]
    pub fn apply_next<'g>(
        &self,
        p: &Scope<'g>,
        x: Tensor<'g>,
        cache: [Tensor<'g>; 2],
        first: Tensor<'g>,
        position: Tensor<'g>,
    ) -> (Tensor<'g>, [Tensor<'g>; 2]) {
        if x.is_poisoned() {
            return (x, [x; 2]);
        }
        if x.rank() != 3 || self.num_heads < 1 || !self.seen.causal {
            let wrong = p.graph().refuse(
                &[x],
                "a decode step needs causal attention, at least one head, and a tensor of shape [batch, 1, \
                 features]",
            );
            return (wrong, [wrong; 2]);
        }
        if let Some(text) = self.undivided(x.size(-1)) {
            let wrong = p.graph().refuse(&[x], text);
            return (wrong, [wrong; 2]);
        }
        let at = position.reshape([1]);
        let [q, k, v] =
            self.mapped(p, x, x, &Places { queries: Some(at), keys: Some(at), ..Places::default() });
        let zero = p.graph().scalar(0.0, DType::I32);
        let with =
            |cache: Tensor<'g>, new: Tensor<'g>| cache.dynamic_update(new, &[zero, position, zero, zero]);
        // The causal mask excludes cache positions that are not filled yet; `since` excludes positions before `first`, which were never
        // filled.
        let is_filled = since(first, cache[0].size(1));
        let places = Places { queries: Some(at), mask: Some(is_filled), ..Places::default() };
        let (keys, values) = (with(cache[0], k), with(cache[1], v));
        let y = dot_product_attention(q, keys, values, &self.seen, &places, p.policy().reduce);
        (self.map(&[x.size(-1)], 2).apply(&p.at("out"), y), [k, v])
    }

    /// Returns queries of `x`, and keys and values of `memory`; queries and keys have rotary embeddings.
    #[track_caller]
    fn mapped<'g>(
        &self,
        p: &Scope<'g>,
        x: Tensor<'g>,
        memory: Tensor<'g>,
        places: &Places<'g>,
    ) -> [Tensor<'g>; 3] {
        let head_dim = self.head_size(x.size(-1));
        let q = self.map(&[self.num_heads, head_dim], 1).apply(&p.at("query"), x);
        let k = self.map(&[self.num_kv_heads, head_dim], 1).apply(&p.at("key"), memory);
        let v = self.map(&[self.num_kv_heads, head_dim], 1).apply(&p.at("value"), memory);
        [self.turned(q, places.queries), self.turned(k, places.keys), v]
    }

    /// Applies the rotary embedding to queries or keys, if the layer has one.
    #[track_caller]
    fn turned<'g>(&self, x: Tensor<'g>, at: Option<Tensor<'g>>) -> Tensor<'g> {
        match (self.rope, at) {
            (None, _) => x,
            (Some(rope), Some(at)) => rope.apply(x, at),
            (Some(rope), None) => rope.apply(x, x.graph().arange(x.size(1), DType::I32)),
        }
    }

    /// Returns the error message if the features are not divisible by the number of heads.
    fn undivided(&self, features: i64) -> Option<String> {
        let heads = self.num_heads;
        let is_undivided = self.head_dim.is_none() && features % heads != 0;
        is_undivided
            .then(|| format!("{features} features are not divisible by {heads} heads: set `head_dim`"))
    }

    /// Returns the size of a head for this many features.
    pub(crate) fn head_size(&self, features: i64) -> i64 {
        self.head_dim.unwrap_or(features / self.num_heads.max(1))
    }

    fn map(&self, features: &[i64], axes: usize) -> DenseGeneral {
        let map = DenseGeneral::new(features).axes(axes).use_bias(self.use_bias);
        DenseGeneral { kernel_init: self.kernel_init.clone(), ..map }
    }
}
