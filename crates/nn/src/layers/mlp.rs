//! Two linear layers with an activation between them.

use shardc_graph::Tensor;

use super::Dense;
use crate::{Init, Scope};

/// An activation function.
///
/// ```
/// # use shardc_graph::{DType::F32, Graph, Mesh};
/// # use shardc_nn::layers::*;
/// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
/// let x = g.parameter("x", [8, 16], F32);
/// assert_eq!(Activation::Silu.apply(x).shape(), [8, 16]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Activation {
    /// [`Tensor::relu`].
    Relu,
    /// [`Tensor::gelu`], the `tanh` approximation.
    #[default]
    Gelu,
    /// [`Tensor::gelu_exact`], with the error function.
    GeluExact,
    /// [`Tensor::silu`].
    Silu,
    /// [`Tensor::tanh`].
    Tanh,
}

impl Activation {
    /// Applies the function elementwise.
    ///
    /// Reports an error if `x` is not of a float type.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(self, x: Tensor<'g>) -> Tensor<'g> {
        match self {
            Activation::Relu => x.relu(),
            Activation::Gelu => x.gelu(),
            Activation::GeluExact => x.gelu_exact(),
            Activation::Silu => x.silu(),
            Activation::Tanh => x.tanh(),
        }
    }
}

/// `down(activation(up(x)))`, or with a gate `down(activation(gate(x)) * up(x))`: SwiGLU with silu, GeGLU with gelu.
///
/// ```
/// # use shardc_graph::{DType::F32, Graph, Mesh};
/// # use shardc_nn::{Scope, layers::*};
/// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
/// # let p = Scope::new(&g);
/// let x = g.parameter("x", [8, 16], F32);
/// assert_eq!(Mlp::swiglu(64).apply(&p.at("mlp"), x).shape(), [8, 16]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Mlp {
    /// Size of the hidden dimension.
    pub hidden: i64,
    /// Activation function.
    pub activation: Activation,
    /// Whether there is a gate.
    pub is_gated: bool,
    /// Whether the linear layers have biases.
    pub use_bias: bool,
    /// Initial values of kernels.
    pub kernel_init: Init,
}

impl Mlp {
    /// Creates an MLP with gelu and biases.
    #[must_use]
    pub fn new(hidden: i64) -> Self {
        let kernel_init = Init::lecun_normal();
        Mlp { hidden, activation: Activation::Gelu, is_gated: false, use_bias: true, kernel_init }
    }

    /// SwiGLU without biases, as in Llama.
    #[must_use]
    pub fn swiglu(hidden: i64) -> Self {
        Mlp { activation: Activation::Silu, is_gated: true, use_bias: false, ..Mlp::new(hidden) }
    }

    /// GeGLU without biases, as in Gemma.
    #[must_use]
    pub fn geglu(hidden: i64) -> Self {
        Mlp { activation: Activation::Gelu, ..Mlp::swiglu(hidden) }
    }

    /// Sets the activation function.
    #[must_use]
    pub fn activation(self, activation: Activation) -> Self {
        Mlp { activation, ..self }
    }

    /// Sets whether there are biases.
    #[must_use]
    pub fn use_bias(self, use_bias: bool) -> Self {
        Mlp { use_bias, ..self }
    }

    /// Sets the initial values of kernels.
    #[must_use]
    pub fn kernel_init(self, kernel_init: Init) -> Self {
        Mlp { kernel_init, ..self }
    }

    /// Applies the MLP to `x`; the size of the last dimension is unchanged. Layers: `up`, `down`, and `gate` if gated.
    ///
    /// Reports an error if `x` is a scalar, or its element type is not the compute type.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        let dense =
            |features| Dense::new(features).use_bias(self.use_bias).kernel_init(self.kernel_init.clone());
        let y = if self.is_gated {
            let gate = self.activation.apply(dense(self.hidden).apply(&p.at("gate"), x));
            gate * dense(self.hidden).apply(&p.at("up"), x)
        } else {
            self.activation.apply(dense(self.hidden).apply(&p.at("up"), x))
        };
        dense(x.size(-1)).apply(&p.at("down"), y)
    }
}
