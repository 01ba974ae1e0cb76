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
    /// Reports an error if the element type is complex (unordered).
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
    /// Reports an error if the element type is complex (unordered).
    #[must_use]
    #[track_caller]
    pub fn relu6(self) -> Tensor<'g> {
        self.clamp(0, 6)
    }

    /// Leaky ReLU: `x` if it is positive, else `slope * x`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.leaky_relu(0.01).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn leaky_relu(self, slope: f64) -> Tensor<'g> {
        self.ge(0).select(self, self * slope)
    }

    /// ELU: `x` if it is positive, else `alpha * (exp(x) - 1)`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.elu(1.0).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn elu(self, alpha: f64) -> Tensor<'g> {
        let positive = self.gt(0);
        // The unselected branch must be finite, otherwise its derivative is NaN.
        let other = positive.select(0.0, self);
        positive.select(self, other.expm1() * alpha)
    }

    /// GELU, `x * P(N <= x)` for a standard normal `N`, with the `tanh` approximation (Hendrycks and Gimpel, "Gaussian Error Linear Units",
    /// 2016).
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.gelu().shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn gelu(self) -> Tensor<'g> {
        let inner = (2.0 / std::f64::consts::PI).sqrt() * (self + 0.044_715 * (self * self * self));
        self * (0.5 * (1.0 + inner.tanh()))
    }

    /// GELU, `x * P(N <= x)` for a standard normal `N`, with the error function.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.gelu_exact().shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the element type is not a float type.
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
    /// Reports an error if the element type is not a float type.
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
    /// Reports an error if the element type is not a float type.
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
    /// Reports an error if the element type is not a float type.
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
    /// Reports an error if the shapes do not broadcast, the element types differ, or the element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn logaddexp(self, y: impl Into<Operand<'g>>) -> Tensor<'g> {
        let y = y.into();
        let apart = self - y;
        // If both are infinities of the same sign, their difference is NaN, and the result is that infinity.
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
    /// Reports an error if the element type is not a float type.
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
    /// Reports an error if the element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn mish(self) -> Tensor<'g> {
        self * self.softplus().tanh()
    }

    /// [`elu`](Tensor::elu) with the constants that preserve mean and variance of normal inputs.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.selu().shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn selu(self) -> Tensor<'g> {
        1.050_700_987_355_480_5 * self.elu(1.673_263_242_354_377_2)
    }

    /// CELU: `max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1)`, with continuous derivative.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.celu(1.0).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the element type is not a float type.
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
    /// Reports an error if the element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn soft_sign(self) -> Tensor<'g> {
        self / (self.abs() + 1)
    }

    /// Clamps to `[-1, 1]`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.hard_tanh().shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the element type is complex (unordered).
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
    /// Reports an error if the element type is not a float type.
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
    /// Reports an error if the element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn hard_silu(self) -> Tensor<'g> {
        self * self.hard_sigmoid()
    }

    /// Gated linear unit: the first half along dimension `axis` times the sigmoid of the second.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 6], F32);
    /// assert_eq!(x.glu(-1).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the tensor lacks the dimension, its size is odd, or the element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn glu(self, axis: i64) -> Tensor<'g> {
        match self.split(axis, 2).as_slice() {
            &[x, gate] => x * gate.logistic(),
            _ => self,
        }
    }

    /// Normalizes over dimensions: subtracts the mean and divides by `sqrt(variance + epsilon)`. The variance is the mean square minus the
    /// squared mean.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.standardize(-1, 1e-5).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the tensor lacks a dimension, if a dimension is repeated, or if its element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn standardize(self, axes: impl Into<Axes>, epsilon: f64) -> Tensor<'g> {
        let axes = axes.into();
        let mean = self.mean_keepdims(axes.clone());
        // Rounding may make the difference negative.
        let variance = (self.square().mean_keepdims(axes) - mean.square()).max(0);
        (self - mean) * (variance + epsilon).rsqrt()
    }

    /// Softmax over dimensions.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.softmax(-1).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the tensor lacks a dimension, if a dimension is repeated, or if its element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn softmax(self, axes: impl Into<Axes>) -> Tensor<'g> {
        let axes = axes.into();
        // Subtracts the maximum, so that nothing overflows; the result is mathematically the same.
        let shifted = self - self.amax_keepdims(axes.clone()).stop_gradient();
        let exponentials = shifted.exp();
        exponentials / exponentials.sum_keepdims(axes)
    }

    /// Returns the logarithm of [`softmax`](Tensor::softmax), computed directly, without the rounding error of the softmax.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.log_softmax(-1).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the tensor lacks a dimension, if a dimension is repeated, or if its element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn log_softmax(self, axes: impl Into<Axes>) -> Tensor<'g> {
        let axes = axes.into();
        let shifted = self - self.amax_keepdims(axes.clone()).stop_gradient();
        shifted - shifted.exp().sum_keepdims(axes).log()
    }

    /// Returns the [`softmax`](Tensor::softmax) of the elements where `mask` is true, and zero elsewhere; `mask` broadcasts. If the
    /// mask is false everywhere along the dimensions, all results are zero.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.softmax_where(x.gt(0.0), -1).shape(), [2, 3]);
    /// ```
    ///
    /// Reports the errors of [`softmax`](Tensor::softmax), and an error if `mask` is not of type `i1`, or does not broadcast to the shape.
    #[must_use]
    #[track_caller]
    pub fn softmax_where(self, mask: impl Into<Tensor<'g>>, axes: impl Into<Axes>) -> Tensor<'g> {
        let (mask, axes) = (mask.into(), axes.into());
        let known = mask.select(self, f64::NEG_INFINITY);
        let exponentials = (known - known.amax_keepdims(axes.clone()).stop_gradient()).exp();
        let sum = mask.select(exponentials, 0).sum_keepdims(axes);
        mask.select(exponentials / sum, 0)
    }

    /// Returns the logarithm of [`softmax_where`](Tensor::softmax_where), computed directly, without the rounding error of the softmax.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.log_softmax_where(x.gt(0.0), -1).shape(), [2, 3]);
    /// ```
    ///
    /// Reports the errors of [`softmax_where`](Tensor::softmax_where).
    #[must_use]
    #[track_caller]
    pub fn log_softmax_where(self, mask: impl Into<Tensor<'g>>, axes: impl Into<Axes>) -> Tensor<'g> {
        let (mask, axes) = (mask.into(), axes.into());
        let known = mask.select(self, f64::NEG_INFINITY);
        let shifted = known - known.amax_keepdims(axes.clone()).stop_gradient();
        let sum = mask.select(shifted.exp(), 0).sum_keepdims(axes);
        mask.select(shifted - sum.log(), f64::NEG_INFINITY)
    }

    /// Returns the one-hot encoding along a new last dimension of size `classes`. An out-of-range class index is encoded as zeros.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let i = g.parameter("i", [4], DType::I32);
    /// assert_eq!(i.one_hot(10, F32).shape(), [4, 10]);
    /// ```
    ///
    /// Reports an error if the element type is not an integer type.
    #[must_use]
    #[track_caller]
    pub fn one_hot(self, classes: i64, dtype: DType) -> Tensor<'g> {
        let of = self.dtype();
        if !self.is_poisoned() && !of.is_integer() {
            let text = format!("one_hot expects integers, got {of}");
            return self.graph().report(&[self], ErrorKind::Operands(text));
        }
        let numbers = self.graph().arange(classes, of);
        self.expand_dims(-1).eq(numbers).to(dtype)
    }
}
