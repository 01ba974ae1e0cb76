//! Whether a strategy leads to what another one did: an attempt that propagates the same shardings ends there, since every
//! later pass reads them and not what they came from.

use shardc_ir::{EntityRef, FuncId, Module, PackedOption, ShardingId, ShardingTable};

/// The shardings of a propagated program.
#[derive(Clone, Debug)]
pub(crate) struct Propagated {
    shardings: ShardingTable,
    results: Vec<PackedOption<ShardingId>>,
}

impl Propagated {
    pub(crate) fn of(module: &Module, func: FuncId) -> Propagated {
        let results = module.funcs[func].res_shardings.clone();
        Propagated { shardings: module.shardings.clone(), results }
    }

    /// Whether another module, which was the same before propagation but for priorities, has the same shardings.
    pub(crate) fn is_of(&self, module: &Module, func: FuncId) -> bool {
        // The same sharding may have another handle there.
        let mut known: Vec<Option<ShardingId>> = vec![None; self.shardings.len()];
        let mut is_same = |ours: Option<ShardingId>, theirs: Option<ShardingId>| match (ours, theirs) {
            (Some(ours), Some(theirs)) if known[ours.index()] == Some(theirs) => true,
            (Some(ours), Some(theirs)) => {
                let same = self.shardings.get(ours) == module.shardings.get(theirs);
                if same {
                    known[ours.index()] = Some(theirs);
                }
                same
            }
            (ours, theirs) => ours == theirs,
        };
        let results = &module.funcs[func].res_shardings;
        self.results.len() == results.len()
            && self.results.iter().zip(results).all(|(ours, theirs)| is_same(ours.expand(), theirs.expand()))
            && module.values.keys().all(|value| is_same(self.shardings.of(value), module.shardings.of(value)))
    }
}
