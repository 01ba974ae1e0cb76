//! Which tokens may be drawn.

use shardc_graph::Tensor;

/// Logits of which all but the `k` largest along the last dimension are so low that they are never drawn. Equals of the smallest of
/// these stay, too.
///
/// Reported: there are fewer than `k`, or `k` is below one.
#[must_use]
#[track_caller]
pub fn top_k(logits: Tensor<'_>, k: i64) -> Tensor<'_> {
    let (largest, _) = logits.top_k(k);
    let least = largest.slice(-1, (k - 1).max(0)..k);
    logits.ge(least).select(logits, f64::NEG_INFINITY)
}

/// Logits of which the most likely along the last dimension stay, as many as it takes to have the probability `p` together
/// ("The Curious Case of Neural Text Degeneration", Holtzman et al., 2020). The most likely one always does.
///
/// Reported: the logits are no floats.
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
