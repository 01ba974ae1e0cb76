//! Replaces a program's mesh by one that has the same axes with different sizes, in a different order, or with additional axes.
//!
//! Shardings refer to axes, not sizes, so they remain valid. The body of a manual computation depends on the sizes and devices of its mesh,
//! so these cannot change if the mesh has a manual computation.
//!
//! **Invariant.** The axes of the module's mesh keep their indices. If the new mesh has its axes in another order, they are reordered, and
//! the device ids of the resulting mesh are listed accordingly.

use shardc_ir::discardable::NUM_PARTITIONS;
use shardc_ir::suggest::nearest;
use shardc_ir::{Attr, AxisRef, Diagnostic, EntityRef, Mesh, MeshId, Module, OpKind, ShardingId};

use crate::manual::mesh_of;

/// The attribute in which JAX describes a mesh, including its sizes.
const MESH_ATTR: &str = "stablehlo.mesh";

/// How the axes of the module's mesh are matched with those of the new mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// By name: axes with equal names match.
    Name,
    /// By position: the names of the axes of the module's mesh were generated, and are replaced by those of the new mesh.
    Place,
}

/// Replaces the mesh of a module by `mesh`, which must have the same axes, matched by name. Additional axes shard nothing
/// until propagation uses them. Does nothing if the module already has this mesh.
///
/// # Errors
/// * The module has no mesh or several (`SH0339`).
/// * The new mesh lacks an axis or sub-axis that the program names (`SH0337`).
/// * The body of a manual computation depends on the old sizes (`SH0338`).
pub fn replace_mesh(module: &mut Module, mesh: &Mesh) -> Result<(), Vec<Diagnostic>> {
    replace(module, mesh, Match::Name)
}

pub(crate) fn replace(module: &mut Module, mesh: &Mesh, by: Match) -> Result<(), Vec<Diagnostic>> {
    let id = the_mesh(module).map_err(|e| vec![e])?;
    let new = renumbered(module, id, mesh, by).map_err(|e| vec![e])?;
    let old = &module.meshes[id];
    if old.axes.iter().eq(&new.axes) && old.device_ids == new.device_ids {
        return Ok(());
    }
    // Renaming axes alone does not affect manual computations, whose bodies depend on sizes and devices.
    if old.axes.values().ne(new.axes.values()) || old.device_ids != new.device_ids {
        written_for_devices(module, id)?;
    }
    let fit = parts_fit(module, id, &new);
    if !fit.is_empty() {
        return Err(fit);
    }
    let devices = new.num_devices() as i64;
    if module.attrs.get(NUM_PARTITIONS).is_some() {
        module.attrs.set(NUM_PARTITIONS, Attr::Int(devices, "i32".into()));
    }
    module.meshes[id] = new;
    Ok(())
}

/// Returns the only mesh of a module that is not maximal.
fn the_mesh(module: &Module) -> Result<MeshId, Diagnostic> {
    let mut meshes = module.mesh_names.iter().filter(|(_, id)| !module.meshes[**id].is_maximal());
    match (meshes.next(), meshes.next()) {
        (Some((_, &id)), None) => Ok(id),
        (None, _) => Err(Diagnostic::invalid("SH0339", "the module has no mesh to replace")),
        (Some((one, _)), Some((other, _))) => {
            let message = format!("the module has several meshes, @{one} and @{other}");
            Err(Diagnostic::unsupported("SH0339", message)
                .hint("leave out `Compiler::mesh`: one mesh cannot replace several"))
        }
    }
}

/// Returns `mesh` with its axes reordered: first those that match the axes of the module's mesh, in the order of that mesh, then the
/// others.
fn renumbered(module: &Module, id: MeshId, mesh: &Mesh, by: Match) -> Result<Mesh, Diagnostic> {
    let old = &module.meshes[id];
    let known =
        || mesh.axes.iter().map(|(name, size)| format!("{name}={size}")).collect::<Vec<_>>().join(",");
    let mut order: Vec<usize> = Vec::with_capacity(mesh.axes.len());
    for (place, (name, size)) in old.axes.iter().enumerate() {
        let found = match by {
            Match::Name => mesh.axes.get_index_of(name),
            Match::Place => (place < mesh.axes.len()).then_some(place),
        };
        let Some(found) = found else {
            let (message, hint) = match by {
                Match::Name => (
                    format!(
                        "the mesh {} lacks axis '{name}' of the module's mesh @{}",
                        known(),
                        module.mesh_name(id)
                    ),
                    match nearest(name, mesh.axes.keys().map(|axis| &**axis)) {
                        Some(meant) => format!(
                            "rename '{meant}' to '{name}' if it is a misspelling, or add {name}=1 to shard nothing along it"
                        ),
                        None => format!("add {name}=1 to shard nothing along it"),
                    },
                ),
                Match::Place => {
                    let sizes: Vec<String> = old.axes.values().map(i64::to_string).collect();
                    (
                        format!(
                            "the mesh {} has too few axes: the program's tile assignments need a mesh of {}",
                            known(),
                            sizes.join("x")
                        ),
                        format!(
                            "axes are matched in order: add one for the axis of size {size}, or one of size 1 to shard nothing along it"
                        ),
                    )
                }
            };
            return Err(Diagnostic::invalid("SH0337", message).hint(hint));
        };
        order.push(found);
    }
    for place in 0..mesh.axes.len() {
        if !order.contains(&place) {
            order.push(place);
        }
    }
    let axes = order.iter().filter_map(|&place| mesh.axes.get_index(place));
    let mut new = Mesh::new(axes.map(|(name, &size)| (&**name, size)));
    new.attrs = old.attrs.clone();
    // The attribute `MESH_ATTR` contains the sizes of the old mesh.
    new.attrs.remove(MESH_ATTR);
    if order.is_sorted() {
        new.device_ids.clone_from(&mesh.device_ids);
    } else {
        let axes: Vec<AxisRef> = order.iter().map(|&place| AxisRef::whole(place)).collect();
        // The device at each position of the mesh with reordered axes.
        let mut devices = vec![0; mesh.num_devices()];
        for position in 0..devices.len() {
            if let Ok(to) = usize::try_from(mesh.linear_coordinate(position, &axes)) {
                devices[to] = mesh.device_at(position);
            }
        }
        // Device ids in numeric order are omitted.
        new.device_ids = (!devices.iter().copied().eq(0..devices.len() as i64)).then_some(devices);
    }
    Ok(new)
}

/// Reports manual computations on the mesh `id`, since their bodies depend on its sizes and device order.
fn written_for_devices(module: &Module, id: MeshId) -> Result<(), Vec<Diagnostic>> {
    let ops = module.bodies().flat_map(|body| module.walk(body));
    let errors: Vec<Diagnostic> = ops
        .filter_map(|op| match &module.ops[op].kind {
            OpKind::ManualComputation(spec) if !spec.manual_axes.is_empty() => {
                (mesh_of(module, spec) == Some(id)).then(|| {
                    let axes: Vec<&str> =
                        spec.manual_axes.iter().map(|&a| module.meshes[id].axis_name(a)).collect();
                    let message = format!(
                        "the body of a manual computation along {} depends on the devices of @{}",
                        axes.join(", "),
                        module.mesh_name(id)
                    );
                    let mut error = Diagnostic::unsupported("SH0338", message).at(module.ops[op].span).hint(
                    "leave out `Compiler::mesh`, or have the front end generate the program for the new mesh",
                );
                    error.user_loc = module.user_loc(op);
                    error
                })
            }
            _ => None,
        })
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Reports sub-axes in the module's shardings that the mesh `new` does not have.
fn parts_fit(module: &Module, id: MeshId, new: &Mesh) -> Vec<Diagnostic> {
    let old = &module.meshes[id];
    let mut seen: Vec<AxisRef> = Vec::new();
    let mut errors = Vec::new();
    let shardings = (0..module.shardings.len()).map(|i| module.shardings.get(ShardingId::new(i)));
    for sharding in shardings.filter(|sharding| sharding.mesh == id) {
        for axis in
            sharding.split_axes().chain(sharding.replicated.iter().chain(&sharding.unreduced).copied())
        {
            let Some(sub) = axis.sub else { continue };
            let (was, is) = (old.full_size(axis), new.full_size(axis));
            if was != is && !seen.contains(&axis) {
                seen.push(axis);
                let message = format!(
                    "the program shards along {}:({}){}, a sub-axis of an axis of size {was}, but the axis has size {is} in the new mesh",
                    old.axis_name(axis),
                    sub.pre,
                    sub.size
                );
                errors.push(Diagnostic::invalid("SH0337", message).hint("keep the size of the axis"));
            }
        }
    }
    errors
}
