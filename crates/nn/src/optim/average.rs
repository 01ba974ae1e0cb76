//! Gradient accumulation over microbatches, and averages of parameters over steps.

use shardc_graph::{DType, Tensor, Tree};

use crate::scope::Trip;
use crate::{Init, Scope};

/// Gradient accumulation: the mean loss of a batch, and its gradient with respect to each of [`Scope::trainable`], computed one microbatch
/// at a time, so that only one microbatch has live activations. The first dimension of each tensor of `inputs` is the batch and keeps its
/// sharding: a microbatch takes every `parts`-th example.
///
/// The returned loss is the mean of the microbatch losses. If `loss` is a mean that ignores some examples, as with
/// [`CrossEntropy::ignore`](crate::loss::CrossEntropy::ignore), the result is not the mean over the batch, because all microbatches have
/// the same weight. For the mean over the batch, let `loss` return the sum over the microbatch, times `parts`, divided by the number of
/// counted examples in the batch.
///
/// A captured key produces the same numbers in each microbatch: use [`Scope::key`] of the scope passed to `loss`. Variables cannot be set
/// in `loss`.
///
/// Reports the errors of [`Scope::gradients`], and an error if `parts` does not divide the batch, if the loss is not a scalar of a float
/// type, or if `loss` sets a variable.
#[track_caller]
pub fn accumulated<'g, I: Tree<'g>>(
    p: &Scope<'g>,
    parts: i64,
    inputs: &I,
    loss: impl Fn(&Scope<'g>, I) -> Tensor<'g>,
) -> (Tensor<'g>, Vec<Tensor<'g>>) {
    let g = p.graph();
    // Here and below, `for` loops replace iterator closures, to which `#[track_caller]` does not apply.
    let (mut by_parts, mut first) = (Vec::new(), Vec::new());
    for x in inputs.leaves() {
        let shape = x.shape();
        let cut = match shape.split_first() {
            _ if x.is_poisoned() => x,
            Some((batch, rest)) if parts > 0 && batch % parts == 0 => {
                x.reshape([&[batch / parts, parts], rest].concat()).swap_axes(0, 1)
            }
            _ => g.refuse(&[x], format!("gradient accumulation: cannot divide a batch of shape {shape:?} into {parts} microbatches")),
        };
        by_parts.push(cut);
        first.push(cut.slice(0, 0..1).squeeze(0));
    }
    let loss_of = |number: Tensor<'g>, part: &[Tensor<'g>]| {
        loss(&p.clone().in_trip(Trip { layers: None, number }), inputs.rebuilt(part))
    };
    // The parameters are known only after building the model; the result of this call is dead code.
    let of_first = loss_of(g.scalar(0.0, DType::I32), &first);
    let mut sums = Vec::new();
    for param in p.trainable() {
        sums.push(param.tensor.zeros_like());
    }
    if of_first.is_poisoned() {
        return (of_first, vec![of_first; sums.len()]);
    }
    if of_first.rank() > 0 || !of_first.dtype().is_float() {
        let text = format!("the loss of a microbatch must be a floating-point scalar, got {of_first:?}");
        let wrong = g.refuse(&[of_first], text);
        return (wrong, vec![wrong; sums.len()]);
    }
    let numbers = g.arange(parts.max(1), DType::I32);
    let start = (g.scalar(0.0, DType::F32), sums);
    let ((total, sums), ()) = g.scan(start, (by_parts, numbers), |(total, sums), (part, number)| {
        let loss = loss_of(number, &part);
        let gradients = p.gradients(loss);
        let sums: Vec<Tensor<'g>> =
            sums.iter().zip(gradients).map(|(&sum, gradient)| sum + gradient).collect();
        ((total + loss.to(DType::F32), sums), ())
    });
    let share = 1.0 / parts as f64;
    let mut means = Vec::new();
    for sum in sums {
        means.push(sum * share);
    }
    (total * share, means)
}

/// Updates an exponential moving average with this `decay` of each trained parameter, in a variable with the parameter's name prefixed by
/// `name`; returns the averages. Initial values of averages are those of the parameters.
///
/// Call `average` after [`apply`](super::apply): it averages the next values of parameters.
#[track_caller]
pub fn average<'g>(p: &Scope<'g>, name: &str, decay: f64) -> Vec<Tensor<'g>> {
    let mut means = Vec::new();
    for param in &p.trainable() {
        let before = p.variable_of(param, name, DType::F32, Init::copy_of(&param.name));
        let now = p.next(&param.name).unwrap_or(param.tensor).to(DType::F32);
        let next = decay * before + (1.0 - decay) * now;
        p.set_of(param, name, next);
        means.push(next);
    }
    means
}
