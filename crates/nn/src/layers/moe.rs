//! Mixtures of experts: of several maps, each token goes through a few.

use shardc_graph::{DType, Tensor, spec};

use super::linear::lecun;
use super::{Activation, Dense};
use crate::Scope;

/// Gated maps, of which each token goes through the `top_k` that a router gives most to. An expert takes as many tokens of a row as
/// it has room for, the first ones; what has no room goes around. Tokens reach experts by products with zeros and ones
/// (Lepikhin et al., "GShard", 2020).
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
            expert_axis: None,
        }
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
        if x.is_poisoned() || x.rank() != 3 || self.top_k < 1 || self.top_k > self.num_experts {
            let text = format!("{} of {} experts", self.top_k, self.num_experts);
            let refused = g.refuse(&[x], text);
            return (refused, refused);
        }
        let [batch, time, features] = x.dims::<3>();
        let (experts, reduce) = (self.num_experts, p.policy().reduce);
        let mean = (time * self.top_k) as f64 / experts as f64;
        let room = ((mean * self.capacity_factor).ceil() as i64).clamp(1, time);
        let router = Dense::new(experts).use_bias(false);
        let chances = router.apply(&p.at("router"), x).to(reduce).softmax(-1);
        let (weights, chosen) = chances.top_k(self.top_k);
        let weights = weights / weights.sum_keepdims(-1);
        // [batch, time, choice, expert]: no token takes the room of one before it, so that a decoder does not look ahead.
        let goes = chosen.one_hot(experts, DType::I32);
        let flat = goes.reshape([batch, time * self.top_k, experts]);
        let place = (flat.cumsum(1) - flat).reshape(goes.shape());
        let place = (place * goes).sum(-1);
        let slot = place.one_hot(room, reduce);
        let dispatch = goes.to(reduce).expand_dims(-1) * slot.expand_dims(-2);
        let combine = (dispatch * weights.expand_dims(-1).expand_dims(-1)).sum(2);
        let dispatch = dispatch.sum(2).stop_gradient().to(x.dtype());
        let kernel = |name: &str, from: i64, to: i64| p.parameter(name, [experts, from, to], lecun(from));
        let of_experts = |t: Tensor<'g>| match &self.expert_axis {
            Some(axis) => t.mark_sharding(spec![axis, _, _, _]),
            None => t,
        };
        let taken = of_experts(g.einsum("btec,btf->ebcf", &[dispatch, x]));
        let gate = g.einsum("ebcf,efh->ebch", &[taken, kernel("gate", features, self.hidden)]);
        let up = g.einsum("ebcf,efh->ebch", &[taken, kernel("up", features, self.hidden)]);
        let hidden = self.activation.apply(gate) * up;
        let out = of_experts(g.einsum("ebch,ehf->ebcf", &[hidden, kernel("down", self.hidden, features)]));
        let y = g.einsum("btec,ebcf->btf", &[combine.to(x.dtype()), out]);
        let share = goes.to(reduce).sum(2).mean([0, 1]) / self.top_k as f64;
        let balance = (share.stop_gradient() * chances.mean([0, 1])).sum(..) * experts as f64;
        (y, balance)
    }
}
