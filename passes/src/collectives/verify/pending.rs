//! C1: pending sums are made where something is summed, pass only through what a sum passes through, and are completed
//! once.
//!
//! A value that is pending along some axes is, for every device along them, an addend of what it stands for. Whoever
//! computes with it as if it were whole counts too much or too little, and nobody notices.

use shardc_ir::{
    AxisRef, Diagnostic, Linear, MeshCollectiveKind, Module, OpId, OpKind, ReductionKind, RegionId,
    TensorSharding, ValueId,
};

use super::broken;
use crate::analysis::reducer::{is_idempotent, is_identity, reduction_of};
use crate::analysis::regions::program_ops;

/// Checks a planned module, before or after its reshards are lowered.
///
/// # Errors
/// Every operation that makes, combines or loses a pending sum as it must not (`SH0464`, internal).
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
        // The result of a collective in a program that was read from text has no sharding of its own.
        return Some(module.shardings.get(collective.out));
    }
    module.shardings.sharding_of(value)
}

/// Returns the sharding of a value if it is a pending sum.
fn pending(module: &Module, value: ValueId) -> Option<&TensorSharding> {
    sharding_of(module, value).filter(|s| !s.unreduced.is_empty())
}

/// Returns what is wrong with an operation, as a sentence; `None` if nothing is. This is linearity: an operation `f` may be
/// done on addends where `f(a + b) = f(a) + f(b)`, in the operands that are pending.
fn fault(module: &Module, op: OpId) -> Option<String> {
    let data = &module.ops[op];
    let name = data.kind.title();
    match &data.kind {
        // What becomes what is in the shardings; the way there is searched for, and refused where there is none.
        OpKind::Reshard(_) | OpKind::ShardingConstraint(_) => return None,
        OpKind::MeshCollective(collective) => return completion(module, op, &collective.kind),
        // Values that go in and out of regions stay what they are.
        OpKind::While => {
            let ends = data.regions.iter().skip(1);
            let args = data.regions.iter().map(|&r| module.regions[r].args.as_slice());
            let returned = ends.filter_map(|&r| Some(module.ops[module.terminator(r)?].operands.as_slice()));
            return args.chain(returned).chain([data.results.as_slice()]).find_map(|values| {
                differs(module, &data.operands, values)
                    .map(|i| format!("value {i} of {name} is pending in one place and not in another"))
            });
        }
        OpKind::Case | OpKind::If => {
            let ends = data.regions.iter().filter_map(|&r| module.terminator(r));
            return ends.map(|end| module.ops[end].operands.as_slice()).find_map(|values| {
                differs(module, &data.results, values)
                    .map(|i| format!("result {i} of {name} is pending in one branch and not in another"))
            });
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
            (Passes::Alike(start, end), Some(s)) => {
                if i < start || i >= end {
                    return Some(format!("{name} takes operand {i}, a pending sum, for the whole"));
                }
                if !same(s) {
                    return Some(format!("operands {first} and {i} of {name} are not pending alike"));
                }
            }
            (Passes::Alike(start, end), None) if i >= start && i < end && !neutral() => {
                return Some(format!("operand {i} of {name} is whole, operand {first} pending"));
            }
            // A product is linear in either operand, but not in both: `(a + b)(c + d)` has cross terms.
            (Passes::Either, Some(_)) if i != first => {
                return Some(format!("operands {first} and {i} of {name} are both pending sums"));
            }
            (Passes::Alike(..) | Passes::Either, _) => {}
        }
    }
    None
}

/// Returns the first place in which two lists of values are not pending alike.
fn differs(module: &Module, a: &[ValueId], b: &[ValueId]) -> Option<usize> {
    a.iter().zip(b).position(|(&a, &b)| match (pending(module, a), pending(module, b)) {
        (Some(a), Some(b)) => a.unreduced != b.unreduced || a.reduction != b.reduction,
        (None, None) => false,
        _ => true,
    })
}

/// Returns what is wrong with the pending results of an operation whose operands are whole: a sum over devices is pending
/// only along axes that split an operand.
fn made(module: &Module, op: OpId) -> Option<String> {
    let data = &module.ops[op];
    // `rng`: one device draws, the others add nothing.
    if matches!(data.kind, OpKind::Rng(_)) {
        return None;
    }
    for (i, &result) in data.results.iter().enumerate() {
        let Some(sharding) = pending(module, result) else { continue };
        // Zeros are a sum of zeros.
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
                "result {i} of {} is pending along \"{axis}\", which splits none of its operands",
                data.kind.title()
            ));
        }
        if sharding.split_axes().any(|split| sharding.unreduced.contains(&split)) {
            return Some(format!(
                "result {i} of {} is split along an axis that it is pending along",
                data.kind.title()
            ));
        }
    }
    None
}

fn is_splat(module: &Module, value: ValueId) -> bool {
    module.def_op(value).is_some_and(|op| matches!(module.ops[op].kind, OpKind::Constant(_)))
}

/// Returns what is wrong if a result is whole although an operand is pending as `from`.
fn lost(module: &Module, op: OpId, from: &TensorSharding) -> Option<String> {
    let data = &module.ops[op];
    for (i, &result) in data.results.iter().enumerate() {
        let to = sharding_of(module, result)?;
        if let Some(&axis) = from.unreduced.iter().find(|axis| !to.unreduced.contains(axis)) {
            let axis = module.meshes[from.mesh].axis_text(axis);
            return Some(format!(
                "result {i} of {} is whole along \"{axis}\", an operand is a pending sum",
                data.kind.title()
            ));
        }
    }
    None
}

/// Returns what is wrong with a collective that completes sums.
fn completion(module: &Module, op: OpId, kind: &MeshCollectiveKind) -> Option<String> {
    let (&[operand], &[result]) = (module.ops[op].operands.as_slice(), module.ops[op].results.as_slice())
    else {
        return None;
    };
    let (from, to) = (sharding_of(module, operand)?, sharding_of(module, result)?);
    let (completed, by): (Vec<AxisRef>, ReductionKind) = match kind {
        MeshCollectiveKind::AllReduce(axes, by) => (axes.to_vec(), *by),
        MeshCollectiveKind::ReduceScatter(lists, by) => (lists.iter().flatten().copied().collect(), *by),
        // These say outright that what they make is pending.
        MeshCollectiveKind::ShardedToUnreduced(_) | MeshCollectiveKind::ReplicatedToUnreduced(_) => {
            return None;
        }
        MeshCollectiveKind::AllGather(_)
        | MeshCollectiveKind::AllSlice(_)
        | MeshCollectiveKind::AllToAll(_)
        | MeshCollectiveKind::CollectivePermute => (Vec::new(), from.reduction),
    };
    // The program itself may sum what is not pending.
    if from.unreduced.is_empty() {
        return None;
    }
    if by != from.reduction {
        return Some(format!(
            "{} completes with another operation than the one that is pending",
            kind.name()
        ));
    }
    let mesh = &module.meshes[from.mesh];
    let sizes = |axes: &[AxisRef]| mesh.axes_size(axes);
    if sizes(&from.unreduced) != sizes(&completed) * sizes(&to.unreduced) {
        return Some(format!(
            "{} completes sums over {} devices and leaves {}, of {} that are pending",
            kind.name(),
            sizes(&completed),
            sizes(&to.unreduced),
            sizes(&from.unreduced)
        ));
    }
    None
}

/// Which operands of an operation may be pending, so that its result on the sums is the sum of its results on the addends.
#[derive(Clone, Copy)]
enum Passes {
    /// Those from one to before another, all of them alike; one that changes nothing may be whole. The rest is whole.
    Alike(usize, usize),
    /// Any one, with the others whole.
    Either,
}

const NONE: Passes = Passes::Alike(0, 0);
const ALL: Passes = Passes::Alike(0, usize::MAX);

fn passes(module: &Module, op: OpId, kind: ReductionKind) -> Passes {
    let data = &module.ops[op];
    let if_sum = |passes: Passes| if kind == ReductionKind::Add { passes } else { NONE };
    let alike = |from: u8, to: u8| match to {
        u8::MAX => Passes::Alike(from.into(), usize::MAX),
        to => Passes::Alike(from.into(), to.into()),
    };
    match data.kind.def().linear {
        Linear::No => NONE,
        Linear::Moves { from, to } => alike(from, to),
        Linear::Sums { from, to } => if_sum(alike(from, to)),
        Linear::EitherSums => if_sum(Passes::Either),
        Linear::Itself => match &data.kind {
            OpKind::Binary(op) if *op == kind.op() => ALL,
            _ => NONE,
        },
        Linear::Depends => match &data.kind {
            // Rounding a sum or its addends makes no difference in kind; cutting off fractions does.
            OpKind::Convert | OpKind::ReducePrecision { .. } => {
                let is_float = |values: &[ValueId]| {
                    values.iter().all(|&v| module.tensor(v).is_none_or(|t| !t.dtype.is_integer()))
                };
                if kind != ReductionKind::Add || !is_float(&data.operands) || is_float(&data.results) {
                    ALL
                } else {
                    NONE
                }
            }
            OpKind::Reduce { .. } => {
                let by = data.regions.first().and_then(|&r| reduction_of(module, r, data.results.len()));
                if by == Some(kind) { ALL } else { NONE }
            }
            _ => NONE,
        },
    }
}
