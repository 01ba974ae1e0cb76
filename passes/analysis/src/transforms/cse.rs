//! Common subexpression elimination with a key that the caller defines.

use std::hash::Hash;

use rustc_hash::FxHashMap;
use shardc_ir::{Module, OpId, RegionId, Rewriter};

/// Merges the operations under a function body that have the same key: the first operation replaces the others. Only operations with one
/// result are merged. `key` sees operands after earlier merges. Operations may have the same key only if the first of them dominates the
/// users of the others.
///
/// An operation is visited before the operations nested in its regions, so the remaining operation precedes its users.
pub fn cse<K: Hash + Eq>(
    module: &mut Module,
    body: RegionId,
    mut key: impl FnMut(&Module, RegionId, OpId) -> Option<K>,
) {
    let mut first: FxHashMap<K, OpId> = FxHashMap::default();
    let mut rw = Rewriter::new(module);
    let mut regions = vec![body];
    while let Some(region) = regions.pop() {
        rw.enter(region);
        while let Some(op) = rw.next_op() {
            if let (Some(key), &[_]) = (key(rw.module, region, op), rw.module.ops[op].results.as_slice()) {
                let same = *first.entry(key).or_insert(op);
                if same != op {
                    rw.replace(&[rw.module.ops[same].results[0]]);
                    continue;
                }
            }
            regions.extend(&rw.module.ops[op].regions);
        }
    }
}
