//! Detects attempts that repeat the previous one. If two successive attempts propagate the same shardings, the second ends after
//! propagation: later passes depend only on shardings, so they would produce the same program.

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

    /// Whether `module` has the recorded shardings. Before propagation, it differed from the recorded module only in priorities.
    pub(crate) fn is_of(&self, module: &Module, func: FuncId) -> bool {
        // Equal shardings may have different handles in the two modules.
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
