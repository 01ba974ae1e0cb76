//! LoRA adapters of frozen linear layers.

use std::rc::Rc;

use shardc_graph::{DType, DotDims, Key, Tensor};
use shardc_strategy::{Bias, Lora};

use super::Dropout;
use crate::init::{Distribution, Fan};
use crate::lora::Adapters;
use crate::{Init, Maps, Scope};

impl<'g> Scope<'g> {
    /// Returns this scope with frozen parameters and trained adapters: each targeted linear layer gets `lora_a`, `[inputs, rank]`, and
    /// `lora_b`, `[rank, outputs]` (Hu et al., "LoRA", 2021), and with DoRA `lora_magnitude`, `[outputs]`. Modules to save are also
    /// trained, and so are biases that [`Lora::bias`] selects. `key` is for dropout in training.
    ///
    /// Creating adapters reports an error if the rank is below one, if dropout is not from 0 to 1, or if DoRA is used with a four-bit
    /// kernel. [`Scope::finish`] reports an error if a target matches no linear layer, or if a module to save does not exist.
    ///
    /// The adapters of all layers of a [`stack`](Scope::stack) are stacked in one variable, so they have one rank and one scale. If `A`,
    /// `B` and the magnitude of a layer are all zero, they stay zero in training, so the layer behaves as one without adapters.
    #[must_use]
    pub fn with_lora(&self, lora: &Lora, key: Option<Key<'g>>) -> Self {
        let lora = Rc::new(lora.clone());
        self.maps.borrow_mut().asked.push(Rc::clone(&lora));
        Scope { adapters: Some(Adapters { lora, key }), ..self.frozen() }
    }

    /// Returns whether this scope belongs to a module to save, which is trained in full.
    pub(crate) fn is_saved(&self) -> bool {
        self.adapters.as_ref().is_some_and(|adapters| adapters.lora.saves(self.name()))
    }

    /// Returns whether biases of this scope are trained.
    pub(crate) fn trains_bias(&self) -> bool {
        self.adapters.as_ref().is_some_and(|Adapters { lora, .. }| match lora.bias {
            Bias::None => false,
            Bias::All => true,
            Bias::LoraOnly => lora.adapts(self.name(), self.is_output),
        })
    }

    /// Adds the adapter term to `y`, the result of a linear layer without its bias. The first `axes` dimensions of `kernel` are contracted
    /// with the last `axes` dimensions of `x`.
    #[track_caller]
    pub(crate) fn adapted(
        &self,
        x: Tensor<'g>,
        kernel: Tensor<'g>,
        axes: usize,
        y: Tensor<'g>,
    ) -> Tensor<'g> {
        self.maps.borrow_mut().names.push(self.name().to_owned());
        let Some(Adapters { lora, key }) = &self.adapters else { return y };
        if !lora.adapts(self.name(), self.is_output) || kernel.is_poisoned() || x.is_poisoned() {
            return y;
        }
        let (rank, scale) = (lora.rank_of(self.name()), lora.scale_of(self.name()));
        if rank < 1 {
            return self
                .graph()
                .refuse(&[x], format!("the rank of LoRA adapters must be at least 1, got {rank}"));
        }
        let shape = kernel.shape();
        let (inputs, features) = shape.split_at(axes.min(shape.len()));
        let key = match key {
            Some(key) if lora.dropout > 0.0 => Some(self.key(*key)),
            _ => None,
        };
        let trained = Scope { is_frozen: false, ..self.clone() };
        // PyTorch's default for a linear layer: Kaiming uniform with a = sqrt(5).
        let init =
            Init::VarianceScaling { scale: 1.0 / 3.0, fan: Fan::In, distribution: Distribution::Uniform };
        let a = trained.parameter_of_maps("lora_a", [inputs, &[rank]].concat(), Maps::one(1), init);
        let b = trained.parameter_of_maps(
            "lora_b",
            [&[rank], features].concat(),
            Maps::one(features.len()),
            Init::zeros(),
        );
        let dropped = Dropout::new(lora.dropout).apply(key, x);
        let (dims, axes) = (x.rank() as i64, inputs.len() as i64);
        let from_last: Vec<i64> = (dims - axes..dims).collect();
        let from_first: Vec<i64> = (0..axes).collect();
        let map = DotDims::contracting(&from_last, &from_first);
        let low = dropped.dot_general(a, &map);
        let last = low.rank() as i64 - 1;
        let up = low.dot_general(b, &DotDims::contracting(&[last], &[0])) * scale;
        if !lora.dora {
            return y + up;
        }
        if self.quantized.is_some() && !self.is_output {
            return self.graph().refuse(&[x], "DoRA does not support 4-bit kernels");
        }
        let factor = trained.magnitude_factor(kernel, a, b, scale, axes);
        let factor = factor.to(y.dtype());
        if key.is_none() {
            return (y + up) * factor;
        }
        // As in PEFT, dropout applies to the input of the base kernel only in the term with `factor - 1`, not in `y`.
        y + dropped.dot_general(kernel, &map) * (factor - 1.0) + up * factor
    }

    /// DoRA's factor of each output, `m / ||W + s A B||`: the trained magnitude over the norm along inputs. The norm has no gradient. The
    /// factor is one if the magnitude is zero, that is, without adapters.
    #[track_caller]
    fn magnitude_factor(
        &self,
        kernel: Tensor<'g>,
        a: Tensor<'g>,
        b: Tensor<'g>,
        scale: f64,
        axes: i64,
    ) -> Tensor<'g> {
        let wide = if kernel.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
        let change = a.to(wide).dot_general(b.to(wide), &DotDims::contracting(&[-1], &[0])) * scale;
        let features = kernel.shape().split_off(axes as usize);
        let init = Init::NormOf { of: self.full_name("kernel"), axes: axes as usize };
        let magnitude = self.parameter("lora_magnitude", features, init).to(wide);
        let inputs: Vec<i64> = (0..axes).collect();
        let norm = (kernel.to(wide) + change).square().sum(inputs).sqrt().stop_gradient();
        magnitude.eq(0.0).select(magnitude.full_like(1.0), magnitude / norm)
    }
}
