//! The two sides of a manual computation.
//!
//! Inside, its manual axes do not exist: values have the shape that one device of those axes sees. Outside,
//! each dimension is split by manual axes first, then by free ones.

use shardc_ir::{AxisList, AxisRef, DimSharding, ManualSpec, Module, ShardingId, TensorSharding};

/// A sharding outside as what is inside of the computation sees it.
pub fn without_manual_axes(module: &mut Module, spec: &ManualSpec, outside: ShardingId) -> ShardingId {
    let inside = without_axes(module.shardings.get(outside), |axis| is_manual(spec, axis));
    module.shardings.intern(inside)
}

/// The sharding inside of argument `i`, before propagation.
pub fn inside(module: &mut Module, spec: &ManualSpec, i: usize) -> Option<ShardingId> {
    let outside = *spec.in_shardings.get(i)?;
    Some(without_manual_axes(module, spec, outside))
}

/// The sharding outside of argument `i` whose sharding inside is given.
pub fn outside(module: &mut Module, spec: &ManualSpec, i: usize, inside: ShardingId) -> Option<ShardingId> {
    let given = module.shardings.get(*spec.in_shardings.get(i)?);
    let outside = with_free_axes(given, module.shardings.get(inside), &spec.manual_axes);
    Some(module.shardings.intern(outside))
}

/// Whether an axis, or the axis that it is part of, is manual.
pub(crate) fn is_manual(spec: &ManualSpec, axis: AxisRef) -> bool {
    spec.manual_axes.iter().any(|manual| manual.axis == axis.axis)
}

/// A sharding without the axes that `drop` names, wherever they stand.
pub(crate) fn without_axes(sharding: &TensorSharding, drop: impl Fn(AxisRef) -> bool) -> TensorSharding {
    let keep = |axes: &AxisList| -> AxisList { axes.iter().copied().filter(|&a| !drop(a)).collect() };
    TensorSharding {
        mesh: sharding.mesh,
        dims: sharding
            .dims
            .iter()
            .map(|d| DimSharding { axes: keep(&d.axes), open: d.open, priority: d.priority })
            .collect(),
        replicated: keep(&sharding.replicated),
        unreduced: keep(&sharding.unreduced),
        reduction: sharding.reduction,
    }
    .tidied()
}

/// The manual axes of `given`, then the axes of `free`, per dimension.
pub(crate) fn with_free_axes(
    given: &TensorSharding,
    free: &TensorSharding,
    manual: &[AxisRef],
) -> TensorSharding {
    let is_free = |axis: AxisRef| !manual.iter().any(|m| m.axis == axis.axis);
    let mut out = without_axes(given, is_free);
    for (dim, free) in out.dims.iter_mut().zip(&free.dims) {
        dim.axes.extend(free.axes.iter().copied());
        dim.open = free.open;
        dim.priority = free.priority;
    }
    out.mesh = free.mesh;
    out.replicated = given.replicated.clone();
    out.unreduced = given.unreduced.clone();
    out.reduction = given.reduction;
    out
}
