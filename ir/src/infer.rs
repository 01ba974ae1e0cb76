//! Result types that follow from operands and attributes.

use smallvec::SmallVec;

use crate::{Module, OpKind, RegionId, TypeId, ValueId};

/// Why operands do not fit an operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InferError(pub String);

/// Result types of an operation.
///
/// # Errors
/// The operands do not fit the operation, or its result types do not follow from them.
pub fn infer_types(
    module: &mut Module,
    kind: &OpKind,
    operands: &[ValueId],
    regions: &[RegionId],
) -> Result<SmallVec<[TypeId; 2]>, InferError> {
    let _ = (module, operands, regions);
    Err(InferError(format!("the result type of {} does not follow from its operands", kind.name())))
}
