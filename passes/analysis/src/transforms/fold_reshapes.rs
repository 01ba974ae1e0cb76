//! Reshape folding: removes chains of reshapes that restore the original shape.
//!
//! Edge padding, which repeats the first or last row, is often written with a unit dimension that is added and dropped again. After
//! folding, the users of such a row read the slice that produced it.
//!
//! Conditions: the first operand and the last result of the chain have the same type and the same sharding, and the chain contains only
//! reshapes and broadcasts that add unit dimensions.
//!
//! ```mlir
//! %0 = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<1x8xf32>) -> tensor<1x1x8xf32>
//! %1 = stablehlo.reshape %0 : (tensor<1x1x8xf32>) -> tensor<1x8xf32>
//! %2 = stablehlo.negate %1 : tensor<1x8xf32>
//! ```
//! becomes
//! ```mlir
//! %2 = stablehlo.negate %a : tensor<1x8xf32>
//! ```

use rustc_hash::FxHashMap;
use shardc_ir::{Module, OpId, OpKind, RegionId, ValueId};

use crate::analysis::regions::program_ops;

/// The maximum length of a chain of reshapes.
const MAX_STEPS: usize = 4;

/// Replaces the uses of reshapes that restore an earlier value, everywhere under `body`, after propagation. The reshapes remain as dead
/// code.
pub fn fold_reshapes(module: &mut Module, body: RegionId) {
    let mut folded: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    for op in program_ops(module, body) {
        for i in 0..module.ops[op].operands.len() {
            if let Some(&source) = folded.get(&module.ops[op].operands[i]) {
                module.ops[op].operands[i] = source;
            }
        }
        if let Some(source) = given_back(module, op) {
            folded.insert(module.ops[op].results[0], source);
        }
    }
}

/// Returns an earlier value of the chain of reshapes that ends at `op`, if its type and sharding are those of the result of `op`.
fn given_back(module: &Module, op: OpId) -> Option<ValueId> {
    if !matches!(module.ops[op].kind, OpKind::Reshape) {
        return None;
    }
    let result = *module.ops[op].results.first()?;
    let is_same = |value: ValueId| {
        let placed = |v: ValueId| module.shardings.sharding_of(v);
        let alike = match (placed(value), placed(result)) {
            (Some(a), Some(b)) => a.same_placement(b),
            (a, b) => a.is_none() && b.is_none(),
        };
        alike && module.values[value].ty == module.values[result].ty
    };
    let mut at = op;
    for _ in 0..MAX_STEPS {
        let source = *module.ops[at].operands.first()?;
        if is_same(source) {
            return Some(source);
        }
        at = module.def_op(source).filter(|&def| keeps_order(module, def))?;
    }
    None
}

/// Whether an operation only changes the shape: a reshape, or a broadcast that adds unit dimensions.
fn keeps_order(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let elements = |v: Option<&ValueId>| v.and_then(|&v| module.tensor(v)?.num_elements());
    match &data.kind {
        OpKind::Reshape => true,
        OpKind::BroadcastInDim { dims } => {
            let count = elements(data.operands.first());
            dims.windows(2).all(|pair| pair[0] < pair[1])
                && count.is_some()
                && count == elements(data.results.first())
        }
        _ => false,
    }
}
