//! Rotary position embeddings (Su et al., "RoFormer", 2021).

use shardc_graph::{DType, Tensor};

/// How the elements of a head form rotated pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RopeStyle {
    /// Elements `i` and `i + dims / 2`, as in Hugging Face's checkpoints of Llama and GPT-NeoX.
    #[default]
    Halves,
    /// Elements `2 i` and `2 i + 1`, as in GPT-J and Meta's own Llama checkpoints.
    Interleaved,
}

/// Rotates pairs of elements of each head by an angle proportional to the position.
///
/// ```
/// # use shardc_graph::{DType::{F32, I32}, Graph, Mesh};
/// # use shardc_nn::layers::*;
/// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
/// let q = g.parameter("q", [2, 8, 4, 16], F32);
/// let positions = g.arange(8, I32);
/// assert_eq!(Rope::new(10_000.0).apply(q, positions).shape(), [2, 8, 4, 16]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rope {
    /// The base of the angles: pair `i` is rotated by `position * theta^(-2 i / dims)`.
    pub theta: f64,
    /// The number of leading elements of each head that are rotated; all by default. GPT-NeoX rotates a quarter.
    pub dims: Option<i64>,
    /// How elements are paired.
    pub style: RopeStyle,
}

impl Default for Rope {
    fn default() -> Self {
        Rope { theta: 10_000.0, dims: None, style: RopeStyle::Halves }
    }
}

impl Rope {
    /// Creates an embedding that rotates all elements of each head, paired by halves.
    #[must_use]
    pub fn new(theta: f64) -> Self {
        Rope { theta, ..Rope::default() }
    }

    /// Rotates `x`, of shape `[batch, time, heads, head_dim]`. `positions` are integers of shape `[time]` or `[batch, time]`.
    ///
    /// Reports an error if the shapes do not match, or if the number of rotated elements is odd.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, x: Tensor<'g>, positions: Tensor<'g>) -> Tensor<'g> {
        let (g, head_dim) = (x.graph(), x.size(-1));
        let dims = self.dims.unwrap_or(head_dim);
        if x.is_poisoned() {
            return x;
        }
        if dims % 2 != 0 || dims > head_dim || dims < 2 {
            return g.refuse(
                &[x],
                format!(
                    "the number of rotated dimensions must be even and between 2 and {head_dim}, got {dims}"
                ),
            );
        }
        let half = dims / 2;
        let powers: Vec<f32> =
            (0..half).map(|i| self.theta.powf(-2.0 * i as f64 / dims as f64) as f32).collect();
        let angles = positions.to(DType::F32).expand_dims(-1) * g.constant(&powers, [half]);
        let angles = angles.expand_dims(-2);
        let (cos, sin) = (angles.cos(), angles.sin());
        let (wide, rest) = (x.slice(-1, 0..dims).to(DType::F32), x.slice(-1, dims..head_dim));
        let (a, b) = match self.style {
            RopeStyle::Halves => (wide.slice(-1, 0..half), wide.slice(-1, half..dims)),
            RopeStyle::Interleaved => (wide.slice_by(-1, 0..dims, 2), wide.slice_by(-1, 1..dims, 2)),
        };
        let turned = [a * cos - b * sin, b * cos + a * sin];
        let turned = match self.style {
            RopeStyle::Halves => g.concatenate(&turned, -1),
            RopeStyle::Interleaved => g.stack(&turned, -1).reshape(wide.shape()),
        };
        let turned = turned.to(x.dtype());
        if dims == head_dim { turned } else { g.concatenate(&[turned, rest], -1) }
    }
}
