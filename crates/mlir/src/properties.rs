//! Inherent attributes of operations as MLIR text.

use shardc_ir::{Module, OpId};

/// Names and texts of the attributes that belong to the operation itself.
pub(crate) fn properties(_module: &Module, _op: OpId) -> Vec<(&'static str, String)> {
    Vec::new()
}
