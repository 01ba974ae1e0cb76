//! Dropout.

use shardc_graph::{Key, Tensor};

/// Sets elements to zero at random while a model is trained, and scales the others, so that sums stay as they are on average.
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
    /// Which part of the elements becomes zero.
    pub rate: f64,
}

impl Dropout {
    /// With this part of the elements set to zero.
    #[must_use]
    pub fn new(rate: f64) -> Self {
        Dropout { rate }
    }

    /// `x` with elements drawn by the key, the same ones for each use of it; in layers of a [`stack`](crate::Scope::stack) and parts that
    /// are [`accumulated`](crate::optim::accumulated) a key from around is to be made another one, by
    /// [`Scope::key`](crate::Scope::key). Without key, which is how a trained model is used, `x` as it is.
    ///
    /// Reported: `x` is not of floats; the rate is not from 0 to 1.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, key: Option<Key<'g>>, x: Tensor<'g>) -> Tensor<'g> {
        if !(0.0..=1.0).contains(&self.rate) {
            let text = format!("dropout of {}: the part that becomes zero is from 0 to 1", self.rate);
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
