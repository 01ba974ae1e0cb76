//! Initial values of variables, the same for every mesh: those of `jax.nn.initializers` for the same key.

mod of_weights;

use shardc_graph::{DType, Key, Tensor};

pub use of_weights::OfWeights;
pub(crate) use of_weights::Part;

/// How a variable begins. Fans count what goes into an element of the output and out of one of the input: of a shape
/// `[.., in, out]` the last two dimensions, times those before, which are a window.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Init {
    /// All elements are this number.
    Constant(f64),
    /// Normally distributed with this standard deviation.
    Normal(f64),
    /// Normally distributed with this standard deviation, cut at twice that before it is scaled.
    TruncatedNormal(f64),
    /// From zero to below this number.
    Uniform(f64),
    /// With the variance `scale / fan`.
    VarianceScaling {
        /// What the variance is a multiple of.
        scale: f64,
        /// Which fan divides it.
        fan: Fan,
        /// How the numbers are distributed.
        distribution: Distribution,
    },
    /// A matrix in the last two dimensions with ones along its diagonal.
    Identity,
    /// A part of weights in four bits.
    Nf4(Box<OfWeights>),
    /// As the variable of this full name begins, whose shape it has; the element type may be another one.
    CopyOf(String),
    /// Euclidean norms of the initial values of the variable of this full name, over the first dimensions of each layer of it.
    NormOf {
        /// The full name of the variable.
        of: String,
        /// How many of its first dimensions the norms are taken over, besides those of stacks.
        axes: usize,
    },
}

/// What divides the variance of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fan {
    /// What goes in.
    In,
    /// What goes out.
    Out,
    /// The mean of both.
    Average,
}

/// How random numbers are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Normally.
    Normal,
    /// Normally, cut at twice the standard deviation, and scaled so that the variance is as asked for.
    TruncatedNormal,
    /// All as likely, between two numbers.
    Uniform,
}

/// The standard deviation of a standard normal distribution that is cut at -2 and 2.
const TRUNCATED: f64 = 0.879_625_661_034_239_8;

impl Init {
    /// Zeros.
    #[must_use]
    pub fn zeros() -> Init {
        Init::Constant(0.0)
    }

    /// Ones.
    #[must_use]
    pub fn ones() -> Init {
        Init::Constant(1.0)
    }

    /// Normally distributed with this standard deviation.
    #[must_use]
    pub fn normal(deviation: f64) -> Init {
        Init::Normal(deviation)
    }

    /// For layers without rectifier: LeCun's, flax's default.
    #[must_use]
    pub fn lecun_normal() -> Init {
        Init::scaled(1.0, Fan::In, Distribution::TruncatedNormal)
    }

    /// LeCun's, all numbers as likely.
    #[must_use]
    pub fn lecun_uniform() -> Init {
        Init::scaled(1.0, Fan::In, Distribution::Uniform)
    }

    /// For layers with rectifier: He's.
    #[must_use]
    pub fn he_normal() -> Init {
        Init::scaled(2.0, Fan::In, Distribution::TruncatedNormal)
    }

    /// He's, all numbers as likely.
    #[must_use]
    pub fn he_uniform() -> Init {
        Init::scaled(2.0, Fan::In, Distribution::Uniform)
    }

    /// For layers that are read both ways: Glorot's, also called Xavier's.
    #[must_use]
    pub fn glorot_normal() -> Init {
        Init::scaled(1.0, Fan::Average, Distribution::TruncatedNormal)
    }

    /// Glorot's, all numbers as likely.
    #[must_use]
    pub fn glorot_uniform() -> Init {
        Init::scaled(1.0, Fan::Average, Distribution::Uniform)
    }

    /// As the variable of this full name begins: what follows a parameter (a moving average, a target network) begins as that. Where no mark
    /// says otherwise, it is split as that is, too.
    #[must_use]
    pub fn copy_of(name: impl Into<String>) -> Init {
        Init::CopyOf(name.into())
    }

    fn scaled(scale: f64, fan: Fan, distribution: Distribution) -> Init {
        Init::VarianceScaling { scale, fan, distribution }
    }

    /// Whether it is the same for every key.
    pub(crate) fn is_constant(&self) -> bool {
        matches!(self, Init::Constant(_) | Init::Identity)
    }

    /// Of weights that are kept otherwise, how many there are: with their payload, and none with the rest.
    pub(crate) fn num_weights(&self) -> Option<i64> {
        match self {
            Init::Nf4(part) => Some(part.num_weights()),
            _ => None,
        }
    }

    /// The variable whose key draws the values, where that is another one.
    pub(crate) fn drawn_as(&self) -> Option<&str> {
        match self {
            Init::Nf4(part) => Some(part.name()),
            _ => None,
        }
    }

    /// The values, drawn with a key.
    ///
    /// Reported: they are no elements of the type; they are a copy of others, which a key does not tell.
    #[track_caller]
    pub fn values<'g>(&self, key: Key<'g>, shape: &[i64], dtype: DType) -> Tensor<'g> {
        let g = key.to_tensor().graph();
        match *self {
            Init::Nf4(ref part) => part.values(key),
            Init::CopyOf(ref name) => {
                g.refuse(&[], format!("values that are a copy of the variable {name:?}"))
            }
            Init::NormOf { ref of, .. } => {
                g.refuse(&[], format!("values that are norms of the variable {of:?}"))
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
                _ => g.refuse(&[], format!("an identity of shape {shape:?}")),
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
