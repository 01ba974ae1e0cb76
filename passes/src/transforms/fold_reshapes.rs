//! Folds reshapes that undo others.
//!
//! A row that gets a dimension of one element and loses it again, as padding with the nearest row is written, is the row:
//! readers take that. What it is a slice of is then seen by what joins it with others.

use rustc_hash::FxHashMap;
use shardc_ir::{Module, OpId, OpKind, RegionId, ValueId};

use crate::analysis::regions::program_ops;

/// No more operations than these are looked through.
const MAX_STEPS: usize = 4;

/// Lets readers of reshapes under `body`, of a propagated module, read what these give back. Reshapes that are no longer
/// needed stay, unused.
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

/// Returns the value that a reshape gives back as it was: of the same type, on the same devices.
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

/// Whether an operation only changes the shape: a reshape, or a broadcast that adds dimensions of one element.
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
