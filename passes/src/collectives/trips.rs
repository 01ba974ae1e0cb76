//! Whether a loop runs.

use rustc_hash::FxHashMap;
use shardc_ir::{Module, OpId, ValueId};

use super::scalars::{PerDevice, constant, evaluate};

/// Whether a `while` is known to run at least once: its condition holds for the constants that it begins with.
pub(super) fn runs(module: &Module, op: OpId) -> bool {
    let Some(&cond) = module.ops[op].regions.first() else { return false };
    let region = &module.regions[cond];
    let mut known: FxHashMap<ValueId, PerDevice> = FxHashMap::default();
    for (&arg, &first) in region.args.iter().zip(&module.ops[op].operands) {
        if let Some(first) = constant(module, first) {
            known.insert(arg, [first].into());
        }
    }
    for &inner in &region.ops {
        if let Some(value) = evaluate(module, inner, 1, |v| known.get(&v).cloned())
            && let &[result] = module.ops[inner].results.as_slice()
        {
            known.insert(result, value);
        }
    }
    let Some(end) = module.terminator(cond) else { return false };
    matches!(module.ops[end].operands.as_slice(), [goes_on] if known.get(goes_on).is_some_and(|v| v[0] != 0))
}
