//! In which order of dimensions gradients lie on a TPU, and the parameters that they update.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{Module, OpId, OpKind, RegionId, ValueId};
use smallvec::SmallVec;

use super::elementwise::is_elementwise;
use super::tiles::order_of_argument;

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
