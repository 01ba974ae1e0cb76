//! Layouts on a TPU of gradients and of the parameters that they update.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{DTypeClass, Module, OpKind, RegionId, ValueId};

use super::elementwise::is_elementwise;
use super::tiles::{Order, order_of_argument};

/// The maximum bytes of an all-reduced value to which the TPU compiler may assign a layout that differs from that of its parameter.
/// Larger values were observed in the layout of their parameters: GPT-2 takes the same memory with and without pinned layouts.
const SMALL: i64 = 1 << 20;

/// Returns gradients whose layout on a TPU may differ from that of the parameters that they update, each with the layout of a parameter of
/// the same shape. Candidates are the values from which results are computed element-wise, possibly through all-gathers. A candidate is
/// returned if its producer determines its layout, or if it is a small all-reduced value.
pub fn orders_of_gradients(module: &Module, body: RegionId) -> FxHashMap<ValueId, Order> {
    let results = module.terminator(body).map(|end| &module.ops[end].operands);
    let mut todo: Vec<ValueId> = results.into_iter().flatten().copied().collect();
    let mut seen: FxHashSet<ValueId> = FxHashSet::default();
    let mut orders = FxHashMap::default();
    while let Some(value) = todo.pop() {
        let Some(op) = module.def_op(value).filter(|_| seen.insert(value)) else { continue };
        let (data, shape) = (&module.ops[op], module.shape(value));
        let is_small = module.stored(value).and_then(|ty| ty.num_bytes()).is_some_and(|bytes| bytes <= SMALL);
        if is_one_word(module, value)
            && (has_different_layout(module, value) || is_small && is_part_of_a_sum(module, value))
            && let Some(order) = order_of_argument(shape)
        {
            orders.insert(value, order);
        }
        match data.kind {
            OpKind::AllGather { .. } => todo.extend(data.operands.first()),
            OpKind::AllReduce { .. } | OpKind::OptimizationBarrier => {
                todo.extend(data.results.iter().position(|&r| r == value).map(|i| data.operands[i]));
            }
            _ if is_elementwise(module, op) => {
                todo.extend(data.operands.iter().filter(|&&operand| module.shape(operand) == shape));
            }
            _ => {}
        }
    }
    orders
}

/// Whether elements have at most 32 bits and are not complex. On a TPU, XLA splits values of all other types into pairs of values, and a
/// call that pins a layout cannot have them as operands.
fn is_one_word(module: &Module, value: ValueId) -> bool {
    module.stored(value).is_some_and(|ty| ty.dtype.bits() <= 32 && ty.dtype.class() != DTypeClass::Complex)
}

/// Whether a value is the result of an all-reduce or reduce-scatter, or a slice of one.
fn is_part_of_a_sum(module: &Module, mut value: ValueId) -> bool {
    while let Some(op) = module.def_op(value) {
        let data = &module.ops[op];
        match data.kind {
            OpKind::AllReduce { .. } | OpKind::ReduceScatter { .. } => return true,
            OpKind::Reshape
            | OpKind::Slice(_)
            | OpKind::DynamicSlice { .. }
            | OpKind::Transpose { .. }
            | OpKind::Reverse { .. } => value = data.operands[0],
            _ => return false,
        }
    }
    false
}

/// Whether the layout in which a value is produced differs from that of parameters of the same shape.
pub fn has_different_layout(module: &Module, value: ValueId) -> bool {
    let Some(op) = module.def_op(value) else { return false };
    let (data, shape) = (&module.ops[op], module.shape(value));
    match data.kind {
        // A scatter that adds rows produces a row-major result.
        OpKind::Scatter(_) if data.results.len() == 1 => {
            order_of_argument(shape).is_some_and(|order| order.is_sorted())
        }
        OpKind::AllToAll { split_dim, concat_dim, .. } => concat_dim > split_dim,
        _ => false,
    }
}
