//! Types of arrays.

use std::fmt;

use shardc_ir::DType;

/// Element type and shape of an array; printed as in MLIR, `tensor<4x8xf32>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArrayType {
    /// The element type.
    pub dtype: DType,
    /// The dimension sizes; empty for a scalar.
    pub shape: Vec<usize>,
}

impl fmt::Display for ArrayType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensor<")?;
        for size in &self.shape {
            write!(f, "{size}x")?;
        }
        write!(f, "{}>", self.dtype)
    }
}
