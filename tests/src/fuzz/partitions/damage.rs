//! The kinds of corruption.

use shardc_ir::{
    Build, Builder, Channel, CollectiveSpec, CompareDirection, DType, Dense, MeshCollectiveKind, OpId,
    OpKind, SpmdMode, ValueId,
};
use shardc_passes::sharding::interface::InterfaceTensor;

use super::Promise::{Found, Perhaps};
use super::{Broken, Damage};
use crate::fuzz::Rng;

pub(super) const DAMAGES: &[Damage] = &[
    Damage { name: "C1 a sum that is never completed", promise: Found, edit: never_completed },
    Damage { name: "C1 a sum that is completed twice", promise: Perhaps, edit: completed_twice },
    Damage { name: "C2 a device twice", promise: Found, edit: device_twice },
    Damage { name: "C2 a device missing", promise: Found, edit: device_missing },
    Damage { name: "C2 a group missing", promise: Found, edit: group_missing },
    Damage { name: "C2 a group twice", promise: Found, edit: group_twice },
    Damage { name: "C2 a device that there is not", promise: Found, edit: no_such_device },
    Damage { name: "C2 groups of different sizes", promise: Found, edit: moved_between_groups },
    Damage { name: "C2 a channel shared", promise: Found, edit: channel_shared },
    Damage { name: "C2 a channel of the other mode", promise: Found, edit: channel_of_the_other_mode },
    Damage { name: "C2 channel zero", promise: Found, edit: channel_zero },
    Damage { name: "C2 global ids the other way", promise: Found, edit: global_ids },
    Damage { name: "C2 two sources for one target", promise: Found, edit: two_sources },
    Damage { name: "C2 a collective twice", promise: Found, edit: twice },
    Damage { name: "C3 another size of a result", promise: Found, edit: other_size },
    Damage { name: "C3 another dimension", promise: Found, edit: other_dimension },
    Damage { name: "C4 a collective that one device does not come to", promise: Found, edit: in_a_branch },
    Damage { name: "C5 a local size", promise: Found, edit: local_size },
    Damage { name: "C5 a global size", promise: Found, edit: global_size },
    Damage { name: "C5 an element type", promise: Found, edit: element_type },
    Damage { name: "C5 a split forgotten", promise: Found, edit: split_forgotten },
    Damage { name: "C5 memory for another type", promise: Found, edit: donation },
    Damage { name: "C5 a result missing", promise: Found, edit: result_missing },
    Damage { name: "C5 more devices", promise: Found, edit: more_devices },
    Damage { name: "devices exchanged between groups", promise: Perhaps, edit: exchanged_between_groups },
    Damage { name: "devices exchanged in a group", promise: Perhaps, edit: exchanged_in_a_group },
    Damage { name: "a collective gone", promise: Perhaps, edit: gone },
    Damage { name: "an offset", promise: Perhaps, edit: offset },
    Damage { name: "an operand of another operation", promise: Perhaps, edit: operand },
    Damage { name: "several at once", promise: Perhaps, edit: several },
];

fn ops(broken: &Broken) -> Vec<OpId> {
    let module = &broken.module;
    module.bodies().flat_map(|body| module.walk(body)).collect()
}

/// A random collective that satisfies `wanted`.
fn one(broken: &Broken, rng: &mut Rng, wanted: impl Fn(&OpKind, &CollectiveSpec) -> bool) -> Option<OpId> {
    let is_wanted = |op: &OpId| {
        let kind = &broken.module.ops[*op].kind;
        kind.collective().is_some_and(|spec| wanted(kind, spec))
    };
    let all: Vec<OpId> = ops(broken).into_iter().filter(is_wanted).collect();
    all.get(rng.below(all.len())).copied()
}

fn spec(broken: &mut Broken, op: OpId) -> Option<&mut CollectiveSpec> {
    broken.module.ops[op].kind.collective_mut()
}

fn is_permute(kind: &OpKind) -> bool {
    matches!(kind, OpKind::CollectivePermute(_))
}

/// Whether the groups contain each device exactly once.
fn has_groups(kind: &OpKind, spec: &CollectiveSpec) -> bool {
    !is_permute(kind) && !spec.groups.is_empty()
}

/// A random group of several devices.
fn group(spec: &CollectiveSpec, rng: &mut Rng) -> Option<usize> {
    let all: Vec<usize> =
        (0..spec.groups.len()).filter(|&g| spec.groups.get(g).is_some_and(|group| group.len() > 1)).collect();
    all.get(rng.below(all.len())).copied()
}

// Changes that violate condition C1, about unreduced values.

/// Whether an operation can neither use nor produce an unreduced value.
fn takes_whole(broken: &Broken, op: OpId) -> bool {
    let module = &broken.module;
    let data = &module.ops[op];
    let decides_alone = matches!(
        data.kind,
        OpKind::Unary(_) | OpKind::Binary(_) | OpKind::Compare(..) | OpKind::Convert | OpKind::DotGeneral(_)
    );
    let whole = |&value: &ValueId| {
        module.shardings.sharding_of(value).is_some_and(|sharding| sharding.unreduced.is_empty())
    };
    decides_alone && data.results.first().is_some_and(whole)
}

fn completions(broken: &Broken) -> Vec<OpId> {
    let completes = |op: &OpId| match &broken.module.ops[*op].kind {
        OpKind::MeshCollective(collective) => {
            let operand = broken.module.ops[*op].operands[0];
            let pending = broken.module.shardings.sharding_of(operand);
            matches!(collective.kind, MeshCollectiveKind::AllReduce(..))
                && pending.is_some_and(|sharding| !sharding.unreduced.is_empty())
        }
        _ => false,
    };
    ops(broken).into_iter().filter(completes).collect()
}

fn never_completed(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let uses = broken.module.uses();
    let read = |op: &OpId| {
        let result = broken.module.ops[*op].results[0];
        uses.of(result).iter().any(|&(user, _)| takes_whole(broken, user))
    };
    let all: Vec<OpId> = completions(broken).into_iter().filter(read).collect();
    let op = *all.get(rng.below(all.len()))?;
    skip(broken, op)
}

fn completed_twice(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let all = completions(broken);
    again(broken, *all.get(rng.below(all.len()))?)
}

// Changes that violate condition C2, about devices in groups, and channels.

fn device_twice(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let op = one(broken, rng, |kind, spec| has_groups(kind, spec) && spec.groups.num_ids() > 1)?;
    spec(broken, op)?.groups.edit(|groups| {
        let all = groups.concat();
        let g = rng.below(groups.len());
        let at = rng.below(groups[g].len());
        let others: Vec<i64> = all.into_iter().filter(|&d| d != groups[g][at]).collect();
        groups[g][at] = rng.of(&others);
        Some(())
    })
}

fn device_missing(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let op = one(broken, rng, |_, spec| spec.groups.iter().any(|group| group.len() > 1))?;
    let groups = spec(broken, op)?;
    let g = group(groups, rng)?;
    groups.groups.edit(|groups| {
        let at = rng.below(groups[g].len());
        groups[g].remove(at);
        Some(())
    })
}

fn group_missing(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    // Devices that receive no broadcast get zeros, which is valid.
    let covers_all = |kind: &OpKind| !matches!(kind, OpKind::CollectiveBroadcast(_));
    let op =
        one(broken, rng, |kind, spec| has_groups(kind, spec) && covers_all(kind) && spec.groups.len() > 1)?;
    spec(broken, op)?.groups.edit(|groups| groups.remove(rng.below(groups.len())));
    Some(())
}

fn group_twice(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let op = one(broken, rng, has_groups)?;
    spec(broken, op)?.groups.edit(|groups| {
        let again = groups[rng.below(groups.len())].clone();
        groups.push(again);
    });
    Some(())
}

fn no_such_device(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let op = one(broken, rng, |_, spec| !spec.groups.is_empty())?;
    let device = broken.devices + rng.of(&[0, 1, 1000, i64::from(i32::MAX)]);
    spec(broken, op)?.groups.edit(|groups| {
        let g = rng.below(groups.len());
        let at = rng.below(groups[g].len());
        *groups[g].get_mut(at)? = device;
        Some(())
    })
}

fn moved_between_groups(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let wanted = |kind: &OpKind, spec: &CollectiveSpec| {
        has_groups(kind, spec) && spec.groups.len() > 1 && spec.groups.iter().any(|group| group.len() > 1)
    };
    let op = one(broken, rng, wanted)?;
    let spec = spec(broken, op)?;
    let from = group(spec, rng)?;
    spec.groups.edit(|groups| {
        let moved = groups[from].pop()?;
        let to = (from + 1 + rng.below(groups.len() - 1)) % groups.len();
        groups[to].push(moved);
        Some(())
    })
}

fn channel_shared(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let channels: Vec<Channel> =
        ops(broken).into_iter().filter_map(|op| broken.module.ops[op].kind.collective()?.channel).collect();
    let op = one(broken, rng, |_, spec| spec.channel.is_some())?;
    let spec = spec(broken, op)?;
    let others: Vec<Channel> =
        channels.into_iter().filter(|c| Some(c.handle) != spec.channel.map(|own| own.handle)).collect();
    spec.channel = Some(*others.get(rng.below(others.len()))?);
    Some(())
}

fn channel_of_the_other_mode(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let op = one(broken, rng, |_, _| true)?;
    let spec = spec(broken, op)?;
    spec.channel = match spec.channel {
        Some(_) => None,
        None => Some(Channel::between_devices(1_000_000)),
    };
    Some(())
}

fn channel_zero(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let op = one(broken, rng, |_, spec| spec.channel.is_some())?;
    spec(broken, op)?.channel.as_mut()?.handle = rng.of(&[0, -1]);
    Some(())
}

fn global_ids(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let op = one(broken, rng, |_, _| true)?;
    let spec = spec(broken, op)?;
    spec.use_global_device_ids = !spec.use_global_device_ids;
    Some(())
}

fn two_sources(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let op = one(broken, rng, |kind, spec| is_permute(kind) && spec.groups.len() > 1)?;
    spec(broken, op)?.groups.edit(|pairs| {
        let (a, b) = (rng.below(pairs.len()), rng.below(pairs.len() - 1));
        let b = if b >= a { b + 1 } else { b };
        let side = rng.below(2);
        let source = *pairs[b].get(side)?;
        *pairs[a].get_mut(side)? = source;
        Some(())
    })
}

/// Gives two collectives the same channel, which is valid only between replicas.
fn twice(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    (broken.mode == SpmdMode::Partition).then_some(())?;
    let op = one(broken, rng, |_, _| true)?;
    again(broken, op)
}

// Changes that violate condition C3, about shapes of results.

fn other_size(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let op = one(broken, rng, |_, _| true)?;
    let result = *broken.module.ops[op].results.first()?;
    let ty = broken.module.tensor(result)?.clone();
    let mut shape = ty.shape.clone();
    let dim = rng.below(shape.len());
    let size = shape.get_mut(dim)?;
    let sizes = [size.saturating_add(1), size.saturating_mul(2).saturating_add(2), 0, i64::MAX];
    *size = rng.of(&sizes.map(|n| if n == *size { n ^ 1 } else { n }));
    broken.module.values[result].ty = broken.module.types.tensor(&shape, ty.dtype);
    Some(())
}

fn other_dimension(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let op = one(broken, rng, |kind, spec| {
        let several = spec.groups.first().is_some_and(|group| group.len() > 1);
        let dims =
            matches!(kind, OpKind::AllGather { .. } | OpKind::ReduceScatter { .. } | OpKind::AllToAll { .. });
        several && dims
    })?;
    let operand = *broken.module.ops[op].operands.first()?;
    let rank = broken.module.rank(operand);
    let empty = broken.module.shape(operand).contains(&0);
    let turn = 1 + rng.below(rank.checked_sub(1).filter(|&n| n > 0 && !empty)?);
    let other = |dim: u32| ((dim as usize + turn) % rank) as u32;
    match &mut broken.module.ops[op].kind {
        OpKind::AllGather { dim, .. } | OpKind::ReduceScatter { dim, .. } => *dim = other(*dim),
        OpKind::AllToAll { split_dim, concat_dim, .. } if split_dim != concat_dim => {
            std::mem::swap(split_dim, concat_dim);
        }
        _ => return None,
    }
    Some(())
}

// Changes that violate condition C4, about devices that skip a collective.

/// Moves a collective into `if (device id == 0)`.
fn in_a_branch(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let with_zero = |spec: &CollectiveSpec| {
        spec.groups
            .iter()
            .any(|group| group.iter().any(|device| device == 0) && group.iter().any(|device| device != 0))
    };
    let op = one(broken, rng, |kind, spec| {
        with_zero(spec) && matches!(kind, OpKind::AllReduce(_) | OpKind::CollectivePermute(_))
    })?;
    let (operands, results) = (broken.module.ops[op].operands.clone(), broken.module.ops[op].results.clone());
    let types: Vec<_> = results.iter().map(|&v| broken.module.values[v].ty).collect();
    if operands.iter().map(|&v| broken.module.values[v].ty).ne(types.iter().copied()) {
        return None;
    }
    let number = if broken.mode == SpmdMode::Replica { OpKind::ReplicaId } else { OpKind::PartitionId };
    let module = &mut broken.module;
    let (there, elsewhere) = (module.add_region(&[]), module.add_region(&[]));
    let (ui32, i1) = (module.types.tensor(&[], DType::UI32), module.types.tensor(&[], DType::I1));
    let mut b = Builder::new(module);
    let id = b.op1(number, &[], ui32);
    let zero = b.splat(&[0, 0, 0, 0], &[], DType::UI32);
    let is_zero = b.op1(OpKind::Compare(CompareDirection::EQ, None), &[id, zero], i1);
    let branch = b.op(OpKind::If, &[is_zero], &types, &[there, elsewhere]);
    let made = b.take();
    b.ret(&results);
    let end = b.take();
    b.ret(&operands);
    let other_end = b.take();
    let new = module.ops[branch].results.clone();
    let region = region_of(broken, op)?;
    let module = &mut broken.module;
    let at = module.regions[region].ops.iter().position(|&o| o == op)?;
    let mut ops = module.regions[region].ops.to_vec();
    ops.splice(at..=at, made);
    module.set_ops(region, ops);
    for (&old, &new) in results.iter().zip(&new) {
        replace(broken, old, new);
    }
    let module = &mut broken.module;
    module.set_ops(there, [vec![op], end].concat());
    module.set_ops(elsewhere, other_end);
    Some(())
}

// Changes that violate condition C5, about inputs and outputs.

fn tensor<'a>(broken: &'a mut Broken, rng: &mut Rng) -> Option<&'a mut InterfaceTensor> {
    let interface = broken.interface.as_mut()?;
    let count = interface.inputs.len() + interface.outputs.len();
    let at = rng.below(count);
    interface.inputs.iter_mut().chain(&mut interface.outputs).nth(at)
}

fn local_size(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let tensor = tensor(broken, rng)?;
    let dim = rng.below(tensor.local_shape.len());
    let size = tensor.local_shape.get_mut(dim)?;
    *size = size.checked_add(rng.of(&[1, -1, 1000]))?;
    Some(())
}

fn global_size(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let devices = broken.devices;
    let tensor = tensor(broken, rng)?;
    let dim = rng.below(tensor.global.shape.len());
    // The change is larger than padding can explain.
    let size = tensor.global.shape.get_mut(dim)?;
    *size = size.checked_add(devices)?;
    Some(())
}

fn element_type(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let tensor = tensor(broken, rng)?;
    // Tokens have no element type.
    (!tensor.is_token).then_some(())?;
    tensor.global.dtype = if tensor.global.dtype == DType::F32 { DType::I32 } else { DType::F32 };
    Some(())
}

fn split_forgotten(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let tensor = tensor(broken, rng)?;
    let differs = |dim: &usize| tensor.global.shape.get(*dim) != tensor.local_shape.get(*dim);
    let split: Vec<usize> = (0..tensor.sharding.dims.len()).filter(differs).collect();
    let dim = *split.get(rng.below(split.len()))?;
    tensor.sharding.dims[dim].axes.clear();
    Some(())
}

fn donation(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let func = &broken.module.funcs[broken.entry];
    let (param, result) = (rng.below(func.params.len()), rng.below(func.results.len() + 1));
    (func.params.get(param) != func.results.get(result)).then_some(())?;
    broken.interface.as_mut()?.inputs.get_mut(param)?.donated_to = Some(result);
    Some(())
}

fn result_missing(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let interface = broken.interface.as_mut()?;
    match rng.below(2) {
        0 => interface.outputs.pop().map(|_| ()),
        _ => interface.inputs.pop().map(|_| ()),
    }
}

fn more_devices(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let mesh = &mut broken.interface.as_mut()?.mesh;
    let at = rng.below(mesh.axes.len());
    *mesh.axes.get_index_mut(at)?.1 *= 2;
    mesh.device_ids = None;
    Some(())
}

// Changes that the verifier does not guarantee to detect.

fn exchanged_between_groups(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let op = one(broken, rng, |_, spec| spec.groups.len() > 1)?;
    spec(broken, op)?.groups.edit(|groups| {
        let (a, b) = (rng.below(groups.len()), rng.below(groups.len()));
        let (i, j) = (rng.below(groups[a].len()), rng.below(groups[b].len()));
        let (first, second) = (*groups[a].get(i)?, *groups[b].get(j)?);
        (groups[a][i], groups[b][j]) = (second, first);
        Some(())
    })
}

fn exchanged_in_a_group(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let op = one(broken, rng, |_, spec| spec.groups.iter().any(|group| group.len() > 1))?;
    let spec = spec(broken, op)?;
    let g = group(spec, rng)?;
    spec.groups.edit(|groups| rng.shuffle(&mut groups[g]));
    Some(())
}

fn gone(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let op = one(broken, rng, |_, _| true)?;
    skip(broken, op)
}

fn offset(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let constants: Vec<OpId> = ops(broken)
        .into_iter()
        .filter(|&op| matches!(broken.module.ops[op].kind, OpKind::Constant(Dense::Splat(_))))
        .collect();
    let op = *constants.get(rng.below(constants.len()))?;
    let OpKind::Constant(Dense::Splat(bytes)) = &mut broken.module.ops[op].kind else { return None };
    let at = rng.below(bytes.len());
    *bytes.get_mut(at)? ^= 1 << rng.below(7);
    Some(())
}

fn operand(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let all = ops(broken);
    let (to, from) = (*all.get(rng.below(all.len()))?, *all.get(rng.below(all.len()))?);
    let value = *broken.module.ops[from].results.first()?;
    let at = rng.below(broken.module.ops[to].operands.len());
    *broken.module.ops[to].operands.get_mut(at)? = value;
    Some(())
}

fn several(broken: &mut Broken, rng: &mut Rng) -> Option<()> {
    let localized = |damage: &&Damage| !damage.name.starts_with("C1") && !damage.name.starts_with("several");
    let all: Vec<&Damage> = DAMAGES.iter().filter(localized).collect();
    for _ in 0..2 + rng.below(4) {
        (rng.of(&all).edit)(broken, rng);
    }
    Some(())
}

// Functions that edit programs.

fn region_of(broken: &Broken, op: OpId) -> Option<shardc_ir::RegionId> {
    let mut regions = broken.module.bodies().flat_map(|body| broken.module.regions_under(body));
    regions
        .find(|&region| broken.module.regions[region].ops.contains(&op))
        .or_else(|| broken.module.bodies().find(|&body| broken.module.regions[body].ops.contains(&op)))
}

/// Replaces the uses of `old` by `new`.
fn replace(broken: &mut Broken, old: ValueId, new: ValueId) {
    for op in ops(broken) {
        for operand in &mut broken.module.ops[op].operands {
            if *operand == old {
                *operand = new;
            }
        }
    }
}

/// Replaces the uses of an operation's results by its operands.
fn skip(broken: &mut Broken, op: OpId) -> Option<()> {
    let data = &broken.module.ops[op];
    let (from, to) = (data.results.clone(), data.operands.clone());
    (!to.is_empty()).then_some(())?;
    for (&from, &to) in from.iter().zip(&to) {
        replace(broken, from, to);
    }
    Some(())
}

/// Applies an operation again to its results.
fn again(broken: &mut Broken, op: OpId) -> Option<()> {
    let data = &broken.module.ops[op];
    let (kind, results, attrs) = (data.kind.clone(), data.results.clone(), data.attrs.clone());
    let types: Vec<_> = results.iter().map(|&v| broken.module.values[v].ty).collect();
    let same = data.operands.iter().map(|&v| broken.module.values[v].ty).eq(types.iter().copied());
    let operands = if same { results.clone() } else { data.operands.iter().copied().collect() };
    // A region belongs to one operation, so an operation with regions is not repeated.
    let regions: Vec<_> = data.regions.to_vec();
    if !regions.is_empty() {
        return None;
    }
    let copy = broken.module.add_op(kind, &operands, &types, &regions);
    broken.module.ops[copy].attrs = attrs;
    let region = region_of(broken, op)?;
    let at = broken.module.regions[region].ops.iter().position(|&o| o == op)?;
    broken.module.insert_op(region, at + 1, copy);
    let new = broken.module.ops[copy].results.clone();
    for (&result, &copied) in results.iter().zip(&new) {
        let sharding = broken.module.shardings.of(result);
        broken.module.shardings.set(copied, sharding);
    }
    Some(())
}
