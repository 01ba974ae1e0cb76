//! Linear maps of the trailing dimensions.

use shardc_graph::{DotDims, Tensor};

use crate::{Init, Scope};

/// The standard deviation of a standard normal distribution truncated to `[-2, 2]`.
const TRUNCATED: f64 = 0.879_625_661_034_239_8;

/// Returns LeCun normal initial values for a kernel with this fan-in, over any number of input dimensions.
pub(crate) fn lecun(fan_in: i64) -> Init {
    Init::TruncatedNormal((1.0 / fan_in.max(1) as f64).sqrt() / TRUNCATED)
}

/// A linear map of the last dimension: `x * kernel + bias`, with `kernel` of shape `[in, features]`.
///
/// ```
/// # use shardc_graph::{DType::F32, Graph, Mesh};
/// # use shardc_nn::{Scope, layers::*};
/// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
/// # let p = Scope::new(&g);
/// let x = g.parameter("x", [8, 16], F32);
/// assert_eq!(Dense::new(32).apply(&p.at("dense"), x).shape(), [8, 32]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// Size of the last dimension of the output.
    pub features: i64,
    /// Whether there is a bias.
    pub use_bias: bool,
    /// Initial values of the kernel.
    pub kernel_init: Init,
    /// Initial values of the bias.
    pub bias_init: Init,
}

impl Dense {
    /// Creates a linear map with a bias and a LeCun normal kernel.
    #[must_use]
    pub fn new(features: i64) -> Self {
        Dense { features, use_bias: true, kernel_init: Init::lecun_normal(), bias_init: Init::zeros() }
    }

    /// Sets whether there is a bias.
    #[must_use]
    pub fn use_bias(self, use_bias: bool) -> Self {
        Dense { use_bias, ..self }
    }

    /// Sets the initial values of the kernel.
    #[must_use]
    pub fn kernel_init(self, kernel_init: Init) -> Self {
        Dense { kernel_init, ..self }
    }

    /// Applies the layer to `x`. Parameters: `kernel`, and `bias` of shape `[features]`.
    ///
    /// Reports an error if `x` is a scalar, or its element type is not the compute type.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        let inputs = x.size(-1);
        let kernel = p.kernel(&[inputs, self.features], 1, self.kernel_init.clone());
        let y = p.adapted(x, kernel, 1, x.dot(kernel));
        if !self.use_bias {
            return y;
        }
        y + p.parameter("bias", [self.features], self.bias_init.clone())
    }
}

/// A linear map of the last `axes` dimensions to new dimensions. `kernel` has the contracted dimensions, then the new ones.
///
/// ```
/// # use shardc_graph::{DType::F32, Graph, Mesh};
/// # use shardc_nn::{Scope, layers::*};
/// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
/// # let p = Scope::new(&g);
/// let x = g.parameter("x", [8, 4, 16], F32);
/// let layer = DenseGeneral::new(&[2, 32]).axes(2);
/// assert_eq!(layer.apply(&p.at("dense"), x).shape(), [8, 2, 32]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DenseGeneral {
    /// Sizes of the output dimensions, which come last.
    pub features: Vec<i64>,
    /// The number of trailing dimensions that are contracted.
    pub axes: usize,
    /// Whether there is a bias.
    pub use_bias: bool,
    /// Initial values of the kernel; LeCun normal by default.
    pub kernel_init: Option<Init>,
    /// Initial values of the bias.
    pub bias_init: Init,
}

impl DenseGeneral {
    /// Creates a linear map of the last dimension, with a bias and a LeCun normal kernel.
    #[must_use]
    pub fn new(features: &[i64]) -> Self {
        let features = features.to_vec();
        DenseGeneral { features, axes: 1, use_bias: true, kernel_init: None, bias_init: Init::zeros() }
    }

    /// Sets the number of trailing dimensions that are contracted.
    #[must_use]
    pub fn axes(self, axes: usize) -> Self {
        DenseGeneral { axes, ..self }
    }

    /// Sets whether there is a bias.
    #[must_use]
    pub fn use_bias(self, use_bias: bool) -> Self {
        DenseGeneral { use_bias, ..self }
    }

    /// Sets the initial values of the kernel.
    #[must_use]
    pub fn kernel_init(self, kernel_init: Init) -> Self {
        DenseGeneral { kernel_init: Some(kernel_init), ..self }
    }

    /// Applies the layer to `x`. Parameters: `kernel`, and `bias` of the shape of the output dimensions.
    ///
    /// Reports an error if `x` has too few dimensions, or if its element type is not the compute type.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        if x.is_poisoned() {
            return x;
        }
        let shape = x.shape();
        let Some(first) = shape.len().checked_sub(self.axes) else {
            return p.graph().refuse(
                &[x],
                format!("the input has fewer than the {} dimensions that the layer contracts", self.axes),
            );
        };
        let inputs = &shape[first..];
        let init = self.kernel_init.clone().unwrap_or_else(|| lecun(inputs.iter().product()));
        let kernel = p.kernel(&[inputs, &self.features].concat(), self.features.len(), init);
        let from_last: Vec<i64> = (first as i64..shape.len() as i64).collect();
        let from_first: Vec<i64> = (0..self.axes as i64).collect();
        let y = x.dot_general(kernel, &DotDims::contracting(&from_last, &from_first));
        let y = p.adapted(x, kernel, self.axes, y);
        if !self.use_bias {
            return y;
        }
        y + p.parameter("bias", &self.features, self.bias_init.clone())
    }
}
