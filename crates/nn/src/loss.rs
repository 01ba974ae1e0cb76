//! Losses.

use shardc_graph::{DType, Tensor};

/// How surprised the logits are, in the last dimension, by the labels: `-log softmax(logits)[label]`, for each label.
///
/// Written so that logits whose last dimension is split over devices stay so: the largest, the sum of exponentials and the one
/// that is picked are reductions.
///
/// Reported: `labels` have not the other dimensions of `logits`, or are no integers.
#[must_use]
#[track_caller]
pub fn softmax_cross_entropy<'g>(logits: Tensor<'g>, labels: Tensor<'g>) -> Tensor<'g> {
    let wide = if logits.dtype() == DType::F64 { logits } else { logits.to(DType::F32) };
    let picked = (wide * labels.one_hot(wide.size(-1), wide.dtype())).sum(-1);
    wide.logsumexp(-1) - picked
}

/// The part of labels at which the largest logit is.
#[must_use]
#[track_caller]
pub fn accuracy<'g>(logits: Tensor<'g>, labels: Tensor<'g>) -> Tensor<'g> {
    logits.argmax(-1).eq(labels).to(DType::F32).mean(..)
}
