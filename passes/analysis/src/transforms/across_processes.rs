//! Cross-process collectives: replaces collectives between processes by calls of the runtime, for clients that do not support them.
//!
//! XLA's CPU plugin cannot set up cross-process collectives through the PJRT C API, so each of its clients has only the devices of its own
//! process. If a mesh spans several processes, each process runs one client, and the runtime registers the functions that this pass calls.
//!
//! * A collective stays if each of its groups is within one process, and all processes have the same groups. Its groups then use local
//!   device IDs.
//! * Any other collective becomes a call of `@shardc.collective`. An attribute describes the collective as text; the last operand is the
//!   global device ID.
//! * `replica_id` and `partition_id` are local to a process. Their users get the local ID plus `@shardc.first_device`, the global ID of the
//!   first device of the process. Therefore all processes run the same program text.
//!
//! The runtime identifies a collective by its channel and by the number of times that a device has executed it. Two collectives that may
//! run in any order must therefore have different channels, so calls are inlined first.
//!
//! ```mlir
//! %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2], [1, 3]]> ...}>
//! ```
//! becomes, in two processes with two devices each,
//! ```mlir
//! %1 = stablehlo.custom_call @shardc.collective(%0, %device) {backend_config =
//!   {collective = "all_gather channel=0 per=2 dim=0 types=f32 groups=0,2;1,3"}, has_side_effect = true, ...}
//! ```

use std::fmt::Write as _;

use shardc_ir::reducer::reduction_of;
use shardc_ir::{
    Attr, AttrDict, BinaryOp, Build, CollectiveSpec, CustomCallSpec, DType, Diagnostic, Module, OpId, OpKind,
    ReductionKind, RegionId, ReplicaGroups, Rewriter, SpmdMode, TensorBuild, TypeId, ValueId,
};

use super::inline::inline_calls;

/// The assignment of devices to processes: each process has the same number of consecutive devices.
#[derive(Clone, Copy)]
struct Processes {
    devices: usize,
    /// The number of devices of each process.
    per: usize,
    mode: SpmdMode,
}

/// Converts the module to the program that each of `count` processes runs on its share of `devices` devices.
///
/// # Errors
/// Returns `SH0512` if the number of devices is not a multiple of the number of processes, and `SH0511` if the runtime does not
/// support a collective between processes.
pub(super) fn split(
    module: &mut Module,
    devices: usize,
    count: usize,
    mode: SpmdMode,
) -> Result<(), Diagnostic> {
    if count == 0 || !devices.is_multiple_of(count) {
        let text = format!("{devices} devices cannot be divided evenly among {count} processes");
        return Err(Diagnostic::invalid("SH0512", text)
            .hint("use a mesh whose size is a multiple of the number of processes"));
    }
    inline_calls(module).map_err(|errors| {
        let text = "in a program for several processes, every call must be inlined";
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
    Diagnostic::unsupported(
        "SH0511",
        format!("{what} is not supported across processes with XLA's CPU client"),
    )
    .hint("run the program in one process, or with a plugin that supports collectives between processes")
}

/// Converts the groups of a collective that stays within processes to local device IDs. Replaces any other collective by a call of the
/// runtime.
fn collective(
    rw: &mut Rewriter<'_>,
    op: OpId,
    spec: &CollectiveSpec,
    processes: Processes,
    channel: &mut u64,
) -> Result<(), Diagnostic> {
    // The collective is over replicas in partition mode, or over partitions in replica mode. There is only one such replica or partition,
    // so nothing is exchanged.
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

/// Returns the row-major layout of an array of this rank, as an element of `operand_layouts` or `result_layouts`.
fn row_major(rank: usize) -> Attr {
    let order: Vec<String> = (0..rank).rev().map(|d| d.to_string()).collect();
    // The layout is written as MLIR prints a tensor with one element, so that the text round-trips.
    let order = match rank {
        0 | 1 => order.concat(),
        _ => format!("[{}]", order.join(", ")),
    };
    Attr::Raw(format!("dense<{order}> : tensor<{rank}xindex>").into())
}

/// Emits the global ID of the device that executes the program.
fn device_number(rw: &mut Rewriter<'_>, processes: Processes) -> ValueId {
    let kind = match processes.mode {
        SpmdMode::Replica => OpKind::ReplicaId,
        SpmdMode::Partition => OpKind::PartitionId,
    };
    let local = rw.tensor(kind, &[], &[], DType::UI32);
    plus_first(rw, local)
}

/// Adds the global ID of the first device of the process to a local device ID.
fn plus_first(rw: &mut Rewriter<'_>, local: ValueId) -> ValueId {
    let mut call = CustomCallSpec { target: "shardc.first_device".into(), ..CustomCallSpec::default() };
    call.props.set("api_version", Attr::Int(4, "i32".into()));
    let first = rw.alike_to(OpKind::CustomCall(Box::new(call)), &[], local);
    rw.binary(BinaryOp::Add, first, local)
}

/// Returns the groups in local device IDs; `None` if a group crosses processes, or if processes have different groups.
fn within(groups: &[Vec<i64>], processes: Processes) -> Option<ReplicaGroups> {
    let per = processes.per as i64;
    let count = processes.devices / processes.per;
    let mut of: Vec<Vec<Vec<i64>>> = vec![Vec::new(); count];
    for group in groups {
        let process = group.iter().find(|id| **id >= 0)? / per;
        // -1 pads the short rows of a list of groups of different sizes. It is not a device ID, so it is not converted.
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

/// Returns the text that describes a collective to the runtime; `shardc_runtime::processes` parses it.
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
        // The first device of each group sends to the group, and devices in no group get zeros: this is a collective_permute.
        OpKind::CollectiveBroadcast(spec) if !spec.has_dynamic_root => ("collective_permute", String::new()),
        OpKind::CollectivePermute(_) => ("collective_permute", String::new()),
        _ => return Err(refused()),
    };
    let mut types = Vec::with_capacity(data.operands.len());
    for &operand in &data.operands {
        let ty = module.tensor(operand).filter(|ty| ty.is_static() && ty.encoding.is_none());
        let dtype = ty.ok_or_else(refused)?.dtype;
        if dtype.bits() < 8 && dtype != DType::I1 {
            return Err(unknown(&format!("`{name}` of {dtype} (elements of less than a byte)")));
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

/// Returns the name of a reduction in the text that [`describe`] returns.
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
        // No common local groups: one process has another device order, a group crosses processes, or one process has no group.
        assert!(within(&lists(&[&[0, 1], &[3, 2]]), FOUR_IN_TWO).is_none());
        assert!(within(&lists(&[&[0, 2], &[1, 3]]), FOUR_IN_TWO).is_none());
        assert!(within(&lists(&[&[0, 1]]), FOUR_IN_TWO).is_none());
    }
}
