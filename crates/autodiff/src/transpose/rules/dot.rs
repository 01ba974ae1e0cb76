//! Transposition of matmuls.

use shardc_ir::{DimList, DotSpec, OpId, OpKind, TensorBuild, ValueId};

use crate::emit::Arithmetic;
use crate::transpose::Transposed;

/// Returns the cotangent of one operand: the result's cotangent contracted with the other operand over the free dimensions of that operand.
pub(super) fn dot(
    t: &mut Transposed<'_, '_>,
    op: OpId,
    spec: &DotSpec,
    i: usize,
    ct: ValueId,
) -> Option<ValueId> {
    let operands = t.linear.module.ops[op].operands.clone();
    let (this, other) = (operands[i], operands[1 - i]);
    let mut e = t.emit(op);
    let (this_ty, other_ty, result) = (e.type_of(this), e.type_of(other), e.type_of(ct));
    let sides = [(&spec.lhs_batch, &spec.lhs_contract), (&spec.rhs_batch, &spec.rhs_contract)];
    let ((this_batch, this_contract), (other_batch, other_contract)) = (sides[i], sides[1 - i]);
    let free = |rank: usize, batch: &DimList, contract: &DimList| -> DimList {
        (0..rank as u32).filter(|d| !batch.contains(d) && !contract.contains(d)).collect()
    };
    let this_free = free(this_ty.shape.len(), this_batch, this_contract);
    let other_free = free(other_ty.shape.len(), other_batch, other_contract);
    // The result has the batching dimensions, then the free dimensions of the left operand, then those of the right operand.
    let batch = this_batch.len() as u32;
    let before = if i == 0 { this_free.len() } else { 0 } as u32;
    let result_other: DimList = (0..other_free.len() as u32).map(|d| batch + before + d).collect();
    let mut precision = spec.precision.clone();
    // Each operand keeps its precision: the left operand becomes the right operand of the new dot.
    if i == 1 {
        precision.reverse();
    }
    let product = DotSpec {
        lhs_batch: (0..batch).collect(),
        rhs_batch: other_batch.clone(),
        lhs_contract: result_other,
        rhs_contract: other_free,
        precision,
        algorithm: spec.algorithm.clone(),
    };
    // The result of the new dot has the batching dimensions, the free dimensions of this operand, and the contracting dimensions in the
    // order of the other operand.
    let mut sorted: Vec<(u32, u32)> =
        other_contract.iter().copied().zip(this_contract.iter().copied()).collect();
    sorted.sort_unstable();
    let order: Vec<u32> =
        this_batch.iter().chain(&this_free).copied().chain(sorted.iter().map(|&(_, d)| d)).collect();
    let shape: Vec<i64> = order.iter().map(|&d| this_ty.shape[d as usize]).collect();
    let made = e.tensor(OpKind::DotGeneral(Box::new(product)), &[ct, other], &shape, result.dtype);
    let permutation: DimList = (0..order.len() as u32)
        .filter_map(|d| order.iter().position(|&o| o == d))
        .map(|p| p as u32)
        .collect();
    if permutation.iter().enumerate().all(|(i, &p)| i == p as usize) {
        return Some(e.convert(made, this_ty.dtype));
    }
    // The transpose directly follows the matmul, before the conversion to a narrower type: a matmul can write its result in a transposed
    // layout, but a conversion cannot.
    let ordered = e.tensor(OpKind::Transpose { permutation }, &[made], &this_ty.shape, result.dtype);
    Some(e.convert(ordered, this_ty.dtype))
}
