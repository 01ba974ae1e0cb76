//! Dense ragged exchange: expands `ragged_all_to_all` to an `all_gather` and a `gather`.
//!
//! XLA's CPU client has no `ragged_all_to_all`, and XLA's compilers abort the process on a `ragged_all_to_all` in replica mode. Each device
//! all-gathers the operands of its group and selects the rows that the group sends to it. The device receives the input and output offsets
//! of these rows by an `all_to_all`. If received slices overlap, the last one is kept.
//!
//! Conditions: static shapes, and replica groups of equal size, which divides the number of slices.
//!
//! ```mlir
//! %r = stablehlo.custom_call @ragged_all_to_all(%x, %init, %input_offsets, %send_sizes, %output_offsets, %receive_sizes)
//! ```
//! becomes
//! ```mlir
//! %first = "stablehlo.all_to_all"(%output_offsets) ...        // the offset of each received slice in the result
//! %from = "stablehlo.all_to_all"(%input_offsets) ...          // the offset of each received slice in the sender's operand
//! %all = "stablehlo.all_gather"(%x) <{all_gather_dim = 0}>
//! %rows = "stablehlo.gather"(%all, %index) ...                // %index follows from %first, %from and the sizes
//! %r = stablehlo.select %is_received, %rows, %init
//! ```

use shardc_ir::reducer::{identity, reducer};
use shardc_ir::{
    BinaryOp, Build, CollectiveSpec, CompareDirection, CompareType, DType, DimList, GatherSpec, Module, OpId,
    OpKind, ReductionKind, Rewriter, TensorBuild, ValueId,
};

/// Replaces every `ragged_all_to_all` of the module that meets the conditions.
pub fn write_dense_exchanges(module: &mut Module) {
    if !module.ops.values().any(|op| op.kind.is_ragged_all_to_all()) {
        return;
    }
    let mut rw = Rewriter::new(module);
    for body in rw.module.bodies().collect::<Vec<_>>() {
        rw.each_op(body, &mut |rw, op| {
            if let Some(spec) = rw.module.ops[op].ragged_all_to_all()
                && let Some(result) = dense(rw, op, &spec)
            {
                rw.replace(&[result]);
            }
        });
    }
}

fn dense(rw: &mut Rewriter<'_>, op: OpId, spec: &CollectiveSpec) -> Option<ValueId> {
    let operands = rw.module.ops[op].operands.to_vec();
    let &[operand, init, input_offsets, _, output_offsets, receive_sizes] = operands.as_slice() else {
        return None;
    };
    let is_static = |v: &ValueId| rw.module.tensor(*v).is_some_and(|ty| ty.is_static());
    if !operands.iter().all(is_static) {
        return None;
    }
    let size = i64::try_from(spec.groups.group_size()?).ok()?;
    let &[slices] = rw.module.shape(receive_sizes) else { return None };
    let dtype = rw.dtype(operand)?;
    let (operand_shape, shape) = (rw.module.shape(operand).to_vec(), rw.module.shape(init).to_vec());
    let (&rows, &result_rows) = (operand_shape.first()?, shape.first()?);
    if size == 0 || slices == 0 || slices % size != 0 || rows == 0 || result_rows == 0 {
        return None;
    }
    let index = DType::I32;
    let [from, first, count] = [input_offsets, output_offsets, receive_sizes].map(|v| rw.convert(v, index));
    let [from, first] = [from, first].map(|v| exchange(rw, v, size, spec));

    // In the gathered operands, a slice begins at row `from + sender * rows`.
    let sender: Vec<u8> =
        (0..slices).flat_map(|slice| ((slice / (slices / size) * rows) as i32).to_le_bytes()).collect();
    let sender = rw.elements(sender, &[slices], index);
    let from = rw.binary(BinaryOp::Add, from, sender);
    let end = rw.binary(BinaryOp::Add, first, count);

    // `square` is the shape of tensors that have one element for each pair of a received slice and a row of the result.
    let square = [slices, result_rows];
    let over = |rw: &mut Rewriter<'_>, v: ValueId| rw.spread(v, DimList::from_slice(&[0]), &square);
    let (from, first, end) = (over(rw, from)?, over(rw, first)?, over(rw, end)?);
    let row = rw.tensor(OpKind::Iota { dim: 1 }, &[], &square, index);
    let compare = |direction| OpKind::Compare(direction, CompareType::of_integers(index));
    let begun = rw.tensor(compare(CompareDirection::GE), &[row, first], &square, DType::I1);
    let goes_on = rw.tensor(compare(CompareDirection::LT), &[row, end], &square, DType::I1);
    let inside = rw.binary(BinaryOp::And, begun, goes_on);

    // Computes, for each row of the result, the index (from 1) of the last slice that covers the row, and then the row of the gathered
    // operands.
    let number: Vec<u8> = (1..=slices).flat_map(|slice| (slice as i32).to_le_bytes()).collect();
    let number = rw.elements(number, &[slices], index);
    let number = over(rw, number)?;
    let zeros = rw.zeros(&square, index);
    let number = rw.tensor(OpKind::Select, &[inside, number, zeros], &square, index);
    let last = maximum(rw, number, result_rows, index)?;
    let of_last = rw.spread(last, DimList::from_slice(&[1]), &square)?;
    let is_last = rw.tensor(compare(CompareDirection::EQ), &[number, of_last], &square, DType::I1);
    let is_last = rw.binary(BinaryOp::And, is_last, inside);
    let offset = rw.binary(BinaryOp::Subtract, row, first);
    let source = rw.binary(BinaryOp::Add, from, offset);
    let source = rw.tensor(OpKind::Select, &[is_last, source, zeros], &square, index);
    let source = rw.sum(source, DimList::from_slice(&[0]))?;

    let all = gathered(rw, operand, size, spec);
    let source = rw.tensor(OpKind::Reshape, &[source], &[result_rows, 1], index);
    let mut slice_sizes = operand_shape;
    slice_sizes[0] = 1;
    let rank = shape.len() as u32;
    let picks = GatherSpec {
        offset_dims: (1..rank).collect(),
        collapsed_slice_dims: DimList::from_slice(&[0]),
        start_index_map: DimList::from_slice(&[0]),
        index_vector_dim: 1,
        slice_sizes: slice_sizes.into_iter().collect(),
        ..GatherSpec::default()
    };
    let picked = rw.tensor(OpKind::Gather(Box::new(picks)), &[all, source], &shape, dtype);
    let zeros = rw.zeros(&[result_rows], index);
    let is_received = rw.tensor(compare(CompareDirection::GT), &[last, zeros], &[result_rows], DType::I1);
    let is_received = rw.spread(is_received, DimList::from_slice(&[0]), &shape)?;
    Some(rw.alike_to(OpKind::Select, &[is_received, picked, init], init))
}

/// Emits an all-to-all that sends each member of the group its part of `list`, which has `size` equal parts. Received parts are in the
/// order of their senders.
fn exchange(rw: &mut Rewriter<'_>, list: ValueId, size: i64, spec: &CollectiveSpec) -> ValueId {
    let kind = OpKind::AllToAll {
        split_dim: 0,
        concat_dim: 0,
        split_count: size as u32,
        spec: Box::new(spec.clone()),
    };
    rw.alike(kind, &[list])
}

/// Emits an all-gather that concatenates the operands of all members of the group along dimension 0.
fn gathered(rw: &mut Rewriter<'_>, operand: ValueId, size: i64, spec: &CollectiveSpec) -> ValueId {
    let use_global_device_ids = spec.channel.is_some();
    let spec = Box::new(CollectiveSpec { use_global_device_ids, ..spec.clone() });
    let rows = rw.module.shape(operand)[0];
    let ty = rw.type_with_size(operand, 0, rows * size);
    rw.op1(OpKind::AllGather { dim: 0, spec }, &[operand], ty)
}

/// Returns the maximum of each column of the matrix `value`.
fn maximum(rw: &mut Rewriter<'_>, value: ValueId, columns: i64, dtype: DType) -> Option<ValueId> {
    let least = identity(ReductionKind::Max, dtype)?;
    let least = rw.splat(&least, &[], dtype);
    let region = reducer(rw.module, ReductionKind::Max, dtype);
    let ty = rw.module.types.tensor(&[columns], dtype);
    let op = rw.op(OpKind::Reduce { dims: DimList::from_slice(&[0]) }, &[value, least], &[ty], &[region]);
    rw.module.ops[op].results.first().copied()
}
