//! Predicates for how compilers treat an operation. They depend only on its kind, attributes and shapes.

use shardc_ir::{Module, OpId, OpKind, Precision, ValueId, Work};
use smallvec::SmallVec;

/// Whether an operation is a `dot_general` without contracting dimensions: XLA rewrites it to an element-wise multiplication
/// (`AlgebraicSimplifier::HandleDot`).
pub(super) fn is_outer(kind: &OpKind) -> bool {
    matches!(kind, OpKind::DotGeneral(spec) if spec.lhs_contract.is_empty())
}

/// Whether an operation is a matmul or a convolution.
pub(super) fn is_product(kind: &OpKind) -> bool {
    matches!(kind, OpKind::DotGeneral(_) | OpKind::Convolution(_)) && !is_outer(kind)
}

pub(super) fn is_default(precision: &[Precision]) -> bool {
    precision.iter().all(|p| *p == Precision::Default)
}

/// Whether an operation is a constant, an iota or a broadcast: it reads no tensor, or only a smaller one.
pub(super) fn is_from_nothing(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Constant(_) | OpKind::Iota { .. } | OpKind::BroadcastInDim { .. })
}

/// Whether an operation only moves elements, so that each user can fuse it into its own reads.
pub(super) fn is_rearranged(kind: &OpKind) -> bool {
    is_from_nothing(kind)
        || matches!(
            kind,
            OpKind::Transpose { .. }
                | OpKind::Pad(_)
                | OpKind::Slice(_)
                | OpKind::Reverse { .. }
                | OpKind::Concatenate { .. }
                | OpKind::Splice(_)
                | OpKind::DynamicSlice { .. }
        )
}

/// Whether the elements of the result are elements of the operand, so that the result is rounded if the operand is.
pub(super) fn is_form(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Reshape
            | OpKind::Transpose { .. }
            | OpKind::Slice(_)
            | OpKind::Pad(_)
            | OpKind::BroadcastInDim { .. }
            | OpKind::AllGather { .. }
    )
}

/// Whether an operation reads its operands from memory, so that none of them is fused into it.
pub(super) fn fuses_nothing(kind: &OpKind) -> bool {
    kind.collective().is_some()
        || kind.def().work == Work::Heavy
        || matches!(
            kind,
            OpKind::Return
                | OpKind::While
                | OpKind::Case
                | OpKind::If
                | OpKind::CustomCall(_)
                | OpKind::OptimizationBarrier
                | OpKind::RngBitGenerator { .. }
                | OpKind::ReduceWindow(_)
                | OpKind::SelectAndScatter(_)
        )
}

/// Returns the rows that a gather reads from a table, or that a scatter adds to it.
pub(super) fn rows_of(module: &Module, op: OpId) -> Option<ValueId> {
    let data = &module.ops[op];
    let (rows, dims) = match &data.kind {
        OpKind::Gather(spec) => (*data.results.first()?, &spec.offset_dims),
        OpKind::Scatter(spec) if !is_one_of_a_row(module, op) => {
            (*data.operands.last()?, &spec.update_window_dims)
        }
        _ => return None,
    };
    let last = module.rank(rows).checked_sub(1)?;
    dims.iter().any(|&dim| dim as usize == last).then_some(rows)
}

/// Returns the dimensions of a row of the table of a gather or scatter.
pub(super) fn window_of_table(module: &Module, op: OpId) -> SmallVec<[usize; 6]> {
    let data = &module.ops[op];
    let (left_out, batching) = match &data.kind {
        OpKind::Gather(spec) => (&spec.collapsed_slice_dims, &spec.operand_batching_dims),
        OpKind::Scatter(spec) => (&spec.inserted_window_dims, &spec.input_batching_dims),
        _ => return SmallVec::new(),
    };
    let rank = data.operands.first().map_or(0, |&table| module.rank(table));
    (0..rank).filter(|&dim| !left_out.contains(&(dim as u32)) && !batching.contains(&(dim as u32))).collect()
}

/// Returns the dimensions of a row among the dimensions of the rows of a gather or scatter.
pub(super) fn window_of_rows(module: &Module, op: OpId) -> SmallVec<[usize; 6]> {
    match &module.ops[op].kind {
        OpKind::Gather(spec) => spec.offset_dims.iter().map(|&dim| dim as usize).collect(),
        OpKind::Scatter(spec) => spec.update_window_dims.iter().map(|&dim| dim as usize).collect(),
        _ => SmallVec::new(),
    }
}

/// Whether a gather or scatter reads or adds blocks of several dimensions instead of rows.
pub(super) fn moves_blocks(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let (value, dims) = match &data.kind {
        OpKind::Gather(spec) => (data.results.first(), &spec.offset_dims),
        OpKind::Scatter(spec) => (data.operands.last(), &spec.update_window_dims),
        _ => return false,
    };
    let shape: &[i64] = value.map_or(&[], |&v| module.shape(v));
    dims.iter().filter(|&&dim| shape.get(dim as usize).is_some_and(|&n| n > 1)).count() > 1
}

/// Whether a scatter changes one element of each row, as the gradient of `take_along_axis` does. Compilers rewrite it to a select with a
/// comparison of indices.
pub(super) fn is_one_of_a_row(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let (OpKind::Scatter(spec), Some(&result)) = (&data.kind, data.results.first()) else { return false };
    let batching = spec.input_batching_dims.len();
    batching > 0 && batching + spec.inserted_window_dims.len() == module.shape(result).len()
}
