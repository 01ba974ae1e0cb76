//! Maximal shardings: values on one device (`<[], device_ids=[3]>`). Shardy supports them, but an SPMD program cannot express them. They
//! are replaced by replicated shardings, so the specified device still has the value.

use shardc_ir::{
    Class, Diagnostic, FuncId, MeshId, Module, OpKind, RegionId, ShardingId, Span, TensorSharding,
};

/// Returns warnings about values with maximal shardings, which are planned as replicated.
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

/// Returns the replicated sharding that planning uses for a tensor of this rank if `sharding` is maximal; `None` otherwise.
pub(crate) fn on_all(
    module: &Module,
    sharding: &TensorSharding,
    mesh: MeshId,
    rank: usize,
) -> Option<TensorSharding> {
    module.meshes[sharding.mesh].is_maximal().then(|| TensorSharding::replicated(mesh, rank))
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::try_around;

    #[test]
    fn a_value_on_one_device_is_replicated_with_a_warning() {
        let program = r#"
            sdy.mesh @mesh = <["x"=4]>
            sdy.mesh @one = <[], device_ids=[3]>
            func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
                %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@one, []>}) -> tensor<8xf32> {
              %0 = stablehlo.add %a, %b : tensor<8xf32>
              return %0 : tensor<8xf32>
            }"#;
        let done = try_around("legalize-shardings", program).unwrap();
        assert_eq!(done.warnings, ["SH0311"]);
        assert!(done.is_same(), "{}", done.after);
        let done = try_around("unify-meshes", program).unwrap();
        assert_eq!(done.arguments(), [r#"[{"x"}]"#, "[{}]"]);
    }

    #[test]
    fn a_mesh_of_one_named_device_that_no_value_is_on_gives_no_warning() {
        let program = r#"
            sdy.mesh @mesh = <["x"=4]>
            sdy.mesh @one = <[], device_ids=[3]>
            func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
              return %a : tensor<8xf32>
            }"#;
        let done = try_around("legalize-shardings", program).unwrap();
        assert!(done.warnings.is_empty(), "{:?}", done.warnings);
    }
}
