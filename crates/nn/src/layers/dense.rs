//! A linear layer.

use shardc_graph::Tensor;

use crate::{Init, Scope};

/// `x kernel + bias`, along the last dimension.
#[derive(Clone, Debug)]
pub struct Dense {
    /// Size of the last dimension of the result.
    pub features: i64,
    /// Whether there is a bias.
    pub bias: bool,
    /// How the kernel begins.
    pub init: Init,
}

impl Dense {
    /// With a bias.
    #[must_use]
    pub fn new(features: i64) -> Dense {
        Dense { features, bias: true, init: Init::lecun_normal() }
    }

    /// Without one.
    #[must_use]
    pub fn without_bias(self) -> Dense {
        Dense { bias: false, ..self }
    }

    /// With a kernel that begins so.
    #[must_use]
    pub fn with_init(self, init: Init) -> Dense {
        Dense { init, ..self }
    }

    /// The layer of the scope's `kernel` and `bias`.
    ///
    /// Reported: `x` is a scalar, or of another element type than the scope computes with.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        let kernel = p.parameter("kernel", [x.size(-1), self.features], self.init.clone());
        let y = x.dot(kernel);
        if self.bias { y + p.parameter("bias", [self.features], Init::zeros()) } else { y }
    }
}
