//! Blockwise attention.

use shardc_graph::{DType, Keep, Tensor};

use super::Seen;
use super::attention::lowest;

/// [`dot_product_attention`](super::dot_product_attention) computed over blocks of `block` keys, so that no tensor of all queries by all
/// keys is created, forward or backward. The running maximum and sum are rescaled from block to block ("Self-attention Does Not Need O(n^2)
/// Memory", Rabe and Staats, 2021), and the backward pass recomputes the scores of a block.
///
/// ```
/// # use shardc_graph::{DType::F32, Graph, Mesh};
/// # use shardc_nn::layers::*;
/// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
/// let [q, k, v] = ["q", "k", "v"].map(|name| g.parameter(name, [2, 8, 4, 16], F32));
/// let seen = Seen { causal: true, ..Seen::default() };
/// assert_eq!(blockwise_attention(q, k, v, &seen, 4, F32).shape(), [2, 8, 4, 16]);
/// ```
///
/// Reports an error if the shapes do not match, or if the block size does not divide the number of keys.
#[must_use]
#[track_caller]
pub fn blockwise_attention<'g>(
    q: Tensor<'g>,
    k: Tensor<'g>,
    v: Tensor<'g>,
    seen: &Seen,
    block: i64,
    reduce: DType,
) -> Tensor<'g> {
    let g = q.graph();
    if let Some(&nothing) = [q, k, v].iter().find(|t| t.is_poisoned()) {
        return nothing;
    }
    let ([batch, time, heads, head_dim], [_, keys, kv_heads, _]) = (q.dims::<4>(), k.dims::<4>());
    if kv_heads < 1 || heads % kv_heads != 0 || block < 1 || keys % block != 0 || seen.alibi {
        let text = format!(
            "blockwise attention does not support ALiBi, and needs query heads ({heads}) divisible by key/value heads ({kv_heads}) \
             and keys ({keys}) divisible by the block size ({block})"
        );
        return g.refuse(&[q, k], text);
    }
    g.track_caller(|| {
        let (group, blocks) = (heads / kv_heads, keys / block);
        let q = (q / (head_dim as f64).sqrt()).reshape([batch, time, kv_heads, group, head_dim]);
        let queries = g.arange(time, DType::I32);
        let by_blocks = |t: Tensor<'g>| t.reshape([batch, blocks, block, kv_heads, head_dim]).swap_axes(0, 1);
        let xs = (by_blocks(k), by_blocks(v), g.arange(blocks, DType::I32));
        let row = [batch, kv_heads, group, time];
        let start = (
            g.full(row, lowest(reduce), reduce),
            g.zeros(row, reduce),
            g.zeros([batch, kv_heads, group, time, head_dim], reduce),
        );
        let ((_, sum, mixed), ()) = g.scan(start, xs, |carry, (k, v, number)| {
            let next = g.checkpoint(
                Keep::Nothing,
                (carry, (q, k, v), number),
                |((most, sum, mixed), (q, k, v), number)| {
                    let mut scores = g.einsum("btkgd,bskd->bkgts", &[q, k]).to(reduce);
                    if let Some(cap) = seen.softcap {
                        scores = (scores / cap).tanh() * cap;
                    }
                    let at = number * block + g.arange(block, DType::I32);
                    if let Some(mask) = seen.mask(queries, at) {
                        scores = mask.broadcast_to(scores.shape()).select(scores, lowest(reduce));
                    }
                    let largest = most.max(scores.amax(-1)).stop_gradient();
                    let weights = (scores - largest.expand_dims(-1)).exp();
                    // Masked keys have weight zero, even if all keys so far are masked.
                    let weights = scores.le(lowest(reduce)).select(0.0, weights);
                    let less = (most - largest).exp();
                    let of_block = g.einsum("bkgts,bskd->bkgtd", &[weights.to(v.dtype()), v]).to(reduce);
                    (largest, sum * less + weights.sum(-1), mixed * less.expand_dims(-1) + of_block)
                },
            );
            (next, ())
        });
        let y = mixed / sum.expand_dims(-1);
        y.transpose(&[0, 3, 1, 2, 4]).reshape([batch, time, heads, head_dim]).to(v.dtype())
    })
}
