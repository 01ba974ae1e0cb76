//! Convolutions and pooling of images and sequences whose features come last.

use shardc_graph::{self as graph, Padding, Tensor};

use super::linear::lecun;
use crate::{Init, Maps, Scope};

/// Letters of spatial dimensions.
const SPATIAL: [&str; 4] = ["", "W", "HW", "DHW"];

/// A convolution: `kernel` has the sizes of its window, features of the input in a group, features of the output.
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
    /// Features of the output.
    pub features: i64,
    /// Sizes of the window, in each of one to three spatial dimensions.
    pub kernel_size: Vec<i64>,
    /// Its steps; empty for one.
    pub strides: Vec<i64>,
    /// How it goes over the edges.
    pub padding: Padding,
    /// Groups of features that have nothing to do with each other.
    pub feature_group_count: i64,
    /// Whether there is a bias.
    pub use_bias: bool,
    /// How the kernel begins; LeCun's where it is not said.
    pub kernel_init: Option<Init>,
}

impl Conv {
    /// With steps of one, as many elements as before, and a bias.
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

    /// With these steps.
    #[must_use]
    pub fn strides(self, strides: &[i64]) -> Self {
        Conv { strides: strides.to_vec(), ..self }
    }

    /// That goes over the edges like this.
    #[must_use]
    pub fn padding(self, padding: Padding) -> Self {
        Conv { padding, ..self }
    }

    /// With so many groups of features.
    #[must_use]
    pub fn feature_group_count(self, feature_group_count: i64) -> Self {
        Conv { feature_group_count, ..self }
    }

    /// With or without a bias.
    #[must_use]
    pub fn use_bias(self, use_bias: bool) -> Self {
        Conv { use_bias, ..self }
    }

    /// The convolution of `x`: `[batch, spatial.., features]`. Parameters: `kernel`, and `bias` of shape `[features]`.
    ///
    /// Reported: `x` has another rank, or its features do not fall into groups.
    #[must_use]
    #[track_caller]
    pub fn apply<'g>(&self, p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        let (groups, inputs) = (self.feature_group_count, x.shape().last().copied().unwrap_or_default());
        let letters = SPATIAL.get(self.kernel_size.len()).filter(|letters| !letters.is_empty());
        let Some(letters) = letters.filter(|_| groups > 0 && inputs % groups == 0) else {
            return p.graph().refuse(&[x], format!("a convolution with windows {:?}", self.kernel_size));
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
