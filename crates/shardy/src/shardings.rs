//! The shardings of functions as a whole, and when two shardings are alike.

use shardc_ir::{FuncId, MeshId, Module, OpKind, ShardingId, TensorSharding, TensorType, ValueId};

/// Returns what a value is behind propagation barriers, which change no data.
pub(super) fn through_barriers(module: &Module, mut value: ValueId) -> ValueId {
    while let Some(op) = module.def_op(value)
        && let OpKind::PropagationBarrier { .. } = module.ops[op].kind
        && let Some(&input) = module.ops[op].operands.first()
    {
        value = input;
    }
    value
}

/// Whether both put the same part of the data on each device. No sharding stands for a whole copy on each; copies are
/// alike whatever the mesh.
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

/// Returns the shardings of a list of values with open ones for those without, or `None` where no value has one on a mesh
/// of several devices.
pub(super) fn filled(
    module: &mut Module,
    given: &[Option<ShardingId>],
    ranks: &[usize],
) -> Option<Vec<ShardingId>> {
    let mesh = mesh_of(module, given.iter().copied())?;
    let open = |module: &mut Module, rank: usize| module.shardings.intern(TensorSharding::open(mesh, rank));
    Some(given.iter().zip(ranks).map(|(&id, &rank)| id.unwrap_or_else(|| open(module, rank))).collect())
}

/// Returns the mesh of the first sharding that is not of one device alone.
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

/// Returns the shardings of a function's parameters, see [`filled`].
pub(super) fn of_params(module: &mut Module, func: FuncId) -> Option<Vec<ShardingId>> {
    let args = module.regions[module.funcs[func].body?].args.clone();
    let given: Vec<_> = args.iter().map(|&v| module.shardings.of(v)).collect();
    let ranks: Vec<_> = args.iter().map(|&v| module.rank(v)).collect();
    filled(module, &given, &ranks)
}

/// Returns the shardings of a function's results, see [`filled`].
pub(super) fn of_results(module: &mut Module, func: FuncId) -> Option<Vec<ShardingId>> {
    let data = &module.funcs[func];
    let rank = |&ty| module.types.stored(ty).map_or(0, TensorType::rank);
    let ranks: Vec<usize> = data.results.iter().map(rank).collect();
    let given: Vec<_> =
        (0..ranks.len()).map(|i| data.res_shardings.get(i).and_then(|id| id.expand())).collect();
    filled(module, &given, &ranks)
}

/// Returns the functions that may be called from outside of the program, whose results are as the user said: the entry or,
/// where there is none, every public function.
pub(super) fn entries(module: &Module) -> Vec<FuncId> {
    if module.funcs.len() == 1 {
        return module.funcs.keys().collect();
    }
    match module.entry() {
        Some(entry) => vec![entry],
        None => module.funcs.iter().filter(|(_, f)| f.visibility.is_public()).map(|(id, _)| id).collect(),
    }
}
