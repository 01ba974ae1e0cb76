//! The comparison with the single-device program detects typical faults of a partitioner.
//!
//! Each [`Breakage`] makes one change in a correct partitioned program, and requires that the program is rejected or produces wrong values.
//! If a breakage is not detected, the equality tests are weaker than they seem.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use shardc::{CleanOptions, Compiler, Output, SpmdMode};
use shardc_ir::{
    Attr, BinaryOp, Build, Channel, CollectiveSpec, DType, Dense, Module, OpId, OpKind,
    OpKind::{
        AllGather, AllReduce, AllToAll, Binary, CollectivePermute, DynamicSlice, Gather, ReduceScatter,
        Select,
    },
    ReplicaGroups, Rewriter, ValueId,
};
use shardc_passes::collectives::verify::verify_collectives;
use shardc_runtime::plugin;
use shardc_tests::{
    devices::{Reference, Verdict, client, compare},
    root,
};

/// How a breakage must be detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noticed {
    /// An output has wrong values.
    Wrong,
    /// An error whose text contains this string.
    Refused(&'static str),
}
use Noticed::{Refused, Wrong};

/// One fault in a partitioned program.
struct Breakage {
    name: &'static str,
    /// A file of `programs/`, without the extension.
    program: &'static str,
    /// Changes the module; if it returns `None`, nothing matches, and the test fails.
    edit: fn(&mut Module) -> Option<()>,
    noticed: Noticed,
}

const BREAKAGES: &[Breakage] = &[
    // Faults in replica groups.
    Breakage {
        name: "all_reduce sums over other devices",
        program: "small/weight_gradient",
        edit: |m| {
            let groups = &mut collective(m, |k| matches!(k, AllReduce(_)))?.groups;
            // Devices 0 and 1 hold the same rows; devices 0 and 3 hold different rows.
            exchange(groups, (0, 0), (1, 1))
        },
        noticed: Wrong,
    },
    Breakage {
        name: "all_reduce over the other axis",
        program: "small/megatron_mlp",
        edit: |m| {
            collective(m, |k| matches!(k, AllReduce(_)))?.groups =
                vec![vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]].into();
            Some(())
        },
        noticed: Wrong,
    },
    Breakage {
        name: "all_reduce of the mlp sums over other devices",
        program: "mlp_dp_tp_train",
        edit: |m| {
            let groups = &mut collective(m, |k| matches!(k, AllReduce(_)))?.groups;
            exchange(groups, (0, 0), (1, 1))
        },
        noticed: Wrong,
    },
    Breakage {
        name: "all_gather in reverse order",
        program: "small/fsdp_layer",
        edit: |m| reverse(m, |k| matches!(k, AllGather { .. })),
        noticed: Wrong,
    },
    Breakage {
        name: "all_gather with two devices swapped",
        program: "small/sequence_parallel",
        edit: |m| {
            let groups = &mut collective(m, |k| matches!(k, AllGather { .. }))?.groups;
            exchange(groups, (0, 1), (0, 2))
        },
        noticed: Wrong,
    },
    Breakage {
        name: "reduce_scatter in reverse order",
        program: "small/fsdp_layer",
        edit: |m| reverse(m, |k| matches!(k, ReduceScatter { .. })),
        noticed: Wrong,
    },
    Breakage {
        name: "reduce_scatter in reverse order in a loop",
        program: "small/loop",
        edit: |m| reverse(m, |k| matches!(k, ReduceScatter { .. })),
        noticed: Wrong,
    },
    Breakage {
        name: "all_to_all in reverse order",
        program: "small/all_to_all",
        edit: |m| reverse(m, |k| matches!(k, AllToAll { .. })),
        noticed: Wrong,
    },
    Breakage {
        name: "collective_permute with two targets swapped",
        program: "small/permute",
        edit: |m| {
            let pairs = &mut collective(m, |k| matches!(k, CollectivePermute(_)))?.groups;
            exchange(pairs, (1, 1), (2, 1))
        },
        noticed: Wrong,
    },
    Breakage {
        name: "collective_permute of a manual computation sends to another device",
        program: "small/manual_control_flow",
        edit: |m| {
            let pairs = &mut collective(m, |k| matches!(k, CollectivePermute(_)))?.groups;
            exchange(pairs, (1, 1), (4, 1))
        },
        noticed: Wrong,
    },
    Breakage {
        name: "collective_permute of free axes takes from another manual coordinate",
        program: "small/manual_permute_free_axes",
        edit: |m| {
            let pairs = &mut collective(m, |k| matches!(k, CollectivePermute(_)))?.groups;
            exchange(pairs, (0, 0), (4, 0))
        },
        noticed: Wrong,
    },
    Breakage {
        name: "all_reduce of a manual computation over the other axis",
        program: "small/manual_permute_free_axes",
        edit: |m| {
            collective(m, |k| matches!(k, AllReduce(_)))?.groups =
                vec![vec![7, 1], vec![5, 3], vec![0, 2], vec![4, 6]].into();
            Some(())
        },
        noticed: Wrong,
    },
    Breakage {
        name: "collective_permute with a pair missing",
        program: "small/permute",
        edit: |m| {
            collective(m, |k| matches!(k, CollectivePermute(_)))?.groups.edit(|all| all.pop().map(drop))
        },
        noticed: Wrong,
    },
    // Faults in windows.
    Breakage {
        name: "halo from the device itself instead of the neighbour",
        program: "small/convolution_borders",
        edit: |m| {
            let op = find(m, |k| matches!(k, CollectivePermute(_)))?;
            skip(m, op, 0)
        },
        noticed: Wrong,
    },
    Breakage {
        name: "halo of a neighbour missing",
        program: "small/scatter_borders",
        edit: |m| {
            collective(m, |k| matches!(k, CollectivePermute(_)))?.groups.edit(|all| all.pop().map(drop))
        },
        noticed: Wrong,
    },
    Breakage {
        name: "window without padding at the ends",
        program: "small/pad_borders",
        edit: |m| {
            let op = find(m, |k| matches!(k, Select))?;
            skip(m, op, 1)
        },
        noticed: Wrong,
    },
    // Faults in the attributes and regions of collectives.
    Breakage {
        name: "all_reduce missing",
        program: "small/weight_gradient",
        edit: |m| {
            let op = find(m, |k| matches!(k, AllReduce(_)))?;
            skip(m, op, 0)
        },
        noticed: Refused("devices disagree"),
    },
    Breakage {
        name: "all_reduce with maximum",
        program: "small/weight_gradient",
        edit: |m| reducer(m, |k| matches!(k, AllReduce(_)), BinaryOp::Maximum),
        noticed: Wrong,
    },
    Breakage {
        name: "all_reduce of a gradient with maximum",
        program: "small/embedding_gradient",
        edit: |m| reducer(m, |k| matches!(k, AllReduce(_)), BinaryOp::Maximum),
        noticed: Wrong,
    },
    Breakage {
        name: "reduce_scatter with multiply",
        program: "small/sequence_parallel",
        edit: |m| reducer(m, |k| matches!(k, ReduceScatter { .. }), BinaryOp::Multiply),
        noticed: Wrong,
    },
    Breakage {
        name: "reduce_scatter along another dimension",
        program: "small/fsdp_layer",
        edit: |m| match kind(m, |k| matches!(k, ReduceScatter { .. }))? {
            ReduceScatter { dim, .. } => {
                *dim = 1;
                Some(())
            }
            _ => None,
        },
        noticed: Refused("SH0207"),
    },
    Breakage {
        name: "all_gather along another dimension",
        program: "small/fsdp_layer",
        edit: |m| match kind(m, |k| matches!(k, AllGather { .. }))? {
            AllGather { dim, .. } => {
                *dim = 1;
                Some(())
            }
            _ => None,
        },
        noticed: Refused("SH0207"),
    },
    Breakage {
        name: "all_to_all with swapped dimensions",
        program: "small/all_to_all",
        edit: |m| match kind(m, |k| matches!(k, AllToAll { .. }))? {
            AllToAll { split_dim, concat_dim, .. } => {
                std::mem::swap(split_dim, concat_dim);
                Some(())
            }
            _ => None,
        },
        noticed: Refused("stablehlo.all_to_all"),
    },
    // Faults in coordinates and offsets.
    Breakage {
        name: "size of an axis off by one",
        program: "small/all_slice",
        edit: |m| off_by_one(m, |k| matches!(k, Binary(BinaryOp::Remainder))),
        noticed: Wrong,
    },
    Breakage {
        name: "stride of an axis off by one",
        program: "small/all_slice",
        edit: |m| off_by_one(m, |k| matches!(k, Binary(BinaryOp::Divide))),
        noticed: Wrong,
    },
    Breakage {
        name: "size of a block off by one",
        program: "small/positions",
        edit: |m| off_by_one(m, |k| matches!(k, Binary(BinaryOp::Multiply))),
        noticed: Wrong,
    },
    Breakage {
        name: "coordinate of the other axis",
        program: "small/positions",
        edit: |m| {
            // Dividing the device id by the axis size yields the coordinate along the major axis instead of the minor axis.
            *kind(m, |k| matches!(k, Binary(BinaryOp::Remainder)))? = Binary(BinaryOp::Divide);
            Some(())
        },
        noticed: Wrong,
    },
    Breakage {
        name: "start indices of a block swapped",
        program: "small/all_slice",
        edit: |m| {
            let op = find(m, |k| matches!(k, DynamicSlice { .. }))?;
            m.ops[op].operands.swap(1, 2);
            Some(())
        },
        noticed: Wrong,
    },
    // Faults in masks.
    Breakage {
        name: "padding included",
        program: "small/uneven_sum",
        edit: |m| {
            let op = find(m, |k| matches!(k, Select))?;
            skip(m, op, 1)
        },
        noticed: Wrong,
    },
    Breakage {
        name: "one element of padding included",
        program: "small/uneven_sum",
        edit: |m| off_by_one(m, |k| matches!(k, OpKind::Compare(..))),
        noticed: Wrong,
    },
    Breakage {
        name: "mask of a lookup inverted",
        program: "small/embedding",
        edit: |m| {
            let op = find(m, |k| matches!(k, Select))?;
            m.ops[op].operands.swap(1, 2);
            Some(())
        },
        noticed: Wrong,
    },
    Breakage {
        name: "mask of a lookup missing",
        program: "small/embedding",
        edit: |m| {
            let op = find(m, |k| matches!(k, Select))?;
            skip(m, op, 1)
        },
        noticed: Wrong,
    },
    Breakage {
        name: "offset of a lookup missing",
        program: "small/embedding",
        edit: |m| {
            let lookup = find(m, |k| matches!(k, Gather(_)))?;
            let local = m.def_op(m.ops[lookup].operands[1])?;
            matches!(m.ops[local].kind, Binary(BinaryOp::Subtract)).then_some(())?;
            skip(m, local, 0)
        },
        noticed: Wrong,
    },
    Breakage {
        name: "initial value added on every device",
        program: "small/embedding_gradient",
        edit: |m| {
            let op = find(m, |k| matches!(k, Select))?;
            skip(m, op, 1)
        },
        noticed: Wrong,
    },
    // Faults that the verifier rejects before execution.
    Breakage {
        name: "group without one device",
        program: "small/fsdp_layer",
        edit: |m| {
            collective(m, |k| matches!(k, AllGather { .. }))?
                .groups
                .edit(|all| all.first_mut()?.pop().map(drop))
        },
        noticed: Refused("SH0214"),
    },
    Breakage {
        name: "group missing",
        program: "small/weight_gradient",
        edit: |m| collective(m, |k| matches!(k, AllReduce(_)))?.groups.edit(|all| all.pop().map(drop)),
        noticed: Refused("has only 4 of 8 devices in its groups"),
    },
    Breakage {
        name: "device in two groups",
        program: "small/weight_gradient",
        edit: |m| {
            collective(m, |k| matches!(k, AllReduce(_)))?.groups.edit(|all| all[0][0] = 1);
            Some(())
        },
        noticed: Refused("has device 1 in its groups twice"),
    },
    Breakage {
        name: "groups of different sizes",
        program: "small/weight_gradient",
        edit: |m| {
            let groups = &mut collective(m, |k| matches!(k, AllReduce(_)))?.groups;
            groups.edit(|groups| {
                let moved = groups[0].pop()?;
                groups[1].push(moved);
                Some(())
            })
        },
        noticed: Refused("has groups of different sizes, 3 and 5"),
    },
    Breakage {
        name: "device id out of range",
        program: "small/weight_gradient",
        edit: |m| {
            collective(m, |k| matches!(k, AllReduce(_)))?.groups.edit(|all| all[0][0] = 8);
            Some(())
        },
        noticed: Refused("has device id 8, expected an id in 0..8"),
    },
    Breakage {
        name: "two sources for one target",
        program: "small/permute",
        edit: |m| {
            let pairs = &mut collective(m, |k| matches!(k, CollectivePermute(_)))?.groups;
            pairs.edit(|pairs| pairs[0][1] = pairs[1][1]);
            Some(())
        },
        noticed: Refused("as target twice"),
    },
    Breakage {
        name: "collective with device ids of the other mode",
        program: "small/weight_gradient",
        edit: |m| {
            let spec = collective(m, |k| matches!(k, AllReduce(_)))?;
            spec.use_global_device_ids = !spec.use_global_device_ids;
            spec.channel = match spec.channel {
                Some(_) => None,
                None => Some(Channel::between_devices(1)),
            };
            Some(())
        },
        noticed: Refused("stablehlo.all_reduce"),
    },
    Breakage {
        name: "loop that some devices exit earlier",
        program: "small/loop",
        edit: |m| {
            let id = match m.attrs.get("mhlo.num_partitions") {
                Some(Attr::Int(1, _)) => OpKind::ReplicaId,
                _ => OpKind::PartitionId,
            };
            let loops = find(m, |k| matches!(k, OpKind::While))?;
            let cond = *m.ops[loops].regions.first()?;
            let compare =
                m.walk(cond).into_iter().find(|&op| matches!(m.ops[op].kind, OpKind::Compare(..)))?;
            // The condition compares the counter with the device id instead of the loop's limit.
            let limit = m.ops[compare].operands[1];
            let (ui32, own) = (m.types.tensor(&[], DType::UI32), m.values[limit].ty);
            let mut rw = Rewriter::new(m);
            rw.enter(cond);
            let number = rw.op1(id, &[], ui32);
            let number = rw.op1(OpKind::Convert, &[number], own);
            drop(rw);
            m.ops[compare].operands[1] = number;
            Some(())
        },
        noticed: Refused("SH0462"),
    },
];

fn main() -> ExitCode {
    // Environment variables must be set before any thread starts and any plugin is loaded.
    plugin::quiet_plugin_logs();
    let arguments = Arguments::from_args();
    let mut trials: Vec<Trial> = BREAKAGES.iter().map(|b| Trial::test(b.name, move || run(b))).collect();
    trials.push(Trial::test("each all_reduce of the mlp in turn", each_all_reduce));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// In a real training step, wrong groups of an all-reduce are detected, and not mistaken for rounding. The only exception is the all-reduce
/// of the softmax denominator: logits of random inputs are so far apart that each device's partial sum is zero or one.
fn each_all_reduce() -> Result<(), Failed> {
    let source = std::fs::read(root().join("programs/mlp_dp_tp_train.mlir"))?;
    let original = Compiler::read(&source).map_err(|e| e.to_string())?;
    // Collectives are not combined, so that each one can be broken separately.
    let apart = CleanOptions { combine_bytes: 0, ..CleanOptions::default() };
    let output = Compiler::new().clean(apart).partition(&source).map_err(|e| e.to_string())?;
    let Some(client) = client()? else { return Ok(()) };
    let reference = Reference::new(&client, original, &output)?;
    let body = output.module.bodies().next().ok_or("no function")?;
    let is_all_reduce = |op: &OpId| matches!(output.module.ops[*op].kind, AllReduce(_));
    let all: Vec<OpId> = output.module.walk(body).into_iter().filter(is_all_reduce).collect();
    let mut unnoticed = Vec::new();
    for (n, &op) in all.iter().enumerate() {
        let mut broken = output.clone();
        if let AllReduce(spec) = &mut broken.module.ops[op].kind {
            exchange(&mut spec.groups, (0, 0), (1, 1)).ok_or("one group only")?;
        }
        if compare(&client, &reference, &broken) == Verdict::Equal {
            unnoticed.push(format!(
                "number {n}: {}",
                output.module.types.display(output.module.values[output.module.ops[op].results[0]].ty)
            ));
        }
    }
    if all.len() < 10 || unnoticed.len() > 1 {
        return Err(format!("of {} all_reduces, unnoticed: {unnoticed:?}", all.len()).into());
    }
    Ok(())
}

/// In both modes, the correct program must produce the results of one device, and the breakage must be detected as its `noticed` specifies.
fn run(breakage: &Breakage) -> Result<(), Failed> {
    let path = root().join("programs").join(breakage.program).with_extension("mlir");
    let source = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let original = Compiler::read(&source).map_err(|e| e.to_string())?;
    for mode in [SpmdMode::Replica, SpmdMode::Partition] {
        let output = Compiler::new().spmd_mode(mode).partition(&source).map_err(|e| e.to_string())?;
        let mut broken = output.clone();
        (breakage.edit)(&mut broken.module).ok_or("the program has nothing of the kind that is broken")?;
        if broken.text() == output.text() {
            return Err("the edit changed nothing".into());
        }
        check(breakage, &original, &output, &broken).map_err(|e| format!("{mode}: {e}"))?;
    }
    Ok(())
}

fn check(breakage: &Breakage, original: &Module, output: &Output, broken: &Output) -> Result<(), String> {
    // The verifiers need no device.
    let verified = |output: &Output| {
        shardc_ir::verify(&output.module)?;
        let entry = output.module.entry().ok_or_else(|| vec![output.module.no_entry()])?;
        verify_collectives(&output.module, entry, Some(&output.interface))
    };
    if let (Refused(text), Err(errors)) = (breakage.noticed, verified(broken)) {
        verified(output).map_err(|_| "the verifier refuses the unbroken program")?;
        return match errors.iter().any(|e| e.to_string().contains(text)) {
            true => Ok(()),
            false => Err(format!("refused, but not for \"{text}\": {errors:?}")),
        };
    }
    let Some(client) = client()? else { return Ok(()) };
    let reference = Reference::new(&client, original.clone(), output)?;
    match compare(&client, &reference, output) {
        Verdict::Equal => {}
        other => return Err(format!("the unbroken program is not right: {other:?}")),
    }
    match (breakage.noticed, compare(&client, &reference, broken)) {
        (Wrong, Verdict::Wrong(_)) => Ok(()),
        // Devices whose replicas of a shard differ are detected before values are compared with one device.
        (Wrong, Verdict::Refused(why)) if why.contains("devices disagree") => Ok(()),
        (Refused(text), Verdict::Refused(why)) if why.contains(text) => Ok(()),
        (expected, got) => Err(format!("expected {expected:?}, got {got:?}")),
    }
}

/// The first operation that satisfies `wanted`.
fn find(module: &Module, wanted: fn(&OpKind) -> bool) -> Option<OpId> {
    module.bodies().flat_map(|body| module.walk(body)).find(|&op| wanted(&module.ops[op].kind))
}

fn kind(module: &mut Module, wanted: fn(&OpKind) -> bool) -> Option<&mut OpKind> {
    let op = find(module, wanted)?;
    Some(&mut module.ops[op].kind)
}

/// The specification of the first collective that satisfies `wanted`.
fn collective(module: &mut Module, wanted: fn(&OpKind) -> bool) -> Option<&mut CollectiveSpec> {
    match kind(module, wanted)? {
        AllReduce(spec)
        | AllGather { spec, .. }
        | ReduceScatter { spec, .. }
        | AllToAll { spec, .. }
        | CollectivePermute(spec) => Some(spec),
        _ => None,
    }
}

/// Swaps two devices, each given by group and position.
fn exchange(groups: &mut ReplicaGroups, a: (usize, usize), b: (usize, usize)) -> Option<()> {
    groups.edit(|groups| {
        let (first, second) = (*groups.get(a.0)?.get(a.1)?, *groups.get(b.0)?.get(b.1)?);
        groups[a.0][a.1] = second;
        groups[b.0][b.1] = first;
        Some(())
    })
}

fn reverse(module: &mut Module, wanted: fn(&OpKind) -> bool) -> Option<()> {
    collective(module, wanted)?.groups.edit(|groups| groups.iter_mut().for_each(|group| group.reverse()));
    Some(())
}

/// Replaces the reduction of a collective.
fn reducer(module: &mut Module, wanted: fn(&OpKind) -> bool, by: BinaryOp) -> Option<()> {
    let op = find(module, wanted)?;
    let region = *module.ops[op].regions.first()?;
    let combine = *module.regions[region].ops.first()?;
    module.ops[combine].kind = Binary(by);
    Some(())
}

/// Replaces the uses of the first result of `op` by its operand.
fn skip(module: &mut Module, op: OpId, operand: usize) -> Option<()> {
    let (from, to) = (module.ops[op].results[0], *module.ops[op].operands.get(operand)?);
    for body in module.bodies().collect::<Vec<_>>() {
        for reader in module.walk(body) {
            let reads = |v: &mut ValueId| {
                if *v == from {
                    *v = to
                }
            };
            module.ops[reader].operands.iter_mut().for_each(reads);
        }
    }
    Some(())
}

/// Adds one to the constant right-hand operand of the first matching operation that has such an operand.
fn off_by_one(module: &mut Module, wanted: fn(&OpKind) -> bool) -> Option<()> {
    let constant = module.bodies().flat_map(|body| module.walk(body)).find_map(|op| {
        let data = &module.ops[op];
        let constant = module.def_op(*data.operands.get(1)?)?;
        (wanted(&data.kind) && matches!(module.ops[constant].kind, OpKind::Constant(_))).then_some(constant)
    })?;
    match &mut module.ops[constant].kind {
        OpKind::Constant(Dense::Splat(bytes)) => {
            *bytes.first_mut()? += 1;
            Some(())
        }
        _ => None,
    }
}
