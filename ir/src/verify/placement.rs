//! I13: manual computations and collectives between shardings agree with their shardings.

use super::Report;
use super::mesh::check_axes;
use super::ops::yielded;
use crate::infer::{on_size, shape_fits};
use crate::{
    AxisList, ManualSpec, Mesh, MeshCollective, MeshCollectiveKind, OpId, OpKind, Shape, TensorSharding,
    TensorType, ValueId,
};

const CODE: &str = "SH0213";

pub(super) fn check(report: &mut Report<'_>, id: OpId) {
    let fault = match &report.module.ops[id].kind {
        OpKind::ManualComputation(spec) => manual(report, id, spec),
        OpKind::MeshCollective(spec) => collective(report, id, spec),
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
    for (what, values, shardings, locals) in [
        ("operand", op.operands.as_slice(), &spec.in_shardings, args.as_slice()),
        ("result", op.results.as_slice(), &spec.out_shardings, yields),
    ] {
        if values.len() != shardings.len() || values.len() != locals.len() {
            return Err(format!(
                "{} {what}s, {} shardings of them and {} values of the body",
                values.len(),
                shardings.len(),
                locals.len()
            ));
        }
        for (i, ((&value, &sharding), &local)) in values.iter().zip(shardings).zip(locals).enumerate() {
            let sharding = module.shardings.get(sharding);
            let mesh = &module.meshes[sharding.mesh];
            check_axes(mesh, spec.manual_axes.iter().copied())
                .map_err(|fault| format!("its manual axes are not valid: {fault}"))?;
            manual_value(report, mesh, spec, sharding, value, local)
                .map_err(|fault| format!("{what} {i}: {fault}"))?;
        }
    }
    Ok(())
}

/// The body sees what the manual axes leave of a value.
fn manual_value(
    report: &Report<'_>,
    mesh: &Mesh,
    spec: &ManualSpec,
    sharding: &TensorSharding,
    value: ValueId,
    local: ValueId,
) -> Result<(), String> {
    let module = report.module;
    let (Some(global), Some(have)) = (module.tensor(value), module.tensor(local)) else { return Ok(()) };
    if sharding.rank() != global.rank() {
        // I12 says so; a mesh of one device splits nothing.
        return Ok(());
    }
    let mut shape = Shape::new();
    for (&n, dim) in global.shape.iter().zip(&sharding.dims) {
        let is_manual = |axis: &crate::AxisRef| spec.manual_axes.iter().any(|m| m.axis == axis.axis);
        let manual = dim.axes.iter().take_while(|a| is_manual(a)).count();
        if dim.axes.iter().skip(manual).any(is_manual) {
            return Err("a manual axis follows one that is not manual".to_owned());
        }
        let parts = mesh.axes_size(&dim.axes[..manual]);
        shape.push(on_size(n, |n| (n + parts - 1) / parts));
    }
    if !shape_fits(&shape, &have.shape) || have.dtype != global.dtype {
        let want = TensorType::new(&shape, global.dtype);
        return Err(format!("the body has {have} for {global}, it should have {want}"));
    }
    Ok(())
}

fn collective(report: &Report<'_>, id: OpId, spec: &MeshCollective) -> Result<(), String> {
    let module = report.module;
    let (&[operand], &[_]) = (module.ops[id].operands.as_slice(), module.ops[id].results.as_slice()) else {
        return Ok(());
    };
    let mesh = &module.meshes[spec.mesh];
    let out = module.shardings.get(spec.out);
    if out.mesh != spec.mesh {
        return Err("the sharding of its result is on another mesh".to_owned());
    }
    let rank = module.rank(operand);
    // What each dimension is split by on the way, as (parts undone, parts made).
    let mut change = vec![(1i64, 1i64); rank];
    let per_dim = |lists: &[AxisList]| -> Result<Vec<i64>, String> {
        if lists.len() != rank {
            return Err(format!("it has axes for {} dimensions, its operand has {rank}", lists.len()));
        }
        check_axes(mesh, lists.iter().flatten().copied())?;
        Ok(lists.iter().map(|axes| mesh.axes_size(axes)).collect())
    };
    match &spec.kind {
        MeshCollectiveKind::AllGather(lists) => {
            per_dim(lists)?.into_iter().zip(&mut change).for_each(|(n, c)| c.0 = n);
        }
        MeshCollectiveKind::AllSlice(lists) => {
            per_dim(lists)?.into_iter().zip(&mut change).for_each(|(n, c)| c.1 = n);
        }
        MeshCollectiveKind::ReduceScatter(lists, _) => {
            per_dim(lists)?.into_iter().zip(&mut change).for_each(|(n, c)| c.1 = n);
        }
        MeshCollectiveKind::AllToAll { axes, from, to } => {
            let (from, to) = (*from as usize, *to as usize);
            if from >= rank || to >= rank || from == to {
                return Err(format!("dimensions {from} and {to} do not fit an operand of rank {rank}"));
            }
            check_axes(mesh, axes.iter().copied())?;
            change[from].0 = mesh.axes_size(axes);
            change[to].1 = mesh.axes_size(axes);
        }
        MeshCollectiveKind::AllReduce(axes, _) => check_axes(mesh, axes.iter().copied())?,
        MeshCollectiveKind::CollectivePermute => {}
    }
    let Some(before) = module.shardings.sharding_of(operand) else { return Ok(()) };
    if before.mesh != spec.mesh || before.rank() != rank || out.rank() != rank {
        // Between meshes over the same devices only the devices have to agree; ranks are I12.
        return Ok(());
    }
    for (d, (undone, made)) in change.into_iter().enumerate() {
        let (have, want) = (before.shards(mesh, d), out.shards(mesh, d));
        if have.checked_mul(made) != want.checked_mul(undone) {
            return Err(format!(
                "dimension {d} is split {have} ways before and {want} after, which the axes exchanged do not make up"
            ));
        }
    }
    Ok(())
}
