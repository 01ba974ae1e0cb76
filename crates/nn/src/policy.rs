//! Mixed precision: which element types parameters, products and sums have.

use shardc_graph::DType;

/// Element types by role, for a [`Scope`](crate::Scope) and those below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How parameters are kept, and their gradients given.
    pub params: DType,
    /// What layers compute with: parameters are converted to it where they are used.
    pub compute: DType,
    /// What sums over many elements are made in: statistics of normalisations, softmax, losses.
    pub reduce: DType,
}

impl Policy {
    /// All in one element type.
    #[must_use]
    pub fn all(dtype: DType) -> Policy {
        Policy { params: dtype, compute: dtype, reduce: dtype }
    }

    /// Parameters and sums in `f32`, products in `bf16`.
    #[must_use]
    pub fn mixed_bf16() -> Policy {
        Policy { params: DType::F32, compute: DType::BF16, reduce: DType::F32 }
    }
}

/// All in `f32`.
impl Default for Policy {
    fn default() -> Self {
        Policy::all(DType::F32)
    }
}
