//! Scaling of losses, where gradients are computed in floats of 16 bits.

use shardc_graph::{DType, Tensor};

use crate::{Init, Kind, Scope};

/// A loss is multiplied by a factor before its gradient is taken, and the gradient divided by it after, so that small gradients are
/// no zeros. The factor grows while gradients are finite, and shrinks where they are not; such steps change nothing else
/// ("Mixed Precision Training", Micikevicius et al., 2018). Nets that are trained with losses of their own, in one step, have a
/// scale each, in a scope each.
#[derive(Clone, Debug, PartialEq)]
pub struct LossScale {
    /// The factor at first.
    pub initial: f64,
    /// By how much it grows or shrinks.
    pub factor: f64,
    /// After how many finite steps it grows.
    pub growth_interval: i64,
}

impl Default for LossScale {
    /// 2^15, which doubles after 2000 steps.
    fn default() -> Self {
        LossScale { initial: 32768.0, factor: 2.0, growth_interval: 2000 }
    }
}

impl LossScale {
    /// The gradient of a loss by each of [`Scope::trainable`], in `f32`, and whether all of it is finite. The factor is the variable
    /// `loss_scale`.
    ///
    /// Reported: as for [`Scope::gradients`].
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

    /// Lets variables of `p` and of scopes below become what was said in [`apply`](super::apply) where the gradient was finite, and
    /// stay as they are where not; those of scales change. `p` is the scope that was given to
    /// [`gradients`](LossScale::gradients): what lies beside it is another net's.
    #[track_caller]
    pub fn skip_unless<'g>(&self, p: &Scope<'g>, is_finite: Tensor<'g>) {
        p.update_skipped(|before, next| is_finite.select(next, before));
    }
}
