//! Optimizers. Numerics and defaults are those of optax.

mod adafactor;
mod adam;
mod average;
mod clip;
mod groups;
mod loss_scale;
mod muon;
mod schedule;
mod sgd;

pub use adafactor::Adafactor;
pub use adam::{AdamW, Lion};
pub use average::{accumulated, average};
pub use clip::{clip_by_global_norm, global_norm};
pub use groups::{Frozen, Groups, is_bias_or_norm};
pub use loss_scale::LossScale;
pub use muon::{MapsOf, Muon};
pub use schedule::Schedule;
pub use sgd::Sgd;

use shardc_graph::{DType, Tensor};

use crate::{Init, Kind, Param, Scope};

/// Computes updates of parameters from their gradients.
pub trait Optimizer {
    /// Returns the update to add to each parameter, in order; optimizer state is kept in variables of `p`. `count` is the number of
    /// completed steps, a scalar `f32`.
    fn updates<'g>(
        &self,
        p: &Scope<'g>,
        params: &[Param<'g>],
        gradients: &[Tensor<'g>],
        count: Tensor<'g>,
    ) -> Vec<Tensor<'g>>;
}

/// One optimizer step: sets the next value of each trained parameter of `p`. Gradients are those of [`Scope::gradients`], in the same
/// order.
///
/// Reports an error if the numbers of gradients, parameters and returned updates differ, if a gradient and its parameter differ in shape,
/// or if a group of [`Groups`] has no parameters.
#[track_caller]
pub fn apply<'g>(optimizer: &(impl Optimizer + ?Sized), p: &Scope<'g>, gradients: &[Tensor<'g>]) {
    let params = p.trainable();
    if let Some(param) = params.get(gradients.len()) {
        let text = format!(
            "the parameter {:?} has no gradient: the number of gradients is {}",
            param.name,
            gradients.len()
        );
        p.graph().refuse(&[param.tensor], text);
        return;
    }
    if gradients.len() > params.len() {
        let of = if p.name().is_empty() { String::new() } else { format!(" of {:?}", p.name()) };
        let text = format!(
            "got {} gradients for the {} parameters{of}: compute the gradients with `gradients` of the same scope",
            gradients.len(),
            params.len()
        );
        p.graph().refuse(&gradients[params.len()..][..1], text);
        return;
    }
    for (param, &gradient) in params.iter().zip(gradients) {
        let is_known = !gradient.is_poisoned() && !param.tensor.is_poisoned();
        if is_known && gradient.shape() != param.tensor.shape() {
            let text = format!(
                "the parameter {:?} is {:?}, but its gradient is {gradient:?}",
                param.name, param.tensor
            );
            p.graph().refuse(&[param.tensor, gradient], text);
            return;
        }
    }
    let own = p.at("optimizer");
    let steps = own.variable("count", Kind::Counter, (), DType::I32, Init::zeros());
    let updates = checked_updates(optimizer, &own, &params, gradients, steps.to(DType::F32));
    for (param, update) in params.iter().zip(updates) {
        p.set(&param.name, param.tensor + update.to(param.tensor.dtype()));
    }
    p.set(&own.full_name("count"), steps + 1);
}

/// Returns the updates of an optimizer; reports an error unless there is one per parameter.
#[track_caller]
fn checked_updates<'g>(
    optimizer: &(impl Optimizer + ?Sized),
    p: &Scope<'g>,
    params: &[Param<'g>],
    gradients: &[Tensor<'g>],
    count: Tensor<'g>,
) -> Vec<Tensor<'g>> {
    let updates = optimizer.updates(p, params, gradients, count);
    if updates.len() == params.len() {
        return updates;
    }
    let text = format!("the optimizer returned {} updates for {} parameters", updates.len(), params.len());
    vec![p.graph().refuse(&[], text); params.len()]
}
