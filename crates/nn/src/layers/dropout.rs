//! Dropout.

use shardc_graph::{Key, Tensor};

/// In training, sets random elements to zero and scales the others so that the expected value is unchanged.
///
/// ```
/// # use shardc_graph::{DType::F32, Graph, Mesh};
/// # use shardc_nn::layers::*;
/// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
/// let x = g.parameter("x", [8, 16], F32);
/// assert_eq!(Dropout::new(0.1).apply(Some(g.key(42)), x).shape(), [8, 16]);
/// assert_eq!(Dropout::new(0.1).apply(None, x).shape(), [8, 16], "without a key nothing is dropped");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// The fraction of elements set to zero.
    pub rate: f64,
}

impl Dropout {
    /// Creates a dropout that sets this fraction of elements to zero.
    #[must_use]
    pub fn new(rate: f64) -> Self {
        Dropout { rate }
    }

    /// Drops elements of `x` selected by the key; one key always selects the same elements. In layers of a
    /// [`stack`](crate::Scope::stack) and in [`accumulated`](crate::optim::accumulated) microbatches, pass a key from outside the loop
    /// through [`Scope::key`](crate::Scope::key). Without a key (inference), returns `x`.
    ///
    /// Reports an error if `x` is not of a float type, or if the rate is not from 0 to 1.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, key: Option<Key<'g>>, x: Tensor<'g>) -> Tensor<'g> {
        if !(0.0..=1.0).contains(&self.rate) {
            let text = format!("the dropout rate must be between 0 and 1, got {}", self.rate);
            return x.graph().refuse(&[x], text);
        }
        let keep = 1.0 - self.rate;
        match key {
            Some(_) if keep <= 0.0 => x.zeros_like(),
            Some(key) if keep < 1.0 => key.bernoulli(keep, x.shape()).select(x / keep, 0.0),
            _ => x,
        }
    }
}
