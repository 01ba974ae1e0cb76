//! Sharding constraints that are collected in one walk over a step and inserted afterwards.

use rustc_hash::FxHashMap;
use shardc_analysis::analysis::regions::has_program_regions;
use shardc_ir::{Module, OpId, RegionId, Rewriter, TensorSharding};

use super::constrained;

/// For each operation, the sharding of its first result, which applies to all users, and shardings of operands by index, which apply only
/// to this operation.
#[derive(Default)]
pub(super) struct Constraints {
    pub(super) results: FxHashMap<OpId, TensorSharding>,
    pub(super) operands: FxHashMap<OpId, Vec<(usize, TensorSharding)>>,
}

impl Constraints {
    /// Inserts the constraints into a body. Returns whether there are any constraints.
    pub(super) fn insert(&self, module: &mut Module, body: RegionId) -> bool {
        if self.operands.is_empty() && self.results.is_empty() {
            return false;
        }
        self.insert_under(&mut Rewriter::new(module), body);
        true
    }

    fn insert_under(&self, rw: &mut Rewriter<'_>, region: RegionId) {
        rw.enter(region);
        while let Some(op) = rw.next_op() {
            if has_program_regions(&rw.module.ops[op].kind) {
                for inner in rw.module.ops[op].regions.clone() {
                    self.insert_under(rw, inner);
                }
            }
            for (i, sharding) in self.operands.get(&op).into_iter().flatten() {
                let value = rw.module.ops[op].operands[*i];
                rw.module.ops[op].operands[*i] = constrained(rw, value, sharding.clone());
            }
            if let Some(sharding) = self.results.get(&op) {
                let result = rw.module.ops[op].results[0];
                rw.keep();
                let constrained = constrained(rw, result, sharding.clone());
                rw.stand_for(result, constrained);
            }
        }
    }
}
