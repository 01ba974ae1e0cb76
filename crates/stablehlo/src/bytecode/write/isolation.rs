//! Operations whose regions use no values from outside. Their regions are separate sections, in which values are numbered from zero.

use super::program::{Op, Program};

/// Returns for each operation with regions, in preorder, whether its regions use only their own values.
pub(super) fn isolated(program: &Program<'_>) -> Vec<bool> {
    let mut walk = Walk { depths: vec![0; program.values.len()], isolated: Vec::new() };
    if let Some(top) = &program.top {
        walk.op(top, 0);
    }
    walk.isolated
}

struct Walk {
    /// The nesting depth of the region that defines each value.
    depths: Vec<u32>,
    isolated: Vec<bool>,
}

impl Walk {
    /// Visits an operation in a region of nesting depth `depth`. Returns the depth of the outermost region of which it uses a value.
    fn op(&mut self, op: &Op, depth: u32) -> u32 {
        let used = |operand: &u32| self.depths.get(*operand as usize).copied().unwrap_or(depth);
        let mut outermost = op.operands.iter().map(used).min().unwrap_or(depth);
        if op.regions.is_empty() {
            return outermost;
        }
        let at = self.isolated.len();
        self.isolated.push(true);
        let inner = depth + 1;
        let mut uses = inner;
        for region in &op.regions {
            for block in &region.blocks {
                let results = block.ops.iter().flat_map(|op| &op.results);
                for &value in block.args.iter().map(|(value, _)| value).chain(results) {
                    if let Some(slot) = self.depths.get_mut(value as usize) {
                        *slot = inner;
                    }
                }
            }
            for op in region.blocks.iter().flat_map(|block| &block.ops) {
                uses = uses.min(self.op(op, inner));
            }
        }
        if let Some(isolated) = self.isolated.get_mut(at) {
            *isolated = uses > depth;
        }
        outermost = outermost.min(uses);
        outermost
    }
}
