//! Verifies C1: unreduced values are produced by contractions or reductions, are used only by linear operations, and are reduced once.
//!
//! If a value is unreduced along some axes, each device along them holds a partial value. An operation that uses it as if it were reduced
//! computes a wrong result without any error.

use shardc_ir::{
    AxisRef, Diagnostic, Mesh, MeshCollectiveKind, Module, OpId, OpKind, ReductionKind, RegionId,
    TensorSharding, ValueId,
};

use super::broken;
use crate::analysis::linear::{Passes, passes};
use crate::analysis::reducer::{is_idempotent, is_identity};
use crate::analysis::regions::program_ops;
use crate::sharding::axes::{parts, refine};

/// Checks a planned module, before or after its reshards are lowered.
///
/// # Errors
/// Returns `SH0464` (internal) for every operation that produces, combines or drops an unreduced value incorrectly.
pub(crate) fn verify_pending(module: &Module, body: RegionId) -> Result<(), Vec<Diagnostic>> {
    let errors: Vec<Diagnostic> = program_ops(module, body)
        .into_iter()
        .filter_map(|op| fault(module, op).map(|message| broken(module, op, "SH0464", message)))
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn sharding_of(module: &Module, value: ValueId) -> Option<&TensorSharding> {
    if let Some(op) = module.def_op(value)
        && let OpKind::MeshCollective(collective) = &module.ops[op].kind
    {
        // The result of a collective that was parsed from text has no sharding of its own.
        return Some(module.shardings.get(collective.out));
    }
    module.shardings.sharding_of(value)
}

/// Returns the sharding of a value if it is unreduced.
fn pending(module: &Module, value: ValueId) -> Option<&TensorSharding> {
    sharding_of(module, value).filter(|s| !s.unreduced.is_empty())
}

/// Returns the error in an operation, or `None`. The condition is linearity: an operation `f` may be applied to
/// partial sums if `f(a + b) = f(a) + f(b)`, in the operands that are unreduced.
fn fault(module: &Module, op: OpId) -> Option<String> {
    let data = &module.ops[op];
    let name = data.kind.title();
    match &data.kind {
        // Any conversion between shardings is correct here. Lowering chooses the collectives, or reports that none can do it.
        OpKind::Reshard(_) | OpKind::ShardingConstraint(_) => return None,
        OpKind::MeshCollective(collective) => return completion(module, op, &collective.kind),
        // For each carried value, the values that enter and leave the regions of the loop must be unreduced along the same axes.
        OpKind::While => {
            let ends = data.regions.iter().skip(1);
            let args = data.regions.iter().map(|&r| module.regions[r].args.as_slice());
            let returned = ends.filter_map(|&r| Some(module.ops[module.terminator(r)?].operands.as_slice()));
            return args.chain(returned).chain([data.results.as_slice()]).find_map(|values| {
                differs(module, &data.operands, values)
                    .map(|i| format!("the operand, region arguments, returned value and result of loop-carried value {i} of {name} must be \
                     unreduced along the same axes and with the same reduction"))
            });
        }
        OpKind::Case | OpKind::If => {
            let ends = data.regions.iter().filter_map(|&r| module.terminator(r));
            return ends.map(|end| module.ops[end].operands.as_slice()).find_map(|values| {
                differs(module, &data.results, values)
                    .map(|i| format!("result {i} of {name} and value {i} of a branch must be unreduced along the same axes and with the \
                     same reduction"))
            });
        }
        OpKind::OptimizationBarrier => {
            return differs(module, &data.operands, &data.results)
                .map(|i| format!("operand {i} and result {i} of {name} must be unreduced along the same axes and with the same reduction"));
        }
        OpKind::Return | OpKind::ManualComputation(_) => return None,
        _ => {}
    }
    let Some((first, from)) =
        data.operands.iter().enumerate().find_map(|(i, &v)| Some((i, pending(module, v)?)))
    else {
        return made(module, op);
    };
    if let Some(fault) = lost(module, op, from) {
        return Some(fault);
    }
    let takes = passes(module, op, from.reduction);
    let same = |s: &TensorSharding| s.unreduced == from.unreduced && s.reduction == from.reduction;
    for (i, &operand) in data.operands.iter().enumerate() {
        let neutral = || is_idempotent(from.reduction) || is_identity(module, operand, from.reduction);
        match (takes, pending(module, operand)) {
            (Passes::Alike { .. }, Some(s)) => {
                if !takes.takes(i) {
                    return Some(format!("operand {i} of {name} must be reduced, but it is unreduced"));
                }
                if !same(s) {
                    return Some(format!(
                        "operands {first} and {i} of {name} are unreduced along different axes or with different reductions"
                    ));
                }
            }
            (Passes::Alike { .. }, None) if takes.takes(i) && !neutral() => {
                return Some(format!("operand {i} of {name} is reduced, but operand {first} is unreduced"));
            }
            // A matmul is linear in each operand, but not in both: `(a + b)(c + d)` has cross terms.
            (Passes::Either, Some(_)) if i != first => {
                return Some(format!(
                    "operands {first} and {i} of {name} are both unreduced, but only one may be"
                ));
            }
            (Passes::Alike { .. } | Passes::Either, _) => {}
        }
    }
    None
}

/// Returns the first index at which two lists of values are not unreduced along the same axes; `None` if they agree.
fn differs(module: &Module, a: &[ValueId], b: &[ValueId]) -> Option<usize> {
    a.iter().zip(b).position(|(&a, &b)| match (pending(module, a), pending(module, b)) {
        (Some(a), Some(b)) => a.unreduced != b.unreduced || a.reduction != b.reduction,
        (None, None) => false,
        _ => true,
    })
}

/// Returns the error in the unreduced results of an operation with reduced operands: a result may be unreduced only along axes that shard
/// an operand.
fn made(module: &Module, op: OpId) -> Option<String> {
    let data = &module.ops[op];
    // In `rng`, one device generates the numbers, and the others contribute zeros.
    if matches!(data.kind, OpKind::Rng(_)) {
        return None;
    }
    for (i, &result) in data.results.iter().enumerate() {
        let Some(sharding) = pending(module, result) else { continue };
        // If the operands are the identity of the reduction, so is the result: a sum of zeros is zero.
        if is_identity(module, result, sharding.reduction)
            || is_idempotent(sharding.reduction) && is_splat(module, result)
        {
            continue;
        }
        let splits = |axis: AxisRef| {
            let operands = data.operands.iter().filter_map(|&v| sharding_of(module, v));
            operands.flat_map(TensorSharding::split_axes).any(|split| split.axis == axis.axis)
        };
        if let Some(&axis) = sharding.unreduced.iter().find(|&&axis| !splits(axis)) {
            let axis = module.meshes[sharding.mesh].axis_text(axis);
            return Some(format!(
                "result {i} of {} is unreduced along \"{axis}\", but no operand is sharded along that axis",
                data.kind.title()
            ));
        }
        if sharding.split_axes().any(|split| sharding.unreduced.contains(&split)) {
            return Some(format!(
                "result {i} of {} is sharded along an axis along which it is unreduced",
                data.kind.title()
            ));
        }
    }
    None
}

fn is_splat(module: &Module, value: ValueId) -> bool {
    module.def_op(value).is_some_and(|op| matches!(module.ops[op].kind, OpKind::Constant(_)))
}

/// Returns the error if a result is marked as reduced although an operand has the unreduced sharding `from`.
fn lost(module: &Module, op: OpId, from: &TensorSharding) -> Option<String> {
    let data = &module.ops[op];
    for (i, &result) in data.results.iter().enumerate() {
        let to = sharding_of(module, result)?;
        let mesh = &module.meshes[from.mesh];
        if let Some(&axis) = from.unreduced.iter().find(|&&axis| !is_made_of(mesh, axis, &to.unreduced)) {
            let axis = mesh.axis_text(axis);
            return Some(format!(
                "result {i} of {} is reduced along \"{axis}\", but an operand is unreduced along this axis",
                data.kind.title()
            ));
        }
    }
    None
}

/// Whether `axes`, which may be sub-axes or merged axes, together contain `axis`.
fn is_made_of(mesh: &Mesh, axis: AxisRef, axes: &[AxisRef]) -> bool {
    let mut lists = [parts(mesh, &[axis]), parts(mesh, axes)];
    refine(mesh, &mut lists).is_some() && lists[0].iter().all(|part| lists[1].contains(part))
}

/// Returns the error in a collective that reduces values.
fn completion(module: &Module, op: OpId, kind: &MeshCollectiveKind) -> Option<String> {
    let (&[operand], &[result]) = (module.ops[op].operands.as_slice(), module.ops[op].results.as_slice())
    else {
        return None;
    };
    let (from, to) = (sharding_of(module, operand)?, sharding_of(module, result)?);
    let (completed, by): (Vec<AxisRef>, ReductionKind) = match kind {
        MeshCollectiveKind::AllReduce(axes, by) => (axes.to_vec(), *by),
        MeshCollectiveKind::ReduceScatter(lists, by) => (lists.iter().flatten().copied().collect(), *by),
        // These collectives convert reduced values to unreduced values, so an unreduced result is correct.
        MeshCollectiveKind::ShardedToUnreduced(_) | MeshCollectiveKind::ReplicatedToUnreduced(_) => {
            return None;
        }
        MeshCollectiveKind::AllGather(_)
        | MeshCollectiveKind::AllSlice(_)
        | MeshCollectiveKind::AllToAll(_)
        | MeshCollectiveKind::CollectivePermute
        | MeshCollectiveKind::Exchange => (Vec::new(), from.reduction),
    };
    // A collective of the input program may reduce values that are not unreduced, which is no error.
    if from.unreduced.is_empty() {
        return None;
    }
    if by != from.reduction {
        return Some(format!("the reduction of {} must be that of its unreduced operand", kind.name()));
    }
    let mesh = &module.meshes[from.mesh];
    let sizes = |axes: &[AxisRef]| mesh.axes_size(axes);
    if sizes(&from.unreduced) != sizes(&completed) * sizes(&to.unreduced) {
        return Some(format!(
            "{} reduces over {} devices, and its result is unreduced over {}, but its operand is unreduced over {}",
            kind.name(),
            sizes(&completed),
            sizes(&to.unreduced),
            sizes(&from.unreduced)
        ));
    }
    None
}
