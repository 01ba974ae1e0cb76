//! Mixtures of experts: of several maps, each token goes through a few.

use shardc_graph::{DType, OpKind, Tensor, spec};
use shardc_ir::{DimList, RaggedDotSpec};

use super::linear::lecun;
use super::{Activation, Dense};
use crate::{Maps, Scope};

/// Gated maps, of which each token goes through the `top_k` that a router gives most to. An expert takes as many tokens of a row as
/// it has room for, the first ones; what has no room goes around, unless it is dropless. Tokens reach experts by products with zeros and ones
/// (Lepikhin et al., "GShard", 2020).
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
    /// How many experts.
    pub num_experts: i64,
    /// How many of them each token goes through.
    pub top_k: i64,
    /// Size of the dimension inside of an expert.
    pub hidden: i64,
    /// An expert has room for so many times `time * top_k / num_experts` tokens of a row.
    pub capacity_factor: f64,
    /// What is between.
    pub activation: Activation,
    /// Whether each expert takes all of its tokens, however many: these are sorted by expert, and each group is multiplied by its
    /// expert's matrices (Gale et al., "MegaBlocks", 2022).
    pub is_dropless: bool,
    /// The axis of the mesh that experts are split over, if any: tokens are exchanged along it, where a batch is split over it, too.
    pub expert_axis: Option<String>,
}

impl Moe {
    /// With silu, and room for a quarter more than the mean.
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

    /// With room for all tokens in each expert, which are sorted rather than put into slots.
    #[must_use]
    pub fn dropless(self) -> Self {
        Moe { is_dropless: true, ..self }
    }

    /// With tokens that are exchanged along this axis of the mesh, which splits the experts.
    #[must_use]
    pub fn expert_axis(self, axis: &str) -> Self {
        Moe { expert_axis: Some(axis.to_owned()), ..self }
    }

    /// With so many times as much room as the mean.
    #[must_use]
    pub fn capacity_factor(self, capacity_factor: f64) -> Self {
        Moe { capacity_factor, ..self }
    }

    /// The maps of `x`, `[batch, time, features]`, and a loss that is 1 where all experts get as much, and more where not (Fedus et
    /// al., "Switch Transformers", 2021). Layer: `router`; parameters: `gate`, `up` and `down`, with the experts in front.
    ///
    /// Reported: `x` has another rank; there are fewer than `top_k` experts.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> (Tensor<'g>, Tensor<'g>) {
        let g = p.graph();
        if x.is_poisoned() {
            return (x, x);
        }
        if x.rank() != 3 || self.top_k < 1 || self.top_k > self.num_experts {
            let text = format!("{} of {} experts", self.top_k, self.num_experts);
            let refused = g.refuse(&[x], text);
            return (refused, refused);
        }
        let (experts, reduce) = (self.num_experts, p.policy().reduce);
        let router = Dense::new(experts).use_bias(false);
        let chances = router.apply(&p.at("router"), x).to(reduce).softmax(-1);
        let (weights, chosen) = chances.top_k(self.top_k);
        let weights = weights / weights.sum_keepdims(-1);
        // [batch, time, choice, expert].
        let goes = chosen.one_hot(experts, DType::I32);
        let y = match self.is_dropless {
            true => self.sorted(p, x, weights, chosen, goes),
            false => self.in_slots(p, x, weights, goes),
        };
        let share = goes.to(reduce).sum(2).mean([0, 1]) / self.top_k as f64;
        let balance = (share.stop_gradient() * chances.mean([0, 1])).sum(..) * experts as f64;
        (y, balance)
    }

    /// Tokens in slots of experts: products with zeros and ones put them there and back.
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
        // No token takes the room of one before it, so that a decoder does not look ahead.
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

    /// What experts take or give, split by expert.
    #[track_caller]
    fn of_experts<'g>(&self, x: Tensor<'g>) -> Tensor<'g> {
        match &self.expert_axis {
            Some(axis) => x.mark_sharding(spec![axis, _, _, _]),
            None => x,
        }
    }

    /// Tokens in groups, one for each expert.
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
        // Back in the order of tokens.
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
