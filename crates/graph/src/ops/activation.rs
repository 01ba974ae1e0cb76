//! Activation functions, as `jax.nn` defines them.

use shardc_ir::DType;

use crate::Tensor;
use crate::axes::Axes;
use crate::error::ErrorKind;

impl<'g> Tensor<'g> {
    /// `max(x, 0)`; its derivative at 0 is 0.
    ///
    /// Reported: the elements are no numbers that are ordered.
    #[must_use]
    #[track_caller]
    pub fn relu(self) -> Tensor<'g> {
        self.max(0)
    }

    /// `min(max(x, 0), 6)`.
    ///
    /// Reported: the elements are no numbers that are ordered.
    #[must_use]
    #[track_caller]
    pub fn relu6(self) -> Tensor<'g> {
        self.clamp(0, 6)
    }

    /// `x` where it is positive, else `slope * x`.
    ///
    /// Reported: the elements are no floats.
    #[must_use]
    #[track_caller]
    pub fn leaky_relu(self, slope: f64) -> Tensor<'g> {
        self.ge(0).select(self, self * slope)
    }

    /// `x` where it is positive, else `alpha * (exp(x) - 1)`.
    ///
    /// Reported: the elements are no floats.
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
    /// Reported: the elements are no floats.
    #[must_use]
    #[track_caller]
    pub fn gelu(self) -> Tensor<'g> {
        let inner = (2.0 / std::f64::consts::PI).sqrt() * (self + 0.044_715 * self * self * self);
        self * (0.5 * (1.0 + inner.tanh()))
    }

    /// `x * P(N <= x)` for a normal `N`, by the error function.
    ///
    /// Reported: the elements are no floats.
    #[must_use]
    #[track_caller]
    pub fn gelu_exact(self) -> Tensor<'g> {
        0.5 * self * (-self * std::f64::consts::FRAC_1_SQRT_2).erfc()
    }

    /// `x / (1 + exp(-x))`, also called swish.
    ///
    /// Reported: the elements are no floats.
    #[must_use]
    #[track_caller]
    pub fn silu(self) -> Tensor<'g> {
        self * self.logistic()
    }

    /// `1 / (1 + exp(-x))`.
    ///
    /// Reported: the elements are no floats.
    #[must_use]
    #[track_caller]
    pub fn sigmoid(self) -> Tensor<'g> {
        self.logistic()
    }

    /// `log(1 + exp(x))`, without overflow.
    ///
    /// Reported: the elements are no floats.
    #[must_use]
    #[track_caller]
    pub fn softplus(self) -> Tensor<'g> {
        self.max(0) + (-self.abs()).exp().log1p()
    }

    /// `log(1 / (1 + exp(-x)))`, without overflow.
    ///
    /// Reported: the elements are no floats.
    #[must_use]
    #[track_caller]
    pub fn log_sigmoid(self) -> Tensor<'g> {
        -(-self).softplus()
    }

    /// Exponentials divided by their sum along dimensions: they are positive, and together 1.
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
    /// Reported: the tensor lacks a dimension, or one is named twice; its elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn log_softmax(self, axes: impl Into<Axes>) -> Tensor<'g> {
        let axes = axes.into();
        let shifted = self - self.amax_keepdims(axes.clone()).stop_gradient();
        shifted - shifted.exp().sum_keepdims(axes).log()
    }

    /// One where the new last dimension, of size `classes`, is at the number, else zero: rows of an identity matrix. A number
    /// outside has zeros alone.
    ///
    /// Reported: the elements are no integers.
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
