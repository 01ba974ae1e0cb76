//! `sdy-propagate-sharding-from-func-to-call`: copies shardings of function results to calls.

use shardc_ir::{Mesh, MeshId, Module, PackedOption, ShardingId, TensorSharding};
use shardc_passes::driver::passes::PassResult;
use shardc_passes::internal::call_graph::{callee_of, calls_in};

/// Assigns the shardings of the function's results to the results of a call, unless the call already has shardings.
pub(super) fn run(module: &mut Module) -> PassResult {
    for caller in module.funcs.keys().collect::<Vec<_>>() {
        for call in calls_in(module, caller) {
            let Some(callee) = callee_of(module, call) else { continue };
            let results = module.ops[call].results.clone();
            if results.iter().any(|&result| module.shardings.of(result).is_some()) {
                continue;
            }
            let given = module.funcs[callee].res_shardings.clone();
            let Some(mesh) = mesh_of(module, &given, |mesh| !mesh.is_maximal()) else { continue };
            for (i, &result) in results.iter().enumerate() {
                let id = match given.get(i).and_then(|id| id.expand()) {
                    Some(id) => id,
                    None => module.shardings.intern(TensorSharding::open(mesh, module.rank(result))),
                };
                module.shardings.set(result, Some(id));
            }
        }
    }
    Ok(Vec::new())
}

/// Returns the first mesh among those of `shardings` for which `counts` returns true.
pub(super) fn mesh_of(
    module: &Module,
    shardings: &[PackedOption<ShardingId>],
    counts: impl Fn(&Mesh) -> bool,
) -> Option<MeshId> {
    let meshes = shardings.iter().filter_map(|id| Some(module.shardings.get(id.expand()?).mesh));
    meshes.into_iter().find(|&mesh| counts(&module.meshes[mesh]))
}
