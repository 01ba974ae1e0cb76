//! Transposition of operations that read or write elements at indices.

use shardc_ir::reducer::{reducer, reduction_of};
use shardc_ir::{
    Build, GatherSpec, OpId, OpKind, ReductionKind, ScatterSpec, SizeList, TensorBuild, ValueId,
};

use crate::emit::Arithmetic;
use crate::places::{clamped, gather_of, last_places, only_within, scatter_of, without_mask};
use crate::transpose::Transposed;

/// Returns zeros with the slice's cotangent at the position of the slice.
pub(super) fn dynamic_slice(t: &mut Transposed<'_, '_>, op: OpId, ct: ValueId) -> Option<ValueId> {
    let operands = t.linear.module.ops[op].operands.clone();
    let mut e = t.emit(op);
    let zeros = e.zeros_like(operands[0]);
    let mut written = vec![zeros, ct];
    written.extend_from_slice(&operands[1..]);
    Some(e.alike(OpKind::DynamicUpdateSlice, &written))
}

/// The cotangent of the update is the slice of the result's cotangent at the update's position. The operand's cotangent is zero there.
pub(super) fn dynamic_update_slice(
    t: &mut Transposed<'_, '_>,
    op: OpId,
    i: usize,
    ct: ValueId,
) -> Option<ValueId> {
    let operands = t.linear.module.ops[op].operands.clone();
    let mut e = t.emit(op);
    let mut others = vec![ct];
    if i == 0 {
        others.push(e.zeros_like(operands[1]));
        others.extend_from_slice(&operands[2..]);
        return Some(e.alike(OpKind::DynamicUpdateSlice, &others));
    }
    others.extend_from_slice(&operands[2..]);
    let sizes: SizeList = e.type_of(operands[1]).shape.iter().copied().collect();
    Some(e.alike_to(OpKind::DynamicSlice { sizes }, &others, operands[1]))
}

/// Transposes a gather: adds the result's cotangent to zeros, at the positions that the gather reads.
pub(super) fn gather(
    t: &mut Transposed<'_, '_>,
    op: OpId,
    spec: &GatherSpec,
    ct: ValueId,
) -> Option<ValueId> {
    let operands = t.linear.module.ops[op].operands.clone();
    let mut e = t.emit(op);
    let zeros = e.zeros_like(operands[0]);
    let ty = e.type_of(operands[0]);
    let last = last_places(spec, &ty.shape);
    let (indices, ct) = match without_mask(e.module(), ct, operands[1], spec, &last) {
        // A scatter ignores windows that are out of bounds, so they need no mask.
        Some(unmasked) => (operands[1], unmasked),
        None => (clamped(&mut e, operands[1], spec.index_vector_dim, &last), ct),
    };
    let region = reducer(e.module(), ReductionKind::Add, ty.dtype);
    let id = e.module().values[operands[0]].ty;
    let made = e.op(OpKind::Scatter(Box::new(scatter_of(spec))), &[zeros, indices, ct], &[id], &[region]);
    e.module().ops[made].results.first().copied()
}

/// Transposes a scatter. For addition, the operand gets the cotangent of the result, and the updates get the elements of that cotangent at
/// their positions. For assignment with unique indices, the cotangent of overwritten elements is zero. For multiplication, the cotangent is
/// also multiplied by the other factor.
pub(super) fn scatter(
    t: &mut Transposed<'_, '_>,
    op: OpId,
    spec: &ScatterSpec,
    i: usize,
    ct: ValueId,
) -> Option<ValueId> {
    let operands = t.linear.module.ops[op].operands.clone();
    let region = *t.linear.module.ops[op].regions.first()?;
    let kind = reduction_of(t.linear.module, region, 1);
    let adds = kind == Some(ReductionKind::Add);
    let mut e = t.emit(op);
    if i == 0 && adds {
        return Some(ct);
    }
    if i == 0 {
        let updates = match kind {
            Some(ReductionKind::Mul) => operands[2],
            _ => e.zeros_like(operands[2]),
        };
        let id = e.module().values[ct].ty;
        let made =
            e.op(OpKind::Scatter(Box::new(spec.clone())), &[ct, operands[1], updates], &[id], &[region]);
        return e.module().ops[made].results.first().copied();
    }
    let (input, updates) = (e.type_of(operands[0]), e.type_of(operands[2]));
    let gather = gather_of(spec, &input.shape, &updates.shape)?;
    let kind = OpKind::Gather(Box::new(gather.clone()));
    let read = e.alike_to(kind, &[ct, operands[1]], operands[2]);
    only_within(&mut e, read, operands[1], &gather, &input.shape)
}
