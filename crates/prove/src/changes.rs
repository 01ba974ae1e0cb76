//! The operations of a partition that were changed since its certificate was written.
//!
//! A step is an operation with the [marks](crate::marks) of its operands and results. An operation whose operands have marks of the
//! certificate, and whose step is not in the certificate, is the operation that was changed, or one beside an operation that was removed. So is
//! the producer of a value that is passed to control flow, or returned, in place of another. Neither the order of operations nor the names of values matter.
//!
//! In a loop, everything is different after the first time at which a value is. So steps are compared time by time.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{EntityRef, Module, OpId, OpKind, ValueDef, ValueId};
use smallvec::SmallVec;

use crate::certificate::{Certificate, Step, VERSION, is_flow, steps_of};
use crate::exact::Test;
use crate::marks::{self, Mark, Part, TIMES};
use crate::report::Place;

/// The changed operations. An error is the reason for which the certificate does not tell.
pub(crate) fn changes(
    certificate: &Certificate,
    test: &Test<'_>,
    module: &Module,
) -> Result<Vec<Place>, String> {
    if certificate.version != VERSION {
        return Err(format!("it has format {}, not {VERSION}", certificate.version));
    }
    match certificate.original {
        None => return Err("it has no marks, because the programs were too large to run".to_owned()),
        Some(mark) if mark != marks::together(test.wanted()) => {
            return Err("it is of another original program".to_owned());
        }
        Some(_) => {}
    }
    // If the program does not end, its first values may tell.
    let (marks, _) = marks::marks(test, module);
    let parts = (0..TIMES).map(Part::Time).chain([Part::All]);
    for part in parts {
        let changes = Changes::new(certificate, module, &marks, part);
        let found = changes.begins(false);
        if let Some(first) = found.first() {
            let mut places = changes
                .loops_before(first.op)
                .find_map(|around| {
                    later(part).find_map(|part| {
                        let changes = Changes::new(certificate, module, &marks, part);
                        let found = changes
                            .begins(false)
                            .into_iter()
                            .find(|change| changes.is_in(change.op, around))?;
                        Some(vec![changes.place(&found)])
                    })
                })
                .unwrap_or_default();
            places.extend(found.iter().map(|change| changes.place(change)));
            return Ok(places);
        }
    }
    let changes = Changes::new(certificate, module, &marks, Part::All);
    Ok(changes.begins(true).iter().map(|change| changes.place(change)).collect())
}

/// The parts of marks after one.
fn later(part: Part) -> impl Iterator<Item = Part> {
    let first = if let Part::Time(time) = part { time + 1 } else { TIMES };
    (first..TIMES).map(Part::Time)
}

/// The most operations before a changed one that are searched for repeated ones.
const MOST_NEAR: usize = 16;

/// A changed operation.
struct Change {
    op: OpId,
    /// If it computes a value that is passed or returned in place of another, the mark of the other.
    instead_of: Option<u64>,
}

/// Parts of the marks of the operands and results of an operation.
type Words = SmallVec<[Option<u64>; 4]>;

/// The name of an operation, and parts of marks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key<'a> {
    operation: &'a str,
    operands: Words,
    results: Words,
}

/// A comparison of a program with its certificate.
struct Changes<'a> {
    certificate: &'a Certificate,
    module: &'a Module,
    /// The part of the mark of each value.
    words: Vec<Option<u64>>,
    part: Part,
    /// The steps of the certificate.
    steps: FxHashSet<Key<'a>>,
    /// The values of the certificate.
    values: FxHashSet<u64>,
    /// The steps of the program, and how often it has each more than the certificate.
    own: FxHashMap<Key<'a>, i64>,
    /// The operation whose region contains each operation.
    parents: FxHashMap<OpId, OpId>,
}

impl<'a> Changes<'a> {
    fn new(
        certificate: &'a Certificate,
        module: &'a Module,
        marks: &[Option<Mark>],
        part: Part,
    ) -> Changes<'a> {
        let words = marks.iter().map(|mark| mark.and_then(|mark| mark.part(part))).collect();
        let steps: FxHashSet<Key<'_>> = certificate.steps.iter().map(|step| key(step, part)).collect();
        let values =
            steps.iter().flat_map(|step| step.operands.iter().chain(&step.results)).flatten().copied();
        let values = values.collect();
        let (own, parents) = (FxHashMap::default(), FxHashMap::default());
        let mut changes = Changes { certificate, module, words, part, values, steps, own, parents };
        let mut own: FxHashMap<Key<'_>, i64> = FxHashMap::default();
        for op in steps_of(module) {
            *own.entry(changes.key(op)).or_default() += 1;
            let inner = module.ops[op].regions.iter().flat_map(|&region| &module.regions[region].ops);
            changes.parents.extend(inner.map(|&inner| (inner, op)));
        }
        for step in &certificate.steps {
            own.entry(key(step, part)).and_modify(|count| *count -= 1);
        }
        changes.own = own;
        changes
    }

    fn key(&self, op: OpId) -> Key<'a> {
        let data = &self.module.ops[op];
        let words = |values: &[ValueId]| values.iter().map(|value| self.words[value.index()]).collect();
        Key { operation: data.kind.name(), operands: words(&data.operands), results: words(&data.results) }
    }

    /// The operations without bad operands that are no step of the certificate, and the producers of values that are passed or returned in
    /// place of others; `flow` says whether these are operations with control flow, or all others.
    fn begins(&self, flow: bool) -> Vec<Change> {
        let module = self.module;
        let is_good = |&value: &ValueId| {
            // The argument of a loop is bad if the end of the body is: only single times can be compared.
            let is_argument =
                matches!(module.values[value].def(), ValueDef::Arg(..)) && self.part == Part::All;
            is_argument || self.words[value.index()].is_none_or(|word| self.values.contains(&word))
        };
        let mut found = Vec::new();
        for op in steps_of(module) {
            let (data, key) = (&module.ops[op], self.key(op));
            if self.steps.contains(&key) || !data.operands.iter().all(is_good) {
                continue;
            }
            let is_changed = key.results.iter().any(Option::is_some);
            match (flow, has_flow(&data.kind)) {
                // Operations inside decide about the results, unless the operands are others.
                (false, true) => found.extend(self.exchanged(op, &key)),
                (false, false) if is_changed => {
                    found.extend(self.condition(op).map(|op| Change { op, instead_of: None }));
                    found.push(Change { op, instead_of: None });
                    found.extend(self.repeated(op).map(|op| Change { op, instead_of: None }));
                }
                (true, true) if is_changed => found.push(Change { op, instead_of: None }),
                _ => {}
            }
        }
        found
    }

    /// The loops whose results are operands of an operation. A result of too many iterations may be another value of the certificate.
    fn loops_before(&self, op: OpId) -> impl Iterator<Item = OpId> {
        let producers = self.module.ops[op].operands.iter().filter_map(|&value| self.module.def_op(value));
        producers.filter(|&op| matches!(self.module.ops[op].kind, OpKind::While))
    }

    /// Whether an operation is in a region of another one.
    fn is_in(&self, op: OpId, around: OpId) -> bool {
        std::iter::successors(self.parents.get(&op), |op| self.parents.get(op)).any(|&op| op == around)
    }

    /// An operation in the condition of a loop around this one that the program has more often than the certificate: the loop may have more
    /// iterations than before.
    fn condition(&self, op: OpId) -> Option<OpId> {
        let Part::Time(1..) = self.part else { return None };
        let module = self.module;
        let around = std::iter::successors(self.parents.get(&op), |op| self.parents.get(op));
        let loops = around.filter(|&&op| matches!(module.ops[op].kind, OpKind::While));
        let conditions = loops.filter_map(|&op| module.ops[op].regions.first());
        let is_more = |op: &OpId| self.own.get(&self.key(*op)).is_some_and(|&count| count > 0);
        conditions.flat_map(|&region| &module.regions[region].ops).copied().find(is_more)
    }

    /// An operation before this one that the program has more often than the certificate: where an operation was removed or changed, those behind
    /// it may be the same as others.
    fn repeated(&self, op: OpId) -> Option<OpId> {
        let module = self.module;
        let producers = |op: OpId| module.ops[op].operands.iter().filter_map(|&value| module.def_op(value));
        let is_repeated = |op: &OpId| self.own.get(&self.key(*op)).is_some_and(|&count| count > 0);
        // Equal operations differ by their use: an operand that the lost step does not have is wrong.
        let before = |op: OpId| {
            let key = self.key(op);
            let nearest = self.nearest(&key, |step| self.own.get(step).is_none_or(|&count| count < 0));
            let wrong =
                nearest.into_iter().filter_map(|(at, _)| module.def_op(*module.ops[op].operands.get(at)?));
            wrong.chain(producers(op)).find(is_repeated)
        };
        if let Some(first) = std::iter::successors(before(op), |&op| before(op)).last() {
            return Some(first);
        }
        // By chance, an operation between may be as frequent as before.
        let mut near: Vec<OpId> = producers(op).collect();
        let mut at = 0;
        while at < near.len() && near.len() < MOST_NEAR {
            let more: Vec<OpId> = producers(near[at]).filter(|op| !near.contains(op)).collect();
            near.extend(more);
            at += 1;
        }
        near.into_iter().rev().find(is_repeated)
    }

    /// The producers of the operands of an operation that differ from those of the most similar step, and the operation behind the first.
    fn exchanged(&self, op: OpId, own: &Key<'_>) -> Vec<Change> {
        let operands = &self.module.ops[op].operands;
        let change = |(at, instead_of): (usize, Option<u64>)| {
            let producer = operands.get(at).and_then(|&value| self.module.def_op(value));
            Change { op: producer.unwrap_or(op), instead_of }
        };
        let mut changes: Vec<Change> = self.nearest(own, |_| true).into_iter().map(change).collect();
        // The producer may be right, and the operand another than before.
        if let Some(first) = changes.first()
            && first.op != op
        {
            let user = Change { op, instead_of: first.instead_of };
            changes.insert(1, user);
        }
        changes
    }

    /// The operands that differ from those of the most similar of some steps, with their marks in the step.
    fn nearest(&self, own: &Key<'_>, is_candidate: impl Fn(&Key<'_>) -> bool) -> Vec<(usize, Option<u64>)> {
        let different = |key: &Key<'_>| -> Vec<(usize, Option<u64>)> {
            let pairs = key.operands.iter().zip(&own.operands).enumerate();
            pairs.filter(|(_, (one, two))| one != two).map(|(at, (one, _))| (at, *one)).collect()
        };
        let is_similar =
            |key: &&Key<'_>| key.operation == own.operation && key.operands.len() == own.operands.len();
        let similar = self.steps.iter().filter(is_similar).filter(|key| is_candidate(key));
        let nearest = similar.map(different).min_by_key(|different| (different.len(), different.clone()));
        nearest.unwrap_or_default()
    }

    /// The place of a changed operation, with the step of the certificate.
    fn place(&self, change: &Change) -> Place {
        let (module, op) = (self.module, change.op);
        let found = match change.instead_of {
            None => "a value that the certificate does not have of these operands",
            Some(_) => "a value that is used in place of another",
        };
        Place {
            operation: module.ops[op].kind.name().to_owned(),
            span: module.ops[op].span,
            location: module.user_loc(op),
            found: found.to_owned(),
            needed: self.needed(change).unwrap_or_else(|| "a step of the certificate".to_owned()),
            outputs: Vec::new(),
        }
    }

    /// The step of the certificate that the program does not have any more.
    fn needed(&self, change: &Change) -> Option<String> {
        let steps = || self.certificate.steps.iter().map(|step| (step, key(step, self.part)));
        if let Some(word) = change.instead_of {
            let (step, _) = steps().find(|(_, key)| key.results.contains(&Some(word)))?;
            return Some(format!("the certificate has {} there", text(step)));
        }
        let own = self.key(change.op);
        let lost = || steps().filter(|(step, key)| !step.is_return() && !self.own.contains_key(key));
        let uses =
            |key: &Key<'_>| key.operands.iter().any(|word| word.is_some() && own.operands.contains(word));
        let same = lost().find(|(_, key)| key.operands == own.operands);
        if let Some((step, _)) = same.or_else(|| lost().find(|(_, key)| uses(key))) {
            return Some(format!("the certificate has {} of these operands", text(step)));
        }
        let (step, _) = lost().find(|(_, key)| key.operation == own.operation)?;
        Some(format!("the certificate has {} of other operands", text(step)))
    }
}

/// Whether the results of an operation are values of a region or function.
fn has_flow(kind: &OpKind) -> bool {
    is_flow(kind) || matches!(kind, OpKind::Call { .. } | OpKind::Return)
}

fn key(step: &Step, part: Part) -> Key<'_> {
    let word = |mark: Option<Mark>| mark.and_then(|mark| mark.part(part));
    Key {
        operation: &step.operation,
        operands: step.operands.iter().map(|&mark| word(mark)).collect(),
        results: step.results.iter().map(|claim| word(claim.mark)).collect(),
    }
}

/// The operation of a step, its location, and its value.
fn text(step: &Step) -> String {
    let at = step.location.as_ref().map(|at| format!(" at {at}")).unwrap_or_default();
    let is = step.results.first().map(|claim| claim.is.as_str()).filter(|is| !is.is_empty());
    let is = is.map(|is| format!(", which is {is},")).unwrap_or_default();
    format!("{}{at}{is}", step.operation)
}
