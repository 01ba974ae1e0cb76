//! Convolutions of images and sequences in channels-last layout.

use shardc_graph::{self as graph, Padding, Tensor};

use super::linear::lecun;
use crate::{Init, Maps, Scope};

/// Labels of the spatial dimensions, by their number.
const SPATIAL: [&str; 4] = ["", "W", "HW", "DHW"];

/// A convolution. `kernel` has the shape `[window.., input features per group, output features]`.
///
/// ```
/// # use shardc_graph::{DType::F32, Graph, Mesh};
/// # use shardc_nn::{Scope, layers::*};
/// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
/// # let p = Scope::new(&g);
/// let x = g.parameter("x", [2, 8, 8, 3], F32);
/// let layer = Conv::new(16, &[3, 3]).strides(&[2, 2]);
/// assert_eq!(layer.apply(&p.at("conv"), x).shape(), [2, 4, 4, 16]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Conv {
    /// Output features.
    pub features: i64,
    /// Window sizes of the one to three spatial dimensions.
    pub kernel_size: Vec<i64>,
    /// Window strides; one if empty.
    pub strides: Vec<i64>,
    /// Padding of the spatial dimensions.
    pub padding: Padding,
    /// Number of feature groups (grouped convolution).
    pub feature_group_count: i64,
    /// Whether there is a bias.
    pub use_bias: bool,
    /// Initial values of the kernel; LeCun normal by default.
    pub kernel_init: Option<Init>,
}

impl Conv {
    /// Creates a convolution with strides of one, `SAME` padding and a bias.
    #[must_use]
    pub fn new(features: i64, kernel_size: &[i64]) -> Self {
        Conv {
            features,
            kernel_size: kernel_size.to_vec(),
            strides: Vec::new(),
            padding: Padding::Same,
            feature_group_count: 1,
            use_bias: true,
            kernel_init: None,
        }
    }

    /// Sets the strides.
    #[must_use]
    pub fn strides(self, strides: &[i64]) -> Self {
        Conv { strides: strides.to_vec(), ..self }
    }

    /// Sets the padding.
    #[must_use]
    pub fn padding(self, padding: Padding) -> Self {
        Conv { padding, ..self }
    }

    /// Sets the number of feature groups.
    #[must_use]
    pub fn feature_group_count(self, feature_group_count: i64) -> Self {
        Conv { feature_group_count, ..self }
    }

    /// Sets whether there is a bias.
    #[must_use]
    pub fn use_bias(self, use_bias: bool) -> Self {
        Conv { use_bias, ..self }
    }

    /// Convolves `x`: `[batch, spatial.., features]`. Parameters: `kernel`, and `bias` of shape `[features]`.
    ///
    /// Reports an error if `x` has the wrong rank, or the groups do not divide its features.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        let (groups, inputs) = (self.feature_group_count, x.shape().last().copied().unwrap_or_default());
        let letters = SPATIAL.get(self.kernel_size.len()).filter(|letters| !letters.is_empty());
        let Some(letters) = letters.filter(|_| groups > 0 && inputs % groups == 0) else {
            return p.graph().refuse(
                &[x],
                format!(
                    "a convolution needs a kernel size of 1 to 3 dimensions, got {:?}, \
             and feature groups that divide the input features, got {groups} groups and {inputs} features",
                    self.kernel_size
                ),
            );
        };
        let shape = [&self.kernel_size[..], &[inputs / groups, self.features]].concat();
        let fan_in = shape[..shape.len() - 1].iter().product();
        let init = self.kernel_init.clone().unwrap_or_else(|| lecun(fan_in));
        let how = graph::Conv {
            lhs: format!("N{letters}C"),
            rhs: format!("{letters}IO"),
            out: format!("N{letters}C"),
            strides: self.strides.clone(),
            padding: self.padding.clone(),
            feature_groups: groups,
            ..graph::Conv::default()
        };
        let y = x.conv(p.parameter_of_maps("kernel", shape, Maps::one(1), init), &how);
        if !self.use_bias {
            return y;
        }
        y + p.parameter("bias", [self.features], Init::zeros())
    }
}
