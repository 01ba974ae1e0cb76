//! Means: of gradients over parts of a batch, and of parameters over steps.

use shardc_graph::{DType, Tensor, Tree};

use crate::{Init, Scope};

/// The mean loss of a batch, and its gradient by each of [`Scope::trainable`], computed part by part, so that one part's values are
/// alive at a time. The first dimension of each tensor of `inputs` is the batch's, and stays split as it is: a part takes every
/// `parts`-th example.
///
/// Reported: a batch does not divide into parts; what [`Scope::gradients`] reports.
#[track_caller]
pub fn accumulated<'g, I: Tree<'g>>(
    p: &Scope<'g>,
    parts: i64,
    inputs: &I,
    loss: impl Fn(&Scope<'g>, I) -> Tensor<'g>,
) -> (Tensor<'g>, Vec<Tensor<'g>>) {
    let g = p.graph();
    let by_parts = inputs.map(|x| {
        let shape = x.shape();
        match shape.split_first() {
            Some((batch, rest)) if parts > 0 && batch % parts == 0 => {
                x.reshape([&[batch / parts, parts], rest].concat()).swap_axes(0, 1)
            }
            _ => g.refuse(&[x], format!("{parts} parts of a batch of shape {shape:?}")),
        }
    });
    // What parameters there are is known once the model was made; nothing of this is computed.
    let _ = loss(p, by_parts.map(|x| x.slice(0, 0..1).squeeze(0)));
    let zeros: Vec<Tensor<'g>> = p.trainable().iter().map(|param| param.tensor.zeros_like()).collect();
    let ((total, sums), ()) = g.scan((g.scalar(0.0, DType::F32), zeros), by_parts, |(total, sums), part| {
        let loss = loss(p, part);
        let gradients = p.gradients(loss);
        let sums: Vec<Tensor<'g>> =
            sums.iter().zip(gradients).map(|(&sum, gradient)| sum + gradient).collect();
        ((total + loss.to(DType::F32), sums), ())
    });
    let share = 1.0 / parts as f64;
    (total * share, sums.into_iter().map(|sum| sum * share).collect())
}

/// Keeps of each trained parameter a mean over steps, of which `decay` stays in each (an exponential moving average), as the
/// variable `name` before the parameter's; returns the means. They begin as zeros: after `t` steps they lack `decay^t`.
///
/// To be called after [`apply`](super::apply): it is what parameters become that counts.
#[track_caller]
pub fn average<'g>(p: &Scope<'g>, name: &str, decay: f64) -> Vec<Tensor<'g>> {
    let mean = |param: &crate::Param<'g>| {
        let before = p.variable_of(param, name, DType::F32, Init::zeros());
        let now = p.next(&param.name).unwrap_or(param.tensor).to(DType::F32);
        let next = decay * before + (1.0 - decay) * now;
        p.set_of(param, name, next);
        next
    };
    p.trainable().iter().map(mean).collect()
}
