//! Propagation conflicts: the axes on which operands and results of an operation disagree, and the reasons.
//!
//! An operation whose tensors have the same axes along each factor needs no communication. If only one tensor has an axis, the reason may
//! be that the other tensor uses the axis for another dimension, is sharded along another axis, or was closed by an annotation. The reason
//! follows from the final shardings. The history that `provenance` records shows which axis came first, and why.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{AxisRef, EntityRef, Mesh, Module, OpId, ShardingId, TensorSharding};
use smallvec::SmallVec;

use super::conflict::{Conflict, Reason, Winner};
use super::factors::Direction;
use super::graph::{Boundary, Graph, NONE, Node};
use super::manual;
use super::projection::Projection;
use super::provenance::{Cause, Recorder, Round};
use super::schedule::{LEVELS, OpClass, Profile};
use super::subjects::AxisRole;
use crate::rules::sharding_rule::{ShardingRule, TensorMapping};
use crate::sharding::sub_axes::{minus, overlaps};

/// A disagreement between two tensors of an operation. The tensors are identified by index, so that all operations with the same rule and
/// shardings share the result.
#[derive(Clone, Copy, Debug)]
struct Difference {
    factor: u16,
    axis: AxisRef,
    has: u32,
    lacks: u32,
    kind: DifferenceKind,
}

#[derive(Clone, Copy, Debug)]
enum DifferenceKind {
    Taken(u32),
    OtherAxis(AxisRef),
    Plain(Reason),
}

/// Finds all conflicts of a function.
pub(super) fn find(
    module: &mut Module,
    graph: &Graph,
    shardings: &[u32],
    recorder: &Recorder,
    op_priority: bool,
) -> Vec<Conflict> {
    // Memoized, since the layers of a model repeat the same few combinations of rule and shardings.
    let mut known: FxHashMap<SmallVec<[u32; 12]>, Vec<Difference>> = FxHashMap::default();
    let mut out = Vec::new();
    // Each returned value is compared with its function result, as if the two were the tensors of one operation.
    let nodes = graph.nodes.iter().map(|node| (node.rule, node.boundary, Some(node)));
    let nodes = nodes.zip(graph.nodes.iter().map(|node| SmallVec::from_slice(graph.tensors_of(node))));
    let returns = graph
        .func_results
        .iter()
        .map(|r| ((r.rule, Boundary::No, None), SmallVec::<[u32; 8]>::from_slice(&[r.value, r.result])));
    for ((rule, boundary, node), slots) in nodes.chain(returns) {
        // All propagation barriers have the same identity rule, which does not contain the direction, so the key must contain it.
        let class = node.map_or(0, |node| match node.class {
            OpClass::Fixed(direction) => 1 + direction as u32,
            _ => 0,
        });
        let mut key: SmallVec<[u32; 12]> = SmallVec::from_slice(&[rule, class]);
        key.extend(slots.iter().map(|&slot| if slot == NONE { NONE } else { shardings[slot as usize] }));
        // At the boundary of a manual computation, the stored sharding may have manual axes, which the node does not see.
        if let Some(last) = key.last_mut()
            && boundary != Boundary::No
        {
            *last = manual::seen_by_node(module, boundary, *last);
        }
        if key[2..].iter().all(|&id| id == NONE) {
            continue;
        }
        let rule = &graph.rules[rule as usize].rule;
        if !known.contains_key(&key) {
            known.insert(key.clone(), differences(module, rule, node, &key[2..]));
        }
        for difference in &known[&key] {
            let after = After { rule, recorder, op_priority };
            out.extend(after.conflict(node, &slots, difference));
        }
    }
    out
}

/// Returns the disagreements between the tensors of a rule with these shardings. For each factor, an axis that one tensor has is listed
/// once for each tensor that lacks it.
fn differences(module: &Module, rule: &ShardingRule, node: Option<&Node>, ids: &[u32]) -> Vec<Difference> {
    let shardings: SmallVec<[Option<&TensorSharding>; 8]> = ids
        .iter()
        .map(|&id| (id != NONE).then(|| module.shardings.get(ShardingId::new(id as usize))))
        .collect();
    let Some(first) = shardings.iter().flatten().find(|s| !module.meshes[s.mesh].axes.is_empty()) else {
        return Vec::new();
    };
    let mesh = &module.meshes[first.mesh];
    if mesh.is_maximal() {
        return Vec::new();
    }
    let mappings: SmallVec<[_; 8]> = rule.tensors().collect();
    if let Some(difference) = other_mesh(module, first, &shardings, &mappings) {
        return difference.into_iter().collect();
    }
    let projection = Projection::new(mesh, rule, shardings.iter().copied());
    let mut out = Vec::new();
    for f in 0..rule.factors.len() {
        let axes = |i: usize| projection.tensors[i].factors[f].as_ref().map(|s| s.axes.as_slice());
        // Each missing part of an axis is reported once per tensor, however many other tensors have it.
        let mut found: Vec<SmallVec<[AxisRef; 2]>> = vec![SmallVec::new(); mappings.len()];
        // A concatenation has thousands of tensors with few distinct shardings, so each list of axes is compared once.
        let mut shown: FxHashSet<&[AxisRef]> = FxHashSet::default();
        for has in 0..mappings.len() {
            let Some(held) = axes(has).filter(|held| shown.insert(held)) else { continue };
            for &axis in held {
                for lacks in (0..mappings.len()).filter(|&i| i != has) {
                    let Some(own) = axes(lacks) else { continue };
                    for part in minus(mesh, axis, own) {
                        if found[lacks].iter().any(|&a| overlaps(a, part)) {
                            continue;
                        }
                        found[lacks].push(part);
                        let pair =
                            TensorPair { mesh, rule, projection: &projection, f, has, lacks, axis: part };
                        out.push(Difference {
                            factor: f as u16,
                            axis: part,
                            has: has as u32,
                            lacks: lacks as u32,
                            kind: pair.kind(node, shardings[lacks]),
                        });
                    }
                }
            }
        }
    }
    out
}

/// Returns the single disagreement of shardings on different meshes, whose axes cannot be compared. The outer option is `None` if all
/// shardings refer to the same mesh.
fn other_mesh(
    module: &Module,
    first: &TensorSharding,
    shardings: &[Option<&TensorSharding>],
    mappings: &[&TensorMapping],
) -> Option<Option<Difference>> {
    let axes = |s: &TensorSharding| &module.meshes[s.mesh].axes;
    let differs = |s: &TensorSharding| {
        s.mesh != first.mesh && !axes(s).is_empty() && !axes(s).iter().eq(axes(first).iter())
    };
    let lacks = shardings.iter().position(|s| s.is_some_and(differs))?;
    let has = shardings.iter().position(|s| s.is_some_and(|s| !differs(s) && !s.is_unsplit()));
    let split = has.and_then(|has| {
        let (dim, axis) =
            shardings[has]?.dims.iter().enumerate().find_map(|(d, s)| Some((d, *s.axes.first()?)))?;
        let factor = *mappings[has].dims.get(dim)?.first()?;
        let kind = DifferenceKind::Plain(Reason::OtherMesh);
        Some(Difference { factor, axis, has: has as u32, lacks: lacks as u32, kind })
    });
    Some(split)
}

/// Two tensors of an operation: the first has an axis along a factor, and the second lacks it.
struct TensorPair<'a> {
    mesh: &'a Mesh,
    rule: &'a ShardingRule,
    projection: &'a Projection,
    f: usize,
    has: usize,
    lacks: usize,
    axis: AxisRef,
}

impl TensorPair<'_> {
    /// Returns why the second tensor of the pair lacks the axis. Reasons are tested in the order in which propagation checks them.
    fn kind(&self, node: Option<&Node>, sharding: Option<&TensorSharding>) -> DifferenceKind {
        let (f, axis) = (self.f, self.axis);
        let loser = &self.projection.tensors[self.lacks];
        let overlapping = |axes: &[AxisRef]| axes.iter().any(|&a| overlaps(a, axis));
        let dims = sharding.map_or(&[][..], |s| s.dims.as_slice());
        if let Some(dim) = dims.iter().position(|d| overlapping(&d.axes)) {
            return DifferenceKind::Taken(dim as u32);
        }
        if overlapping(&loser.unreduced) {
            return DifferenceKind::Plain(Reason::Pending);
        }
        if overlapping(&loser.replicated) {
            return DifferenceKind::Plain(Reason::Replicated);
        }
        let own = loser.factors[f].as_ref();
        let theirs = self.projection.tensors[self.has].factors[f].as_ref();
        if let (Some(own), Some(theirs)) = (own, theirs) {
            // The second tensor has another axis at the first position at which the two lists of axes differ. That axis took precedence.
            let differs = own.axes.iter().zip(&theirs.axes).find(|(a, b)| !overlaps(**a, **b));
            let differs = differs.map(|(a, _)| *a).or(own.axes.get(theirs.axes.len()).copied());
            if let Some(other) = differs {
                return DifferenceKind::OtherAxis(other);
            }
            if let Some(&other) = own.overflow.first() {
                return DifferenceKind::OtherAxis(other);
            }
        }
        if self.rule.factors[f].blocked {
            return DifferenceKind::Plain(Reason::Blocked);
        }
        if let Some(Node { class: OpClass::Fixed(direction), .. }) = node
            && !self.flows(*direction)
        {
            return DifferenceKind::Plain(Reason::Barrier);
        }
        let Some(own) = own else { return DifferenceKind::Plain(Reason::NoAgreement) };
        if own.closed {
            return DifferenceKind::Plain(Reason::Closed);
        }
        let before = self.mesh.axes_size(&own.axes);
        let size = self.rule.factors[f].size;
        if !own.minor_most && (before == 0 || size % (before * self.mesh.axis_size(axis)) != 0) {
            return DifferenceKind::Plain(Reason::DoesNotDivide);
        }
        DifferenceKind::Plain(Reason::NoAgreement)
    }

    /// Whether shardings may propagate from the tensor that has the axis to the tensor that lacks it.
    fn flows(&self, direction: Direction) -> bool {
        let operand = |i: usize| i < self.projection.num_operands;
        match direction {
            Direction::None => false,
            Direction::Both => true,
            Direction::Forward => operand(self.has) && !operand(self.lacks),
            Direction::Backward => !operand(self.has) && operand(self.lacks),
        }
    }
}

/// The rule of one operation, and the recorder of how axes reached its tensors.
struct After<'a> {
    rule: &'a ShardingRule,
    recorder: &'a Recorder,
    op_priority: bool,
}

impl After<'_> {
    fn conflict(&self, node: Option<&Node>, slots: &[u32], difference: &Difference) -> Option<Conflict> {
        let &Difference { factor, axis, has, lacks, kind } = difference;
        let (winner_slot, loser_slot) = (slots[has as usize], slots[lacks as usize]);
        // Two uses of one value share a sharding, so they cannot disagree.
        if winner_slot == NONE || loser_slot == NONE || winner_slot == loser_slot {
            return None;
        }
        let dim_of = |tensor: u32| {
            let mapping = self.rule.tensors().nth(tensor as usize)?;
            Some(mapping.find(factor)?.0 as u32)
        };
        let (has_dim, lacks_dim) = (dim_of(has)?, dim_of(lacks)?);
        let recorder = self.recorder;
        let op = node.map(|node| node.op);
        let arrived = recorder.table().arrival(winner_slot, AxisRole::Dim(has_dim), axis);
        let arrived = arrived.map_or(Round::default(), |a| a.round);
        let first = node.and_then(|node| self.first_level(node, factor));
        // The schedule lets the operation propagate the axis only from a certain level on. For example, a contraction propagates an axis
        // that arrived at level 0 only at level 2, so an axis that reached the other tensor at level 1 takes precedence.
        let wanted = Round { level: arrived.level.max(first.unwrap_or(0)), ..arrived };
        let reason = match kind {
            DifferenceKind::Taken(dim) => Reason::Taken {
                dim,
                winner: winner(recorder, op, loser_slot, AxisRole::Dim(dim), axis, wanted),
            },
            DifferenceKind::OtherAxis(other) => Reason::OtherAxis {
                axis: other,
                winner: winner(recorder, op, loser_slot, AxisRole::Dim(lacks_dim), other, wanted),
            },
            DifferenceKind::Plain(Reason::NoAgreement) if node.is_some() && first.is_none() => {
                Reason::Blocked
            }
            DifferenceKind::Plain(reason) => reason,
        };
        Some(Conflict {
            op,
            axis,
            size: self.rule.factors[usize::from(factor)].size,
            has: (recorder.subject(winner_slot), has_dim),
            lacks: (recorder.subject(loser_slot), lacks_dim),
            reason,
        })
    }

    /// Returns the first level of the schedule at which an operation propagates along a factor; `None` if it never does.
    fn first_level(&self, node: &Node, factor: u16) -> Option<u8> {
        let factor = &self.rule.factors[usize::from(factor)];
        let carries = |profile: Profile| profile.direction(factor.kind, factor.blocked) != Direction::None;
        match node.class {
            OpClass::Fixed(direction) => carries(Profile::All(direction)).then_some(0),
            _ if !self.op_priority => carries(Profile::All(Direction::Both)).then_some(0),
            class => (0..LEVELS).find(|&level| carries(class.profile(level))),
        }
    }
}

/// Returns why one axis took precedence over an axis that another tensor of the operation got in round `other`. The first axis is at the
/// position `place` of the sharding in `slot`.
fn winner(
    recorder: &Recorder,
    op: Option<OpId>,
    slot: u32,
    place: AxisRole,
    axis: AxisRef,
    other: Round,
) -> Winner {
    let Some(arrival) = recorder.table().arrival(slot, place, axis) else { return Winner::First };
    match arrival.cause {
        Cause::Annotation(_) => Winner::Annotated,
        _ if arrival.round.priority < other.priority => {
            Winner::UserPriority(arrival.round.priority, other.priority)
        }
        _ if arrival.round.priority == other.priority && arrival.round.level < other.level => {
            Winner::OpPriority
        }
        Cause::Carried { op: by, .. } if Some(by) == op && arrival.round >= other => Winner::LargerTensor,
        _ => Winner::First,
    }
}
