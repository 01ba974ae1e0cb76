//! Replica groups as axes of a mesh, `#stablehlo.replica_group_mesh_axes<...>`, in place of lists of devices.
//!
//! A list is as long as there are devices. StableHLO's groups by axes name a mesh of the module and some of its axes or parts of
//! axes; all-gathers, reductions, all-to-alls and broadcasts take them, permutes do not. The groups are the same, in the same
//! order, and stay known beside the text.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;
use shardc_ir::{AxisRef, Mesh, Module, OpId, OpKind, ReplicaGroups};

use crate::analysis::symbols::FreshNames;

/// How replica groups are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupForm {
    /// As lists of device ids, which everyone reads.
    #[default]
    Lists,
    /// As axes of a mesh that stands in the module, where groups are along axes.
    MeshAxes,
}

/// Writes the groups of all collectives along axes of `mesh` as these axes. The module gets the mesh, under a name that is
/// free, if that was so of any.
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

/// The attribute that says these groups; `None` where they are not along axes.
fn text(mesh: &Mesh, name: &str, groups: &ReplicaGroups) -> Option<Box<str>> {
    let axes = mesh.axes_of_groups(groups).filter(|axes| !axes.is_empty())?;
    let mut text = format!("#stablehlo.replica_group_mesh_axes<mesh = @{name}, axes = [");
    for (i, &axis) in axes.iter().enumerate() {
        let AxisRef { sub, .. } = axis;
        let axis = mesh.axis_name(axis);
        // Names that would have to be escaped stay out of it.
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
