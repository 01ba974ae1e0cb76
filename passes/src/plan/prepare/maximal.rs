//! Maximal shardings: values on one device (`<[], device_ids=[3]>`). Shardy supports them, but an SPMD program cannot express them. They
//! are replaced by replication, so the named device also has the value.

use shardc_ir::{
    Class, Diagnostic, FuncId, MeshId, Module, OpKind, RegionId, ShardingId, Span, TensorSharding,
};

/// Returns notes about values with maximal shardings. They are planned as replicated.
pub(crate) fn notes(module: &Module, func: FuncId, body: RegionId) -> Vec<Diagnostic> {
    if module.meshes.values().all(|mesh| !mesh.is_maximal()) {
        return Vec::new();
    }
    let note = |id: ShardingId, span: Span, what: String| {
        let mesh = &module.meshes[module.shardings.get(id).mesh];
        let device = mesh.device_ids.as_ref().and_then(|ids| ids.first()).filter(|_| mesh.is_maximal())?;
        let message = format!("{what} should be on device {device} only, but is replicated on every device");
        Some(
            Diagnostic::warning(Class::Unsupported, "SH0311", message).at(span).hint(
                "every device runs the same program: replicate the value, or shard it along a mesh axis",
            ),
        )
    };
    let data = &module.funcs[func];
    let args = module.regions[body].args.iter().enumerate().filter_map(|(i, &arg)| {
        note(module.shardings.of(arg)?, data.span, format!("argument {i} of @{}", data.name))
    });
    let results = data
        .res_shardings
        .iter()
        .enumerate()
        .filter_map(|(i, id)| note(id.expand()?, data.span, format!("result {i} of @{}", data.name)));
    let ops = module.walk(body);
    let ops = ops.into_iter().filter_map(|op| {
        let op = &module.ops[op];
        let requested = match &op.kind {
            OpKind::ShardingConstraint(id) | OpKind::Reshard(id) => Some(*id),
            _ => None,
        };
        let mut ids = requested.into_iter().chain(op.results.iter().filter_map(|&r| module.shardings.of(r)));
        ids.find_map(|id| note(id, op.span, format!("the result of {}", op.kind.title())))
    });
    args.chain(results).chain(ops).collect()
}

/// Returns the sharding that planning uses for a tensor of this rank: replicated if the sharding is maximal.
pub(crate) fn on_all(
    module: &Module,
    sharding: &TensorSharding,
    mesh: MeshId,
    rank: usize,
) -> Option<TensorSharding> {
    module.meshes[sharding.mesh].is_maximal().then(|| TensorSharding::replicated(mesh, rank))
}
