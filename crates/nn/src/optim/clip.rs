//! Gradient clipping.

use shardc_graph::{DType, Tensor};

/// Returns the L2 norm of all elements of all tensors, a scalar `f32`; `None` if there are no tensors.
#[must_use]
#[track_caller]
pub fn global_norm<'g>(tensors: &[Tensor<'g>]) -> Option<Tensor<'g>> {
    let squares = tensors.iter().map(|tensor| tensor.to(DType::F32).square().sum(..));
    squares.reduce(|sum, square| sum + square).map(Tensor::sqrt)
}

/// Returns the gradients, scaled by a common factor so that their [`global_norm`] is at most `most`.
#[must_use]
#[track_caller]
pub fn clip_by_global_norm<'g>(gradients: &[Tensor<'g>], most: f64) -> Vec<Tensor<'g>> {
    let Some(norm) = global_norm(gradients) else { return Vec::new() };
    let is_small = norm.lt(most);
    let clip = |gradient: &Tensor<'g>| {
        let scaled = gradient / norm.to(gradient.dtype()) * most;
        is_small.select(*gradient, scaled)
    };
    gradients.iter().map(clip).collect()
}
