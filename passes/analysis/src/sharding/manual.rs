//! Conversion between shardings inside and outside of a manual computation.
//!
//! Inside, manual axes do not exist: values have the local shape along those axes. Outside, each dimension is sharded by manual axes
//! first, then by free axes.

use shardc_ir::{AxisList, AxisRef, DimSharding, ManualSpec, Module, ShardingId, TensorSharding};

/// Returns the sharding of a value inside the computation, given its sharding outside.
pub fn without_manual_axes(module: &mut Module, spec: &ManualSpec, outside: ShardingId) -> ShardingId {
    let inside = without_axes(module.shardings.get(outside), |axis| is_manual(spec, axis));
    module.shardings.intern(inside)
}

/// Returns the sharding of argument `i` inside the computation, which the `in_shardings` of the computation determine.
pub fn inside(module: &mut Module, spec: &ManualSpec, i: usize) -> Option<ShardingId> {
    let outside = *spec.in_shardings.get(i)?;
    Some(without_manual_axes(module, spec, outside))
}

/// Returns the sharding of operand `i` outside the computation, given the sharding `inside` of the argument.
pub fn outside(module: &mut Module, spec: &ManualSpec, i: usize, inside: ShardingId) -> Option<ShardingId> {
    let given = module.shardings.get(*spec.in_shardings.get(i)?);
    let outside = with_free_axes(given, module.shardings.get(inside), &spec.manual_axes);
    Some(module.shardings.intern(outside))
}

/// Whether an axis is manual; for a sub-axis, whether its full axis is manual.
pub(crate) fn is_manual(spec: &ManualSpec, axis: AxisRef) -> bool {
    spec.manual_axes.iter().any(|manual| manual.axis == axis.axis)
}

/// Returns a sharding without the axes for which `drop` returns true.
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

/// Returns a sharding in which each dimension is sharded by its manual axes in `given`, then by its axes in `free`.
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
