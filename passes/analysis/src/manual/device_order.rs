//! Renumbers manual computations on a mesh whose device order differs from that of the mesh used by planning.
//!
//! The body refers to devices of its own mesh. Its replica groups are renumbered, and `partition_id` returns the ID of the device at the
//! same position of the body's mesh.

use shardc_ir::{
    Build, Channel, DType, Dense, Diagnostic, Mesh, MeshId, Module, OpId, OpKind, Rewriter, TensorSharding,
};

use super::groups::{named_devices, positions, takes_global_ids};
use super::mesh_of;
use crate::analysis::regions::{program_ops, program_regions};

/// Renumbers the body of the manual computation `op` from the device order of `from` to that of `to`. The device at a position of `to`
/// takes the role of the device at that position of `from`: collectives refer to the new devices, and `partition_id` returns the ID of
/// the old device. Afterwards the axes of both meshes are equivalent.
///
/// # Errors
/// Returns `SH0302` if a nested computation is on a mesh with a third device order, and `SH0312` if a collective refers to devices that
/// do not exist.
pub fn renamed(module: &mut Module, op: OpId, from: MeshId, to: MeshId) -> Result<(), Box<Diagnostic>> {
    let &[body] = module.ops[op].regions.as_slice() else { return Ok(()) };
    let (old, new) = (module.meshes[from].clone(), module.meshes[to].clone());
    // `stand_in` maps the ID of an old device to that of the new device at its position, and `played` the new device to the old one.
    let at_old = positions(&old);
    let at_new = positions(&new);
    let stand_in: Vec<i64> = at_old.iter().map(|&position| new.device_at(position)).collect();
    let played: Vec<i64> = at_new.iter().map(|&position| old.device_at(position)).collect();
    for inner in program_ops(module, body) {
        match &module.ops[inner].kind {
            OpKind::ManualComputation(spec) => {
                let mesh = mesh_of(module, spec).map(|id| &module.meshes[id]);
                if mesh.is_some_and(|mesh| !mesh.has_devices_of(&old)) {
                    return Err(third_order(module, inner));
                }
            }
            kind if kind.collective().is_some() => rename_groups(module, inner, &old, &stand_in)?,
            _ => {}
        }
    }
    let mut rw = Rewriter::new(module);
    for region in program_regions(rw.module, body) {
        rw.enter(region);
        while let Some(inner) = rw.next_op() {
            if let OpKind::PartitionId = rw.module.ops[inner].kind {
                replace_partition_id(&mut rw, inner, to, &played);
            }
        }
    }
    Ok(())
}

fn third_order(module: &Module, op: OpId) -> Box<Diagnostic> {
    let message =
        "a nested manual computation must be on the same devices, in the same order, as the enclosing one";
    let mut error = Diagnostic::unsupported("SH0302", message)
        .at(module.ops[op].span)
        .hint("write both on one mesh, or on meshes over the same devices in the same order");
    error.user_loc = module.user_loc(op);
    Box::new(error)
}

/// Rewrites the groups of a collective as lists of the new devices.
fn rename_groups(module: &mut Module, op: OpId, old: &Mesh, stand_in: &[i64]) -> Result<(), Box<Diagnostic>> {
    let data = &module.ops[op];
    let Some(spec) = data.kind.collective() else { return Ok(()) };
    // Groups that are written as mesh axes cannot be renumbered; planning rejects them.
    if spec.mesh_axes.is_some() && spec.groups.is_empty() {
        return Ok(());
    }
    let by_global_ids = takes_global_ids(&data.kind);
    let mut unknown = None;
    let groups = named_devices(&data.kind, spec, old).map(|device| {
        let new = usize::try_from(device).ok().and_then(|d| stand_in.get(d)).copied();
        new.unwrap_or_else(|| *unknown.get_or_insert(device))
    });
    if let Some(device) = unknown {
        let message = format!(
            "{} names device {device}, but the mesh has {} devices",
            data.kind.name(),
            old.num_devices()
        );
        let hint = "replica groups must contain device numbers of the mesh";
        return Err(Box::new(Diagnostic::unsupported("SH0312", message).at(data.span).hint(hint)));
    }
    if let Some(spec) = module.ops[op].kind.collective_mut() {
        spec.groups = groups;
        spec.mesh_axes = None;
        spec.use_global_device_ids = by_global_ids;
        if !spec.crosses_partitions() {
            spec.channel = Some(Channel::between_devices(1));
        }
    }
    Ok(())
}

/// Replaces the result of `partition_id` by an entry of the table `played`: for each device, the ID of the old device at its position.
fn replace_partition_id(rw: &mut Rewriter<'_>, op: OpId, mesh: MeshId, played: &[i64]) {
    let result = rw.module.ops[op].results[0];
    let own_ty = rw.module.values[result].ty;
    let bytes = played.iter().flat_map(|&d| (d as u32).to_le_bytes()).collect();
    let table_ty = rw.module.types.tensor(&[played.len() as i64], DType::UI32);
    let one_ty = rw.module.types.tensor(&[1], DType::UI32);
    let table = rw.op1(OpKind::Constant(Dense::compact(4, bytes)), &[], table_ty);
    let own = rw.op1(OpKind::PartitionId, &[], own_ty);
    let sizes = [1].into_iter().collect();
    let entry = rw.op1(OpKind::DynamicSlice { sizes }, &[table, own], one_ty);
    let number = rw.op1(OpKind::Reshape, &[entry], own_ty);
    for (value, rank) in [(table, 1), (own, 0), (entry, 1)] {
        let whole = rw.module.shardings.intern(TensorSharding::replicated(mesh, rank));
        rw.module.shardings.set(value, Some(whole));
    }
    rw.module.take_over(number, result);
    rw.erase();
}
