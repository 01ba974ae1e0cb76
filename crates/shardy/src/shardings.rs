//! Shardings of the arguments and results of functions, and equivalence of shardings.

use shardc_ir::{FuncId, MeshId, Module, OpKind, ShardingId, TensorSharding, TensorType, ValueId};

/// Follows propagation barriers, which do not change data, from a value to its source.
pub(super) fn through_barriers(module: &Module, mut value: ValueId) -> ValueId {
    while let Some(op) = module.def_op(value)
        && let OpKind::PropagationBarrier { .. } = module.ops[op].kind
        && let Some(&input) = module.ops[op].operands.first()
    {
        value = input;
    }
    value
}

/// Whether both shardings distribute the data in the same way. `None` means replicated; replicated shardings are equivalent on all meshes.
pub(super) fn equivalent(module: &Module, a: Option<ShardingId>, b: Option<ShardingId>) -> bool {
    let whole = |id: Option<ShardingId>| {
        id.is_none_or(|id| {
            let sharding = module.shardings.get(id);
            sharding.is_unsplit() && sharding.unreduced.is_empty()
        })
    };
    if whole(a) || whole(b) {
        return whole(a) && whole(b);
    }
    match (a, b) {
        (Some(a), Some(b)) => module.shardings.get(a).same_placement(module.shardings.get(b)),
        _ => false,
    }
}

/// Replaces missing shardings in a list by fully open shardings. Returns `None` if no sharding is on a mesh with several devices.
pub(super) fn filled(
    module: &mut Module,
    given: &[Option<ShardingId>],
    ranks: &[usize],
) -> Option<Vec<ShardingId>> {
    let mesh = mesh_of(module, given.iter().copied())?;
    let open = |module: &mut Module, rank: usize| module.shardings.intern(TensorSharding::open(mesh, rank));
    Some(given.iter().zip(ranks).map(|(&id, &rank)| id.unwrap_or_else(|| open(module, rank))).collect())
}

/// Returns the mesh of the first sharding that is not on a single device (maximal).
pub(super) fn mesh_of(
    module: &Module,
    given: impl IntoIterator<Item = Option<ShardingId>>,
) -> Option<MeshId> {
    given
        .into_iter()
        .flatten()
        .map(|id| module.shardings.get(id).mesh)
        .find(|&mesh| !module.meshes[mesh].is_maximal())
}

/// Returns the shardings of a function's parameters; see [`filled`].
pub(super) fn of_params(module: &mut Module, func: FuncId) -> Option<Vec<ShardingId>> {
    let args = module.regions[module.funcs[func].body?].args.clone();
    let given: Vec<_> = args.iter().map(|&v| module.shardings.of(v)).collect();
    let ranks: Vec<_> = args.iter().map(|&v| module.rank(v)).collect();
    filled(module, &given, &ranks)
}

/// Returns the shardings of a function's results; see [`filled`].
pub(super) fn of_results(module: &mut Module, func: FuncId) -> Option<Vec<ShardingId>> {
    let data = &module.funcs[func];
    let rank = |&ty| module.types.stored(ty).map_or(0, TensorType::rank);
    let ranks: Vec<usize> = data.results.iter().map(rank).collect();
    let given: Vec<_> =
        (0..ranks.len()).map(|i| data.res_shardings.get(i).and_then(|id| id.expand())).collect();
    filled(module, &given, &ranks)
}

/// Returns the functions that can be called from outside the program, and whose result shardings must not change: the entry, or if there is
/// none, every public function.
pub(super) fn entries(module: &Module) -> Vec<FuncId> {
    if module.funcs.len() == 1 {
        return module.funcs.keys().collect();
    }
    match module.entry() {
        Some(entry) => vec![entry],
        None => module.funcs.iter().filter(|(_, f)| f.visibility.is_public()).map(|(id, _)| id).collect(),
    }
}
