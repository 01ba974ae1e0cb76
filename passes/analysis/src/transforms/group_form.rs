//! Replica groups by mesh axes: prints replica groups as `#stablehlo.replica_group_mesh_axes<...>` instead of lists of device ids.
//!
//! A list is as long as the number of devices. The axes form names a mesh of the module and some of its axes or sub-axes. All-gathers,
//! reductions, all-to-alls and broadcasts accept it; permutes do not. The groups and their order are the same, and the lists stay in the
//! module's data.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;
use shardc_ir::{AxisRef, Mesh, Module, OpId, OpKind, ReplicaGroups};

use crate::analysis::symbols::FreshNames;

/// The form in which replica groups are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupForm {
    /// Lists of device ids, which every reader accepts.
    #[default]
    Lists,
    /// Axes of a mesh in the module, for groups that are along axes.
    MeshAxes,
}

/// Writes the groups of all collectives that are along axes of `mesh` in the axes form. If there are any, the mesh is added to the module
/// under an unused name.
pub fn write_mesh_axes(module: &mut Module, mesh: &Mesh) {
    let name = FreshNames::default().make(module, "mesh");
    let mut texts: FxHashMap<ReplicaGroups, Option<Box<str>>> = FxHashMap::default();
    let ops: Vec<OpId> = module.bodies().flat_map(|body| module.walk(body)).collect();
    for op in ops {
        let (OpKind::AllReduce(spec)
        | OpKind::AllGather { spec, .. }
        | OpKind::ReduceScatter { spec, .. }
        | OpKind::AllToAll { spec, .. }
        | OpKind::CollectiveBroadcast(spec)) = &mut module.ops[op].kind
        else {
            continue;
        };
        if spec.mesh_axes.is_some() {
            continue;
        }
        let text = texts.entry(spec.groups.clone()).or_insert_with_key(|groups| text(mesh, &name, groups));
        spec.mesh_axes.clone_from(text);
    }
    if texts.values().any(Option::is_some) {
        module.add_mesh(&name, mesh.clone());
    }
}

/// Returns the text of the axes form for these groups; `None` if they are not along axes of the mesh.
fn text(mesh: &Mesh, name: &str, groups: &ReplicaGroups) -> Option<Box<str>> {
    let axes = mesh.axes_of_groups(groups).filter(|axes| !axes.is_empty())?;
    let mut text = format!("#stablehlo.replica_group_mesh_axes<mesh = @{name}, axes = [");
    for (i, &axis) in axes.iter().enumerate() {
        let AxisRef { sub, .. } = axis;
        let axis = mesh.axis_name(axis);
        // Axis names that need escapes cannot be written in this form.
        if axis.bytes().any(|byte| !byte.is_ascii_graphic() || matches!(byte, b'"' | b'\\')) {
            return None;
        }
        let comma = if i == 0 { "" } else { ", " };
        let _ = write!(text, "{comma}#stablehlo.axis_ref<name = \"{axis}\"");
        if let Some(part) = sub {
            let _ = write!(text, ", sub_axis_info = ({}){}", part.pre, part.size);
        }
        text.push('>');
    }
    text.push_str("]>");
    Some(text.into())
}
