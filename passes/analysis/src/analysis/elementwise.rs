//! Classifies element-wise operations.

use shardc_ir::{Access, Module, OpId};

/// Whether each result element depends only on the operand elements at the same index. Sharding constraints are element-wise in this sense.
pub fn is_elementwise(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    match data.kind.def().access {
        Access::SamePlace => true,
        Access::SamePlaceIfSameShape => match (data.operands.first(), data.results.first()) {
            (Some(&a), Some(&b)) => module.shape(a) == module.shape(b),
            _ => false,
        },
        Access::Rearranges | Access::SlicesAtRunTime | Access::Broadcasts | Access::Other => false,
    }
}
