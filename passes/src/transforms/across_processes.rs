//! Collectives between processes, for a back end that has none.
//!
//! XLA's CPU client knows the devices of one process. A program for the devices of several is then run by a client in each, and
//! what crosses processes is a call of a function that the runtime gives to the client:
//!
//! * A collective whose groups all lie within processes, and are the same in each, stays XLA's, with the numbers that devices
//!   have within their process.
//! * Any other one becomes a call of `@shardc.collective`, whose attribute says in words what it does, and whose last operand is
//!   the number of the device among all of them.
//! * `replica_id` and `partition_id` count within a process: the number of its first device, which `@shardc.first_device` gives,
//!   is added. So the program is one text for all processes.
//!
//! The runtime tells collectives apart by their channel and by how often a device was there. So no two collectives that could run
//! in any order may be one in the text: calls are inlined first.

use std::fmt::Write as _;

use shardc_ir::reducer::reduction_of;
use shardc_ir::{
    Attr, AttrDict, BinaryOp, Build, CollectiveSpec, CustomCallSpec, DType, Diagnostic, Module, OpId, OpKind,
    ReductionKind, RegionId, ReplicaGroups, Rewriter, SpmdMode, TensorBuild, TypeId, ValueId,
};

use super::inline::inline_calls;

/// Of devices that run a program, which process has which: each has as many, in order.
#[derive(Clone, Copy)]
struct Processes {
    devices: usize,
    /// Devices of each process.
    per: usize,
    mode: SpmdMode,
}

/// Makes the program that each of `count` processes runs on its part of `devices` devices.
///
/// # Errors
/// The devices cannot be dealt out evenly (`SH0512`); a collective between processes that the runtime does not know (`SH0511`).
pub(super) fn split(
    module: &mut Module,
    devices: usize,
    count: usize,
    mode: SpmdMode,
) -> Result<(), Diagnostic> {
    if count == 0 || !devices.is_multiple_of(count) {
        let text = format!("{devices} devices cannot be dealt out evenly to {count} processes");
        return Err(Diagnostic::invalid("SH0512", text)
            .hint("use a mesh whose size is a multiple of the number of processes"));
    }
    inline_calls(module).map_err(|errors| {
        let text = "a program for several processes cannot have calls that are not inlined";
        errors.into_iter().next().unwrap_or_else(|| Diagnostic::unsupported("SH0511", text))
    })?;
    let processes = Processes { devices, per: devices / count, mode };
    let mut rw = Rewriter::new(module);
    let mut channel = 0;
    for body in rw.module.bodies().collect::<Vec<_>>() {
        region(&mut rw, body, processes, &mut channel)?;
    }
    Ok(())
}

fn region(
    rw: &mut Rewriter<'_>,
    of: RegionId,
    processes: Processes,
    channel: &mut u64,
) -> Result<(), Diagnostic> {
    rw.enter(of);
    while let Some(op) = rw.next_op() {
        if let Some(spec) = rw.module.ops[op].kind.collective().cloned() {
            collective(rw, op, &spec, processes, channel).map_err(|diagnostic| {
                let user_loc = rw.module.user_loc(op);
                Diagnostic { user_loc, ..diagnostic.at(rw.module.ops[op].span) }
            })?;
            continue;
        }
        let counts = match (&rw.module.ops[op].kind, processes.mode) {
            (OpKind::ReplicaId, SpmdMode::Replica) | (OpKind::PartitionId, SpmdMode::Partition) => true,
            (OpKind::Send(_) | OpKind::Recv(_), _) => {
                return Err(unknown("a transfer from device to device"));
            }
            _ => false,
        };
        if counts {
            let Some(&local) = rw.module.ops[op].results.first() else { continue };
            rw.keep();
            let global = plus_first(rw, local);
            rw.stand_for(local, global);
            continue;
        }
        for inner in rw.module.ops[op].regions.clone() {
            region(rw, inner, processes, channel)?;
        }
    }
    Ok(())
}

fn unknown(what: &str) -> Diagnostic {
    Diagnostic::unsupported("SH0511", format!("{what} cannot cross processes of the CPU client"))
        .hint("run the program in one process, or on devices whose plugin connects processes itself")
}

/// Keeps a collective within processes, or makes it a call.
fn collective(
    rw: &mut Rewriter<'_>,
    op: OpId,
    spec: &CollectiveSpec,
    processes: Processes,
    channel: &mut u64,
) -> Result<(), Diagnostic> {
    // Among the devices of the other kind, of which there is one: nothing is exchanged.
    if spec.crosses_partitions() != (processes.mode == SpmdMode::Partition) {
        return Ok(());
    }
    let groups = match spec.groups.is_empty() && !is_permute(&rw.module.ops[op].kind) {
        true => vec![(0..processes.devices as i64).collect()],
        false => spec.groups.to_lists(),
    };
    if let Some(local) = within(&groups, processes) {
        if let Some(spec) = rw.module.ops[op].kind.collective_mut() {
            spec.groups = local;
            spec.mesh_axes = None;
        }
        return Ok(());
    }
    let text = describe(rw.module, op, &groups, processes, *channel)?;
    *channel += 1;
    let device = device_number(rw, processes);
    let mut operands = rw.module.ops[op].operands.to_vec();
    operands.push(device);
    let results: Vec<TypeId> =
        rw.module.ops[op].results.iter().map(|&value| rw.module.values[value].ty).collect();
    let layouts = |rw: &Rewriter<'_>, values: &[ValueId]| {
        Attr::Array(values.iter().map(|&value| row_major(rw.module.rank(value))).collect())
    };
    let mut call = CustomCallSpec { target: "shardc.collective".into(), ..CustomCallSpec::default() };
    let mut config = AttrDict::new();
    config.set("collective", Attr::Str(text.into()));
    call.props.set("api_version", Attr::Int(4, "i32".into()));
    call.props.set("has_side_effect", Attr::Bool(true));
    call.props.set("backend_config", Attr::Dict(config));
    call.props.set("operand_layouts", layouts(rw, &operands));
    call.props.set("result_layouts", layouts(rw, &rw.module.ops[op].results));
    let made = rw.op(OpKind::CustomCall(Box::new(call)), &operands, &results, &[]);
    let made = rw.module.ops[made].results.to_vec();
    rw.replace(&made);
    Ok(())
}

fn is_permute(kind: &OpKind) -> bool {
    matches!(kind, OpKind::CollectivePermute(_))
}

/// The elements of an array of this rank in row-major order, as a call says that it takes them.
fn row_major(rank: usize) -> Attr {
    let order: Vec<String> = (0..rank).rev().map(|d| d.to_string()).collect();
    // Of one element as MLIR prints it, so that the text reads back as it was.
    let order = match rank {
        0 | 1 => order.concat(),
        _ => format!("[{}]", order.join(", ")),
    };
    Attr::Raw(format!("dense<{order}> : tensor<{rank}xindex>").into())
}

/// The number of the device among all of them.
fn device_number(rw: &mut Rewriter<'_>, processes: Processes) -> ValueId {
    let kind = match processes.mode {
        SpmdMode::Replica => OpKind::ReplicaId,
        SpmdMode::Partition => OpKind::PartitionId,
    };
    let local = rw.tensor(kind, &[], &[], DType::UI32);
    plus_first(rw, local)
}

/// The number of a device of a process plus that of the first.
fn plus_first(rw: &mut Rewriter<'_>, local: ValueId) -> ValueId {
    let mut call = CustomCallSpec { target: "shardc.first_device".into(), ..CustomCallSpec::default() };
    call.props.set("api_version", Attr::Int(4, "i32".into()));
    let first = rw.alike_to(OpKind::CustomCall(Box::new(call)), &[], local);
    rw.binary(BinaryOp::Add, first, local)
}

/// The groups as each process has them for its own devices; `None` where some of them cross, or processes differ.
fn within(groups: &[Vec<i64>], processes: Processes) -> Option<ReplicaGroups> {
    let per = processes.per as i64;
    let count = processes.devices / processes.per;
    let mut of: Vec<Vec<Vec<i64>>> = vec![Vec::new(); count];
    for group in groups {
        let process = group.iter().find(|id| **id >= 0)? / per;
        // A filler of ragged groups stays what it is.
        let local = |&id: &i64| match id {
            id if id < 0 => Some(id),
            id => (id / per == process).then_some(id % per),
        };
        let local: Vec<i64> = group.iter().map(local).collect::<Option<_>>()?;
        of.get_mut(usize::try_from(process).ok()?)?.push(local);
    }
    let (first, others) = of.split_first()?;
    let is_same = others.iter().all(|other| other == first);
    is_same.then(|| {
        let width = first.iter().map(Vec::len).max().unwrap_or(0);
        ReplicaGroups::matrix(first.concat(), width)
    })
}

/// What the runtime is told of a collective; `shardc_runtime::processes` reads it.
fn describe(
    module: &Module,
    op: OpId,
    groups: &[Vec<i64>],
    processes: Processes,
    channel: u64,
) -> Result<String, Diagnostic> {
    let data = &module.ops[op];
    let name = data.kind.name();
    let refused = || unknown(&format!("`{name}`"));
    let reduction = || {
        let region = data.regions.first().copied().ok_or_else(refused)?;
        let by = reduction_of(module, region, 1)
            .ok_or_else(|| unknown(&format!("`{name}` with a reduction that is not a single operation")))?;
        Ok::<_, Diagnostic>(word(by))
    };
    let (action, options) = match &data.kind {
        OpKind::AllReduce(_) => ("all_reduce", format!("by={}", reduction()?)),
        OpKind::AllGather { dim, .. } => ("all_gather", format!("dim={dim}")),
        OpKind::ReduceScatter { dim, .. } => ("reduce_scatter", format!("by={} dim={dim}", reduction()?)),
        OpKind::AllToAll { split_dim, concat_dim, .. } => {
            ("all_to_all", format!("split={split_dim} concat={concat_dim}"))
        }
        // The first device of a group sends to all of it, and those of no group get zeros: a permute of another name.
        OpKind::CollectiveBroadcast(spec) if !spec.has_dynamic_root => ("collective_permute", String::new()),
        OpKind::CollectivePermute(_) => ("collective_permute", String::new()),
        _ => return Err(refused()),
    };
    let mut types = Vec::with_capacity(data.operands.len());
    for &operand in &data.operands {
        let ty = module.tensor(operand).filter(|ty| ty.is_static() && ty.encoding.is_none());
        let dtype = ty.ok_or_else(refused)?.dtype;
        if dtype.bits() < 8 && dtype != DType::I1 {
            return Err(unknown(&format!("`{name}` of {dtype}, whose elements are less than a byte,")));
        }
        types.push(dtype.to_string());
    }
    let is_broadcast = matches!(data.kind, OpKind::CollectiveBroadcast(_));
    let mut lists: Vec<Vec<i64>> = Vec::with_capacity(groups.len());
    for group in groups {
        let members: Vec<i64> = group.iter().copied().filter(|&id| id >= 0).collect();
        match members.first() {
            Some(&root) if is_broadcast => lists.extend(members.iter().map(|&member| vec![root, member])),
            _ => lists.push(members),
        }
    }
    let mut text = format!("{action} channel={channel} per={} ", processes.per);
    if !options.is_empty() {
        let _ = write!(text, "{options} ");
    }
    let list = |ids: &Vec<i64>| ids.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let lists: Vec<String> = lists.iter().map(list).collect();
    let _ = write!(text, "types={} groups={}", types.join(","), lists.join(";"));
    Ok(text)
}

/// The word of a reduction for the runtime.
fn word(by: ReductionKind) -> &'static str {
    match by {
        ReductionKind::Add => "add",
        ReductionKind::Mul => "mul",
        ReductionKind::Max => "max",
        ReductionKind::Min => "min",
        ReductionKind::And => "and",
        ReductionKind::Or => "or",
        ReductionKind::Xor => "xor",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUR_IN_TWO: Processes = Processes { devices: 4, per: 2, mode: SpmdMode::Replica };

    #[test]
    fn groups_within_processes_stay() {
        let lists = |groups: &[&[i64]]| groups.iter().map(|group| group.to_vec()).collect::<Vec<_>>();
        let local = within(&lists(&[&[0, 1], &[2, 3]]), FOUR_IN_TWO).unwrap();
        assert_eq!(local.to_lists(), [[0, 1]]);
        let local = within(&lists(&[&[1], &[0], &[3], &[2]]), FOUR_IN_TWO).unwrap();
        assert_eq!(local.to_lists(), [[1], [0]]);
        // One process has them in another order, or they cross.
        assert!(within(&lists(&[&[0, 1], &[3, 2]]), FOUR_IN_TWO).is_none());
        assert!(within(&lists(&[&[0, 2], &[1, 3]]), FOUR_IN_TWO).is_none());
        assert!(within(&lists(&[&[0, 1]]), FOUR_IN_TWO).is_none());
    }
}
