//! Loss scaling for gradients in 16-bit floats.

use shardc_graph::{DType, Tensor};

use crate::{Init, Kind, Scope};

/// Dynamic loss scaling: the loss is multiplied by a factor before differentiation, and the gradient is divided by the factor
/// afterwards, so that small gradients do not underflow. The factor grows while gradients are finite and shrinks otherwise; a step
/// with non-finite gradients changes only loss scales ("Mixed Precision Training", Micikevicius et al., 2018). Networks with separate
/// losses in one step each need their own scale, in their own scope.
#[derive(Clone, Debug, PartialEq)]
pub struct LossScale {
    /// The initial factor.
    pub initial: f64,
    /// The growth factor, and the divisor on overflow.
    pub factor: f64,
    /// The number of consecutive finite steps before the factor grows.
    pub growth_interval: i64,
}

impl Default for LossScale {
    /// Returns a loss scale with an initial factor of 2^15, doubled after 2000 finite steps.
    fn default() -> Self {
        LossScale { initial: 32768.0, factor: 2.0, growth_interval: 2000 }
    }
}

impl LossScale {
    /// Returns the gradient of a loss with respect to each of [`Scope::trainable`], in `f32`, and whether it is finite. The factor is the
    /// variable `loss_scale`.
    ///
    /// Reports the errors of [`Scope::gradients`].
    #[track_caller]
    pub fn gradients<'g>(&self, p: &Scope<'g>, loss: Tensor<'g>) -> (Vec<Tensor<'g>>, Tensor<'g>) {
        let scale = p.variable("loss_scale", Kind::Statistics, (), DType::F32, Init::Constant(self.initial));
        let good = p.variable("finite_steps", Kind::Counter, (), DType::I32, Init::zeros());
        p.never_skip("loss_scale");
        p.never_skip("finite_steps");
        let scaled = p.gradients(loss * scale.to(loss.dtype()));
        let gradients: Vec<Tensor<'g>> = scaled.into_iter().map(|x| x.to(DType::F32) / scale).collect();
        let mut is_finite = p.graph().scalar(1.0, DType::I1);
        for gradient in &gradients {
            is_finite = is_finite & gradient.is_finite().all(..);
        }
        let grows = (good + 1).ge(self.growth_interval);
        let after_good = grows.select(scale * self.factor, scale);
        p.set(&p.full_name("loss_scale"), is_finite.select(after_good, (scale / self.factor).max(1)));
        let counted = grows.select(0, good + 1);
        p.set(&p.full_name("finite_steps"), is_finite.select(counted, 0));
        (gradients, is_finite)
    }

    /// If the gradient is finite, variables of `p` and nested scopes take the next values set by [`apply`](super::apply). Otherwise, only
    /// variables of loss scales change. `p` is the scope passed to [`gradients`](LossScale::gradients): sibling scopes belong to other
    /// networks.
    #[track_caller]
    pub fn skip_unless<'g>(&self, p: &Scope<'g>, is_finite: Tensor<'g>) {
        p.update_skipped(|before, next| is_finite.select(next, before));
    }
}
