//! `sdy-propagate-to-func-results`: a function's results are sharded as what it returns.

use shardc_ir::{Module, OpKind, PackedOption};
use shardc_passes::internal::access::ShardingAccess;

use crate::shardings;

/// Gives each result of a function that only the program calls the sharding of the value that it returns, or none.
pub(super) fn to_results(module: &mut Module) {
    let places = ShardingAccess::new(module);
    let entries = shardings::entries(module);
    for func in module.funcs.keys().collect::<Vec<_>>() {
        let Some(body) = module.funcs[func].body.filter(|_| !entries.contains(&func)) else { continue };
        let Some(&end) = module.regions[body].ops.last() else { continue };
        if !matches!(module.ops[end].kind, OpKind::Return) {
            continue;
        }
        let returned = module.ops[end].operands.clone();
        module.funcs[func].res_shardings = returned
            .iter()
            .map(|&v| places.get(module, v).map_or_else(PackedOption::default, PackedOption::from))
            .collect();
    }
}
