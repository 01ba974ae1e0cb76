//! Propagation into and out of manual computations: only free axes propagate (see
//! [`sharding::manual`](crate::sharding::manual)).

use shardc_ir::{AxisList, EntityRef, ManualSpec, Module, OpId, OpKind, RegionId, ShardingId};

use super::graph::{Boundary, NONE};
use crate::sharding::manual::{is_manual, with_free_axes, without_axes};
use crate::sharding::sub_axes::{minus, push_merged};

/// Returns the sharding that a propagation node uses at the boundary of a manual computation, given the sharding that is stored for the
/// value (see [`Boundary`]).
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

/// Returns the sharding to store for a value at the boundary of a manual computation when its propagation node assigns `new`.
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

/// For each in- and out-sharding of a manual computation, adds every manual axis that the sharding does not use to the sharding's
/// replicated axes.
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
    // A mesh without axes means "no mesh": the front end specified no sharding for the value.
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
        // Used sub-axes are subtracted, which may split an axis in two.
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
