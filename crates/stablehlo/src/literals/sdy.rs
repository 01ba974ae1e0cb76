//! Meshes, axes and shardings.

use std::fmt::Write as _;

use shardc_ir::{AxisRef, Mesh, MeshId, Module, ShardingId, TensorSharding};

use super::tokens::{push_ints, push_list, push_string, push_symbol};

/// Appends `<["x"=2, "y"=4], device_ids=[...]>`.
pub(crate) fn push_mesh(out: &mut String, mesh: &Mesh) {
    out.push_str("<[");
    push_list(out, &mesh.axes, |out, (name, size)| {
        push_string(out, name);
        let _ = write!(out, "={size}");
    });
    out.push(']');
    if let Some(ids) = &mesh.device_ids {
        out.push_str(", device_ids=");
        push_ints(out, ids);
    }
    out.push('>');
}

fn push_mesh_ref(out: &mut String, module: &Module, mesh: MeshId) {
    match module.mesh_names.iter().find(|(_, id)| **id == mesh) {
        Some((name, _)) => push_symbol(out, name),
        None => {
            out.push_str("mesh");
            push_mesh(out, &module.meshes[mesh]);
        }
    }
}

fn push_axis(out: &mut String, mesh: &Mesh, axis: AxisRef) {
    push_string(out, mesh.axis_name(axis));
    if let Some(sub) = axis.sub {
        let _ = write!(out, ":({}){}", sub.pre, sub.size);
    }
}

/// Appends `{"x", "y"}`.
pub(crate) fn push_axes(out: &mut String, module: &Module, mesh: MeshId, axes: &[AxisRef]) {
    out.push('{');
    push_list(out, axes, |out, &axis| push_axis(out, &module.meshes[mesh], axis));
    out.push('}');
}

/// Appends `<@mesh, [{"x"}, {?}]>`.
pub(crate) fn push(out: &mut String, module: &Module, sharding: &TensorSharding) {
    let mesh = &module.meshes[sharding.mesh];
    out.push('<');
    push_mesh_ref(out, module, sharding.mesh);
    out.push_str(", [");
    push_list(out, &sharding.dims, |out, dim| {
        out.push('{');
        push_list(out, &dim.axes, |out, &axis| push_axis(out, mesh, axis));
        if dim.open {
            out.push_str(if dim.axes.is_empty() { "?" } else { ", ?" });
        }
        out.push('}');
        if let Some(priority) = dim.priority {
            let _ = write!(out, "p{priority}");
        }
    });
    out.push(']');
    let kind = sharding.reduction.word();
    for (name, kind, axes) in
        [("replicated", "", &sharding.replicated), ("unreduced", kind, &sharding.unreduced)]
    {
        if !axes.is_empty() {
            let _ = write!(out, ", {name}={kind}");
            push_axes(out, module, sharding.mesh, axes);
        }
    }
    out.push('>');
}

/// Appends the sharding with the handle `id`.
pub(crate) fn push_sharding(out: &mut String, module: &Module, id: ShardingId) {
    push(out, module, module.shardings.get(id));
}

/// Appends `[<...>, <...>]`.
pub(crate) fn push_shardings(out: &mut String, module: &Module, ids: &[ShardingId]) {
    out.push('[');
    push_list(out, ids, |out, &id| push_sharding(out, module, id));
    out.push(']');
}
