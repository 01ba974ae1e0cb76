//! Initial values of variables, the same for every mesh.

use shardc_graph::{DType, Graph, Tensor};

/// How a variable begins.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Init {
    /// All elements are this number.
    Constant(f64),
}

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

    /// The values, as a tensor of a graph.
    ///
    /// Reported: they are no elements of the type.
    #[track_caller]
    pub fn values<'g>(&self, g: &'g Graph, shape: &[i64], dtype: DType) -> Tensor<'g> {
        match self {
            Init::Constant(number) => g.full(shape, *number, dtype),
        }
    }
}
