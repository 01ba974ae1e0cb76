//! Common subexpression elimination, by a key of the caller's.

use std::hash::Hash;

use rustc_hash::FxHashMap;
use shardc_ir::{Module, OpId, RegionId, Rewriter};

/// Keeps the first of the operations under a function body that have one key, and lets it stand for the others. Only
/// operations with one result are merged. `key` sees operands as they are after what came before was merged; it has to
/// see to it that the first stands where the others are used.
///
/// Regions are visited with an operation before those nested in it, so what is kept comes before its uses.
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
