//! Provenance: the origin of every axis on every value.
//!
//! During propagation, each axis (or part of one) that is added to a value's sharding is recorded as an *arrival*: its position in the
//! sharding and its cause, which is an annotation, or an operation and the value that the axis came from. Each arrival is appended after
//! the arrival that caused it. Following arrivals backwards therefore ends at an annotation.
//!
//! The effects of an operation are memoized by rule and shardings, and so are its arrivals.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use shardc_ir::{AxisRef, EntityRef, Mesh, Module, OpId, SecondaryMap, ShardingId, TensorSharding, ValueId};
use smallvec::SmallVec;

use super::conflict::Conflict;
use super::debug::Log;
use super::graph::{Graph, NONE};
use super::projection::TensorFactors;
use super::subjects::{AnnotationSource, AxisRole, Subject};
use crate::rules::sharding_rule::ShardingRule;
use crate::sharding::sub_axes::{Axes, Prefix, contains, minus, overlaps, part, pre, prefix_of};

/// How an axis reached a value or function result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// An annotation has the axis.
    Annotation(AnnotationSource),
    /// An operation propagated the axis from another operand or result.
    Carried {
        /// The operation that propagated the axis.
        op: OpId,
        /// The operand or result that the axis came from.
        from: Subject,
        /// The dimension of `from` that the axis shards.
        from_dim: u32,
        /// The indices of the source and the target among the tensors of the operation: operands first, then results.
        tensors: (u32, u32),
    },
    /// The axis was propagated between a returned value and a result of the function.
    Returned {
        /// The value or function result that the axis came from.
        from: Subject,
    },
    /// The axis was propagated between a donated argument and the result that it is donated to.
    Donated {
        /// The argument or result that the axis came from.
        from: Subject,
    },
    /// The axis was propagated between two members of a sharding group.
    Group {
        /// The member that the axis came from.
        from: Subject,
    },
}

/// The time of a propagation step: ordered by user priority, then by level of the schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Round {
    /// The current user priority.
    pub priority: u32,
    /// The level of the operation schedule (0 to 4; 0 propagates first).
    pub level: u8,
}

/// The event that one part of an axis reached one position in the sharding of a value or function result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The value or function result that got the axis.
    pub subject: Subject,
    /// The position of the axis in the sharding of `subject`.
    pub place: AxisRole,
    /// The axis, or the part of it, that arrived.
    pub axis: AxisRef,
    /// How the axis arrived.
    pub cause: Cause,
    /// When the axis arrived.
    pub round: Round,
}

/// The propagation path of a part of an axis: arrivals from the requested value back to the annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The axis, or the part of it, that took this path.
    pub axis: AxisRef,
    /// The arrivals, from the requested value to the annotation.
    pub links: Vec<Arrival>,
}

impl Chain {
    /// Returns the annotation that the axis comes from: the end of the path.
    #[must_use]
    pub fn origin(&self) -> Option<AnnotationSource> {
        match self.links.last()?.cause {
            Cause::Annotation(annotation) => Some(annotation),
            Cause::Carried { .. } | Cause::Returned { .. } | Cause::Donated { .. } | Cause::Group { .. } => {
                None
            }
        }
    }
}

/// All arrivals of one propagation run, and the remaining conflicts.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    slot_of: SecondaryMap<ValueId, u32>,
    first_result: u32,
    arrivals: Vec<Arrival>,
    /// For each arrival, the index of the previous arrival at the same slot (stored sharding): one linked list per slot, all stored in one
    /// vector.
    previous: Vec<u32>,
    /// For each slot, the index of the last arrival.
    latest: Vec<u32>,
    /// For each arrival, the index of the first arrival in its chain, whose cause is an annotation.
    origin: Vec<u32>,
    pub(super) conflicts: Vec<Conflict>,
    pub(super) shardings: Vec<u32>,
}

impl Provenance {
    fn slot(&self, subject: Subject) -> Option<u32> {
        match subject {
            Subject::Value(value) => Some(self.slot_of[value].wrapping_sub(1)).filter(|&slot| slot != NONE),
            Subject::Result(i) => {
                Some(self.first_result + i).filter(|&slot| (slot as usize) < self.latest.len())
            }
        }
    }

    /// Returns all arrivals of axes at a slot (stored sharding), last first, each with its index.
    fn at(&self, slot: u32) -> impl Iterator<Item = (u32, &Arrival)> {
        let mut next = self.latest[slot as usize];
        std::iter::from_fn(move || {
            let at = next;
            let arrival = self.arrivals.get(at as usize)?;
            next = self.previous[at as usize];
            Some((at, arrival))
        })
    }

    /// Returns every arrival of an axis at a value, in chronological order.
    #[must_use]
    pub fn arrivals(&self) -> &[Arrival] {
        &self.arrivals
    }

    /// Returns the chains of an axis at a position, one for each part with its own path; none if the axis is not at that position.
    #[must_use]
    pub fn chains(&self, subject: Subject, place: AxisRole, axis: AxisRef) -> Vec<Chain> {
        let mut out = Vec::new();
        // The parts that remain to be traced, with their links so far. Parts only become smaller, so the loop terminates. `before`
        // restricts the search to earlier arrivals, so loops in the program cause no cycles.
        let mut stack = vec![(subject, place, axis, NONE, Vec::new())];
        while let Some((subject, place, axis, before, links)) = stack.pop() {
            let Some(slot) = self.slot(subject) else { continue };
            let mut found: SmallVec<[(u32, &Arrival, AxisRef); 2]> = SmallVec::new();
            for (at, arrival) in self.at(slot) {
                let here = at < before && overlaps(arrival.axis, axis);
                let same_place = arrival.place == place;
                if here && same_place && !found.iter().any(|(.., part)| overlaps(*part, arrival.axis)) {
                    found.push((at, arrival, common_part(axis, arrival.axis)));
                }
            }
            if found.is_empty() {
                // At the boundary of a manual computation, the sharding inside may have axes that the sharding outside lacks, and vice
                // versa.
                let any = self.at(slot).find(|(at, a)| *at < before && overlaps(a.axis, axis));
                found.extend(any.map(|(at, arrival)| (at, arrival, common_part(axis, arrival.axis))));
            }
            found.sort_by_key(|(.., part)| std::cmp::Reverse(pre(*part)));
            // The last part takes the links without a copy: most paths never fork, and some are as long as the program.
            let (mut rest, last) = (links, found.len().saturating_sub(1));
            for (i, (at, arrival, part)) in found.into_iter().enumerate() {
                let mut links = if i == last { std::mem::take(&mut rest) } else { rest.clone() };
                links.push(*arrival);
                match arrival.cause {
                    Cause::Annotation(_) => out.push(Chain { axis: part, links }),
                    Cause::Carried { from, from_dim, .. } => {
                        stack.push((from, AxisRole::Dim(from_dim), part, at, links));
                    }
                    Cause::Returned { from } | Cause::Donated { from } | Cause::Group { from } => {
                        stack.push((from, arrival.place, part, at, links));
                    }
                }
            }
        }
        out
    }

    /// Returns the annotations that an axis at a position comes from. If an operation joined parts with different paths, this fast
    /// version follows only the first path; [`Provenance::chains`] follows all paths.
    #[must_use]
    pub fn origins(&self, subject: Subject, place: AxisRole, axis: AxisRef) -> Vec<AnnotationSource> {
        let Some(slot) = self.slot(subject) else { return Vec::new() };
        let here = self.at(slot).filter(|(_, a)| a.place == place && overlaps(a.axis, axis));
        let origins =
            here.filter_map(|(at, _)| match self.arrivals[self.origin[at as usize] as usize].cause {
                Cause::Annotation(annotation) => Some(annotation),
                Cause::Carried { .. }
                | Cause::Returned { .. }
                | Cause::Donated { .. }
                | Cause::Group { .. } => None,
            });
        let mut out: Vec<AnnotationSource> = origins.collect();
        out.sort_unstable();
        out.dedup();
        out
    }

    /// Returns the axes on which operands and results of operations disagree after propagation, and the reasons.
    #[must_use]
    pub fn conflicts(&self) -> &[Conflict] {
        &self.conflicts
    }

    /// Returns the sharding that propagation found for a value or function result. At the boundary of the function, axes that do not divide
    /// a dimension may have been removed afterwards.
    #[must_use]
    pub fn sharding_before_trimming(&self, subject: Subject) -> Option<ShardingId> {
        let id = *self.shardings.get(self.slot(subject)? as usize)?;
        (id != NONE).then(|| ShardingId::new(id as usize))
    }

    fn push(
        &mut self,
        subject: Subject,
        slot: u32,
        place: AxisRole,
        axis: AxisRef,
        cause: Cause,
        round: Round,
    ) {
        let at = self.arrivals.len() as u32;
        let source = match cause {
            Cause::Annotation(_) => None,
            Cause::Carried { from, from_dim, .. } => Some((from, AxisRole::Dim(from_dim))),
            Cause::Returned { from } | Cause::Donated { from } | Cause::Group { from } => Some((from, place)),
        };
        // The arrival that caused the new arrival. Its position is known, except at the boundary of a manual computation, where the axis
        // may have a different role on the other side.
        let before = source.and_then(|(from, place)| {
            let slot = self.slot(from)?;
            let overlapping = || self.at(slot).filter(|(_, a)| overlaps(a.axis, axis));
            overlapping().find(|(_, a)| a.place == place).or_else(|| overlapping().next())
        });
        let origin = before.map_or(at, |(before, _)| self.origin[before as usize]);
        self.origin.push(origin);
        self.arrivals.push(Arrival { subject, place, axis, cause, round });
        self.previous.push(std::mem::replace(&mut self.latest[slot as usize], at));
    }

    /// Records that an argument or result of the function took the sharding of the result or argument that it is aliased with.
    pub(super) fn donate(&mut self, module: &Module, to: Subject, from: Subject, sharding: ShardingId) {
        let Some(slot) = self.slot(to) else { return };
        let sharding = module.shardings.get(sharding);
        let mesh = &module.meshes[sharding.mesh];
        for (d, dim) in sharding.dims.iter().enumerate() {
            let place = AxisRole::Dim(d as u32);
            for &axis in &dim.axes {
                let had: SmallVec<[AxisRef; 4]> =
                    self.at(slot).filter(|(_, a)| a.place == place).map(|(_, a)| a.axis).collect();
                for axis in minus(mesh, axis, &had) {
                    self.push(to, slot, place, axis, Cause::Donated { from }, Round::default());
                }
            }
        }
    }

    /// Returns the last arrival of an axis, or of a part of it, at the position `place` of the sharding in `slot`.
    pub(super) fn arrival(&self, slot: u32, place: AxisRole, axis: AxisRef) -> Option<&Arrival> {
        self.at(slot).map(|(_, a)| a).find(|a| a.place == place && overlaps(a.axis, axis))
    }
}

/// Returns the intersection of two overlapping axes.
fn common_part(a: AxisRef, b: AxisRef) -> AxisRef {
    match (a.sub, b.sub) {
        (None, _) => b,
        (_, None) => a,
        (Some(x), Some(y)) => {
            // The axes overlap, so `from < to`. Sub-axes in the same sharding, or propagated from each other, have sizes that divide each
            // other.
            let (from, to) = (x.pre.max(y.pre), (x.pre * x.size).min(y.pre * y.size));
            part(a, from, to / from)
        }
    }
}

/// An axis that an operation adds to one of its tensors.
#[derive(Clone, Copy, Debug)]
struct Added {
    tensor: u32,
    dim: u32,
    axis: AxisRef,
    from: u32,
    from_dim: u32,
}

/// Records arrivals while propagation runs.
#[derive(Debug)]
pub(super) struct Recorder {
    table: Provenance,
    subjects: Vec<Subject>,
    known: FxHashMap<Box<[u32]>, Rc<[Added]>>,
    pub(super) round: Round,
    /// The log for Shardy's debugging attributes, if requested.
    pub(super) log: Option<Log>,
}

/// The reason why an axis is propagated from one value or function result to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Via {
    /// An operation that has both values as operands or results.
    Op(OpId),
    /// The return of a value as a result of the function.
    Return,
    /// The donation of an argument to a result.
    Alias,
}

/// Indices of interned shardings, one for each tensor of an operation or for each slot of the propagation graph; [`NONE`] means no
/// sharding.
pub(super) type Ids<'a> = &'a [u32];

impl Recorder {
    pub(super) fn new(graph: &Graph) -> Self {
        // Function results come last in the graph, and are the only slots without a value.
        let first_result = graph.values.iter().position(Option::is_none).unwrap_or(graph.values.len());
        let subjects = graph.values.iter().enumerate().map(|(slot, value)| match value {
            Some(value) => Subject::Value(*value),
            None => Subject::Result((slot - first_result) as u32),
        });
        Recorder {
            table: Provenance {
                slot_of: graph.slots().clone(),
                first_result: first_result as u32,
                latest: vec![NONE; graph.values.len()],
                ..Provenance::default()
            },
            subjects: subjects.collect(),
            known: FxHashMap::default(),
            round: Round::default(),
            log: None,
        }
    }

    pub(super) fn table(&self) -> &Provenance {
        &self.table
    }

    pub(super) fn subject(&self, slot: u32) -> Subject {
        self.subjects[slot as usize]
    }

    pub(super) fn finish(mut self, conflicts: Vec<Conflict>, shardings: &[u32]) -> Provenance {
        self.table.conflicts = conflicts;
        self.table.shardings = shardings.to_vec();
        self.table
    }

    fn push(&mut self, slot: u32, place: AxisRole, axis: AxisRef, cause: Cause, round: Round) {
        self.table.push(self.subjects[slot as usize], slot, place, axis, cause, round);
    }

    /// Records that `slot` (values that share a sharding) starts with this sharding, from an annotation.
    pub(super) fn annotated(&mut self, slot: u32, sharding: &TensorSharding, annotation: AnnotationSource) {
        let cause = Cause::Annotation(annotation);
        for (d, dim) in sharding.dims.iter().enumerate() {
            let round = Round { priority: dim.priority.unwrap_or(0), level: 0 };
            for &axis in &dim.axes {
                self.push(slot, AxisRole::Dim(d as u32), axis, cause, round);
            }
        }
        for (place, axes) in
            [(AxisRole::Replicated, &sharding.replicated), (AxisRole::Unreduced, &sharding.unreduced)]
        {
            for &axis in axes {
                self.push(slot, place, axis, cause, Round::default());
            }
        }
    }

    /// Records that the values in slot `to` get the sharding of those in slot `from`, which are in the same sharding group.
    pub(super) fn grouped(&mut self, mesh: &Mesh, from: u32, to: u32, sharding: &TensorSharding) {
        let cause = Cause::Group { from: self.subjects[from as usize] };
        let dims = sharding.dims.iter().enumerate().map(|(d, dim)| (AxisRole::Dim(d as u32), &dim.axes));
        let others =
            [(AxisRole::Replicated, &sharding.replicated), (AxisRole::Unreduced, &sharding.unreduced)];
        for (place, axes) in dims.chain(others) {
            for &axis in axes {
                let had: SmallVec<[AxisRef; 4]> =
                    self.table.at(to).filter(|(_, a)| a.place == place).map(|(_, a)| a.axis).collect();
                for axis in minus(mesh, axis, &had) {
                    self.push(to, place, axis, cause, self.round);
                }
            }
        }
    }

    /// Records that members of sharding groups start with the sharding of another member.
    pub(super) fn joined(&mut self, module: &Module, graph: &Graph, given: Ids<'_>, shardings: Ids<'_>) {
        for members in &graph.group_members {
            let kept = |slot: u32| given[slot as usize] == shardings[slot as usize];
            let Some(speaker) = members.iter().copied().find(|&slot| kept(slot)) else { continue };
            for &slot in members.iter().filter(|&&slot| !kept(slot)) {
                let sharding = module.shardings.get(ShardingId::new(shardings[slot as usize] as usize));
                self.grouped(&module.meshes[sharding.mesh], speaker, slot, sharding);
            }
        }
    }

    /// Records that an operation, a `return` or a donation assigns the shardings `new` to some of its tensors. `key` is the key under which
    /// the outcome is memoized; from `key[2]` on, it contains the previous shardings. `slots` are the slots of the tensors.
    pub(super) fn carried(
        &mut self,
        module: &Module,
        rule: &ShardingRule,
        key: Ids<'_>,
        slots: Ids<'_>,
        new: &[(u32, u32)],
        via: Via,
    ) {
        let op = match via {
            Via::Op(op) => Some(op),
            Via::Return | Via::Alias => None,
        };
        // Shardy does not propagate along donations.
        if let Some(log) = self.log.as_mut().filter(|_| via != Via::Alias) {
            log.step(module, rule, key, slots, new, op);
        }
        if !self.known.contains_key(key) {
            let added = added(module, rule, &key[2..], new);
            self.known.insert(key.into(), added.into());
        }
        let Some(added) = self.known.get(key) else { return };
        for &Added { tensor, dim, axis, from, from_dim } in Rc::clone(added).iter() {
            let (slot, source) = (slots[tensor as usize], slots[from as usize]);
            if slot == NONE || source == NONE {
                continue;
            }
            // If an operation uses a value twice, the axis is recorded once.
            let place = AxisRole::Dim(dim);
            if self.table.at(slot).any(|(_, a)| a.place == place && contains(a.axis, axis)) {
                continue;
            }
            let from_subject = self.subjects[source as usize];
            let cause = match via {
                Via::Alias => Cause::Donated { from: from_subject },
                Via::Op(op) => Cause::Carried { op, from: from_subject, from_dim, tensors: (from, tensor) },
                Via::Return => Cause::Returned { from: from_subject },
            };
            self.push(slot, place, axis, cause, self.round);
        }
    }
}

fn axes_along(tensor: &TensorFactors, factor: u16) -> Option<&Axes> {
    tensor.factors[usize::from(factor)].as_ref().map(|sharding| &sharding.axes)
}

/// The tensors of an operation from which axes along a factor may come, computed once for all target tensors. Two tensors of each kind
/// suffice, since only the target itself is excluded.
struct Sources {
    /// The indices of tensors whose axes along the factor begin with the whole list of new axes.
    begin: SmallVec<[usize; 2]>,
    /// The indices of tensors that have part of the list of new axes. Possibly no tensor has the whole list, since basic propagation joins
    /// lists on which several tensors agree.
    share: SmallVec<[usize; 2]>,
}

impl Sources {
    fn of(before: &[TensorFactors], factor: u16, has: &Axes) -> Sources {
        let first_two = |wanted: &dyn Fn(&Axes) -> bool| {
            let fits = |&i: &usize| axes_along(&before[i], factor).is_some_and(wanted);
            (0..before.len()).filter(fits).take(2).collect()
        };
        Sources {
            begin: first_two(&|axes| prefix_of(has, axes) != Prefix::No),
            share: first_two(&|axes| has.iter().any(|&a| axes.iter().any(|&b| overlaps(a, b)))),
        }
    }

    fn for_tensor(&self, tensor: usize) -> Option<usize> {
        self.begin.iter().chain(&self.share).copied().find(|&i| i != tensor)
    }
}

/// Returns the axes that new shardings of an operation's tensors add, each with its source: the first tensor whose axes along the factor
/// begin with the new axes.
fn added(module: &Module, rule: &ShardingRule, old: Ids<'_>, new: &[(u32, u32)]) -> Vec<Added> {
    let get = |id: u32| (id != NONE).then(|| module.shardings.get(ShardingId::new(id as usize)));
    let Some(mesh) = new.iter().find_map(|&(_, id)| get(id)).map(|s| &module.meshes[s.mesh]) else {
        return Vec::new();
    };
    let mappings: SmallVec<[_; 8]> = rule.tensors().collect();
    let before: SmallVec<[TensorFactors; 8]> = mappings
        .iter()
        .zip(old)
        .map(|(mapping, &id)| TensorFactors::new(mesh, &rule.factors, mapping, get(id)))
        .collect();
    let mut out = Vec::new();
    let mut sources: FxHashMap<(u16, Axes), Sources> = FxHashMap::default();
    for &(tensor, id) in new {
        let mapping = mappings[tensor as usize];
        let after = TensorFactors::new(mesh, &rule.factors, mapping, get(id));
        for (dim, factors) in mapping.dims.iter().enumerate() {
            for &f in factors {
                let axes = |t| axes_along(t, f);
                let (Some(had), Some(has)) = (axes(&before[tensor as usize]), axes(&after)) else { continue };
                if had == has {
                    continue;
                }
                let sources = sources.entry((f, has.clone())).or_insert_with(|| Sources::of(&before, f, has));
                let Some(from) = sources.for_tensor(tensor as usize) else { continue };
                let Some((from_dim, _)) = mappings[from].find(f) else { continue };
                for &axis in has {
                    for axis in minus(mesh, axis, had) {
                        out.push(Added {
                            tensor,
                            dim: dim as u32,
                            axis,
                            from: from as u32,
                            from_dim: from_dim as u32,
                        });
                    }
                }
            }
        }
    }
    out
}
