//! Normalization of each example: layer norm, RMS norm, group norm.

use shardc_graph::Tensor;

use crate::{Init, Scope};

/// Normalizes to mean zero and variance one along the last dimension, then scales and shifts.
///
/// ```
/// # use shardc_graph::{DType::F32, Graph, Mesh};
/// # use shardc_nn::{Scope, layers::*};
/// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
/// # let p = Scope::new(&g);
/// let x = g.parameter("x", [8, 16], F32);
/// assert_eq!(LayerNorm::new().apply(&p.at("norm"), x).shape(), [8, 16]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LayerNorm {
    /// Added to the variance.
    pub epsilon: f64,
    /// Whether there is a bias.
    pub use_bias: bool,
    /// Whether there is a scale.
    pub use_scale: bool,
}

impl Default for LayerNorm {
    fn default() -> Self {
        LayerNorm { epsilon: 1e-6, use_bias: true, use_scale: true }
    }
}

impl LayerNorm {
    /// Creates a normalization with scale and bias, and an epsilon of 1e-6.
    #[must_use]
    pub fn new() -> Self {
        LayerNorm::default()
    }

    /// Sets the number added to the variance.
    #[must_use]
    pub fn epsilon(self, epsilon: f64) -> Self {
        LayerNorm { epsilon, ..self }
    }

    /// Sets whether there is a bias.
    #[must_use]
    pub fn use_bias(self, use_bias: bool) -> Self {
        LayerNorm { use_bias, ..self }
    }

    /// Sets whether there is a scale.
    #[must_use]
    pub fn use_scale(self, use_scale: bool) -> Self {
        LayerNorm { use_scale, ..self }
    }

    /// Normalizes `x`. Parameters: `scale` and `bias`, of the size of the last dimension.
    ///
    /// Reports an error if `x` is a scalar or not of a float type.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        let wide = x.to(p.policy().reduce);
        let (mean, var) = moments(wide, &[-1]);
        let affine = Affine::new(x.size(-1), self.use_scale, self.use_bias);
        affine.normalized(p, x, wide - mean, var, self.epsilon)
    }
}

/// Divides by the root mean square along the last dimension, then scales.
///
/// ```
/// # use shardc_graph::{DType::F32, Graph, Mesh};
/// # use shardc_nn::{Scope, layers::*};
/// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
/// # let p = Scope::new(&g);
/// let x = g.parameter("x", [8, 16], F32);
/// assert_eq!(RmsNorm::new().apply(&p.at("norm"), x).shape(), [8, 16]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RmsNorm {
    /// Added to the mean square.
    pub epsilon: f64,
    /// Whether there is a scale.
    pub use_scale: bool,
}

impl Default for RmsNorm {
    fn default() -> Self {
        RmsNorm { epsilon: 1e-6, use_scale: true }
    }
}

impl RmsNorm {
    /// Creates a normalization with a scale, and an epsilon of 1e-6.
    #[must_use]
    pub fn new() -> Self {
        RmsNorm::default()
    }

    /// Sets the number added to the mean square.
    #[must_use]
    pub fn epsilon(self, epsilon: f64) -> Self {
        RmsNorm { epsilon, ..self }
    }

    /// Normalizes `x`. Parameter: `scale`, of the size of the last dimension.
    ///
    /// Reports an error if `x` is a scalar or not of a float type.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        let wide = x.to(p.policy().reduce);
        let affine = Affine::new(x.size(-1), self.use_scale, false);
        affine.normalized(p, x, wide, wide.square().mean_keepdims(-1), self.epsilon)
    }
}

/// Normalizes each group of features to mean zero and variance one, over all but the first dimension; then scales and shifts.
///
/// ```
/// # use shardc_graph::{DType::F32, Graph, Mesh};
/// # use shardc_nn::{Scope, layers::*};
/// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
/// # let p = Scope::new(&g);
/// let x = g.parameter("x", [2, 8, 8, 16], F32);
/// assert_eq!(GroupNorm::new(4).apply(&p.at("norm"), x).shape(), [2, 8, 8, 16]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GroupNorm {
    /// Number of groups in the last dimension.
    pub num_groups: i64,
    /// Added to the variance.
    pub epsilon: f64,
    /// Whether there is a bias.
    pub use_bias: bool,
    /// Whether there is a scale.
    pub use_scale: bool,
}

impl GroupNorm {
    /// Creates a normalization with scale and bias, and an epsilon of 1e-6.
    #[must_use]
    pub fn new(num_groups: i64) -> Self {
        GroupNorm { num_groups, epsilon: 1e-6, use_bias: true, use_scale: true }
    }

    /// Sets the number added to the variance.
    #[must_use]
    pub fn epsilon(self, epsilon: f64) -> Self {
        GroupNorm { epsilon, ..self }
    }

    /// Normalizes `x`. Parameters: `scale` and `bias`, of the size of the last dimension.
    ///
    /// Reports an error if the groups do not divide the last dimension, or if `x` has fewer than two dimensions, or if its element type is
    /// not a float type.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        let shape = x.shape();
        let features = shape.last().copied().unwrap_or_default();
        let groups = self.num_groups;
        if !x.is_poisoned() && (shape.len() < 2 || groups < 1 || features % groups != 0) {
            return p.graph().refuse(
                &[x],
                format!(
                    "group normalization needs rank 2 or more, and features divisible by the groups; got \
             {groups} groups and {features} features"
                ),
            );
        }
        if x.is_poisoned() {
            return x;
        }
        let cut = [&shape[..shape.len() - 1], &[groups, features / groups]].concat();
        let wide = x.to(p.policy().reduce).reshape(&cut);
        let mut over: Vec<i64> = (1..shape.len() as i64 - 1).collect();
        over.push(shape.len() as i64);
        let (mean, var) = moments(wide, &over);
        let whole = |t: Tensor<'g>| t.broadcast_to(&cut).reshape(&shape);
        let affine = Affine::new(features, self.use_scale, self.use_bias);
        affine.normalized(p, x, (wide - mean).reshape(&shape), whole(var), self.epsilon)
    }
}

/// Mean and variance over dimensions, which are kept with size one, computed in one pass over `x`. The variance is the mean square minus
/// the squared mean, clamped at zero because of rounding errors.
#[track_caller]
pub(crate) fn moments<'g>(x: Tensor<'g>, over: &[i64]) -> (Tensor<'g>, Tensor<'g>) {
    let mean = x.mean_keepdims(over);
    let var = (x.square().mean_keepdims(over) - mean.square()).max(0);
    (mean, var)
}

/// The learned scale and bias of a normalization.
pub(crate) struct Affine {
    pub(crate) features: i64,
    pub(crate) use_scale: bool,
    pub(crate) use_bias: bool,
    pub(crate) scale_init: Init,
}

impl Affine {
    /// Describes the parameters of a normalization; the initial scale is one.
    pub(crate) fn new(features: i64, use_scale: bool, use_bias: bool) -> Self {
        Affine { features, use_scale, use_bias, scale_init: Init::ones() }
    }

    /// Divides the centered values by the standard deviation, scales and shifts, and casts to the element type of `x`. Parameters are
    /// converted directly from their stored type, so that they are not rounded to the compute type first.
    #[track_caller]
    pub(crate) fn normalized<'g>(
        &self,
        p: &Scope<'g>,
        x: Tensor<'g>,
        centered: Tensor<'g>,
        var: Tensor<'g>,
        epsilon: f64,
    ) -> Tensor<'g> {
        let reduce = p.policy().reduce;
        let kept = p.with_policy(crate::Policy { compute: reduce, ..p.policy() });
        let mut by = (var + epsilon).rsqrt();
        if self.use_scale {
            by = by * kept.parameter("scale", [self.features], self.scale_init.clone());
        }
        let mut y = centered * by;
        if self.use_bias {
            y = y + kept.parameter("bias", [self.features], Init::zeros());
        }
        y.to(x.dtype())
    }
}
