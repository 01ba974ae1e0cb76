//! Mixtures of experts.

use shardc_graph::{DType, OpKind, Tensor, spec};
use shardc_ir::{DimList, RaggedDotSpec};

use super::linear::lecun;
use super::{Activation, Dense};
use crate::{Maps, Scope};

/// A mixture of gated experts: a router sends each token to its `top_k` experts. An expert takes the first tokens of each row up to
/// its capacity, and drops the other tokens. Tokens are dispatched by matmuls with zeros and ones (Lepikhin et al., "GShard", 2020). A
/// dropless layer sorts the tokens instead and has no capacity limit.
///
/// ```
/// # use shardc_graph::{DType::F32, Graph, Mesh};
/// # use shardc_nn::{Scope, layers::*};
/// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
/// # let p = Scope::new(&g);
/// let x = g.parameter("x", [2, 8, 16], F32);
/// let (y, balance) = Moe::new(4, 2, 32).apply(&p.at("moe"), x);
/// assert_eq!((y.shape(), balance.rank()), (vec![2, 8, 16], 0));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Moe {
    /// Number of experts.
    pub num_experts: i64,
    /// The number of experts that each token is routed to.
    pub top_k: i64,
    /// Hidden dimension of an expert.
    pub hidden: i64,
    /// Capacity factor: the capacity of an expert is this factor times `time * top_k / num_experts` tokens of each row.
    pub capacity_factor: f64,
    /// Activation function.
    pub activation: Activation,
    /// Whether there is no capacity limit: tokens are sorted by expert, and each group is multiplied by its expert's matrices (Gale et al.,
    /// "MegaBlocks", 2022).
    pub is_dropless: bool,
    /// The mesh axis that shards the experts, if any. Devices exchange tokens along the axis if the batch is also sharded over it.
    pub expert_axis: Option<String>,
}

impl Moe {
    /// Creates a mixture of experts with silu and a capacity factor of 1.25.
    #[must_use]
    pub fn new(num_experts: i64, top_k: i64, hidden: i64) -> Self {
        Moe {
            num_experts,
            top_k,
            hidden,
            capacity_factor: 1.25,
            activation: Activation::Silu,
            is_dropless: false,
            expert_axis: None,
        }
    }

    /// Makes the layer dropless: tokens are sorted by expert instead of dispatched into slots, without a capacity limit.
    #[must_use]
    pub fn dropless(self) -> Self {
        Moe { is_dropless: true, ..self }
    }

    /// Shards the experts over this mesh axis, along which tokens are exchanged.
    #[must_use]
    pub fn expert_axis(self, axis: &str) -> Self {
        Moe { expert_axis: Some(axis.to_owned()), ..self }
    }

    /// Sets the capacity factor.
    #[must_use]
    pub fn capacity_factor(self, capacity_factor: f64) -> Self {
        Moe { capacity_factor, ..self }
    }

    /// Applies the experts to `x`, `[batch, time, features]`. Also returns the load balancing loss, 1 if all experts get equally many
    /// tokens, more otherwise (Fedus et al., "Switch Transformers", 2021). Layer: `router`; parameters: `gate`, `up` and `down`, whose
    /// leading dimension indexes the experts.
    ///
    /// Reports an error if `x` has the wrong rank, or if there are fewer than `top_k` experts.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> (Tensor<'g>, Tensor<'g>) {
        let g = p.graph();
        if x.is_poisoned() {
            return (x, x);
        }
        if x.rank() != 3 || self.top_k < 1 || self.top_k > self.num_experts {
            let text = format!(
                "a mixture of experts needs an input of rank 3 and a top_k between 1 and the number of experts; top_k is \
             {}, with {} experts",
                self.top_k, self.num_experts
            );
            let refused = g.refuse(&[x], text);
            return (refused, refused);
        }
        let (experts, reduce) = (self.num_experts, p.policy().reduce);
        let router = Dense::new(experts).use_bias(false);
        let chances = router.apply(&p.at("router"), x).to(reduce).softmax(-1);
        let (weights, chosen) = chances.top_k(self.top_k);
        let weights = weights / weights.sum_keepdims(-1);
        // One-hot choices of experts, [batch, time, choice, expert].
        let goes = chosen.one_hot(experts, DType::I32);
        let y = match self.is_dropless {
            true => self.sorted(p, x, weights, chosen, goes),
            false => self.in_slots(p, x, weights, goes),
        };
        let share = goes.to(reduce).sum(2).mean([0, 1]) / self.top_k as f64;
        let balance = (share.stop_gradient() * chances.mean([0, 1])).sum(..) * experts as f64;
        (y, balance)
    }

    /// Dispatches tokens into slots of experts and combines the results, by matmuls with zeros and ones.
    #[track_caller]
    fn in_slots<'g>(
        &self,
        p: &Scope<'g>,
        x: Tensor<'g>,
        weights: Tensor<'g>,
        goes: Tensor<'g>,
    ) -> Tensor<'g> {
        let (g, reduce, experts) = (p.graph(), p.policy().reduce, self.num_experts);
        let [batch, time, _] = x.dims::<3>();
        let mean = (time * self.top_k) as f64 / experts as f64;
        let room = ((mean * self.capacity_factor).ceil() as i64).clamp(1, time);
        // Earlier tokens have precedence for slots, so that a decoder stays causal.
        let flat = goes.reshape([batch, time * self.top_k, experts]);
        let place = (flat.cumsum(1) - flat).reshape(goes.shape());
        let place = (place * goes).sum(-1);
        let slot = place.one_hot(room, reduce);
        let dispatch = goes.to(reduce).expand_dims(-1) * slot.expand_dims(-2);
        let combine = (dispatch * weights.expand_dims(-1).expand_dims(-1)).sum(2);
        let dispatch = dispatch.sum(2).stop_gradient().to(x.dtype());
        let [gate, up, down] = self.kernels(p, x.size(-1));
        let taken = self.of_experts(g.einsum("btec,btf->ebcf", &[dispatch, x]));
        let gate = g.einsum("ebcf,efh->ebch", &[taken, gate]);
        let up = g.einsum("ebcf,efh->ebch", &[taken, up]);
        let out = self.of_experts(g.einsum("ebch,ehf->ebcf", &[self.activation.apply(gate) * up, down]));
        g.einsum("btec,ebcf->btf", &[combine.to(x.dtype()), out])
    }

    /// Shards inputs or outputs of experts over the expert axis.
    #[track_caller]
    fn of_experts<'g>(&self, x: Tensor<'g>) -> Tensor<'g> {
        match &self.expert_axis {
            Some(axis) => x.mark_sharding(spec![axis, _, _, _]),
            None => x,
        }
    }

    /// Sorts tokens by expert, applies the experts with ragged matmuls, and restores the order of tokens.
    #[track_caller]
    fn sorted<'g>(
        &self,
        p: &Scope<'g>,
        x: Tensor<'g>,
        weights: Tensor<'g>,
        chosen: Tensor<'g>,
        goes: Tensor<'g>,
    ) -> Tensor<'g> {
        let [batch, time, features] = x.dims::<3>();
        let count = batch * time * self.top_k;
        let order = chosen.reshape([count]).argsort(0);
        let taken = x.reshape([batch * time, features]).take(order / self.top_k, 0);
        let sizes = goes.sum([0, 1, 2]);
        let by_group = |x: Tensor<'g>, kernels: Tensor<'g>| {
            let of = |dim: u32| DimList::from_elem(dim, 1);
            let spec = RaggedDotSpec {
                lhs_contract: of(1),
                rhs_contract: of(1),
                lhs_ragged: of(0),
                rhs_group: of(0),
                ..RaggedDotSpec::default()
            };
            p.graph().op(OpKind::RaggedDot(Box::new(spec)), &[x, kernels, sizes])
        };
        let [gate, up, down] = self.kernels(p, features);
        let hidden = self.activation.apply(by_group(taken, gate)) * by_group(taken, up);
        // Restores the order of tokens.
        let out = by_group(hidden, down).take(order.argsort(0), 0);
        let out = out.reshape([batch, time, self.top_k, features]);
        (out * weights.to(x.dtype()).expand_dims(-1)).sum(2)
    }

    #[track_caller]
    fn kernels<'g>(&self, p: &Scope<'g>, features: i64) -> [Tensor<'g>; 3] {
        let (experts, hidden) = (self.num_experts, self.hidden);
        let of = |name: &str, inputs: i64, outputs: i64| {
            let maps = Maps { maps: 1, outputs: 1 };
            p.parameter_of_maps(name, [experts, inputs, outputs], maps, lecun(inputs))
        };
        [of("gate", features, hidden), of("up", features, hidden), of("down", hidden, features)]
    }
}
