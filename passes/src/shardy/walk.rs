//! The order in which MLIR walks through operations.

use shardc_ir::{Module, OpId, RegionId};

/// The operations under a region, each after those in its own regions.
pub(super) fn inner_first(module: &Module, region: RegionId) -> Vec<OpId> {
    enum Step {
        Ops(RegionId, usize),
        Done(OpId),
    }
    let mut out = Vec::new();
    let mut stack = vec![Step::Ops(region, 0)];
    while let Some(step) = stack.pop() {
        match step {
            Step::Done(op) => out.push(op),
            Step::Ops(region, at) => {
                let Some(&op) = module.regions[region].ops.get(at) else { continue };
                stack.extend([Step::Ops(region, at + 1), Step::Done(op)]);
                stack.extend(module.ops[op].regions.iter().rev().map(|&r| Step::Ops(r, 0)));
            }
        }
    }
    out
}
