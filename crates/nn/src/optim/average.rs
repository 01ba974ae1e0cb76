//! Means: of gradients over parts of a batch, and of parameters over steps.

use shardc_graph::{DType, Tensor, Tree};

use crate::scope::Trip;
use crate::{Init, Scope};

/// The mean loss of a batch, and its gradient by each of [`Scope::trainable`], computed part by part, so that one part's values are
/// alive at a time. The first dimension of each tensor of `inputs` is the batch's, and stays split as it is: a part takes every
/// `parts`-th example.
///
/// It is the mean of the parts' losses: where these are means over examples of which some do not count, as those with the label of
/// [`CrossEntropy::ignore`](crate::loss::CrossEntropy::ignore), parts with few that do weigh as much as others, and it is not the mean
/// over the batch. For that, let `loss` give the part's sum, times `parts`, over how many count in the whole batch.
///
/// What is drawn at random by a key from around is the same in each part: take [`Scope::key`] of the scope that `loss` is given.
/// Variables cannot be set in it.
///
/// Reported: a batch does not divide into parts; the loss is not one float, or sets a variable; what [`Scope::gradients`] reports.
#[track_caller]
pub fn accumulated<'g, I: Tree<'g>>(
    p: &Scope<'g>,
    parts: i64,
    inputs: &I,
    loss: impl Fn(&Scope<'g>, I) -> Tensor<'g>,
) -> (Tensor<'g>, Vec<Tensor<'g>>) {
    let g = p.graph();
    // Loops in place of closures, here and below: closures do not know who called.
    let (mut by_parts, mut first) = (Vec::new(), Vec::new());
    for x in inputs.leaves() {
        let shape = x.shape();
        let cut = match shape.split_first() {
            _ if x.is_poisoned() => x,
            Some((batch, rest)) if parts > 0 && batch % parts == 0 => {
                x.reshape([&[batch / parts, parts], rest].concat()).swap_axes(0, 1)
            }
            _ => g.refuse(&[x], format!("{parts} parts of a batch of shape {shape:?}")),
        };
        by_parts.push(cut);
        first.push(cut.slice(0, 0..1).squeeze(0));
    }
    let loss_of = |number: Tensor<'g>, part: &[Tensor<'g>]| {
        loss(&p.clone().in_trip(Trip { layers: None, number }), inputs.rebuilt(part))
    };
    // What parameters there are is known once the model was made; nothing of this is computed.
    let of_first = loss_of(g.scalar(0.0, DType::I32), &first);
    let mut sums = Vec::new();
    for param in p.trainable() {
        sums.push(param.tensor.zeros_like());
    }
    if of_first.is_poisoned() {
        return (of_first, vec![of_first; sums.len()]);
    }
    if of_first.rank() > 0 || !of_first.dtype().is_float() {
        let text = format!("the loss of a part is one float, not {of_first:?}");
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

/// Keeps of each trained parameter a mean over steps, of which `decay` stays in each (an exponential moving average), as the
/// variable `name` before the parameter's; returns the means. They begin as the parameters do.
///
/// To be called after [`apply`](super::apply): it is what parameters become that counts.
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
