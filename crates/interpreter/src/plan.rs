//! Facts about a module that evaluation needs, computed once.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{Module, OpId, RegionId, ValueId};
use smallvec::SmallVec;

/// Last uses of values, so that elements are freed, or changed in place, as early as possible.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    last_uses: FxHashMap<OpId, SmallVec<[ValueId; 2]>>,
    used: FxHashSet<ValueId>,
}

impl Plan {
    pub(crate) fn new(module: &Module) -> Plan {
        let mut plan = Plan::default();
        for body in module.bodies() {
            for region in module.regions_under(body) {
                plan.region(module, region);
            }
        }
        plan
    }

    /// Finds the last use of each value that the region defines.
    fn region(&mut self, module: &Module, region: RegionId) {
        let data = &module.regions[region];
        let mut own: FxHashSet<ValueId> = data.args.iter().copied().collect();
        own.extend(data.ops.iter().flat_map(|&op| module.ops[op].results.iter().copied()));
        for &op in data.ops.iter().rev() {
            let mut uses = module.ops[op].operands.to_vec();
            for &nested in &module.ops[op].regions {
                for inner in module.walk(nested) {
                    uses.extend(&module.ops[inner].operands);
                }
            }
            for value in uses {
                self.used.insert(value);
                if own.remove(&value) {
                    self.last_uses.entry(op).or_default().push(value);
                }
            }
        }
    }

    /// The values whose last use is an operation.
    pub(crate) fn last_uses(&self, op: OpId) -> &[ValueId] {
        self.last_uses.get(&op).map_or(&[], |values| values)
    }

    /// Whether a value has a use.
    pub(crate) fn is_used(&self, value: ValueId) -> bool {
        self.used.contains(&value)
    }
}
