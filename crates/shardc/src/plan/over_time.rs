//! The memory of a device over time.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use shardc_passes::cost::memory::{BuffersOverTime, LiveBuffer};

use super::classes::{class_of_temporary, returned};
use super::report::{BufferReport, ClassOverTime};
use crate::Output;
use crate::explain::SourcePlace;

/// The maximum number of buffers of a report. The smallest are left out; the time lines count them.
const BUFFERS: usize = 1500;

/// The memory over time.
pub(super) struct OverTime {
    pub(super) points: usize,
    pub(super) timeline: Vec<(usize, u64)>,
    pub(super) classes: Vec<ClassOverTime>,
    pub(super) buffers: Vec<BufferReport>,
    pub(super) unlisted: usize,
}

impl OverTime {
    /// The memory over time. `constant` are the bytes of the classes that are live all the time.
    pub(super) fn of(
        output: &Output,
        temporaries: &BuffersOverTime,
        constant: &IndexMap<&str, u64>,
        is_on_chip: bool,
    ) -> OverTime {
        let module = &output.module;
        let returned = returned(module);
        let (points, all) = (temporaries.steps, &temporaries.buffers);
        let report = |buffer: &LiveBuffer| {
            let op = buffer.value.and_then(|value| module.def_op(value));
            let name = op.map_or("copy", |op| module.ops[op].kind.name()).to_owned();
            let is_returned = buffer.value.is_some_and(|value| returned.contains(&value));
            BufferReport {
                class: class_of_temporary(&name, is_returned, is_on_chip).to_owned(),
                name,
                ty: buffer.value.map_or_else(String::new, |v| module.types.display(module.values[v].ty)),
                bytes: buffer.bytes,
                count: 1,
                first: buffer.first as usize,
                last: buffer.last as usize,
                place: SourcePlace { user: op.and_then(|op| module.user_loc(op)), ..SourcePlace::default() },
            }
        };
        let mut buffers: Vec<BufferReport> = all.iter().map(report).collect();
        let mut changes: IndexMap<String, BTreeMap<usize, i64>> = constant
            .iter()
            .map(|(&class, &bytes)| (class.to_owned(), BTreeMap::from([(0, signed(bytes))])))
            .collect();
        for buffer in &buffers {
            let line = changes.entry(buffer.class.clone()).or_default();
            *line.entry(buffer.first).or_default() += signed(buffer.bytes);
            *line.entry(buffer.last + 1).or_default() -= signed(buffer.bytes);
        }
        let mut sums: BTreeMap<usize, i64> = BTreeMap::new();
        for (&point, &change) in changes.values().flatten() {
            *sums.entry(point).or_default() += change;
        }
        let timeline = running(sums);
        let classes = changes
            .into_iter()
            .map(|(class, changes)| ClassOverTime { class, timeline: running(changes) })
            .collect();
        let unlisted = buffers.len().saturating_sub(BUFFERS);
        if unlisted > 0 {
            buffers.sort_by_key(|buffer| std::cmp::Reverse(buffer.bytes));
            buffers.truncate(BUFFERS);
            buffers.sort_by_key(|buffer| buffer.first);
        }
        OverTime { points: points as usize + 1, timeline, classes, buffers, unlisted }
    }
}

/// The bytes after each change.
fn running(changes: BTreeMap<usize, i64>) -> Vec<(usize, u64)> {
    let mut live = 0;
    let line = changes.into_iter().map(|(point, change)| {
        live += change;
        (point, live.unsigned_abs())
    });
    line.collect()
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
