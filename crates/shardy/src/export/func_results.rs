//! `sdy-propagate-to-func-results`: assigns the shardings of the returned values to function results.

use shardc_ir::{Module, OpKind, PackedOption};
use shardc_passes::internal::access::ShardingAccess;

use crate::shardings;

/// Assigns the sharding of the returned value, or none, to each result of a function that is not an entry.
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
