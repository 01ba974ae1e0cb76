//! Closes shardings: each becomes a placement on the common mesh, without priorities, open dimensions and axes of size one.

use rustc_hash::FxHashMap;
use shardc_ir::{FuncId, MeshId, Module, RegionId, ShardingId, TensorSharding, ValueId};

use super::maximal;
use super::meshes::tidy;
use crate::analysis::regions::program_parts;

/// Gives every tensor of the program a closed sharding without priorities and without axes of size one.
pub(super) fn close_shardings(module: &mut Module, body: RegionId, mesh: MeshId) {
    let mut values: Vec<ValueId> = Vec::new();
    let (ops, regions) = program_parts(module, body);
    for region in regions {
        values.extend(&module.regions[region].args);
    }
    for op in ops {
        values.extend(&module.ops[op].results);
    }
    let mut known: FxHashMap<(Option<ShardingId>, usize), ShardingId> = FxHashMap::default();
    for value in values {
        let Some(ty) = module.stored(value) else {
            // A token holds no data, and has no sharding.
            module.shardings.set(value, None);
            continue;
        };
        let rank = ty.rank();
        let given = module.shardings.of(value);
        let id = known.get(&(given, rank)).copied().unwrap_or_else(|| {
            let closed = match given.map(|id| module.shardings.get(id)) {
                Some(sharding) => maximal::on_all(module, sharding, mesh, rank)
                    .unwrap_or_else(|| tidy(module, sharding, mesh)),
                None => TensorSharding::replicated(mesh, rank),
            };
            module.shardings.intern(closed)
        });
        known.insert((given, rank), id);
        module.shardings.set(value, Some(id));
    }
}

/// Returns the sharding that each result of the function must have: its annotation, or that of the returned value.
pub(crate) fn result_shardings(
    module: &mut Module,
    func: FuncId,
    body: RegionId,
    mesh: MeshId,
) -> Vec<Option<ShardingId>> {
    let Some(ret) = module.terminator(body) else { return Vec::new() };
    let operands = module.ops[ret].operands.clone();
    operands
        .iter()
        .enumerate()
        .map(|(i, &value)| {
            let declared = module.funcs[func].res_shardings.get(i).and_then(|s| s.expand());
            match declared {
                Some(id) => {
                    let (sharding, rank) = (module.shardings.get(id), module.rank(value));
                    let closed = maximal::on_all(module, sharding, mesh, rank)
                        .unwrap_or_else(|| tidy(module, sharding, mesh));
                    Some(module.shardings.intern(closed))
                }
                None => module.shardings.of(value),
            }
        })
        .collect()
}
