//! Adapters of low rank beside frozen linear maps.

use std::rc::Rc;

use shardc_graph::{DotDims, Key, Tensor};
use shardc_strategy::Lora;

use super::Dropout;
use crate::init::{Distribution, Fan};
use crate::lora::Adapters;
use crate::{Init, Maps, Scope};

impl<'g> Scope<'g> {
    /// The same scope, whose parameters are not trained; beside its linear maps, where they are targets, there are adapters
    /// `lora_a`, `[inputs, rank]`, and `lora_b`, `[rank, outputs]`, which are (Hu et al., "LoRA", 2021). `key` is for dropout, while
    /// they are trained.
    ///
    /// Reported where there are adapters: a rank below one; dropout that is not from 0 to 1. Reported by [`Scope::finish`]: a target
    /// that there is no map for.
    #[must_use]
    pub fn with_lora(&self, lora: &Lora, key: Option<Key<'g>>) -> Self {
        let lora = Rc::new(lora.clone());
        self.maps.borrow_mut().asked.push(Rc::clone(&lora));
        Scope { adapters: Some(Adapters { lora, key }), ..self.frozen() }
    }

    /// What the adapters of a linear map add to it, of the last dimensions of `x` that are `inputs`.
    #[track_caller]
    pub(crate) fn adapted(
        &self,
        x: Tensor<'g>,
        inputs: &[i64],
        features: &[i64],
        y: Tensor<'g>,
    ) -> Tensor<'g> {
        self.maps.borrow_mut().names.push(self.name().to_owned());
        let Some(Adapters { lora, key }) = &self.adapters else { return y };
        if !lora.targets.has(self.name(), self.is_output) {
            return y;
        }
        if lora.rank < 1 {
            return self.graph().refuse(&[x], format!("adapters of rank {}", lora.rank));
        }
        let key = match key {
            Some(key) if lora.dropout > 0.0 => Some(self.key(*key)),
            _ => None,
        };
        let trained = Scope { is_frozen: false, ..self.clone() };
        // PyTorch's uniform numbers for a layer: Kaiming's of the square root of five.
        let init =
            Init::VarianceScaling { scale: 1.0 / 3.0, fan: Fan::In, distribution: Distribution::Uniform };
        let a = trained.parameter_of_maps("lora_a", [inputs, &[lora.rank]].concat(), Maps::one(1), init);
        let b = trained.parameter_of_maps(
            "lora_b",
            [&[lora.rank], features].concat(),
            Maps::one(features.len()),
            Init::zeros(),
        );
        let x = Dropout::new(lora.dropout).apply(key, x);
        let (rank, axes) = (x.rank() as i64, inputs.len() as i64);
        let from_last: Vec<i64> = (rank - axes..rank).collect();
        let from_first: Vec<i64> = (0..axes).collect();
        let low = x.dot_general(a, &DotDims::contracting(&from_last, &from_first));
        let last = low.rank() as i64 - 1;
        y + low.dot_general(b, &DotDims::contracting(&[last], &[0])) * lora.scale()
    }
}
