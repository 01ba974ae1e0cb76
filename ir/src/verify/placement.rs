//! Verifies invariant I13: manual computations and collectives between shardings agree with their shardings.

use cranelift_entity::EntityRef;

use super::Report;
use super::mesh::{check_axes, check_order, check_whole};
use super::regions::yielded;
use super::structure::Program;
use crate::infer::{on_size, shape_fits};
use crate::sharding::div_ceil;
use crate::{
    AxisList, AxisMove, AxisRef, ManualSpec, Mesh, MeshCollective, MeshCollectiveKind, Module, OpId, OpKind,
    Shape, ShardingId, SubAxis, TensorSharding, TensorType, ValueDef, ValueId,
};

const CODE: &str = "SH0213";

pub(super) fn check(report: &mut Report<'_>, program: &Program, id: OpId) {
    let fault = match &report.module.ops[id].kind {
        OpKind::ManualComputation(spec) => manual(report, id, spec),
        OpKind::MeshCollective(spec) => collective(report, program, id, spec),
        _ => return,
    };
    if let Err(message) = fault {
        let message = format!("{}: {message}", report.module.ops[id].kind.name());
        report.at_op(CODE, id, message);
    }
}

fn manual(report: &Report<'_>, id: OpId, spec: &ManualSpec) -> Result<(), String> {
    let module = report.module;
    let op = &module.ops[id];
    let &[region] = op.regions.as_slice() else { return Ok(()) };
    let (args, yields) = (&module.regions[region].args, yielded(module, region));
    // A mesh without axes shards nothing, so it may occur together with any other mesh.
    let meshes = spec.in_shardings.iter().chain(&spec.out_shardings).map(|&s| module.shardings.get(s).mesh);
    let mut meshes = meshes.filter(|&m| !module.meshes[m].axes.is_empty());
    if let Some(first) = meshes.next()
        && let Some(other) = meshes.find(|&m| !same_devices(&module.meshes[m], &module.meshes[first]))
    {
        let (first, other) = (module.mesh_name(first), module.mesh_name(other));
        return Err(format!("the shardings are on different meshes, @{first} and @{other}"));
    }
    for (what, values, shardings, locals) in [
        ("operand", op.operands.as_slice(), &spec.in_shardings, args.as_slice()),
        ("result", op.results.as_slice(), &spec.out_shardings, yields),
    ] {
        if values.len() != shardings.len() || values.len() != locals.len() {
            return Err(format!(
                "there are {} {what}s, but {} shardings and {} corresponding values in the body",
                values.len(),
                shardings.len(),
                locals.len()
            ));
        }
        for (i, ((&value, &sharding), &local)) in values.iter().zip(shardings).zip(locals).enumerate() {
            let sharding = module.shardings.get(sharding);
            let mesh = &module.meshes[sharding.mesh];
            if !mesh.axes.is_empty() {
                check_axes(mesh, spec.manual_axes.iter().copied())
                    .map_err(|fault| format!("the manual axes are invalid: {fault}"))?;
            }
            manual_value(report, mesh, spec, sharding, value, local)
                .map_err(|fault| format!("{what} {i}: {fault}"))?;
        }
    }
    Ok(())
}

/// Whether two meshes are equal. They may have different handles, since a sharding may contain its mesh inline.
fn same_devices(a: &Mesh, b: &Mesh) -> bool {
    std::ptr::eq(a, b) || (a.axes.iter().eq(&b.axes) && a.device_ids == b.device_ids)
}

/// Checks that a value in the body has the shape of one block of the value outside, which is sharded along the manual axes.
fn manual_value(
    report: &Report<'_>,
    mesh: &Mesh,
    spec: &ManualSpec,
    sharding: &TensorSharding,
    value: ValueId,
    local: ValueId,
) -> Result<(), String> {
    let module = report.module;
    let (Some(global), Some(have)) = (module.stored(value), module.stored(local)) else { return Ok(()) };
    if sharding.rank() != global.rank() {
        // The check of invariant I12 reports a sharding of the wrong rank; the sharding of a maximal mesh lists no dimensions.
        return Ok(());
    }
    let mut shape = Shape::new();
    for (&n, dim) in global.shape.iter().zip(&sharding.dims) {
        let is_manual = |axis: &AxisRef| spec.manual_axes.iter().any(|m| m.axis == axis.axis);
        // Free axes shard the dimension of the local shape, so they must be minor to the manual axes. Otherwise, a device's shard of the
        // value in the body would not be a block of the global value.
        let manual = dim.axes.iter().take_while(|a| is_manual(a)).count();
        if dim.axes.iter().skip(manual).any(is_manual) {
            return Err("manual axes must precede free axes in a dimension".to_owned());
        }
        let parts = mesh.axes_size(&dim.axes[..manual]);
        shape.push(on_size(n, |n| div_ceil(n, parts)));
    }
    if !shape_fits(&shape, &have.shape) || have.dtype != global.dtype {
        let want = TensorType::new(&shape, global.dtype);
        return Err(format!(
            "the value in the body has type {have}, expected {want}, the local type of {global}"
        ));
    }
    Ok(())
}

/// Returns the axes with adjacent sub-axes of one axis merged.
fn merged(mesh: &Mesh, axes: impl Iterator<Item = AxisRef>) -> AxisList {
    let mut out = AxisList::new();
    for axis in axes {
        if let Some(last) = out.last_mut()
            && last.axis == axis.axis
            && let (Some(a), Some(b)) = (last.sub, axis.sub)
            && a.pre.checked_mul(a.size) == Some(b.pre)
        {
            let sub = SubAxis { pre: a.pre, size: a.size.saturating_mul(b.size) };
            let whole = i64::from(sub.size) == mesh.full_size(axis);
            *last = AxisRef { axis: axis.axis, sub: (!whole).then_some(sub) };
            continue;
        }
        out.push(axis);
    }
    out
}

fn collective(report: &Report<'_>, program: &Program, id: OpId, spec: &MeshCollective) -> Result<(), String> {
    let module = report.module;
    let (&[operand], &[_]) = (module.ops[id].operands.as_slice(), module.ops[id].results.as_slice()) else {
        return Ok(());
    };
    let mesh = &module.meshes[spec.mesh];
    let out = module.shardings.get(spec.out);
    if out.mesh != spec.mesh {
        return Err("the sharding of its result is on a different mesh".to_owned());
    }
    let rank = module.rank(operand);
    let exchanged = exchanged(mesh, spec, out, rank)?;
    check_written(mesh, spec)?;
    match operand_sharding(module, program, operand, spec)? {
        Some(before) => check_change(module, spec, &exchanged, &before, out),
        None => Ok(()),
    }
}

/// The effect of a collective on the axes of its operand.
struct Exchanged<'m> {
    /// For each dimension, the axes that shard it only before the collective.
    lost: Vec<AxisList>,
    /// For each dimension, the axes that shard it only after the collective.
    gained: Vec<AxisList>,
    reduced: &'m [AxisRef],
    /// The axes along which the value becomes unreduced.
    pending: AxisList,
}

/// Returns the effect of a collective, and checks that its axes are valid.
fn exchanged<'m>(
    mesh: &Mesh,
    spec: &'m MeshCollective,
    out: &TensorSharding,
    rank: usize,
) -> Result<Exchanged<'m>, String> {
    let (mut lost, mut gained) = (vec![AxisList::new(); rank], vec![AxisList::new(); rank]);
    let mut reduced: &[AxisRef] = &[];
    let mut pending = AxisList::new();
    match &spec.kind {
        MeshCollectiveKind::AllGather(lists) => lost.clone_from(lists),
        MeshCollectiveKind::ShardedToUnreduced(lists) => {
            lost.clone_from(lists);
            pending.extend(lists.iter().flatten().copied());
        }
        MeshCollectiveKind::ReplicatedToUnreduced(axes) => pending.clone_from(axes),
        MeshCollectiveKind::AllSlice(lists) | MeshCollectiveKind::ReduceScatter(lists, _) => {
            gained.clone_from(lists);
        }
        MeshCollectiveKind::AllToAll(moves) => {
            for AxisMove { axes, from, to } in moves {
                let (from, to) = (*from as usize, *to as usize);
                if from >= rank || to >= rank || from == to {
                    return Err(format!(
                        "dimensions {from} and {to} must be different dimensions of an operand of rank {rank}"
                    ));
                }
                let taken = |dim: usize| !lost[dim].is_empty() || !gained[dim].is_empty();
                if let Some(dim) = [from, to].into_iter().find(|&dim| taken(dim)) {
                    return Err(format!("two moves of axes use dimension {dim}"));
                }
                lost[from].clone_from(axes);
                gained[to].clone_from(axes);
            }
        }
        MeshCollectiveKind::AllReduce(axes, _) => reduced = axes,
        MeshCollectiveKind::CollectivePermute | MeshCollectiveKind::Exchange => {}
    }
    for lists in [&lost, &gained] {
        if lists.len() != rank {
            return Err(format!(
                "it lists axes for {} dimensions, but the operand has rank {rank}",
                lists.len()
            ));
        }
        check_axes(mesh, lists.iter().flatten().copied())?;
    }
    check_axes(mesh, reduced.iter().copied())?;
    check_axes(mesh, reduced.iter().copied().chain(out.unreduced.iter().copied()))
        .map_err(|fault| format!("its result is still unreduced along a reduced axis: {fault}"))?;
    Ok(Exchanged { lost, gained, reduced, pending })
}

/// Returns the sharding of a collective's operand; `None` if the sharding is not stored with the operand, so that it cannot be checked.
fn operand_sharding(
    module: &Module,
    program: &Program,
    operand: ValueId,
    spec: &MeshCollective,
) -> Result<Option<TensorSharding>, String> {
    let splits = matches!(
        spec.kind,
        MeshCollectiveKind::AllSlice(_)
            | MeshCollectiveKind::AllReduce(..)
            | MeshCollectiveKind::ReduceScatter(..)
    );
    match sharding_of(module, program, operand) {
        Known::Sharding(id) => Ok(Some(module.shardings.get(id).clone())),
        // An operand without a sharding is replicated, which these collectives accept.
        Known::None if splits => Ok(Some(TensorSharding::replicated(spec.mesh, module.rank(operand)))),
        Known::None if !module.mesh_names.is_empty() => Err("its operand has no sharding".to_owned()),
        Known::None | Known::Elsewhere => Ok(None),
    }
}

/// Checks that the collective changes the sharding of its operand to the sharding of its result.
fn check_change(
    module: &Module,
    spec: &MeshCollective,
    exchanged: &Exchanged<'_>,
    before: &TensorSharding,
    out: &TensorSharding,
) -> Result<(), String> {
    let mesh = &module.meshes[spec.mesh];
    let Exchanged { lost, gained, reduced, pending } = exchanged;
    let rank = lost.len();
    let permutes = matches!(spec.kind, MeshCollectiveKind::CollectivePermute);
    if before.mesh != spec.mesh {
        if !permutes {
            return Err("the sharding of its operand is on a different mesh".to_owned());
        }
        // A permute is the only collective that may change the device order: the mesh of the result has the same axes and other device ids.
        let other = &module.meshes[before.mesh];
        if !mesh.axes.iter().eq(&other.axes) {
            return Err("its operand and its result are on meshes with different axes".to_owned());
        }
        if mesh.device_ids == other.device_ids {
            return Err("its operand and its result are on two meshes with the same device order".to_owned());
        }
        return Ok(());
    }
    if before.rank() != rank || out.rank() != rank {
        // The check of invariant I12 reports a sharding of the wrong rank.
        return Ok(());
    }
    if let MeshCollectiveKind::AllReduce(..) = spec.kind {
        let waits = |axis: &&AxisRef| before.unreduced.iter().any(|b| b.axis == axis.axis);
        if let Some(axis) = out.unreduced.iter().find(|axis| !waits(axis)) {
            let axis = mesh.axis_text(*axis);
            return Err(format!("its result is unreduced along {axis}, but its operand is not"));
        }
    }
    if !pending.is_empty() {
        let mut pending = pending.clone();
        pending.extend(before.unreduced.iter().copied());
        check_axes(mesh, pending.iter().copied())?;
        pending.sort_unstable();
        let mut after = out.unreduced.clone();
        after.sort_unstable();
        if merged(mesh, pending.iter().copied()) != merged(mesh, after.iter().copied()) {
            return Err(format!(
                "its result is unreduced along {}, expected {}",
                axes_text(mesh, &after),
                axes_text(mesh, &pending)
            ));
        }
    }
    check_axes(mesh, reduced.iter().copied().chain(before.split_axes()))
        .map_err(|fault| format!("it reduces along an axis that shards a dimension: {fault}"))?;
    if matches!(spec.kind, MeshCollectiveKind::Exchange) {
        // An exchange only moves elements, so it must not change the unreduced axes.
        let sorted = |sharding: &TensorSharding| {
            let mut axes = sharding.unreduced.clone();
            axes.sort_unstable();
            merged(mesh, axes.into_iter())
        };
        return match sorted(before) == sorted(out) {
            true => Ok(()),
            false => Err("the unreduced axes of its operand and its result differ".to_owned()),
        };
    }
    for d in 0..rank {
        let fits = if permutes {
            before.shards(mesh, d) == out.shards(mesh, d)
        } else {
            let join = |axes: &AxisList, more: &AxisList| {
                merged(mesh, axes.iter().copied().chain(more.iter().copied()))
            };
            join(&out.dims[d].axes, &lost[d]) == join(&before.dims[d].axes, &gained[d])
        };
        if !fits {
            return Err(format!(
                "dimension {d} is sharded {} in the operand and {} in the result, which does not match the axes of the collective",
                axes_text(mesh, &before.dims[d].axes),
                axes_text(mesh, &out.dims[d].axes)
            ));
        }
    }
    Ok(())
}

/// The sharding of a value, as far as it is known.
enum Known {
    Sharding(ShardingId),
    /// The value has no sharding.
    None,
    /// The sharding is not stored with the value, but in attributes of an operation with regions.
    Elsewhere,
}

fn sharding_of(module: &Module, program: &Program, value: ValueId) -> Known {
    if let Some(id) = module.shardings.of(value) {
        return Known::Sharding(id);
    }
    let op = match module.values[value].def() {
        ValueDef::Result(op, _) => op,
        ValueDef::Arg(region, _) => {
            return if program.is_body[region.index()] { Known::None } else { Known::Elsewhere };
        }
    };
    match &module.ops[op].kind {
        OpKind::ShardingConstraint(id) | OpKind::Reshard(id) => Known::Sharding(*id),
        OpKind::MeshCollective(spec) => Known::Sharding(spec.out),
        _ if module.ops[op].regions.is_empty() => Known::None,
        _ => Known::Elsewhere,
    }
}

/// Checks that the axes in the collective's attributes are in canonical form.
fn check_written(mesh: &Mesh, spec: &MeshCollective) -> Result<(), String> {
    match &spec.kind {
        MeshCollectiveKind::AllGather(lists)
        | MeshCollectiveKind::AllSlice(lists)
        | MeshCollectiveKind::ShardedToUnreduced(lists)
        | MeshCollectiveKind::ReduceScatter(lists, _) => {
            lists.iter().try_for_each(|axes| check_whole(mesh, axes))
        }
        MeshCollectiveKind::AllToAll(moves) => {
            if moves.is_empty() {
                return Err("it has no moves".to_owned());
            }
            if let Some(pair) = moves.windows(2).find(|pair| pair[0].from > pair[1].from) {
                return Err(format!(
                    "moves of axes must be in the order of their source dimensions, got {} after {}",
                    pair[1].from, pair[0].from
                ));
            }
            moves.iter().try_for_each(|one| check_whole(mesh, &one.axes))
        }
        MeshCollectiveKind::AllReduce(axes, _) => {
            check_whole(mesh, axes)?;
            check_order(mesh, "reduced", axes)
        }
        MeshCollectiveKind::ReplicatedToUnreduced(axes) => {
            if axes.is_empty() {
                return Err("it has no axes".to_owned());
            }
            check_whole(mesh, axes)?;
            check_order(mesh, "unreduced", axes)
        }
        MeshCollectiveKind::CollectivePermute | MeshCollectiveKind::Exchange => Ok(()),
    }
}

fn axes_text(mesh: &Mesh, axes: &AxisList) -> String {
    let axes: Vec<String> = axes.iter().map(|&a| mesh.axis_text(a)).collect();
    format!("{{{}}}", axes.join(", "))
}
