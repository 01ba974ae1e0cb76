//! Verifies invariant I18: Shardy's constraints on operations, except shardings.

use super::{Report, edges, rule};
use crate::discardable::{SHARDING, SHARDING_RULE};
use crate::{
    Attr, AxisList, AxisRef, Mesh, MeshCollectiveKind, Module, OpId, OpKind, PropagationDirection,
    ReductionKind, ValueId,
};

const CODE: &str = "SH0218";

pub(super) fn check(report: &mut Report<'_>, id: OpId) {
    let module = report.module;
    let op = &module.ops[id];
    let found = match &op.kind {
        OpKind::PropagationBarrier { direction: PropagationDirection::Both } => {
            Err("allows both directions and has no effect: use NONE, FORWARD or BACKWARD, or remove it"
                .to_owned())
        }
        OpKind::ShardingConstraint(to) | OpKind::Reshard(to) => {
            pending(module, op.operands.first(), *to, None)
        }
        OpKind::MeshCollective(spec) => match &spec.kind {
            MeshCollectiveKind::AllReduce(_, kind) | MeshCollectiveKind::ReduceScatter(_, kind) => {
                pending(module, op.operands.first(), spec.out, Some(*kind))
            }
            MeshCollectiveKind::ShardedToUnreduced(_) | MeshCollectiveKind::ReplicatedToUnreduced(_) => {
                let to = module.shardings.get(spec.out);
                if to.reduction == ReductionKind::Add {
                    Ok(())
                } else {
                    Err(starts_to_wait(to.reduction, ReductionKind::Add))
                }
            }
            _ => Ok(()),
        },
        OpKind::NamedComputation(spec) => {
            let lists = [
                ("in", &spec.in_shardings, op.operands.len()),
                ("out", &spec.out_shardings, op.results.len()),
            ];
            let wrong = lists.iter().find_map(|&(what, list, want)| {
                let have = list.as_ref()?.len();
                (have != want).then(|| format!("has {have} {what}_shardings, expected {want}"))
            });
            wrong.map_or(Ok(()), Err)
        }
        _ => Ok(()),
    };
    if let Err(message) = found {
        report.at_op(CODE, id, format!("{} {message}", op.kind.title()));
    }
    if op.attrs.is_empty() {
        return;
    }
    for (attr, value) in op.attrs.iter() {
        if let Some(message) = attribute(module, id, attr, value) {
            // The position of an attribute in the source text is unknown, so the hint quotes the sharding rule.
            let hint = match value {
                Attr::Raw(text) if attr == SHARDING_RULE => Some(format!("the rule is {text}")),
                _ => None,
            };
            report.hinted(CODE, id, format!("{attr} of {} {message}", op.kind.title()), hint.as_deref());
        }
    }
}

/// Describes the error in a Shardy attribute; `None` if the attribute is valid.
fn attribute(module: &Module, id: OpId, name: &str, value: &Attr) -> Option<String> {
    let starts = |attr: &Attr, prefix: &str| matches!(attr, Attr::Raw(text) if text.starts_with(prefix));
    let op = &module.ops[id];
    match name {
        SHARDING if op.results.is_empty() && starts(value, "#sdy.sharding_per_value<") => of_nothing(value)
            .then(|| "must have no dimensions and axes, because the operation has no results".to_owned()),
        SHARDING if !starts(value, "#sdy.sharding_per_value<") => {
            Some("must be a #sdy.sharding_per_value<[...]>, one sharding per result".to_owned())
        }
        SHARDING_RULE => match value {
            Attr::Raw(text) if text.starts_with("#sdy.op_sharding_rule<") => rule::fault(module, op, text),
            _ => Some("must be a #sdy.op_sharding_rule<...>".to_owned()),
        },
        "sdy.propagation_edges" if !starts(value, "#sdy.propagation_edges<") => {
            Some("must be a #sdy.propagation_edges<...>".to_owned())
        }
        "sdy.propagation_edges" => edges::fault(module, op, value),
        "sdy.result_propagation_edges" | "sdy.block_arg_propagation_edges" => {
            let Attr::Array(items) = value else {
                return Some("must be a list of #sdy.propagation_edges<...>".to_owned());
            };
            items.iter().find_map(|item| match item {
                Attr::Raw(text) if text.starts_with("#sdy.propagation_edges<") => edges::form_fault(text),
                _ => Some("must be a list of #sdy.propagation_edges<...>".to_owned()),
            })
        }
        _ => None,
    }
}

/// Whether the sharding of an operation without results has dimensions or axes, which is an error: it may only be a maximal sharding.
fn of_nothing(value: &Attr) -> bool {
    let Attr::Raw(text) = value else { return false };
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let inner = text.strip_prefix("#sdy.sharding_per_value<[").and_then(|rest| rest.strip_suffix("]>"));
    inner.is_some_and(|inner| !inner.is_empty() && !inner.ends_with(",[]>"))
}

/// Checks that the unreduced axes of an operation's result fit those of its operand. If the operation reduces along some axes, `removed` is
/// its reduction.
fn pending(
    module: &Module,
    operand: Option<&ValueId>,
    to: crate::ShardingId,
    removed: Option<ReductionKind>,
) -> Result<(), String> {
    let to = module.shardings.get(to);
    let Some(from) = operand.and_then(|&v| module.shardings.sharding_of(v)) else {
        return Ok(());
    };
    // Axes are indices into one mesh, so those of two meshes cannot be compared.
    if from.mesh != to.mesh {
        return Ok(());
    }
    let mesh = &module.meshes[from.mesh];
    if let Some(want) = removed
        && from.reduction != want
        && beyond(mesh, &from.unreduced, &to.unreduced)
    {
        return Err(format!(
            "reduces an unreduced {} with the reduction {}",
            word(from.reduction),
            word(want)
        ));
    }
    let kept = from.unreduced.iter().any(|&a| to.unreduced.iter().any(|&b| overlap(mesh, a, b)));
    if kept && from.reduction != to.reduction {
        return Err(format!(
            "changes an unreduced {} to an unreduced {}",
            word(from.reduction),
            word(to.reduction)
        ));
    }
    Ok(())
}

fn starts_to_wait(have: ReductionKind, want: ReductionKind) -> String {
    format!("makes its result an unreduced {}, but only an unreduced {} is supported", word(have), word(want))
}

fn word(kind: ReductionKind) -> &'static str {
    match kind {
        ReductionKind::Add => "sum",
        ReductionKind::Mul => "product",
        ReductionKind::Max => "maximum",
        ReductionKind::Min => "minimum",
        ReductionKind::And => "and",
        ReductionKind::Or => "or",
        ReductionKind::Xor => "exclusive or",
    }
}

/// The range of an axis or sub-axis within its full axis: the product of the more major sizes, and that product times its own size.
fn range(mesh: &Mesh, axis: AxisRef) -> (i64, i64) {
    match axis.sub {
        None => (1, mesh.full_size(axis)),
        Some(sub) => (i64::from(sub.pre), i64::from(sub.pre).saturating_mul(i64::from(sub.size))),
    }
}

fn overlap(mesh: &Mesh, a: AxisRef, b: AxisRef) -> bool {
    let ((from, to), (first, last)) = (range(mesh, a), range(mesh, b));
    a.axis == b.axis && from < last && first < to
}

/// Whether `axes` contain an axis or a part of an axis that `others` do not cover.
fn beyond(mesh: &Mesh, axes: &AxisList, others: &AxisList) -> bool {
    axes.iter().any(|&axis| {
        let (mut at, end) = range(mesh, axis);
        // Sub-axes of the same axis do not overlap, so walking along them determines whether they cover it. The loop terminates: each step
        // goes to the end of a sub-axis that begins at or before `at` and ends after it. An axis of size 1 counts as covered.
        while at < end {
            let next = others
                .iter()
                .filter(|other| other.axis == axis.axis)
                .map(|&other| range(mesh, other))
                .find(|&(from, to)| from <= at && at < to);
            match next {
                Some((_, to)) => at = to,
                None => return true,
            }
        }
        false
    })
}
