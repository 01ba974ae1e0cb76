//! Mesh unification: finds the one mesh that planning uses.
//!
//! A program may define several meshes over the same devices, such as `data=8` and `a=2, b=4`. Their axes are products of axes of a finer
//! mesh, which can express every sharding. If device orders differ, the finer mesh uses the device order that applies to the most bytes of
//! parameters and results (see [`device_order`](super::device_order)).

use shardc_ir::{
    AxisList, AxisRef, Diagnostic, DimSharding, FuncId, Mesh, MeshId, Module, OpKind, RegionId,
    TensorSharding,
};

use crate::analysis::regions::program_parts;
use crate::manual::mesh_of;

/// Returns a mesh that can express all shardings of the program. If the program uses only one mesh, that mesh is returned. Axes of size one
/// and replicated values are ignored.
pub(crate) fn common_mesh(
    module: &mut Module,
    func: FuncId,
    body: RegionId,
) -> Result<MeshId, Box<Diagnostic>> {
    let (mut used, cuts) = used_meshes(module, func, body);
    to_front(module, func, body, &mut used);
    let Some((&first, others)) = used.split_first() else {
        let first = module.meshes.keys().next().ok_or_else(|| {
            Box::new(Diagnostic::invalid("SH0303", "the program has no mesh").hint(
                "annotate it with sdy.mesh and sdy.sharding, or with `Compiler::mesh(\"data=4,model=2\")` and `Compiler::spec(\"ARG\", \"data,-\")`",
            ))
        })?;
        return Ok(if module.meshes[first].is_maximal() { unnamed_device(module, first) } else { first });
    };
    for &other in others {
        if module.meshes[first].num_devices() != module.meshes[other].num_devices() {
            return Err(refused(module, first, other, "they have different numbers of devices"));
        }
    }
    if others.is_empty() {
        return Ok(first);
    }
    let mut cuts = cuts;
    for &mesh in &used {
        let mesh = &module.meshes[mesh];
        cuts.extend(
            mesh.all_axes()
                .iter()
                .flat_map(|&axis| [mesh.stride(axis), mesh.stride(axis) * mesh.axis_size(axis)]),
        );
    }
    cuts.sort_unstable();
    cuts.dedup();
    if cuts.windows(2).any(|pair| pair[1] % pair[0] != 0) {
        let last = others.last().copied().unwrap_or(first);
        return Err(refused(module, first, last, "their axes have no common refinement"));
    }
    let is_fine =
        |mesh: &Mesh| cuts.iter().all(|&cut| cut == mesh.num_devices() as i64 || starts_axis(mesh, cut));
    let in_order = |id: MeshId| module.meshes[first].has_devices_of(&module.meshes[id]);
    if let Some(&fine) = used.iter().find(|&&id| in_order(id) && is_fine(&module.meshes[id])) {
        return Ok(fine);
    }
    let (name, mesh) = finer(module, first, &cuts);
    Ok(module.add_mesh(&name, mesh))
}

/// Adds a mesh without axes, for a program that has only maximal shardings. Planning replaces a maximal sharding by a replicated sharding,
/// whose mesh must not be maximal.
fn unnamed_device(module: &mut Module, named: MeshId) -> MeshId {
    let name = free_name(module, named, "_whole");
    module.add_mesh(&name, Mesh::new([]))
}

/// Returns an unused name for a mesh derived from `of`.
fn free_name(module: &Module, of: MeshId, suffix: &str) -> String {
    let mut name = format!("{}{suffix}", module.mesh_name(of));
    while module.mesh_names.contains_key(name.as_str()) {
        name.push('_');
    }
    name
}

/// Returns the meshes that shardings of the program use, without duplicates, and the boundaries of their sub-axes.
fn used_meshes(module: &Module, func: FuncId, body: RegionId) -> (Vec<MeshId>, Vec<i64>) {
    let (mut used, mut cuts): (Vec<MeshId>, Vec<i64>) = (Vec::new(), Vec::new());
    let mut meet = |id: MeshId| {
        if !used.iter().any(|&u| u == id || module.meshes[u] == module.meshes[id]) {
            used.push(id);
        }
    };
    let mut cut = |sharding: &TensorSharding| {
        let mesh = &module.meshes[sharding.mesh];
        for axis in
            sharding.split_axes().chain(sharding.unreduced.iter().copied()).filter(|a| a.sub.is_some())
        {
            cuts.extend([mesh.stride(axis), mesh.stride(axis) * mesh.axis_size(axis)]);
        }
    };
    let (ops, regions) = program_parts(module, body);
    let mut requested: Vec<_> = Vec::new();
    let args = regions.iter().flat_map(|&r| &module.regions[r].args);
    for &value in args.chain(ops.iter().flat_map(|&op| &module.ops[op].results)) {
        requested.extend(module.shardings.of(value));
    }
    requested.extend(module.funcs[func].res_shardings.iter().filter_map(|s| s.expand()));
    for sharding in requested.into_iter().map(|id| module.shardings.get(id)) {
        if !sharding.is_unsplit() || !sharding.unreduced.is_empty() {
            meet(sharding.mesh);
            cut(sharding);
        }
    }
    for &op in &ops {
        if let OpKind::ManualComputation(spec) = &module.ops[op].kind {
            mesh_of(module, spec).into_iter().for_each(&mut meet);
            spec.in_shardings.iter().chain(&spec.out_shardings).for_each(|&id| cut(module.shardings.get(id)));
        }
    }
    (used, cuts)
}

/// Moves one mesh to the front: the mesh whose device order applies to the most bytes of parameters and results. These bytes then need no
/// permutation.
fn to_front(module: &Module, func: FuncId, body: RegionId, used: &mut [MeshId]) {
    let Some(&first) = used.first() else { return };
    if used.iter().all(|&id| module.meshes[first].has_devices_of(&module.meshes[id])) {
        return;
    }
    let args = module.regions[body].args.iter().map(|&arg| (module.values[arg].ty, module.shardings.of(arg)));
    let results = module.funcs[func].results.iter().zip(&module.funcs[func].res_shardings);
    let tensors: Vec<_> = args.chain(results.map(|(&ty, sharding)| (ty, sharding.expand()))).collect();
    let bytes_in_order = |mesh: MeshId| -> i64 {
        let bytes = tensors.iter().filter_map(|&(ty, sharding)| {
            let sharding = module.shardings.get(sharding?);
            let counts =
                !sharding.is_unsplit() && module.meshes[sharding.mesh].has_devices_of(&module.meshes[mesh]);
            module.types.stored(ty).filter(|_| counts)?.num_bytes()
        });
        bytes.fold(0, i64::saturating_add)
    };
    let weights: Vec<i64> = used.iter().map(|&id| bytes_in_order(id)).collect();
    // Ties go to the first mesh.
    if let Some(best) = (0..used.len()).reduce(|best, i| if weights[i] > weights[best] { i } else { best }) {
        used[..=best].rotate_right(1);
    }
}

fn starts_axis(mesh: &Mesh, cut: i64) -> bool {
    mesh.all_axes().iter().any(|&axis| mesh.stride(axis) == cut && !mesh.is_trivial(axis))
}

fn refused(module: &Module, a: MeshId, b: MeshId, why: &str) -> Box<Diagnostic> {
    let (a, b) = (module.mesh_name(a), module.mesh_name(b));
    Box::new(
        Diagnostic::unsupported("SH0302", format!("values are sharded on two meshes, @{a} and @{b}: {why}"))
            .hint("use one mesh for all annotations, or meshes over the same devices whose axes are products of common sub-axes"),
    )
}

/// Returns a refinement of the mesh `first`, and its name. Each pair of adjacent strides in `cuts` bounds one axis, which is named after
/// the enclosing axis of `first`.
fn finer(module: &Module, first: MeshId, cuts: &[i64]) -> (String, Mesh) {
    let mesh = &module.meshes[first];
    let mut axes: Vec<(String, i64)> = Vec::new();
    for pair in cuts.windows(2).rev() {
        let whole = mesh.all_axes().into_iter().find(|&axis| {
            mesh.stride(axis) <= pair[0] && pair[1] <= mesh.stride(axis) * mesh.axis_size(axis)
        });
        let name = match whole {
            Some(axis) if mesh.axis_size(axis) == pair[1] / pair[0] => mesh.axis_name(axis).to_owned(),
            Some(axis) => format!("{}_{}", mesh.axis_name(axis), pair[0] / mesh.stride(axis)),
            None => format!("axis_{}", pair[0]),
        };
        axes.push((name, pair[1] / pair[0]));
    }
    let fine = Mesh::new(axes.iter().map(|(name, size)| (name.as_str(), *size)));
    let name = free_name(module, first, "_parts");
    (name, Mesh { device_ids: mesh.device_ids.clone(), ..fine })
}

/// Returns the closed sharding on the common mesh `to` that is equivalent to `sharding`, without priorities and axes of size one.
pub(crate) fn tidy(module: &Module, sharding: &TensorSharding, to: MeshId) -> TensorSharding {
    let dims =
        sharding.dims.iter().map(|dim| DimSharding::closed(&on_mesh(module, sharding.mesh, &dim.axes, to)));
    let mut closed = TensorSharding::from_dims(to, dims);
    closed.unreduced = on_mesh(module, sharding.mesh, &sharding.unreduced, to);
    closed.reduction = sharding.reduction;
    closed.tidied()
}

/// Returns the axes of one mesh as axes of the common mesh, without axes of size one.
pub(crate) fn on_mesh(module: &Module, from: MeshId, axes: &[AxisRef], to: MeshId) -> AxisList {
    let (old, new) = (&module.meshes[from], &module.meshes[to]);
    let axes = axes.iter().copied().filter(|&axis| !old.is_trivial(axis));
    if from == to || old == new {
        return axes.collect();
    }
    let parts = |axis: AxisRef| {
        let (start, end) = (old.stride(axis), old.stride(axis) * old.axis_size(axis));
        let within = move |part: &AxisRef| {
            !new.is_trivial(*part) && start <= new.stride(*part) && new.stride(*part) < end
        };
        new.all_axes().into_iter().filter(within)
    };
    axes.flat_map(parts).collect()
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, refused, try_around};

    /// Returns a program with two arguments that have these shardings.
    fn program(meshes: &str, first: &str, second: &str) -> String {
        format!(
            r#"{meshes}
            func.func @main(%x: tensor<24xf32> {{sdy.sharding = #sdy.sharding<{first}>}},
                %y: tensor<24xf32> {{sdy.sharding = #sdy.sharding<{second}>}}) -> (tensor<24xf32>, tensor<24xf32>) {{
              %0 = stablehlo.negate %x : tensor<24xf32>
              %1 = stablehlo.negate %y : tensor<24xf32>
              return %0, %1 : tensor<24xf32>, tensor<24xf32>
            }}"#
        )
    }

    fn unified(meshes: &str, first: &str, second: &str) -> Around {
        try_around("unify-meshes", &program(meshes, first, second)).unwrap()
    }

    #[test]
    fn a_coarse_axis_becomes_the_axes_of_the_finer_mesh() {
        let meshes = r#"sdy.mesh @data = <["data"=8]> sdy.mesh @ab = <["a"=2, "b"=4]>"#;
        let done = unified(meshes, r#"@data, [{"data"}]"#, r#"@ab, [{"b"}]"#);
        assert_eq!(done.arguments(), [r#"[{"a", "b"}]"#, r#"[{"b"}]"#]);
        assert_eq!(done.shardings("stablehlo.negate"), done.arguments());
        assert_eq!(done.added("sdy.mesh @"), 0);
    }

    #[test]
    fn meshes_of_which_none_is_finer_get_a_common_refinement() {
        let meshes = r#"sdy.mesh @ab = <["a"=2, "b"=6]> sdy.mesh @cd = <["c"=4, "d"=3]>"#;
        let done = unified(meshes, r#"@ab, [{"b"}]"#, r#"@cd, [{"c"}]"#);
        assert!(done.after.contains(r#"sdy.mesh @ab_parts = <["a"=2, "b_3"=2, "b_1"=3]>"#), "{}", done.after);
        assert_eq!(done.arguments(), [r#"[{"b_3", "b_1"}]"#, r#"[{"a", "b_3"}]"#]);
    }

    #[test]
    fn a_mesh_that_splits_nothing_does_not_count() {
        let meshes = r#"sdy.mesh @a = <["a"=2]> sdy.mesh @b = <["b"=4]>"#;
        let done = unified(meshes, "@a, [{}]", r#"@b, [{"b"}]"#);
        assert_eq!(done.arguments(), ["[{}]", r#"[{"b"}]"#]);
        assert!(!done.after.contains("<@a, [{}]>}, %arg1"), "{}", done.after);
    }

    #[test]
    fn a_program_on_one_mesh_stays() {
        let done = unified(r#"sdy.mesh @a = <["a"=2, "b"=2]>"#, r#"@a, [{"a"}]"#, r#"@a, [{"b"}]"#);
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn meshes_without_a_common_refinement_are_refused() {
        let meshes = r#"sdy.mesh @ab = <["a"=2, "b"=3]> sdy.mesh @cd = <["c"=3, "d"=2]>"#;
        let program = program(meshes, r#"@ab, [{"b"}]"#, r#"@cd, [{"c"}]"#);
        assert_eq!(refused("unify-meshes", &program), ["SH0302"]);
    }

    #[test]
    fn meshes_of_different_sizes_are_refused() {
        let meshes = r#"sdy.mesh @a = <["a"=2]> sdy.mesh @b = <["b"=4]>"#;
        let program = program(meshes, r#"@a, [{"a"}]"#, r#"@b, [{"b"}]"#);
        assert_eq!(refused("unify-meshes", &program), ["SH0302"]);
    }

    #[test]
    fn a_program_without_a_mesh_is_refused() {
        let program = "func.func @main(%x: tensor<24xf32>) -> tensor<24xf32> { return %x : tensor<24xf32> }";
        assert_eq!(refused("unify-meshes", program), ["SH0303"]);
    }
}
