//! Mixed precision: the element types of parameters, matmuls and reductions.

use shardc_graph::DType;

/// The element types of a [`Scope`](crate::Scope) and its nested scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The stored type of parameters and of their gradients.
    pub params: DType,
    /// The compute type of layers: parameters are converted to it at their uses.
    pub compute: DType,
    /// The type of reductions over many elements: statistics of normalizations, softmax, losses.
    pub reduce: DType,
}

impl Policy {
    /// Uses one element type for everything.
    #[must_use]
    pub fn all(dtype: DType) -> Policy {
        Policy { params: dtype, compute: dtype, reduce: dtype }
    }

    /// Parameters and reductions in `f32`, matmuls in `bf16`.
    #[must_use]
    pub fn mixed_bf16() -> Policy {
        Policy { params: DType::F32, compute: DType::BF16, reduce: DType::F32 }
    }
}

/// Everything in `f32`.
impl Default for Policy {
    fn default() -> Self {
        Policy::all(DType::F32)
    }
}
