//! Activation functions, as `jax.nn` defines them.

use shardc_ir::DType;

use crate::axes::Axes;
use crate::error::ErrorKind;
use crate::{Operand, Tensor};

impl<'g> Tensor<'g> {
    /// `max(x, 0)`; its derivative at 0 is 0.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.relu().shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the elements have no order.
    #[must_use]
    #[track_caller]
    pub fn relu(self) -> Tensor<'g> {
        self.max(0)
    }

    /// `min(max(x, 0), 6)`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.relu6().shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the elements have no order.
    #[must_use]
    #[track_caller]
    pub fn relu6(self) -> Tensor<'g> {
        self.clamp(0, 6)
    }

    /// `x` where it is positive, else `slope * x`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.leaky_relu(0.01).shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn leaky_relu(self, slope: f64) -> Tensor<'g> {
        self.ge(0).select(self, self * slope)
    }

    /// `x` where it is positive, else `alpha * (exp(x) - 1)`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.elu(1.0).shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn elu(self, alpha: f64) -> Tensor<'g> {
        let positive = self.gt(0);
        // What is not chosen must be finite, or its derivative is not.
        let other = positive.select(0.0, self);
        positive.select(self, other.expm1() * alpha)
    }

    /// `x * P(N <= x)` for a normal `N`, by the approximation with `tanh` (Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016).
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.gelu().shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn gelu(self) -> Tensor<'g> {
        let inner = (2.0 / std::f64::consts::PI).sqrt() * (self + 0.044_715 * (self * self * self));
        self * (0.5 * (1.0 + inner.tanh()))
    }

    /// `x * P(N <= x)` for a normal `N`, by the error function.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.gelu_exact().shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn gelu_exact(self) -> Tensor<'g> {
        0.5 * self * (-self * std::f64::consts::FRAC_1_SQRT_2).erfc()
    }

    /// `x / (1 + exp(-x))`, also called swish.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.silu().shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn silu(self) -> Tensor<'g> {
        self * self.logistic()
    }

    /// `1 / (1 + exp(-x))`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.sigmoid().shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn sigmoid(self) -> Tensor<'g> {
        self.logistic()
    }

    /// `log(1 + exp(x))`, without overflow.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.softplus().shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn softplus(self) -> Tensor<'g> {
        self.logaddexp(0)
    }

    /// `log(exp(x) + exp(y))`, without overflow.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// let y = g.parameter("y", [2, 3], F32);
    /// assert_eq!(x.logaddexp(y).shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the shapes do not broadcast, the element types differ, or the elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn logaddexp(self, y: impl Into<Operand<'g>>) -> Tensor<'g> {
        let y = y.into();
        let apart = self - y;
        // Two infinities of one sign are not apart by a number; their sum is of that sign.
        apart.ne(apart).select(self + y, self.max(y) + (-apart.abs()).exp().log1p())
    }

    /// `log(1 / (1 + exp(-x)))`, without overflow.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.log_sigmoid().shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn log_sigmoid(self) -> Tensor<'g> {
        -(-self).softplus()
    }

    /// `x * tanh(log(1 + exp(x)))`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.mish().shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn mish(self) -> Tensor<'g> {
        self * self.softplus().tanh()
    }

    /// [`elu`](Tensor::elu) with the constants that keep mean and variance of normal inputs.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.selu().shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn selu(self) -> Tensor<'g> {
        1.050_700_987_355_480_5 * self.elu(1.673_263_242_354_377_2)
    }

    /// `max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1)`: its derivative is continuous.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.celu(1.0).shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn celu(self, alpha: f64) -> Tensor<'g> {
        let positive = self.gt(0);
        let other = positive.select(0.0, self);
        positive.select(self, alpha * (other / alpha).expm1())
    }

    /// `x / (1 + |x|)`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.soft_sign().shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn soft_sign(self) -> Tensor<'g> {
        self / (self.abs() + 1)
    }

    /// The nearest value from -1 to 1.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.hard_tanh().shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the elements have no order.
    #[must_use]
    #[track_caller]
    pub fn hard_tanh(self) -> Tensor<'g> {
        self.gt(1).select(1, self.lt(-1).select(-1, self))
    }

    /// `relu6(x + 3) / 6`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.hard_sigmoid().shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn hard_sigmoid(self) -> Tensor<'g> {
        (self + 3).relu6() / 6
    }

    /// `x * hard_sigmoid(x)`, also called hard swish.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.hard_silu().shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn hard_silu(self) -> Tensor<'g> {
        self * self.hard_sigmoid()
    }

    /// The first half along dimension `axis` times the sigmoid of the second: a gated linear unit.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 6], F32);
    /// assert_eq!(x.glu(-1).shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the tensor lacks the dimension, its size is odd, or the elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn glu(self, axis: i64) -> Tensor<'g> {
        match self.split(axis, 2).as_slice() {
            &[x, gate] => x * gate.logistic(),
            _ => self,
        }
    }

    /// Less the mean over dimensions, divided by the root of `epsilon` more than the variance, which is the mean of the squares
    /// less the square of the mean.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.standardize(-1, 1e-5).shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the tensor lacks a dimension, or one is named twice; its elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn standardize(self, axes: impl Into<Axes>, epsilon: f64) -> Tensor<'g> {
        let axes = axes.into();
        let mean = self.mean_keepdims(axes.clone());
        // Rounding may take it below zero.
        let variance = (self.square().mean_keepdims(axes) - mean.square()).max(0);
        (self - mean) * (variance + epsilon).rsqrt()
    }

    /// Exponentials divided by their sum along dimensions: they are positive, and together 1.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.softmax(-1).shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the tensor lacks a dimension, or one is named twice; its elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn softmax(self, axes: impl Into<Axes>) -> Tensor<'g> {
        let axes = axes.into();
        // The largest is taken off, so that nothing overflows; it makes no difference to the result.
        let shifted = self - self.amax_keepdims(axes.clone()).stop_gradient();
        let exponentials = shifted.exp();
        exponentials / exponentials.sum_keepdims(axes)
    }

    /// The logarithm of [`softmax`](Tensor::softmax), without its rounding.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.log_softmax(-1).shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the tensor lacks a dimension, or one is named twice; its elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn log_softmax(self, axes: impl Into<Axes>) -> Tensor<'g> {
        let axes = axes.into();
        let shifted = self - self.amax_keepdims(axes.clone()).stop_gradient();
        shifted - shifted.exp().sum_keepdims(axes).log()
    }

    /// [`softmax`](Tensor::softmax) of the elements where `mask`, which broadcasts, holds; others are zero. Where it holds nowhere
    /// along the dimensions all are zero.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.softmax_where(x.gt(0.0), -1).shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the errors of [`softmax`](Tensor::softmax); `mask` is not of type `i1`, or does not broadcast to the shape.
    #[must_use]
    #[track_caller]
    pub fn softmax_where(self, mask: impl Into<Tensor<'g>>, axes: impl Into<Axes>) -> Tensor<'g> {
        let (mask, axes) = (mask.into(), axes.into());
        let known = mask.select(self, f64::NEG_INFINITY);
        let exponentials = (known - known.amax_keepdims(axes.clone()).stop_gradient()).exp();
        let sum = mask.select(exponentials, 0).sum_keepdims(axes);
        mask.select(exponentials / sum, 0)
    }

    /// The logarithm of [`softmax_where`](Tensor::softmax_where), without its rounding.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.log_softmax_where(x.gt(0.0), -1).shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the errors of [`softmax_where`](Tensor::softmax_where).
    #[must_use]
    #[track_caller]
    pub fn log_softmax_where(self, mask: impl Into<Tensor<'g>>, axes: impl Into<Axes>) -> Tensor<'g> {
        let (mask, axes) = (mask.into(), axes.into());
        let known = mask.select(self, f64::NEG_INFINITY);
        let shifted = known - known.amax_keepdims(axes.clone()).stop_gradient();
        let sum = mask.select(shifted.exp(), 0).sum_keepdims(axes);
        mask.select(shifted - sum.log(), f64::NEG_INFINITY)
    }

    /// One where the new last dimension, of size `classes`, is at the number, else zero: rows of an identity matrix. A number
    /// outside has zeros alone.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let i = g.parameter("i", [4], DType::I32);
    /// assert_eq!(i.one_hot(10, F32).shape(), [4, 10]);
    /// ```
    ///
    /// Reported: the elements are not integers.
    #[must_use]
    #[track_caller]
    pub fn one_hot(self, classes: i64, dtype: DType) -> Tensor<'g> {
        let of = self.dtype();
        if !self.is_poisoned() && !of.is_integer() {
            let text = format!("one_hot takes integers, not {of}");
            return self.graph().report(&[self], ErrorKind::Operands(text));
        }
        let numbers = self.graph().arange(classes, of);
        self.expand_dims(-1).eq(numbers).to(dtype)
    }
}
