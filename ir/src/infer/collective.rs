//! Inference of collectives on local values.

use super::shape::{divided, times};
use super::{Ctx, Res, Ty, Types, ensure};
use crate::{CollectiveSpec, DYNAMIC, Shape, TensorType};

/// Returns the number of devices in each group of an all-gather or reduce-scatter. `None` if it is unknown: there are no groups (which
/// means all devices), or the groups list replicas of which all partitions participate.
pub(crate) fn group_size(spec: &CollectiveSpec) -> Option<i64> {
    // StableHLO's `cross_replica_and_partition`: a group of 2 replicas on 4 partitions has 8 devices.
    if spec.crosses_partitions() && !spec.use_global_device_ids {
        return None;
    }
    written_size(spec)
}

/// Returns the number of ids in each group as written, without padding (`-1`).
fn written_size(spec: &CollectiveSpec) -> Option<i64> {
    if spec.groups.as_strided().is_some() {
        return spec.groups.group_size().map(|size| size as i64);
    }
    spec.groups.iter().map(|g| g.iter().filter(|&id| id >= 0).count() as i64).max()
}

/// Infers one result per operand: `f` computes its shape from the type of the operand. If `reduces` is true, the region determines its
/// element type.
fn each(cx: &Ctx<'_>, reduces: bool, f: impl Fn(&TensorType) -> Res<Shape>) -> Res<Types> {
    let result = |i: usize| -> Res<Ty> {
        let operand = cx.tensor(i)?;
        let dtype = if reduces { cx.accumulated(0, 0, operand.dtype)? } else { operand.dtype };
        Ok(Ty::Tensor(TensorType::new(&f(operand)?, dtype)))
    };
    (0..cx.operands.len()).map(result).collect()
}

fn in_range(cx: &Ctx<'_>, dim: u32, operand: &TensorType) -> Res<usize> {
    let dim = dim as usize;
    ensure!(dim < operand.rank(), "dimension {dim} of {} is out of range for {operand}", cx.name());
    Ok(dim)
}

pub(crate) fn all_reduce(cx: &Ctx<'_>) -> Res<Types> {
    each(cx, true, |operand| Ok(operand.shape.clone()))
}

pub(crate) fn all_gather(cx: &Ctx<'_>, dim: u32, spec: &CollectiveSpec) -> Res<Types> {
    each(cx, false, |operand| {
        let dim = in_range(cx, dim, operand)?;
        let mut shape = operand.shape.clone();
        shape[dim] = group_size(spec).map_or(Ok(DYNAMIC), |n| times(cx, shape[dim], n))?;
        Ok(shape)
    })
}

pub(crate) fn reduce_scatter(cx: &Ctx<'_>, dim: u32, spec: &CollectiveSpec) -> Res<Types> {
    each(cx, true, |operand| {
        let dim = in_range(cx, dim, operand)?;
        let mut shape = operand.shape.clone();
        shape[dim] = group_size(spec).map_or(Ok(DYNAMIC), |n| divided(cx, shape[dim], n, dim))?;
        Ok(shape)
    })
}

pub(crate) fn all_to_all(
    cx: &Ctx<'_>,
    split_dim: u32,
    concat_dim: u32,
    split_count: u32,
    spec: &CollectiveSpec,
) -> Res<Types> {
    let n = i64::from(split_count);
    ensure!(
        spec.mesh_axes.is_some() || written_size(spec) == Some(n),
        "all_to_all splits into {n} parts, but its groups have {} devices",
        written_size(spec).unwrap_or(0)
    );
    each(cx, false, |operand| {
        let (split, concat) = (in_range(cx, split_dim, operand)?, in_range(cx, concat_dim, operand)?);
        let mut shape = operand.shape.clone();
        shape[split] = divided(cx, shape[split], n, split)?;
        shape[concat] = times(cx, shape[concat], n)?;
        Ok(shape)
    })
}
