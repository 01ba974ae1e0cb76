//! Verifies invariants I14 (replica groups) and I15 (permutes).

use super::Report;
use crate::{CollectiveSpec, Module, OpId, OpKind};

/// Returns the number of devices to which the ids in a collective's groups refer, if the module specifies it (`mhlo.num_replicas`,
/// `mhlo.num_partitions`).
///
/// The rule is from the specification, section "Collective ops": global ids refer to the devices of all replicas and partitions. Otherwise,
/// with a channel, ids of all-to-all, permute and broadcast refer to partitions; ids of other collectives refer to replicas.
fn num_devices(module: &Module, kind: &OpKind, spec: &CollectiveSpec) -> Option<i64> {
    let (replicas, partitions) = (module.num_replicas()?, module.num_partitions()?);
    if spec.use_global_device_ids {
        return replicas.checked_mul(partitions);
    }
    let among_partitions = matches!(
        kind,
        OpKind::AllToAll { .. } | OpKind::CollectivePermute(_) | OpKind::CollectiveBroadcast(_)
    );
    Some(if among_partitions && spec.crosses_partitions() { partitions } else { replicas })
}

pub(super) fn check(report: &mut Report<'_>, id: OpId) {
    if let Some((code, (message, hint))) = fault(report.module, id) {
        report.hinted(code, id, message, hint);
    }
}

/// Describes the error in the replica groups or device pairs of a collective: the code of the violated invariant, the message and a hint.
/// `None` if there is no error, and for operations without groups.
pub(super) fn fault(module: &Module, id: OpId) -> Option<(&'static str, Fault)> {
    let kind = &module.ops[id].kind;
    let spec = kind.collective()?;
    let wrong = |message: &str, hint| Some(("SH0214", (format!("{} {message}", kind.name()), Some(hint))));
    if spec.use_global_device_ids && !spec.crosses_partitions() {
        return wrong(
            "has use_global_device_ids but no channel",
            "add a channel_handle with a positive handle",
        );
    }
    if spec.use_global_device_ids && matches!(kind, OpKind::AllToAll { .. } | OpKind::CollectivePermute(_)) {
        return wrong(
            "cannot have use_global_device_ids",
            "with a channel, the ids of this operation are partition ids",
        );
    }
    if let Some(mesh) = spec.mesh_axes.as_deref().filter(|_| spec.groups.is_empty()).and_then(mesh_of) {
        let known = module.mesh_names.contains_key(mesh)
            || module.func_names.contains_key(mesh)
            || module.kept_symbol(mesh).is_some();
        if !known {
            let message = format!("has groups on the mesh @{mesh}, which is not defined");
            return wrong(&message, "define it: sdy.mesh @name = <[\"x\"=2]>");
        }
    }
    let devices = num_devices(module, kind, spec);
    let (code, fault) = match kind {
        OpKind::CollectivePermute(_) => ("SH0215", permute(spec, devices)),
        _ => ("SH0214", groups(kind, spec, devices)),
    };
    let (message, hint) = fault.err()?;
    Some((code, (format!("{} {message}", kind.name()), hint)))
}

/// Returns the name of the mesh in replica groups that are written as mesh axes.
fn mesh_of(mesh_axes: &str) -> Option<&str> {
    let name = mesh_axes.split_once("mesh = @")?.1;
    let end = name.find([',', ' ', '>'])?;
    Some(name[..end].trim_matches('"'))
}

/// An error message and a hint.
pub(super) type Fault = (String, Option<&'static str>);

const OUT_OF_RANGE: Option<&str> =
    Some("ids start at 0; with use_global_device_ids, there are num_replicas * num_partitions ids");

/// Returns an id that is repeated in the list.
fn first_repeat(mut ids: Vec<i64>) -> Option<i64> {
    // Usually there is no repeated id, and ids are small: a flag for each id is faster than sorting.
    let mut met = vec![false; 2 * ids.len()];
    let is_new = |&id: &i64| {
        let slot = usize::try_from(id).ok().and_then(|id| met.get_mut(id));
        slot.is_some_and(|met| !std::mem::replace(met, true))
    };
    if ids.iter().all(is_new) {
        return None;
    }
    ids.sort_unstable();
    ids.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

fn in_range(ids: impl Iterator<Item = i64>, devices: Option<i64>) -> Result<(), Fault> {
    for id in ids {
        if id < 0 || devices.is_some_and(|n| id >= n) {
            let of = devices.map_or(String::new(), |n| format!(", expected an id in 0..{n}"));
            return Err((format!("has device id {id}{of}"), OUT_OF_RANGE));
        }
    }
    Ok(())
}

fn permute(spec: &CollectiveSpec, devices: Option<i64>) -> Result<(), Fault> {
    if let Some(pair) = spec.groups.iter().find(|pair| pair.len() != 2) {
        return Err((format!("needs pairs of source and target, got {pair:?}"), None));
    }
    in_range(spec.groups.ids(), devices)?;
    for (at, what) in [(0, "source"), (1, "target")] {
        let ids = spec.groups.iter().filter_map(|pair| pair.get(at)).collect();
        if let Some(id) = first_repeat(ids) {
            let hint = Some("to send from one device to many, use collective_broadcast or all_gather");
            return Err((format!("has device {id} as {what} twice"), hint));
        }
    }
    Ok(())
}

fn groups(kind: &OpKind, spec: &CollectiveSpec, devices: Option<i64>) -> Result<(), Fault> {
    let Some(first) = spec.groups.first() else { return Ok(()) };
    let broadcast = matches!(kind, OpKind::CollectiveBroadcast(_) | OpKind::CollectiveReduce(_));
    if let Some(strided) = spec.groups.as_strided() {
        // Strided groups contain each of the devices `0..count` exactly once.
        let count = strided.num_devices() as i64;
        let n = devices.unwrap_or(count);
        if count > n {
            return in_range(spec.groups.ids(), devices);
        }
        return if count == n || broadcast { Ok(()) } else { Err(not_all(count, n)) };
    }
    if let Some(other) = spec.groups.iter().find(|g| g.len() != first.len()) {
        let hint = Some("pad shorter groups with -1");
        return Err((format!("has groups of different sizes, {} and {}", first.len(), other.len()), hint));
    }
    let ids: Vec<i64> = spec.groups.ids().filter(|&id| id != -1).collect();
    let filled = ids.len() == first.len() * spec.groups.len();
    let keeps_shapes = matches!(
        kind,
        OpKind::AllReduce(_)
            | OpKind::CollectiveBroadcast(_)
            | OpKind::CollectiveReduce(_)
            | OpKind::CrossReplicaSum(_)
    );
    if !filled && !keeps_shapes {
        return Err((
            "cannot have groups padded with -1, because the group size determines the result shape"
                .to_owned(),
            None,
        ));
    }
    let count = ids.len();
    // If the number of devices is unknown, it is assumed to be the number of listed devices.
    let devices = devices.or((!broadcast).then_some(count as i64));
    in_range(ids.iter().copied(), devices)?;
    if let Some(id) = first_repeat(ids) {
        return Err((format!("has device {id} in its groups twice"), None));
    }
    if let Some(n) = devices
        && count as i64 != n
        && !broadcast
    {
        return Err(not_all(count as i64, n));
    }
    Ok(())
}

fn not_all(count: i64, devices: i64) -> Fault {
    let hint = Some("list every device, in a group of one if it has no partner");
    (format!("has only {count} of {devices} devices in its groups"), hint)
}
