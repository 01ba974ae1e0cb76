//! Transposition of operations that move elements, and of sums.

use shardc_ir::{Build, DimList, OpId, OpKind, PadSpec, SizeList, SliceSpec, TensorBuild, ValueId};

use crate::emit::{Arithmetic, Emit};
use crate::transpose::Transposed;

fn operand_type(t: &Transposed<'_, '_>, op: OpId, i: usize) -> (Vec<i64>, shardc_ir::TypeId) {
    let operand = t.linear.module.ops[op].operands[i];
    (t.linear.module.shape(operand).to_vec(), t.linear.module.values[operand].ty)
}

/// Sums the cotangent along the dimensions that the broadcast added or expanded.
pub(super) fn broadcast(
    t: &mut Transposed<'_, '_>,
    op: OpId,
    dims: &DimList,
    ct: ValueId,
) -> Option<ValueId> {
    let (shape, ty) = operand_type(t, op, 0);
    let result = t.linear.module.shape(ct).to_vec();
    let mut e = t.emit(op);
    let stays = |d: usize| dims.iter().position(|&r| r as usize == d).is_some_and(|i| shape[i] == result[d]);
    let gone: DimList = (0..result.len()).filter(|&d| !stays(d)).map(|d| d as u32).collect();
    let summed = if gone.is_empty() { ct } else { e.sum(ct, gone)? };
    // After the sum, the remaining dimensions are in the order of the result's dimensions.
    let left: Vec<u32> = dims.iter().copied().filter(|&d| stays(d as usize)).collect();
    let mut sorted = left.clone();
    sorted.sort_unstable();
    let permutation: DimList =
        left.iter().filter_map(|d| sorted.iter().position(|s| s == d)).map(|i| i as u32).collect();
    let ordered = transposed(&mut e, summed, &permutation);
    Some(if e.module().shape(ordered) == shape { ordered } else { e.op1(OpKind::Reshape, &[ordered], ty) })
}

/// Transposes `value` by `permutation`.
fn transposed(e: &mut Emit<'_>, value: ValueId, permutation: &DimList) -> ValueId {
    if permutation.iter().enumerate().all(|(i, &p)| i == p as usize) {
        return value;
    }
    let ty = e.type_of(value);
    let shape: Vec<i64> = permutation.iter().map(|&p| ty.shape[p as usize]).collect();
    e.tensor(OpKind::Transpose { permutation: permutation.clone() }, &[value], &shape, ty.dtype)
}

/// Reshapes the cotangent to the operand's shape.
pub(super) fn reshape(t: &mut Transposed<'_, '_>, op: OpId, ct: ValueId) -> Option<ValueId> {
    let (_, ty) = operand_type(t, op, 0);
    Some(t.emit(op).op1(OpKind::Reshape, &[ct], ty))
}

/// Transposes the cotangent by the inverse permutation.
pub(super) fn permute(
    t: &mut Transposed<'_, '_>,
    op: OpId,
    permutation: &DimList,
    ct: ValueId,
) -> Option<ValueId> {
    let mut back: DimList = permutation.clone();
    for (i, &p) in permutation.iter().enumerate() {
        back[p as usize] = i as u32;
    }
    Some(transposed(&mut t.emit(op), ct, &back))
}

/// Inserts zeros around and between the elements of the slice's cotangent.
pub(super) fn slice(t: &mut Transposed<'_, '_>, op: OpId, spec: &SliceSpec, ct: ValueId) -> Option<ValueId> {
    let (shape, ty) = operand_type(t, op, 0);
    let taken = t.linear.module.shape(ct).to_vec();
    let mut pad = PadSpec { low: spec.start.clone(), high: SizeList::new(), interior: SizeList::new() };
    for (d, &n) in taken.iter().enumerate() {
        let stride = spec.stride[d];
        let covered = if n == 0 { 0 } else { (n - 1) * stride + 1 };
        // An empty slice has no gaps between elements.
        pad.interior.push(if n > 1 { stride - 1 } else { 0 });
        pad.high.push(shape[d] - spec.start[d] - covered);
    }
    let mut e = t.emit(op);
    let dtype = e.type_of(ct).dtype;
    let zero = e.zeros(&[], dtype);
    Some(e.op1(OpKind::Pad(Box::new(pad)), &[ct, zero], ty))
}

/// Returns the cotangent of the unpadded elements or, for the padding value, the sum of the cotangent over the padding.
pub(super) fn pad(
    t: &mut Transposed<'_, '_>,
    op: OpId,
    spec: &PadSpec,
    i: usize,
    ct: ValueId,
) -> Option<ValueId> {
    let (shape, ty) = operand_type(t, op, 0);
    let mut e = t.emit(op);
    let dtype = e.type_of(ct).dtype;
    let zero = e.zeros(&[], dtype);
    // Negative padding removes the elements that `pad` added, and adds zeros for the elements that it removed.
    let negated = |sizes: &SizeList| sizes.iter().map(|&n| -n).collect();
    let back = PadSpec {
        low: negated(&spec.low),
        high: negated(&spec.high),
        interior: SizeList::from_elem(0, shape.len()),
    };
    let dense: Vec<i64> = shape
        .iter()
        .zip(&spec.interior)
        .map(|(&n, &gap)| if n == 0 { 0 } else { n + (n - 1) * gap })
        .collect();
    let cut = e.tensor(OpKind::Pad(Box::new(back)), &[ct, zero], &dense, dtype);
    let kept = if spec.interior.iter().all(|&gap| gap == 0) {
        cut
    } else {
        let slice = SliceSpec {
            start: SizeList::from_elem(0, shape.len()),
            limit: dense.iter().copied().collect(),
            stride: spec.interior.iter().map(|&gap| gap + 1).collect(),
        };
        e.op1(OpKind::Slice(Box::new(slice)), &[cut], ty)
    };
    if i == 0 {
        return Some(kept);
    }
    let (all, inner): (DimList, DimList) =
        ((0..shape.len() as u32).collect(), (0..shape.len() as u32).collect());
    let (whole, part) = (e.sum(ct, all)?, e.sum(kept, inner)?);
    Some(e.sub(whole, part))
}

/// The cotangent of operand `i` is the slice at the operand's position in the result.
pub(super) fn concatenate(
    t: &mut Transposed<'_, '_>,
    op: OpId,
    dim: u32,
    i: usize,
    ct: ValueId,
) -> Option<ValueId> {
    let dim = dim as usize;
    let size = |t: &Transposed<'_, '_>, j: usize| operand_type(t, op, j).0[dim];
    let start: i64 = (0..i).map(|j| size(t, j)).sum();
    let (shape, ty) = operand_type(t, op, i);
    let mut spec = SliceSpec {
        start: SizeList::from_elem(0, shape.len()),
        limit: shape.iter().copied().collect(),
        stride: SizeList::from_elem(1, shape.len()),
    };
    (spec.start[dim], spec.limit[dim]) = (start, start + shape[dim]);
    Some(t.emit(op).op1(OpKind::Slice(Box::new(spec)), &[ct], ty))
}

/// Broadcasts the cotangent of a sum to all of its terms.
pub(super) fn reduce(t: &mut Transposed<'_, '_>, op: OpId, dims: &DimList, ct: ValueId) -> Option<ValueId> {
    let (shape, _) = operand_type(t, op, 0);
    let kept: DimList = (0..shape.len() as u32).filter(|d| !dims.contains(d)).collect();
    t.emit(op).spread(ct, kept, &shape)
}
