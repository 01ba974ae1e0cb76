//! Axes of a mesh that split nothing.

use shardc_ir::{Class, Diagnostic, MeshId, OpKind, SecondaryMap, ShardingId};

use super::subject::Subject;
use crate::structure::{program_ops, program_regions};

/// Axes, of more than one device, that split no value of the program: the devices along them do all the same. A
/// mesh that nothing is on is not told where another mesh is in use.
pub(super) fn unused(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let module = subject.module;
    let mut seen: SecondaryMap<ShardingId, bool> = SecondaryMap::new();
    let mut used: SecondaryMap<MeshId, Vec<bool>> = SecondaryMap::new();
    for (id, mesh) in &module.meshes {
        used[id] = vec![false; mesh.axes.len()];
    }
    let mut visit = |id: ShardingId| {
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
    let in_use = |mesh: MeshId| used[mesh].contains(&true);
    let any = module.meshes.keys().any(in_use);
    let mut out = Vec::new();
    for (id, mesh) in module.meshes.iter().filter(|&(id, _)| in_use(id) || !any) {
        for ((name, &size), _) in mesh.axes.iter().zip(&used[id]).filter(|((_, n), used)| **n > 1 && !**used)
        {
            let message = format!(
                "axis \"{name}\" of mesh @{} splits nothing: each group of {size} devices along it does the same work",
                module.mesh_name(id)
            );
            let warning = Diagnostic::warning(Class::InvalidInput, "", message)
                .at(module.mesh_places[id].span)
                .hint(format!("split a dimension of the batch or of the parameters along \"{name}\", or take the axis out of the mesh"));
            out.push(warning);
        }
    }
    out
}
