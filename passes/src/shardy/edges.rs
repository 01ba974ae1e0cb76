//! Taking out the operations that stand where data flows into and out of regions and functions.

use shardc_ir::{Module, OpId, RegionId, ValueMap};

/// Takes the operations for which `is_edge` holds out from under a function body; their operand takes the place of
/// their result.
pub(super) fn remove(module: &mut Module, body: RegionId, is_edge: impl Fn(&Module, OpId) -> bool) {
    let mut forward = ValueMap::new();
    for op in module.walk(body) {
        forward.rewrite(&mut module.ops[op].operands);
        let data = &module.ops[op];
        if is_edge(module, op)
            && let (&[input], &[result]) = (data.operands.as_slice(), data.results.as_slice())
        {
            forward.insert(result, input);
        }
    }
    let mut regions = vec![body];
    while let Some(region) = regions.pop() {
        let mut ops = std::mem::take(&mut module.regions[region].ops);
        ops.retain(|&op| !is_edge(module, op));
        regions.extend(ops.iter().flat_map(|&op| module.ops[op].regions.iter().copied()));
        module.regions[region].ops = ops;
    }
}
