//! Replica groups of collectives in the input program.
//!
//! The program has many partitions and one replica, as emitted by `jax.shard_map`. The partitions are the devices of the mesh, and
//! collectives refer to them. The resulting groups list devices in the order of participation.

use std::collections::{BTreeMap, BTreeSet};

use shardc_ir::{
    AxisRef, CollectiveSpec, Diagnostic, Digit, Group, Mesh, Module, OpId, OpKind, ReplicaGroups,
    StridedGroups,
};

use super::Scope;

/// Returns the groups (for a permute, the source-target pairs) of the collective `op` in the body of a manual
/// computation.
///
/// # Errors
/// Returns `SH0312` if the groups contain devices outside the mesh, omit some devices, or distinguish devices that differ only along free
/// axes.
pub fn device_groups(
    module: &Module,
    op: OpId,
    mesh: &Mesh,
    scope: &Scope,
) -> Result<ReplicaGroups, Box<Diagnostic>> {
    let data = &module.ops[op];
    let name = data.kind.title();
    let refused = |message: String, hint: &str| {
        let mut error = Diagnostic::unsupported("SH0312", message).at(data.span).hint(hint);
        error.user_loc = module.user_loc(op);
        Box::new(error)
    };
    let is_known = !matches!(data.kind, OpKind::CollectiveReduce(_) | OpKind::CrossReplicaSum(_));
    let spec = data.collective_spec().filter(|spec| is_known && !spec.has_dynamic_root);
    let Some(spec) = spec.as_deref() else {
        let message = format!("{name} is not supported in a manual computation");
        return Err(refused(
            message,
            "use all_reduce, all_gather, reduce_scatter, all_to_all, collective_permute or collective_broadcast",
        ));
    };
    if spec.mesh_axes.is_some() && spec.groups.is_empty() {
        let message =
            format!("the replica groups of {name} are axes of a mesh that the program does not define");
        return Err(refused(message, "write the replica groups as lists of device numbers"));
    }
    let groups = named_devices(&data.kind, spec, mesh);
    if let Some(strided) = groups.as_strided()
        && strided.num_devices() == mesh.num_devices()
        && mesh.device_ids.is_none()
        && stays_within(mesh, &scope.free_axes(mesh), strided)
    {
        return Ok(groups);
    }
    let mut met = vec![0u32; mesh.num_devices()];
    for device in groups.ids() {
        match usize::try_from(device).ok().and_then(|d| met.get_mut(d)) {
            Some(count) => *count += 1,
            None => {
                let message =
                    format!("{name} names device {device}, but the mesh has {} devices", mesh.num_devices());
                return Err(refused(message, "replica groups must contain device numbers of the mesh"));
            }
        }
    }
    let all_meet = !matches!(data.kind, OpKind::CollectivePermute(_) | OpKind::CollectiveBroadcast(_));
    if let Some(device) = met.iter().position(|&count| count != 1).filter(|_| all_meet) {
        let message = format!("device {device} is in {} groups of {name}", met[device]);
        return Err(refused(message, "each device of the mesh must be in exactly one replica group"));
    }
    if !free_coordinates_are_alike(mesh, scope, &groups) {
        let free: Vec<&str> = scope.free_axes(mesh).iter().map(|&a| mesh.axis_name(a)).collect();
        let message = format!(
            "the replica groups of {name} are not equal at all coordinates along {}, which is not manual here",
            free.join(", ")
        );
        return Err(refused(
            message,
            "add the axis to manual_axes, or use the same groups at each of its coordinates",
        ));
    }
    Ok(groups)
}

/// Whether the interpretation of a collective's groups depends on `use_global_device_ids`. Other collectives have no such
/// flag.
pub fn takes_global_ids(kind: &OpKind) -> bool {
    matches!(kind, OpKind::AllReduce(_) | OpKind::AllGather { .. } | OpKind::ReduceScatter { .. })
}

/// Returns the groups of a collective as device IDs; a collective without groups has implicit ones. StableHLO interprets groups in one of
/// four modes (`cross_replica`, `cross_partition`, `cross_replica_and_partition`, `flattened_ids`), depending on the channel and on
/// `use_global_device_ids`.
pub(super) fn named_devices(kind: &OpKind, spec: &CollectiveSpec, mesh: &Mesh) -> ReplicaGroups {
    let devices = mesh.num_devices();
    let is_permute = matches!(kind, OpKind::CollectivePermute(_));
    let names_partitions =
        spec.crosses_partitions() && (spec.use_global_device_ids || !takes_global_ids(kind));
    // There is one replica, so ids above 0 must be partitions.
    if (names_partitions && !spec.groups.is_empty()) || spec.groups.ids().any(|id| id > 0) {
        if spec.groups.as_strided().is_some() {
            return spec.groups.clone();
        }
        // The padding (`-1`), which gives groups a common length, is removed.
        let real = |group: Group<'_>| group.iter().filter(|&id| id >= 0).collect::<Vec<i64>>();
        return spec.groups.iter().map(real).filter(|group| !group.is_empty()).collect();
    }
    if is_permute {
        // The only possible pair is replica 0 sending to itself. In each partition, the device then sends to itself.
        let pairs = if spec.groups.is_empty() { 0 } else { devices as i64 };
        return ReplicaGroups::pairs((0..pairs).map(|device| (device, device)));
    }
    // The only group is replica 0. With a channel, its devices in all partitions communicate; without one, each partition is a group of its
    // own.
    if spec.crosses_partitions() {
        ReplicaGroups::all(devices)
    } else {
        ReplicaGroups::matrix((0..devices as i64).collect(), 1)
    }
}

/// Whether the devices of each group have the same coordinates along the free axes, and the groups are the same for all coordinates along
/// the free axes. Otherwise, a value that is replicated along a free axis could differ between devices.
fn free_coordinates_are_alike(mesh: &Mesh, scope: &Scope, groups: &ReplicaGroups) -> bool {
    let free = scope.free_axes(mesh);
    if free.is_empty() {
        return true;
    }
    let positions = positions(mesh);
    let mut by_free = BTreeMap::<i64, BTreeSet<Vec<i64>>>::new();
    for group in groups.iter() {
        let place = |device: i64| {
            let position = positions[device as usize];
            (mesh.linear_coordinate(position, &free), mesh.linear_coordinate(position, &scope.axes))
        };
        let Some(first) = group.first() else { continue };
        let (at, _) = place(first);
        if group.iter().any(|device| place(device).0 != at) {
            return false;
        }
        by_free.entry(at).or_default().insert(group.iter().map(|device| place(device).1).collect());
    }
    let same = by_free.values().collect::<BTreeSet<_>>().len() <= 1;
    same && (by_free.is_empty() || by_free.len() as i64 == mesh.axes_size(&free))
}

/// Whether no two members of a group differ in their coordinates along a free axis. The index of a device in its group is then the same for
/// all coordinates along the free axes.
fn stays_within(mesh: &Mesh, free: &[AxisRef], groups: &StridedGroups) -> bool {
    let digit = |&axis: &AxisRef| -> Option<Digit> {
        let (stride, size) = (mesh.stride(axis), mesh.axis_size(axis));
        Some(Digit { stride: u32::try_from(stride).ok()?, size: u32::try_from(size).ok()? })
    };
    let is_apart = |axis: &AxisRef| {
        digit(axis).is_some_and(|axis| groups.members().iter().all(|member| member.is_apart_from(axis)))
    };
    free.iter().all(is_apart)
}

/// Returns the position in the mesh of each device.
pub(super) fn positions(mesh: &Mesh) -> Vec<usize> {
    let mut positions = vec![0; mesh.num_devices()];
    for position in 0..mesh.num_devices() {
        if let Some(slot) = usize::try_from(mesh.device_at(position)).ok().and_then(|d| positions.get_mut(d))
        {
            *slot = position;
        }
    }
    positions
}

#[cfg(test)]
mod tests {
    use shardc_ir::AxisRef;

    use super::*;

    #[test]
    fn groups_must_not_distinguish_free_coordinates() {
        let mesh = Mesh::new([("m", 2), ("f", 2)]);
        let scope = Scope { axes: [AxisRef::whole(0)].into_iter().collect() };
        let alike = |groups: &[Vec<i64>]| free_coordinates_are_alike(&mesh, &scope, &groups.iter().collect());
        assert!(alike(&[vec![0, 2], vec![1, 3]]));
        assert!(!alike(&[vec![0, 2], vec![3, 1]]), "another order at each free coordinate");
        assert!(!alike(&[vec![0, 1], vec![2, 3]]), "groups along the free axis");
        let strided = |groups: &[Vec<i64>]| {
            let groups: ReplicaGroups = groups.iter().collect();
            groups.as_strided().is_some_and(|groups| stays_within(&mesh, &scope.free_axes(&mesh), groups))
        };
        assert!(strided(&[vec![0, 2], vec![1, 3]]));
        assert!(!strided(&[vec![0, 1], vec![2, 3]]));
        assert!(!alike(&[vec![0, 2]]), "a pair at one free coordinate only");
        assert!(alike(&[]));
    }
}
