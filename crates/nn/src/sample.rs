//! Filters on logits before sampling.

use shardc_graph::Tensor;

/// Top-k: keeps the `k` largest logits along the last dimension and sets the others to minus infinity, so that they are never sampled.
/// Ties with the smallest kept logit are also kept.
///
/// Reports an error if `k` is below one or exceeds the number of logits.
#[must_use]
#[track_caller]
pub fn top_k(logits: Tensor<'_>, k: i64) -> Tensor<'_> {
    let (largest, _) = logits.top_k(k);
    let least = largest.slice(-1, (k - 1).max(0)..k);
    logits.ge(least).select(logits, f64::NEG_INFINITY)
}

/// Top-p: keeps the smallest set of the most likely logits along the last dimension whose total probability reaches `p` ("The Curious Case
/// of Neural Text Degeneration", Holtzman et al., 2020). The most likely logit is always kept.
///
/// Reports an error if the logits are not of a float type.
#[must_use]
#[track_caller]
pub fn top_p(logits: Tensor<'_>, p: f64) -> Tensor<'_> {
    let (sorted, _) = logits.top_k(logits.size(-1));
    let chances = sorted.softmax(-1);
    let before = chances.cumsum(-1) - chances;
    let stays = before.lt(p) | before.le(0.0);
    let least = stays.select(sorted, f64::INFINITY).amin_keepdims(-1);
    logits.ge(least).select(logits, f64::NEG_INFINITY)
}
