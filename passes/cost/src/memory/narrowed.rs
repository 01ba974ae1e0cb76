//! Stacked layer weights that loops only cast to a narrower type.
//!
//! Parameters are often stored with 32 bits and cast to 16 bits for matmuls. If loops use the rows of a stack only in this cast, the TPU
//! compiler makes one narrow copy of the whole stack (XLA's `BFloat16Propagation`). The loops then carry the copy. An operation that rounds
//! a row but keeps its type, such as `reduce_precision`, is not such a cast, and prevents the narrow copy.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{DType, Module, OpKind, RegionId, ValueId};

/// The narrow type of the copy, and the type of the stack.
pub(super) const TO: DType = DType::BF16;
const FROM: DType = DType::F32;

/// Returns the arguments whose rows loops only cast to the narrow type. `is` maps each value that equals an argument to that argument.
pub(super) fn narrowed(
    module: &Module,
    body: RegionId,
    is: &FxHashMap<ValueId, ValueId>,
) -> FxHashSet<ValueId> {
    let (mut narrowed, mut wide) = (FxHashSet::default(), FxHashSet::default());
    // Maps a value to the argument of which it is a row.
    let mut row_of: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    let dtype = |value: ValueId| module.stored(value).map(|ty| ty.dtype);
    let ops = module.regions[body].ops.iter().map(|&op| &module.ops[op]);
    let loops = ops.filter(|data| matches!(data.kind, OpKind::While)).flat_map(|data| &data.regions);
    for op in loops.flat_map(|&region| module.walk(region)) {
        let data = &module.ops[op];
        for (at, operand) in data.operands.iter().enumerate() {
            let (stack, row) = (is.get(operand).copied(), row_of.get(operand).copied());
            let Some(arg) = stack.or(row) else { continue };
            let result = data.results.get(at).copied();
            match &data.kind {
                OpKind::While | OpKind::Return | OpKind::OptimizationBarrier if stack.is_some() => {}
                OpKind::DynamicSlice { .. } if stack.is_some() => {
                    row_of.extend(result.map(|row| (row, arg)));
                }
                OpKind::Reshape if row.is_some() => row_of.extend(result.map(|row| (row, arg))),
                OpKind::Convert if row.is_some() && result.and_then(dtype) == Some(TO) => {
                    narrowed.insert(arg);
                }
                _ => {
                    wide.insert(arg);
                }
            }
        }
    }
    narrowed.retain(|&arg| dtype(arg) == Some(FROM) && !wide.contains(&arg));
    narrowed
}
