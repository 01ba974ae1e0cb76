//! The two sides of a manual computation.
//!
//! Inside, its manual axes do not exist: values have the shape that one device of those axes sees. Outside,
//! each dimension is split by manual axes first, then by free ones. Propagation carries free axes only.

use shardc_ir::{
    AxisList, AxisRef, DimSharding, EntityRef, ManualSpec, Module, OpId, OpKind, RegionId, ShardingId,
    TensorSharding,
};

use super::axes::{minus, push_merged};
use super::graph::{Boundary, NONE};

/// The sharding of a boundary slot as its node sees it.
pub(super) fn seen_by_node(module: &mut Module, boundary: Boundary, sharding: u32) -> u32 {
    if sharding == NONE {
        return NONE;
    }
    let own = module.shardings.get(ShardingId::new(sharding as usize)).clone();
    let Some((spec, given)) = spec_of(module, boundary) else { return sharding };
    let seen = match boundary {
        Boundary::No => return sharding,
        Boundary::Enter(..) => with_free_axes(module.shardings.get(given), &own, &spec.manual_axes),
        Boundary::Leave(..) => without_axes(&own, |axis| is_manual(spec, axis)),
    };
    module.shardings.intern(seen).index() as u32
}

/// The sharding that a boundary slot gets when its node gives it `new`.
pub(super) fn held_by_slot(module: &mut Module, boundary: Boundary, new: u32) -> u32 {
    let own = module.shardings.get(ShardingId::new(new as usize)).clone();
    let Some((spec, given)) = spec_of(module, boundary) else { return new };
    let held = match boundary {
        Boundary::No => return new,
        Boundary::Enter(..) => without_axes(&own, |axis| is_manual(spec, axis)),
        Boundary::Leave(..) => with_free_axes(module.shardings.get(given), &own, &spec.manual_axes),
    };
    module.shardings.intern(held).index() as u32
}

/// A sharding outside as what is inside of the computation sees it.
pub(crate) fn without_manual_axes(module: &mut Module, spec: &ManualSpec, outside: ShardingId) -> ShardingId {
    let inside = without_axes(module.shardings.get(outside), |axis| is_manual(spec, axis));
    module.shardings.intern(inside)
}

/// The sharding inside of argument `i`, before propagation.
pub(crate) fn inside(module: &mut Module, spec: &ManualSpec, i: usize) -> Option<ShardingId> {
    let outside = *spec.in_shardings.get(i)?;
    Some(without_manual_axes(module, spec, outside))
}

/// The sharding outside of argument `i` whose sharding inside is given.
pub(crate) fn outside(
    module: &mut Module,
    spec: &ManualSpec,
    i: usize,
    inside: ShardingId,
) -> Option<ShardingId> {
    let given = module.shardings.get(*spec.in_shardings.get(i)?);
    let outside = with_free_axes(given, module.shardings.get(inside), &spec.manual_axes);
    Some(module.shardings.intern(outside))
}

/// Manual axes that a sharding at the boundary does not mention are replicated, and stay so.
pub(super) fn name_all_manual_axes(module: &mut Module, body: RegionId) {
    for op in module.walk(body) {
        name_manual_axes(module, op);
    }
}

fn name_manual_axes(module: &mut Module, op: OpId) {
    let OpKind::ManualComputation(spec) = &module.ops[op].kind else { return };
    let mut spec = (**spec).clone();
    spec.manual_axes.sort_unstable();
    let meshes =
        || spec.in_shardings.iter().chain(&spec.out_shardings).map(|&id| module.shardings.get(id).mesh);
    let Some(mesh_id) = meshes().find(|&id| !module.meshes[id].axes.is_empty()) else { return };
    let (operands, results) = (module.ops[op].operands.clone(), module.ops[op].results.clone());
    let values =
        operands.iter().zip(&mut spec.in_shardings).chain(results.iter().zip(&mut spec.out_shardings));
    for (&value, id) in values {
        if module.stored(value).is_none() {
            continue;
        }
        let mut sharding = module.shardings.get(*id).clone();
        let mesh = &module.meshes[mesh_id];
        let used: AxisList = sharding
            .split_axes()
            .chain(sharding.replicated.iter().copied())
            .chain(sharding.unreduced.iter().copied())
            .collect();
        let unused: AxisList = spec.manual_axes.iter().flat_map(|&axis| minus(mesh, axis, &used)).collect();
        if unused.is_empty() {
            continue;
        }
        let mut replicated = std::mem::take(&mut sharding.replicated);
        replicated.extend(unused);
        replicated.sort_unstable();
        for axis in replicated {
            push_merged(mesh, &mut sharding.replicated, axis);
        }
        sharding.mesh = mesh_id;
        *id = module.shardings.intern(sharding);
    }
    module.ops[op].kind = OpKind::ManualComputation(Box::new(spec));
}

fn spec_of(module: &Module, boundary: Boundary) -> Option<(&ManualSpec, ShardingId)> {
    let (op, i, enter) = match boundary {
        Boundary::No => return None,
        Boundary::Enter(op, i) => (op, i, true),
        Boundary::Leave(op, i) => (op, i, false),
    };
    let OpKind::ManualComputation(spec) = &module.ops[op].kind else { return None };
    let list = if enter { &spec.in_shardings } else { &spec.out_shardings };
    Some((spec, *list.get(i as usize)?))
}

fn is_manual(spec: &ManualSpec, axis: AxisRef) -> bool {
    spec.manual_axes.iter().any(|manual| manual.axis == axis.axis)
}

fn without_axes(sharding: &TensorSharding, drop: impl Fn(AxisRef) -> bool) -> TensorSharding {
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
fn with_free_axes(given: &TensorSharding, free: &TensorSharding, manual: &[AxisRef]) -> TensorSharding {
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
