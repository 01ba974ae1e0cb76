//! Gradients as the parameters lie that they update, for a back end that would have these lie as gradients do.
//!
//! XLA's TPU compiler lets operations on elements take over the order of dimensions of what they read. Two operations make values in
//! an order of their own: a `scatter` adds to whole rows, along the lanes of a tile, and an `all_to_all` that joins the parts along
//! another dimension than the first is one of whole parts and a transpose, which becomes a matter of order. Where such a value is
//! a gradient, the update is in its order: the parameter and the optimiser's state, which lie as pads them least, are copied into it as
//! the step starts and back at its end, and have their memory twice meanwhile, and many times if rows are few elements: each
//! takes a tile's 128. Where the gradient is kept in the order of the parameter, it alone is copied.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{Module, OpId, OpKind, RegionId, Rewriter, ValueId};
use smallvec::SmallVec;

use super::layout_constraint::pin_result;
use crate::cost::memory::order_of_argument;
use crate::propagate::is_elementwise;

/// Pins gradients that are made in another order than parameters lie in.
pub(super) fn pin(module: &mut Module) {
    let Some(body) = module.entry().and_then(|entry| module.funcs[entry].body) else { return };
    let orders = orders_of_gradients(module, body);
    if orders.is_empty() {
        return;
    }
    let mut rw = Rewriter::new(module);
    rw.each_op(body, &mut |rw, op| {
        if let Some(order) = orders.get(&op) {
            pin_result(rw, op, order);
        }
    });
}

/// Returns what makes values that results of a function depend on element by element in another order than parameters of their
/// shapes lie in, and that order: the dimension along the lanes first.
pub(crate) fn orders_of_gradients(module: &Module, body: RegionId) -> FxHashMap<OpId, SmallVec<[usize; 4]>> {
    let results = module.terminator(body).map(|end| &module.ops[end].operands);
    let mut todo: Vec<ValueId> = results.into_iter().flatten().copied().collect();
    let mut seen: FxHashSet<OpId> = FxHashSet::default();
    let mut orders = FxHashMap::default();
    while let Some(value) = todo.pop() {
        let Some(op) = module.def_op(value).filter(|&op| seen.insert(op)) else { continue };
        let (data, shape) = (&module.ops[op], module.shape(value));
        let order = match data.kind {
            // Rows that are added to lie row by row.
            OpKind::Scatter(_) if data.results.len() == 1 => {
                order_of_argument(shape).filter(|order| order.is_sorted())
            }
            OpKind::AllToAll { split_dim, concat_dim, .. } if concat_dim > split_dim => {
                order_of_argument(shape)
            }
            OpKind::AllReduce { .. } => {
                todo.extend(&data.operands);
                continue;
            }
            _ if is_elementwise(module, op) => {
                todo.extend(data.operands.iter().filter(|&&operand| module.shape(operand) == shape));
                continue;
            }
            _ => None,
        };
        orders.extend(order.map(|order| (op, order)));
    }
    orders
}
