//! Initial values of variables, identical on every mesh, and equal to those of `jax.nn.initializers` for the same key.

mod of_weights;

use shardc_graph::{DType, Key, Tensor};

pub use of_weights::OfWeights;
pub(crate) use of_weights::Part;

/// Initial values of a variable. Fan-in and fan-out are computed as in JAX: for a shape `[.., in, out]`, the last two dimensions,
/// each times the leading (window) dimensions.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Init {
    /// All elements are this number.
    Constant(f64),
    /// Normal distribution with mean zero and this standard deviation.
    Normal(f64),
    /// Truncated normal: a standard normal distribution truncated to `[-2, 2]`, then scaled by this number.
    TruncatedNormal(f64),
    /// Uniform distribution from zero (inclusive) to this number (exclusive).
    Uniform(f64),
    /// Variance scaling: a distribution with variance `scale / fan`.
    VarianceScaling {
        /// Numerator of the variance.
        scale: f64,
        /// Which fan is the denominator of the variance.
        fan: Fan,
        /// The distribution of the numbers.
        distribution: Distribution,
    },
    /// The identity matrix in the last two dimensions.
    Identity,
    /// One of the arrays of NF4-quantized weights.
    Nf4(Box<OfWeights>),
    /// The initial values of the variable with this full name, which must have the same shape; the element type may differ.
    CopyOf(String),
    /// L2 norms of the initial values of another variable, over its leading dimensions, separately for each layer of a stack.
    NormOf {
        /// The full name of the other variable.
        of: String,
        /// The number of leading dimensions that the norms reduce, not counting the dimensions that index the layers of stacks.
        axes: usize,
    },
}

/// The denominator of the variance: see [`Init::VarianceScaling`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fan {
    /// Fan-in.
    In,
    /// Fan-out.
    Out,
    /// The mean of fan-in and fan-out.
    Average,
}

/// The distribution of random initial values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// The normal distribution with mean zero.
    Normal,
    /// The normal distribution with mean zero, truncated at two standard deviations and rescaled to the requested variance.
    TruncatedNormal,
    /// The uniform distribution on an interval around zero.
    Uniform,
}

/// The standard deviation of a standard normal distribution truncated to `[-2, 2]`.
const TRUNCATED: f64 = 0.879_625_661_034_239_8;

impl Init {
    /// All elements are zero.
    #[must_use]
    pub fn zeros() -> Init {
        Init::Constant(0.0)
    }

    /// All elements are one.
    #[must_use]
    pub fn ones() -> Init {
        Init::Constant(1.0)
    }

    /// Normal distribution with mean zero and this standard deviation.
    #[must_use]
    pub fn normal(deviation: f64) -> Init {
        Init::Normal(deviation)
    }

    /// LeCun normal, variance `1 / fan-in`: for layers without ReLU; flax's default.
    #[must_use]
    pub fn lecun_normal() -> Init {
        Init::scaled(1.0, Fan::In, Distribution::TruncatedNormal)
    }

    /// LeCun uniform: variance `1 / fan-in`.
    #[must_use]
    pub fn lecun_uniform() -> Init {
        Init::scaled(1.0, Fan::In, Distribution::Uniform)
    }

    /// He (Kaiming) normal, variance `2 / fan-in`: for layers with ReLU.
    #[must_use]
    pub fn he_normal() -> Init {
        Init::scaled(2.0, Fan::In, Distribution::TruncatedNormal)
    }

    /// He (Kaiming) uniform: variance `2 / fan-in`.
    #[must_use]
    pub fn he_uniform() -> Init {
        Init::scaled(2.0, Fan::In, Distribution::Uniform)
    }

    /// Glorot (Xavier) normal: balances forward and backward variance.
    #[must_use]
    pub fn glorot_normal() -> Init {
        Init::scaled(1.0, Fan::Average, Distribution::TruncatedNormal)
    }

    /// Glorot (Xavier) uniform: variance `2 / (fan-in + fan-out)`.
    #[must_use]
    pub fn glorot_uniform() -> Init {
        Init::scaled(1.0, Fan::Average, Distribution::Uniform)
    }

    /// Copies the initial values of the variable with this full name, for variables that track a parameter (a moving average, a target
    /// network). Unless annotated otherwise, the copy has the sharding of that variable.
    #[must_use]
    pub fn copy_of(name: impl Into<String>) -> Init {
        Init::CopyOf(name.into())
    }

    fn scaled(scale: f64, fan: Fan, distribution: Distribution) -> Init {
        Init::VarianceScaling { scale, fan, distribution }
    }

    /// Returns whether the values do not depend on the key.
    pub(crate) fn is_constant(&self) -> bool {
        matches!(self, Init::Constant(_) | Init::Identity)
    }

    /// If the variable is an array of quantized weights, returns its contribution to the number of model weights: all weights for the
    /// payload, zero for the other arrays.
    pub(crate) fn num_weights(&self) -> Option<i64> {
        match self {
            Init::Nf4(part) => Some(part.num_weights()),
            _ => None,
        }
    }

    /// Returns the name that is hashed into the key, if it is not the variable's own name: all arrays of the same quantized weights
    /// use the name of these weights.
    pub(crate) fn drawn_as(&self) -> Option<&str> {
        match self {
            Init::Nf4(part) => Some(part.name()),
            _ => None,
        }
    }

    /// Returns the values, generated with a key.
    ///
    /// Reports an error if the values are not representable in the element type, or if they depend on another variable ([`Init::CopyOf`],
    /// [`Init::NormOf`]), not on a key.
    #[track_caller]
    pub fn values<'g>(&self, key: Key<'g>, shape: &[i64], dtype: DType) -> Tensor<'g> {
        let g = key.to_tensor().graph();
        match *self {
            Init::Nf4(ref part) => part.values(key),
            Init::CopyOf(ref name) => g.refuse(
                &[],
                format!("Init::CopyOf({name:?}) needs the values of another variable, not a key"),
            ),
            Init::NormOf { ref of, .. } => {
                g.refuse(&[], format!("Init::NormOf({of:?}) needs the values of another variable, not a key"))
            }
            Init::Constant(number) => g.full(shape, number, dtype),
            Init::Normal(deviation) => key.normal(shape, dtype) * deviation,
            Init::TruncatedNormal(deviation) => key.truncated_normal(shape, dtype, -2.0, 2.0) * deviation,
            Init::Uniform(below) => key.uniform(shape, dtype, 0, 1) * below,
            Init::VarianceScaling { scale, fan, distribution } => {
                let variance = scale / fan.of(shape);
                match distribution {
                    Distribution::Normal => key.normal(shape, dtype) * variance.sqrt(),
                    Distribution::TruncatedNormal => {
                        key.truncated_normal(shape, dtype, -2.0, 2.0) * (variance.sqrt() / TRUNCATED)
                    }
                    Distribution::Uniform => key.uniform(shape, dtype, -1, 1) * (3.0 * variance).sqrt(),
                }
            }
            Init::Identity => match shape {
                [.., rows, columns] => {
                    let (row, column) =
                        (g.iota([*rows, *columns], 0, DType::I32), g.iota([*rows, *columns], 1, DType::I32));
                    row.eq(column).to(dtype).broadcast_to(shape)
                }
                _ => g.refuse(&[], format!("an identity matrix needs rank 2 or more, got shape {shape:?}")),
            },
        }
    }
}

impl Fan {
    fn of(self, shape: &[i64]) -> f64 {
        let (fan_in, fan_out) = match shape {
            [] => (1.0, 1.0),
            [n] => (*n as f64, *n as f64),
            [window @ .., fan_in, fan_out] => {
                let window = window.iter().product::<i64>() as f64;
                (window * *fan_in as f64, window * *fan_out as f64)
            }
        };
        match self {
            Fan::In => fan_in,
            Fan::Out => fan_out,
            Fan::Average => f64::midpoint(fan_in, fan_out),
        }
    }
}
