//! The differences between two snapshots.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::Serialize;

use super::{CollectiveRow, EXECUTION, Snapshot, TensorRow, WarningRow};
use crate::folding::{fold, unfold};

/// The differences between two snapshots, in version 1 of the format. Equal parts are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SnapshotDiff {
    /// Version of this format: 1.
    pub version: u32,
    /// The mesh, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh: Option<Change<String>>,
    /// The target, if it differs. Memory and time of different targets are not comparable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Change<String>>,
    /// Arguments with another type or sharding, or only in one snapshot.
    pub arguments: Vec<TensorChange>,
    /// Results, as the arguments.
    pub results: Vec<TensorChange>,
    /// Collectives with other bytes, counts or executions.
    pub collectives: Vec<CollectiveChange>,
    /// The bytes that a device sends in one execution of the program.
    pub sent: Change<u64>,
    /// Parts of the memory of a device with other bytes.
    pub memory: Vec<MemoryChange>,
    /// The estimated peak memory of a device, in bytes.
    pub peak: Change<u64>,
    /// Parts of the predicted time that differ, if both snapshots are for a target.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub time: Vec<TimeChange>,
    /// The predicted time of one execution, in nanoseconds; equal if a snapshot is not for a target.
    pub execution: Change<u64>,
    /// Warnings with other numbers or bytes.
    pub warnings: Vec<WarningChange>,
}

/// A property before and after.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Change<T> {
    /// In the first snapshot.
    pub before: T,
    /// In the second snapshot.
    pub after: T,
}

/// A change of arguments or results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TensorChange {
    /// The name, or a pattern in which `0..79` stands for 80 numbers.
    pub name: String,
    /// The number of tensors.
    pub count: usize,
    /// The sharding in the first snapshot, with the type if that differs too; `None` if the tensor is new.
    pub before: Option<String>,
    /// The sharding in the second snapshot; `None` if the tensor is removed.
    pub after: Option<String>,
    /// The annotations from which the axes that differ come; only in a comparison of programs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
}

/// A change of the collectives of one kind along the same axes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CollectiveChange {
    /// The kind: `all_gather`.
    pub kind: String,
    /// The mesh axes.
    pub axes: Vec<String>,
    /// The number of operations.
    pub count: Change<usize>,
    /// The number of executions.
    pub runs: Change<u64>,
    /// The bytes that a device sends.
    pub bytes: Change<u64>,
    /// The operations that need new collectives, and those whose collectives are gone; only in a comparison of programs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
}

/// A change of a part of the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryChange {
    /// The part: `weight`, `temporaries`, `peak`.
    pub part: String,
    /// Bytes.
    pub bytes: Change<u64>,
}

/// A change of a part of the predicted time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TimeChange {
    /// The part: `execution`, `compute`, `communication`, `exposed`.
    pub part: String,
    /// Nanoseconds.
    pub nanoseconds: Change<u64>,
}

/// A change of the warnings with one code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WarningChange {
    /// The code: `SH0310`.
    pub code: String,
    /// The number of warnings.
    pub count: Change<usize>,
    /// The bytes that the warnings concern.
    pub bytes: Change<u64>,
}

impl Change<u64> {
    /// The relative growth: 0.5 for half more, negative if the value shrank, infinite from 0 to a positive value.
    #[must_use]
    pub fn growth(&self) -> f64 {
        match (self.before, self.after) {
            (before, after) if before == after => 0.0,
            (0, _) => f64::INFINITY,
            (before, after) => after as f64 / before as f64 - 1.0,
        }
    }

    /// The growth in words: `by 1.5 %`, `22.0 times`, `from 0`.
    #[must_use]
    pub fn growth_text(&self) -> String {
        match self.growth() {
            growth if growth.is_infinite() => "from 0".to_owned(),
            growth if growth >= FACTOR => times(growth),
            growth if growth.abs() < LEAST => "by less than 0.1 %".to_owned(),
            growth => format!("by {:.1} %", growth * 100.0),
        }
    }
}

/// The least growth that is written as a factor.
pub(super) const FACTOR: f64 = 9.0;

/// The least growth that is written as a percentage.
pub(super) const LEAST: f64 = 0.0005;

/// A growth as a factor, with at most three digits.
pub(super) fn times(growth: f64) -> String {
    match growth + 1.0 {
        factor if factor >= 1000.0 => "more than 1000 times".to_owned(),
        factor if factor >= 100.0 => format!("{factor:.0} times"),
        factor => format!("{factor:.1} times"),
    }
}

impl<T: PartialEq> Change<T> {
    fn differs(&self) -> bool {
        self.before != self.after
    }
}

impl SnapshotDiff {
    /// The differences from one snapshot to another.
    #[must_use]
    pub fn between(before: &Snapshot, after: &Snapshot) -> SnapshotDiff {
        let mesh = Change { before: before.mesh.clone(), after: after.mesh.clone() };
        let target = Change { before: before.target.clone(), after: after.target.clone() };
        SnapshotDiff {
            version: 1,
            mesh: Some(mesh).filter(Change::differs),
            target: Some(target).filter(Change::differs),
            arguments: tensors(&before.arguments, &after.arguments),
            results: tensors(&before.results, &after.results),
            collectives: collectives(&before.collectives, &after.collectives),
            sent: Change { before: before.sent(), after: after.sent() },
            memory: memory(before, after),
            peak: Change { before: before.memory_of("peak"), after: after.memory_of("peak") },
            execution: time_change(before, after, EXECUTION),
            time: time(before, after),
            warnings: warnings(&before.warnings, &after.warnings),
        }
    }

    /// Whether the snapshots are equal.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let SnapshotDiff { mesh, target, arguments, results, collectives, memory, time, warnings, .. } = self;
        let lists = [arguments.is_empty(), results.is_empty(), collectives.is_empty(), memory.is_empty()];
        mesh.is_none()
            && target.is_none()
            && lists.into_iter().all(|empty| empty)
            && time.is_empty()
            && warnings.is_empty()
    }

    /// The differences as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Serialization cannot fail: the structs consist of strings and numbers.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// The tensors of each name: their types and shardings, in order.
fn by_name(rows: &[TensorRow]) -> IndexMap<String, Vec<&TensorRow>> {
    let mut out: IndexMap<String, Vec<&TensorRow>> = IndexMap::new();
    for row in rows {
        for name in unfold(&row.name, row.count).unwrap_or_else(|| vec![row.name.clone()]) {
            out.entry(name).or_default().push(row);
        }
    }
    out
}

fn tensors(before: &[TensorRow], after: &[TensorRow]) -> Vec<TensorChange> {
    let (before, after) = (by_name(before), by_name(after));
    let names: IndexMap<&String, ()> = before.keys().chain(after.keys()).map(|name| (name, ())).collect();
    let changes = names.into_keys().filter_map(|name| {
        let [before, after] = [&before, &after].map(|all| all.get(name).map_or(&[][..], Vec::as_slice));
        let texts = |rows: &[&TensorRow], with_type: bool| {
            let one = |row: &&TensorRow| match with_type {
                true => format!("{} {}", row.ty, row.sharding),
                false => row.sharding.clone(),
            };
            (!rows.is_empty()).then(|| rows.iter().map(one).collect::<Vec<_>>().join(" and "))
        };
        let types = |rows: &[&TensorRow]| rows.iter().map(|row| row.ty.clone()).collect::<Vec<_>>();
        let with_type = types(before) != types(after);
        let change = TensorChange {
            name: name.clone(),
            count: 1,
            before: texts(before, with_type),
            after: texts(after, with_type),
            causes: Vec::new(),
        };
        (change.before != change.after).then_some(change)
    });
    changes.collect()
}

/// Folds the names of equal changes.
pub(super) fn folded(changes: Vec<TensorChange>) -> Vec<TensorChange> {
    let mut groups: IndexMap<_, (TensorChange, Vec<String>)> = IndexMap::new();
    for change in changes {
        let causes: Vec<String> =
            change.causes.iter().map(|cause| crate::folding::without_numbers(cause)).collect();
        let key = (change.before.clone(), change.after.clone(), causes);
        let name = change.name.clone();
        groups.entry(key).or_insert_with(|| (change, Vec::new())).1.push(name);
    }
    let all = groups.into_values().flat_map(|(change, names)| {
        let folded = fold(names.iter().map(String::as_str)).into_iter();
        let row = move |name: crate::folding::Folded| TensorChange {
            name: name.text,
            count: name.count,
            ..change.clone()
        };
        folded.map(row).collect::<Vec<_>>()
    });
    all.collect()
}

/// Pairs the rows of two lists by a key, in the order of the keys.
fn pairs<'r, R, K: Ord>(
    before: &'r [R],
    after: &'r [R],
    key: impl Fn(&'r R) -> K,
) -> BTreeMap<K, (Option<&'r R>, Option<&'r R>)> {
    let mut out: BTreeMap<K, (Option<&R>, Option<&R>)> = BTreeMap::new();
    for row in before {
        out.entry(key(row)).or_default().0 = Some(row);
    }
    for row in after {
        out.entry(key(row)).or_default().1 = Some(row);
    }
    out
}

/// A property of a row before and after; the default for a missing row.
fn change<R, T: Default>(pair: (Option<&R>, Option<&R>), of: impl Fn(&R) -> T) -> Change<T> {
    Change { before: pair.0.map(&of).unwrap_or_default(), after: pair.1.map(&of).unwrap_or_default() }
}

fn collectives(before: &[CollectiveRow], after: &[CollectiveRow]) -> Vec<CollectiveChange> {
    let all = pairs(before, after, |row| (&row.kind, &row.axes));
    let changes = all.into_iter().map(|((kind, axes), pair)| CollectiveChange {
        kind: kind.clone(),
        axes: axes.clone(),
        count: change(pair, |row| row.count),
        runs: change(pair, |row| row.runs),
        bytes: change(pair, |row| row.bytes),
        causes: Vec::new(),
    });
    changes.filter(|c| c.count.differs() || c.runs.differs() || c.bytes.differs()).collect()
}

fn memory(before: &Snapshot, after: &Snapshot) -> Vec<MemoryChange> {
    let mut parts: Vec<&str> = before.memory.iter().map(|row| row.part.as_str()).collect();
    for row in &after.memory {
        if !parts.contains(&row.part.as_str()) {
            parts.push(&row.part);
        }
    }
    let changes = parts.into_iter().map(|part| MemoryChange {
        part: part.to_owned(),
        bytes: Change { before: before.memory_of(part), after: after.memory_of(part) },
    });
    changes.filter(|change| change.bytes.differs()).collect()
}

fn time(before: &Snapshot, after: &Snapshot) -> Vec<TimeChange> {
    let changes = after
        .time
        .iter()
        .map(|row| TimeChange { part: row.part.clone(), nanoseconds: time_change(before, after, &row.part) });
    changes.filter(|change| change.nanoseconds.differs()).collect()
}

/// A part of the time before and after; equal if one of the snapshots has no times.
fn time_change(before: &Snapshot, after: &Snapshot, part: &str) -> Change<u64> {
    if before.time.is_empty() || after.time.is_empty() {
        return Change::default();
    }
    Change { before: before.time_of(part), after: after.time_of(part) }
}

fn warnings(before: &[WarningRow], after: &[WarningRow]) -> Vec<WarningChange> {
    let all = pairs(before, after, |row| &row.code);
    let changes = all.into_iter().map(|(code, pair)| WarningChange {
        code: code.clone(),
        count: change(pair, |row| row.count),
        bytes: change(pair, |row| row.bytes),
    });
    changes.filter(|c| c.count.differs() || c.bytes.differs()).collect()
}
