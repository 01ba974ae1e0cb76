//! Transposition of `ragged_all_to_all`: each slice returns to its sender.

use shardc_ir::{
    BinaryOp, CollectiveSpec, CompareDirection, CompareType, DType, DimList, OpId, OpKind, TensorBuild,
    ValueId,
};

use crate::emit::{Arithmetic, Emit};
use crate::linearize::collectives::like;
use crate::transpose::Transposed;

/// Returns the cotangent of operand `i`, where `ct` is the cotangent of the result.
///
/// The cotangent of the rows is an exchange with sizes and offsets swapped: an `all_to_all` of both lists of offsets tells each receiver
/// the position of a slice in its result and in the sender's rows. The cotangent of the initial result is zero where a slice was written.
/// `jax.lax.ragged_all_to_all` has the same rule.
pub(super) fn ragged_all_to_all(
    t: &mut Transposed<'_, '_>,
    op: OpId,
    i: usize,
    ct: ValueId,
) -> Option<ValueId> {
    let (kind, operands, spec) = {
        let data = &t.linear.module.ops[op];
        (data.kind.clone(), data.operands.to_vec(), data.ragged_all_to_all()?)
    };
    let &[rows, _, input_offsets, send_sizes, output_offsets, receive_sizes] = operands.as_slice() else {
        return None;
    };
    let size = u32::try_from(spec.groups.group_size()?).ok()?;
    let (there, back) = (like(t.linear, &spec), like(t.linear, &spec));
    let mut e = t.emit(op);
    let written_at = exchange(&mut e, output_offsets, size, there);
    if i == 0 {
        let sent_from = exchange(&mut e, input_offsets, size, back);
        let zeros = e.zeros_like(rows);
        let operands = [ct, zeros, written_at, receive_sizes, sent_from, send_sizes];
        return Some(e.alike_to(kind, &operands, rows));
    }
    let is_written = written_rows(&mut e, written_at, receive_sizes, ct)?;
    let zeros = e.zeros_like(ct);
    Some(e.alike_to(OpKind::Select, &[is_written, zeros, ct], ct))
}

/// Sends each member of the group its chunk of a list.
fn exchange(e: &mut Emit<'_>, list: ValueId, size: u32, spec: Box<CollectiveSpec>) -> ValueId {
    e.alike(OpKind::AllToAll { split_dim: 0, concat_dim: 0, split_count: size, spec }, &[list])
}

/// Returns a mask with the shape of `like` that is true in the rows of any slice: slice `i` has `sizes[i]` rows from row `first[i]` on.
fn written_rows(e: &mut Emit<'_>, first: ValueId, sizes: ValueId, like: ValueId) -> Option<ValueId> {
    let shape = e.type_of(like).shape.to_vec();
    let (&slices, &rows) = (e.type_of(first).shape.first()?, shape.first()?);
    let (first, sizes) = (e.convert(first, DType::I32), e.convert(sizes, DType::I32));
    let end = e.binary(BinaryOp::Add, first, sizes);
    let square = [slices, rows];
    let first = e.spread(first, DimList::from_slice(&[0]), &square)?;
    let end = e.spread(end, DimList::from_slice(&[0]), &square)?;
    let row = e.tensor(OpKind::Iota { dim: 1 }, &[], &square, DType::I32);
    let compare = |direction| OpKind::Compare(direction, CompareType::of_integers(DType::I32));
    let begun = e.tensor(compare(CompareDirection::GE), &[row, first], &square, DType::I1);
    let goes_on = e.tensor(compare(CompareDirection::LT), &[row, end], &square, DType::I1);
    let inside = e.binary(BinaryOp::And, begun, goes_on);
    let inside = e.convert(inside, DType::I32);
    let count = e.sum(inside, DimList::from_slice(&[0]))?;
    let none = e.zeros(&[rows], DType::I32);
    let any = e.tensor(compare(CompareDirection::GT), &[count, none], &[rows], DType::I1);
    e.spread(any, DimList::from_slice(&[0]), &shape)
}
