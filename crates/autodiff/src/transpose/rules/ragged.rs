//! Transposition of `ragged_dot`.

use shardc_ir::{DimList, OpId, OpKind, RaggedDotSpec, TensorBuild, ValueId};

use crate::emit::Arithmetic;
use crate::transpose::Transposed;

/// The dimensions of one operand of a `ragged_dot`.
struct Side {
    value: ValueId,
    batch: DimList,
    contract: DimList,
    /// The dimensions that the result also has, in order: all except batching, contracting and group dimensions.
    kept: DimList,
    /// The positions of the dimensions `kept` in the result.
    in_result: DimList,
}

impl Side {
    /// This operand's contracting dimensions, in the order in which the other operand has them.
    fn contract_by(&self, other: &Side) -> DimList {
        let mut pairs: Vec<(u32, u32)> =
            other.contract.iter().copied().zip(self.contract.iter().copied()).collect();
        pairs.sort_unstable();
        pairs.into_iter().map(|(_, dim)| dim).collect()
    }
}

/// The cotangent of one operand: a `ragged_dot` of the result's cotangent and the other operand, contracted over the dimensions that only
/// the other operand has.
///
/// If a row dimension is ragged, it is a ragged row dimension of the dot that computes the left operand's cotangent, and a ragged
/// contracting dimension of the dot that computes the right operand's cotangent. If the contracting dimension is ragged, both dots have
/// ragged rows. A ragged batching dimension remains a batching dimension.
pub(super) fn ragged_dot(
    t: &mut Transposed<'_, '_>,
    op: OpId,
    spec: &RaggedDotSpec,
    i: usize,
    ct: ValueId,
) -> Option<ValueId> {
    let operands = t.linear.module.ops[op].operands.clone();
    let (&[lhs, rhs, groups], &[ragged]) = (operands.as_slice(), spec.lhs_ragged.as_slice()) else {
        return None;
    };
    let contracts_groups = spec.lhs_contract.contains(&ragged);
    let mut e = t.emit(op);
    // The result has the group dimension, if groups are contracted, then the batching dimensions, then the kept dimensions of the left and
    // of the right operand.
    let first = u32::from(contracts_groups);
    let batch = spec.lhs_batch.len() as u32;
    let mut side = |value: ValueId, batch: &DimList, contract: &DimList, from: u32| {
        let rank = e.type_of(value).shape.len() as u32;
        let is_kept = |d: &u32| {
            !batch.contains(d) && !contract.contains(d) && (value != rhs || !spec.rhs_group.contains(d))
        };
        let kept: DimList = (0..rank).filter(is_kept).collect();
        let in_result = (from..).take(kept.len()).collect();
        Side { value, batch: batch.clone(), contract: contract.clone(), kept, in_result }
    };
    let left = side(lhs, &spec.lhs_batch, &spec.lhs_contract, first + batch);
    let right = side(rhs, &spec.rhs_batch, &spec.rhs_contract, first + batch + left.kept.len() as u32);
    let (this, other) = if i == 0 { (&left, &right) } else { (&right, &left) };
    let in_ct: DimList = (first..first + batch).collect();
    // The result's cotangent is the left operand of the new dot if the cotangent of the left operand is computed and a row or batch
    // dimension is ragged.
    let asked_first = i == 0 && !contracts_groups;
    let of_asked = (ct, in_ct, other.in_result.clone());
    let of_other = (other.value, other.batch.clone(), other.kept.clone());
    let (a, b) = if asked_first { (of_asked, of_other) } else { (of_other, of_asked) };
    let in_groups = |dim: u32| -> Option<u32> {
        let place = |list: &DimList, dim: u32| list.iter().position(|&d| d == dim);
        Some(match () {
            () if asked_first && left.batch.contains(&dim) => place(&left.batch, dim)? as u32,
            () if asked_first => left.in_result[place(&left.kept, dim)?],
            () if i == 0 => right.contract[place(&left.contract, dim)?],
            () => dim,
        })
    };
    let group: DimList = match () {
        () if contracts_groups => [0].into_iter().collect(),
        () if i == 0 => spec.rhs_group.clone(),
        () => DimList::new(),
    };
    let mut precision = spec.precision.clone();
    // Each operand keeps its precision: the right operand becomes the left operand of the new dot.
    if i == 0 && !asked_first {
        precision.reverse();
    }
    let product = RaggedDotSpec {
        lhs_batch: a.1,
        rhs_batch: b.1,
        lhs_contract: a.2,
        rhs_contract: b.2,
        lhs_ragged: [in_groups(ragged)?].into_iter().collect(),
        rhs_group: group,
        precision,
    };
    // The new dot has the group dimension, if it contracts groups, then the batching dimensions, and then the dimensions of its operands.
    let contracted = this.contract_by(other);
    let of_groups = if i == 0 { DimList::new() } else { spec.rhs_group.clone() };
    let (then, last) = if asked_first { (&this.kept, &contracted) } else { (&contracted, &this.kept) };
    let order: Vec<u32> = [&of_groups, &this.batch, then, last].into_iter().flatten().copied().collect();
    let this_ty = e.type_of(this.value);
    let shape: Vec<i64> = order.iter().map(|&d| this_ty.shape[d as usize]).collect();
    let (asked_ty, other_ty) = (e.type_of(ct), e.type_of(other.value));
    let dtype = if other_ty.dtype.bits() > asked_ty.dtype.bits() { other_ty.dtype } else { asked_ty.dtype };
    let made = e.tensor(OpKind::RaggedDot(Box::new(product)), &[a.0, b.0, groups], &shape, dtype);
    let made = e.convert(made, this_ty.dtype);
    let place = |d: u32| order.iter().position(|&o| o == d).map(|p| p as u32);
    let permutation: DimList = (0..order.len() as u32).filter_map(place).collect();
    if permutation.iter().enumerate().all(|(i, &p)| i == p as usize) {
        return Some(made);
    }
    Some(e.alike_to(OpKind::Transpose { permutation }, &[made], this.value))
}
