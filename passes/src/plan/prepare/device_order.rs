//! Handles meshes over the same devices in different orders (`device_ids`).
//!
//! The device order matters only where data enters and leaves the program: there, the sharding determines which device holds each block.
//! Planning therefore uses one order inside, and permutes the blocks of parameters and results on other meshes at the function boundary. In
//! a manual computation on a mesh in another order, device ids are renumbered (see [`renamed`](crate::manual::renamed)).

use shardc_ir::{
    Build, FuncId, Mesh, MeshId, Module, OpId, OpKind, RegionId, Rewriter, ShardingId, ValueDef, ValueId,
};

use super::meshes::tidy;
use crate::analysis::regions::program_ops;

/// A parameter or result whose sharding refers to a mesh in another device order. `sharding` is the equivalent sharding on a mesh with the
/// planned axes and that device order.
#[derive(Clone, Debug)]
pub(crate) struct Crossing {
    pub(super) index: usize,
    pub(super) sharding: ShardingId,
}

/// Returns the parameters of the function whose shardings use another device order than `mesh`.
pub(super) fn entering(module: &mut Module, body: RegionId, mesh: MeshId) -> Vec<Crossing> {
    let args: Vec<_> = module.regions[body].args.iter().map(|&arg| module.shardings.of(arg)).collect();
    others(module, &args, mesh)
}

/// Returns the results of the function whose shardings use another device order than `mesh`.
pub(crate) fn leaving(module: &mut Module, func: FuncId, mesh: MeshId) -> Vec<Crossing> {
    let results: Vec<_> = module.funcs[func].res_shardings.iter().map(|s| s.expand()).collect();
    others(module, &results, mesh)
}

fn others(module: &mut Module, shardings: &[Option<ShardingId>], mesh: MeshId) -> Vec<Crossing> {
    let mut out = Vec::new();
    for (index, id) in shardings.iter().enumerate() {
        // A replicated value is independent of the device order.
        let Some(sharding) = id.map(|id| module.shardings.get(id)).filter(|s| !s.is_unsplit()) else {
            continue;
        };
        if module.meshes[sharding.mesh].has_devices_of(&module.meshes[mesh]) {
            continue;
        }
        let (from, mut sharding) = (sharding.mesh, tidy(module, sharding, mesh));
        sharding.mesh = in_order_of(module, mesh, from);
        let sharding = module.shardings.intern(sharding);
        out.push(Crossing { index, sharding });
    }
    out
}

/// Returns a mesh with the axes of `mesh` and the device order of `other`. Adds it to the module if the module has no such mesh.
fn in_order_of(module: &mut Module, mesh: MeshId, other: MeshId) -> MeshId {
    let wanted = Mesh {
        axes: module.meshes[mesh].axes.clone(),
        device_ids: module.meshes[other].device_ids.clone(),
        ..Mesh::default()
    };
    let equal = |m: &Mesh| m.axes.iter().eq(&wanted.axes) && m.device_ids == wanted.device_ids;
    if let Some((id, _)) = module.meshes.iter().find(|(_, m)| equal(m)) {
        return id;
    }
    let mut name = format!("{}_in_order", module.mesh_name(other));
    while module.mesh_names.contains_key(name.as_str()) {
        name.push('_');
    }
    module.add_mesh(&name, wanted)
}

/// Permutes parameters into the common device order. Each of them is replaced by a new argument in the caller's device order, and a reshard
/// of the new argument defines the old value.
pub(crate) fn enter(module: &mut Module, body: RegionId, crossings: &[Crossing]) {
    let mut rw = Rewriter::new(module);
    rw.enter(body);
    for crossing in crossings {
        let inside = rw.module.regions[body].args[crossing.index];
        let Some(to) = rw.module.shardings.of(inside) else { continue };
        rw.module.renew_arg(body, crossing.index);
        let given = rw.module.regions[body].args[crossing.index];
        rw.module.shardings.set(given, Some(crossing.sharding));
        let reshard = rw.op(OpKind::Reshard(to), &[given], &[], &[]);
        rw.module.give_result(reshard, inside);
    }
}

/// Permutes results from the common device order to the device order of their annotations.
pub(crate) fn leave(module: &mut Module, body: RegionId, crossings: &[Crossing]) {
    let Some(ret) = module.terminator(body) else { return };
    let mut rw = Rewriter::new(module);
    rw.enter_last(body);
    for &Crossing { index, sharding } in crossings {
        let Some(&value) = rw.module.ops[ret].operands.get(index) else { continue };
        // For a parameter that is returned unchanged, the permutations at entry and exit would cancel.
        let def = rw.module.def_op(value).map(|op| &rw.module.ops[op]);
        if let Some((OpKind::Reshard(_), &[given])) = def.map(|op| (&op.kind, op.operands.as_slice()))
            && rw.module.shardings.of(given) == Some(sharding)
        {
            rw.module.ops[ret].operands[index] = given;
            continue;
        }
        let ty = rw.module.values[value].ty;
        let permuted = rw.op1(OpKind::Reshard(sharding), &[value], ty);
        rw.module.shardings.set(permuted, Some(sharding));
        rw.module.ops[ret].operands[index] = permuted;
    }
}

/// Returns the mesh that all values inside a planned function use; it need not be the module's first mesh. Parameters and results may use
/// a mesh with another device order.
pub(crate) fn planned_mesh(module: &Module, body: RegionId) -> Option<MeshId> {
    let mesh_of = |value: ValueId| module.shardings.sharding_of(value).map(|s| s.mesh);
    let is_outside = |value: ValueId| match module.values[value].def() {
        ValueDef::Arg(region, _) => region == body,
        ValueDef::Result(op, _) => match (&module.ops[op].kind, module.ops[op].operands.first()) {
            (OpKind::MeshCollective(_) | OpKind::Reshard(_), Some(&operand)) => {
                mesh_of(operand) != mesh_of(value)
            }
            _ => false,
        },
    };
    let results = program_ops(module, body).into_iter().flat_map(|op| &module.ops[op].results);
    let inside = results.copied().filter(|&v| !is_outside(v)).find_map(mesh_of);
    // If no inner value has a mesh, the mesh of an argument is used.
    let outside = || module.regions[body].args.iter().copied().find_map(mesh_of);
    // A module that is not planned may have shardings only in attributes.
    let named = || program_ops(module, body).into_iter().find_map(|op| of_op(module, op));
    let only = || module.mesh_names.values().copied().find(|&id| !module.meshes[id].is_maximal());
    inside.or_else(outside).or_else(named).or_else(only)
}

/// Returns the mesh that the attributes of an operation name, or else the mesh of its results.
fn of_op(module: &Module, op: OpId) -> Option<MeshId> {
    let data = &module.ops[op];
    let named = match &data.kind {
        OpKind::MeshCollective(collective) => Some(collective.out),
        OpKind::Reshard(to) => Some(*to),
        OpKind::ManualComputation(spec) => {
            spec.in_shardings.iter().chain(&spec.out_shardings).next().copied()
        }
        _ => None,
    };
    let made = data.results.iter().find_map(|&result| module.shardings.of(result));
    named.or(made).map(|id| module.shardings.get(id).mesh)
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, try_around};

    /// Runs the passes up to `name` on a program with a large argument on `@mesh` and a small one on a mesh in the opposite device order.
    fn around(name: &str, small: &str) -> Around {
        let program = format!(
            r#"
            sdy.mesh @mesh = <["x"=4]>
            sdy.mesh @other = <["x"=4], device_ids=[3, 2, 1, 0]>
            func.func @main(%large: tensor<1024xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}},
                %small: tensor<8xf32> {{sdy.sharding = #sdy.sharding<@other, {small}>}}) -> (tensor<1024xf32>,
                tensor<8xf32> {{sdy.sharding = #sdy.sharding<@other, {small}>}},
                tensor<8xf32> {{sdy.sharding = #sdy.sharding<@other, {small}>}}) {{
              %0 = stablehlo.negate %large : tensor<1024xf32>
              %1 = stablehlo.negate %small : tensor<8xf32>
              return %0, %1, %small : tensor<1024xf32>, tensor<8xf32>, tensor<8xf32>
            }}"#
        );
        try_around(name, &program).unwrap()
    }

    #[test]
    fn an_argument_in_another_device_order_is_permuted() {
        let done = around("unify-meshes", r#"[{"x"}]"#);
        assert!(done.after.contains(r#"%0 = sdy.reshard %arg1 <@mesh, [{"x"}]>"#), "{}", done.after);
        assert_eq!(done.added("sdy.reshard"), 1);
    }

    #[test]
    fn a_result_is_permuted_back_unless_it_is_an_argument() {
        let done = around("plan", r#"[{"x"}]"#);
        assert!(done.after.contains(r#"%3 = sdy.reshard %2 <@other, [{"x"}]>"#), "{}", done.after);
        assert!(done.after.contains("return %1, %3, %arg1 :"), "{}", done.after);
    }

    #[test]
    fn a_replicated_argument_needs_no_permutation() {
        let done = around("plan", "[{}]");
        assert!(!done.after.contains("sdy.reshard"), "{}", done.after);
    }
}
