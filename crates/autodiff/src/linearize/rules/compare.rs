//! Comparisons of tensors.

use shardc_ir::{CompareDirection, CompareType, DType, OpKind, TensorBuild, ValueId};

/// Compares two tensors of the same shape.
pub(crate) fn compare(
    e: &mut impl TensorBuild,
    direction: CompareDirection,
    a: ValueId,
    b: ValueId,
) -> ValueId {
    let shape = e.module().shape(a).to_vec();
    let how = e.dtype(a).and_then(CompareType::of_integers);
    e.tensor(OpKind::Compare(direction, how), &[a, b], &shape, DType::I1)
}
