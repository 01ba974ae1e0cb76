//! Lints about unused mesh axes.

use shardc_ir::{Class, Diagnostic, Mesh, MeshId, OpKind, SecondaryMap, ShardingId};

use super::subject::{Subject, candidates, example, whole_bytes};
use crate::analysis::regions::{program_ops, program_regions};

/// Reports axes of size two or more that shard no value of the program: the devices along them compute the same values. A mesh of which no
/// axis is used is not reported here; if the program uses no mesh, [`nothing_split`] reports that.
pub(super) fn unused(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let module = subject.module;
    let used = used_axes(subject);
    let mut out = Vec::new();
    for (id, mesh) in module.meshes.iter().filter(|&(id, _)| used[id].contains(&true)) {
        for ((name, &size), _) in mesh.axes.iter().zip(&used[id]).filter(|((_, n), used)| **n > 1 && !**used)
        {
            let message = format!(
                "axis \"{name}\" of mesh @{} shards nothing: the {size} devices along it do the same work",
                module.mesh_name(id)
            );
            let warning = Diagnostic::warning(Class::InvalidInput, "", message)
                .at(module.mesh_places[id].span)
                .hint(format!("shard a dimension of the batch or of the parameters along \"{name}\", or remove the axis from the mesh"));
            out.push(warning);
        }
    }
    out
}

/// Reports a program with a mesh of several devices and no sharded value.
pub(super) fn nothing_split(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let module = subject.module;
    let Some((id, mesh)) = module.meshes.iter().find(|(_, mesh)| mesh.num_devices() > 1) else {
        return Vec::new();
    };
    if used_axes(subject).values().any(|used| used.contains(&true)) {
        return Vec::new();
    }
    let message = format!(
        "nothing is sharded: each of the {} devices of mesh @{} computes the entire program",
        mesh.num_devices(),
        module.mesh_name(id)
    );
    let hint = could_split(subject, id, mesh).unwrap_or_else(|| {
        "no axis of the mesh divides a dimension of an argument: pad arguments, or constrain intermediate values".to_owned()
    });
    let warning = Diagnostic::warning(Class::InvalidInput, "", message);
    vec![warning.at(module.mesh_places[id].span).hint(hint)]
}

/// Suggests a sharding of the largest argument that has a dimension divisible by an axis.
fn could_split(subject: &Subject<'_>, id: MeshId, mesh: &Mesh) -> Option<String> {
    let module = subject.module;
    let args = module.regions[subject.body].args.iter().enumerate();
    let divided = args.filter_map(|(i, &arg)| {
        let ty = module.stored(arg).filter(|ty| ty.is_static())?;
        let (axis, dims) = candidates(mesh, &ty.shape).into_iter().next()?;
        Some((i, ty, axis, *dims.first()?))
    });
    // Among equally large arguments, the first is chosen.
    let (i, ty, axis, dim) =
        divided.reduce(|best, next| if whole_bytes(next.1) > whole_bytes(best.1) { next } else { best })?;
    let spec: Vec<&str> = (0..ty.rank()).map(|d| if d == dim { mesh.axis_name(axis) } else { "-" }).collect();
    Some(format!(
        "\"{}\" divides dimension {dim} of {}, {ty}: shard it with `Compiler::spec` arg{i}={} or sdy.sharding = {}",
        mesh.axis_text(axis),
        subject.arg_text(i),
        spec.join(","),
        example(module, id, ty.rank(), dim, axis),
    ))
}

/// Returns for each mesh and axis whether the axis shards a value or a constraint of the program, or is manual.
fn used_axes(subject: &Subject<'_>) -> SecondaryMap<MeshId, Vec<bool>> {
    let module = subject.module;
    let mut seen: SecondaryMap<ShardingId, bool> = SecondaryMap::new();
    let mut used: SecondaryMap<MeshId, Vec<bool>> = SecondaryMap::new();
    for (id, mesh) in &module.meshes {
        used[id] = vec![false; mesh.axes.len()];
    }
    let mut visit = |id: ShardingId| {
        // The loop is over distinct shardings, not over values: a large program has some hundred shardings for a million values.
        if !std::mem::replace(&mut seen[id], true) {
            let sharding = module.shardings.get(id);
            for axis in sharding.split_axes().chain(sharding.unreduced.iter().copied()) {
                used[sharding.mesh][usize::from(axis.axis)] = true;
            }
        }
    };
    for region in program_regions(module, subject.body) {
        module.regions[region].args.iter().filter_map(|&v| module.shardings.of(v)).for_each(&mut visit);
    }
    let ops = program_ops(module, subject.body);
    for &op in &ops {
        if let OpKind::ShardingConstraint(id) | OpKind::Reshard(id) = module.ops[op].kind {
            visit(id);
        }
        module.ops[op].results.iter().filter_map(|&v| module.shardings.of(v)).for_each(&mut visit);
    }
    module.funcs[subject.func].res_shardings.iter().filter_map(|id| id.expand()).for_each(&mut visit);
    for &op in &ops {
        if let OpKind::ManualComputation(spec) = &module.ops[op].kind {
            let sharding = spec.in_shardings.iter().chain(&spec.out_shardings).next();
            if let Some(&id) = sharding {
                let mesh = module.shardings.get(id).mesh;
                spec.manual_axes.iter().for_each(|axis| used[mesh][usize::from(axis.axis)] = true);
            }
        }
    }
    used
}
