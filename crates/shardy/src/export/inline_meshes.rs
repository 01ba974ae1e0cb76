//! `sdy-inline-meshes`: writes the mesh into each sharding, and removes mesh definitions.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;
use shardc_ir::{Attr, AttrDict, Mesh, MeshId, Module, OpId, OpKind};
use shardc_passes::internal::map::map_func;

use crate::pass::SHARDING_ATTR;

/// Inlines meshes into their uses and removes their names. Equal meshes become one mesh.
pub(super) fn inline(module: &mut Module) {
    let ops: Vec<OpId> = module.bodies().flat_map(|body| module.walk(body)).collect();
    for &op in &ops {
        inline_groups(module, op);
        inline_text(module, op);
    }
    module.mesh_names.clear();
    for mesh in module.meshes.values_mut() {
        mesh.attrs = AttrDict::new();
    }
    let first_like = |id: MeshId| {
        let like = module.meshes.iter().find(|(_, mesh)| **mesh == module.meshes[id]);
        like.map_or(id, |(first, _)| first)
    };
    let first: FxHashMap<MeshId, MeshId> = module.meshes.keys().map(|id| (id, first_like(id))).collect();
    for func in module.funcs.keys().collect::<Vec<_>>() {
        map_func(module, func, &mut |_, sharding| {
            let mut new = sharding.clone();
            new.mesh = first[&sharding.mesh];
            new
        });
    }
    for op in ops {
        if let OpKind::MeshCollective(collective) = &mut module.ops[op].kind {
            collective.mesh = first[&collective.mesh];
        }
    }
}

/// Inlines the mesh into the replica groups of a collective that are written as axes.
fn inline_groups(module: &mut Module, op: OpId) {
    const BEFORE: &str = "<mesh = @";
    let spec = module.ops[op].kind.collective_mut();
    let Some(text) = spec.and_then(|spec| spec.mesh_axes.clone()) else { return };
    let Some((before, rest)) = text.split_once(BEFORE) else { return };
    let quoted = rest.starts_with('"');
    let end =
        if quoted { rest.match_indices('"').nth(1).map(|(at, _)| at + 1) } else { rest.find([',', '>']) };
    let Some((name, after)) = end.and_then(|end| rest.split_at_checked(end)) else { return };
    let Some(&mesh) = module.mesh_names.get(name.trim_matches('"')) else { return };
    let new = format!("{before}<mesh = {}{after}", mesh_text(&module.meshes[mesh]));
    if let Some(spec) = module.ops[op].kind.collective_mut() {
        spec.mesh_axes = Some(new.into());
    }
}

/// Inlines the mesh into the sharding of an operation without results. Such a sharding is stored as text.
fn inline_text(module: &mut Module, op: OpId) {
    let Some(Attr::Raw(text)) = module.ops[op].attrs.get(SHARDING_ATTR) else { return };
    let mut pieces = text.split("<@");
    let mut new = String::from(pieces.next().unwrap_or_default());
    for piece in pieces {
        let mesh = piece.split_once(',').and_then(|(name, rest)| {
            let mesh = *module.mesh_names.get(name.trim_matches('"'))?;
            Some((&module.meshes[mesh], rest))
        });
        match mesh {
            Some((mesh, rest)) => {
                let axes: Vec<String> =
                    mesh.axes.iter().map(|(name, size)| format!("\"{name}\"={size}")).collect();
                let _ = write!(new, "<mesh<[{}]", axes.join(", "));
                if let Some(ids) = &mesh.device_ids {
                    let _ = write!(new, ", device_ids={ids:?}");
                }
                let _ = write!(new, ">,{rest}");
            }
            None => {
                let _ = write!(new, "<@{piece}");
            }
        }
    }
    module.ops[op].attrs.set(SHARDING_ATTR, Attr::Raw(new.into()));
}

/// A mesh in the syntax of StableHLO.
fn mesh_text(mesh: &Mesh) -> String {
    let axes: Vec<String> =
        mesh.axes.iter().map(|(name, size)| format!("<name = \"{name}\", size = {size}>")).collect();
    let mut text = format!("#stablehlo.mesh<axes=[{}]", axes.join(", "));
    if let Some(ids) = &mesh.device_ids {
        let _ = write!(text, ", device_ids=dense<{ids:?}> : tensor<{}xi64>", ids.len());
    }
    text.push('>');
    text
}
