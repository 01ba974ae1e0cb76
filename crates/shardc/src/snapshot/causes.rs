//! The causes of changes: annotations of the axes that differ, and operations whose collectives are new or gone.

use std::path::Path;

use indexmap::IndexMap;

use super::diff::{CollectiveChange, SnapshotDiff, TensorChange, folded};
use crate::explain::{AxisOrigin, CollectiveReport, Report, ServedReport, SourcePlace, ValueReport};
use crate::folding::without_numbers;

/// The maximum number of operations that are named for each change.
const NAMED: usize = 3;

impl SnapshotDiff {
    /// Adds the causes of the changes. The reports are the answers to [`Question::Origins`](crate::explain::Question::Origins) about the two
    /// programs.
    #[must_use]
    pub fn with_causes(mut self, before: &Report, after: &Report) -> SnapshotDiff {
        add_origins(&mut self.arguments, ("arg", "argument"), &before.arguments, &after.arguments);
        add_origins(&mut self.results, ("res", "result"), &before.results, &after.results);
        for change in &mut self.collectives {
            change.causes = operations(change, before, after);
        }
        self
    }

    /// The differences, with one row for equal changes of tensors whose names differ only in numbers.
    #[must_use]
    pub fn folded(mut self) -> SnapshotDiff {
        self.arguments = folded(self.arguments);
        self.results = folded(self.results);
        self
    }
}

/// The values of a report by the names that snapshots use, with their indices.
fn by_name<'r>(values: &'r [ValueReport], prefix: &str) -> IndexMap<String, (usize, &'r ValueReport)> {
    let name = |(i, value): (usize, &'r ValueReport)| {
        let label = value.label.clone().filter(|label| !label.is_empty());
        (label.unwrap_or_else(|| format!("{prefix}{i}")), (i, value))
    };
    values.iter().enumerate().map(name).collect()
}

/// Adds the origins of the axes that differ. `words` are the prefix of names by position, and the word of annotations.
fn add_origins(
    changes: &mut [TensorChange],
    words: (&str, &str),
    before: &[ValueReport],
    after: &[ValueReport],
) {
    let (before, after) = (by_name(before, words.0), by_name(after, words.0));
    for change in changes {
        let [had, has] = [&before, &after].map(|all| all.get(&change.name).copied());
        let axes = |value: Option<(usize, &ValueReport)>| value.map_or(Vec::new(), |(_, v)| v.axes.clone());
        let differ = |axis: &AxisOrigin, other: &[AxisOrigin]| {
            !other.iter().any(|o| (&o.axis, &o.place) == (&axis.axis, &axis.place))
        };
        let own = |value: Option<(usize, &ValueReport)>| value.map(|(i, _)| format!("{} {i}", words.1));
        let (old, new) = (axes(had), axes(has));
        let lost = old.iter().filter(|axis| differ(axis, &new)).map(|axis| cause("was", axis, own(had)));
        let gained = new.iter().filter(|axis| differ(axis, &old)).map(|axis| cause("is", axis, own(has)));
        change.causes = lost.chain(gained).collect();
    }
}

/// The origin of an axis. `own` is how the tensor's own annotation begins: `argument 3`.
fn cause(verb: &str, axis: &AxisOrigin, own: Option<String>) -> String {
    let rest = own.and_then(|own| axis.origin.strip_prefix(&own));
    let is_own = rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
    let origin = match is_own {
        true => "its own annotation",
        false if axis.origin.is_empty() => "no annotation",
        false => &axis.origin,
    };
    format!("\"{}\" on {} {verb} from {origin}", axis.axis, axis.place)
}

/// Operations that need a collective, and the bytes that it sends.
#[derive(Default)]
struct Needs<'r> {
    before: u64,
    after: u64,
    /// The collectives before and after the change, in program order.
    lists: [Vec<&'r CollectiveReport>; 2],
}

impl<'r> Needs<'r> {
    /// The change, whether the second program shows it, and a collective that has no partner in the other program.
    fn example(&self) -> Option<(&'static str, bool, &'r CollectiveReport)> {
        let [before, after] = &self.lists;
        let (how, is_after) = match (before.is_empty(), after.is_empty()) {
            (true, _) => ("new", true),
            (_, true) => ("gone", false),
            _ if self.after > self.before => ("more", true),
            _ => ("fewer", false),
        };
        let (list, other) = if is_after { (after, before) } else { (before, after) };
        let mut partners: Vec<_> = other.iter().map(|one| one.serves.first().map(key)).collect();
        let is_alone = |one: &&&CollectiveReport| {
            let partner = partners.iter().position(|&partner| partner == one.serves.first().map(key));
            partner.map(|at| partners.swap_remove(at)).is_none()
        };
        let example = list.iter().find(is_alone).or_else(|| list.first())?;
        Some((how, is_after, example))
    }
}

/// The reasons and the position of an operation, by which the two programs are compared.
fn key(serves: &ServedReport) -> (&str, &[String], Option<&String>) {
    let SourcePlace { user, name, .. } = &serves.place;
    (&serves.op, &serves.because, user.as_ref().or(name.as_ref()))
}

/// The operations whose collectives of a kind differ, those with the largest difference first.
fn operations(change: &CollectiveChange, before: &Report, after: &Report) -> Vec<String> {
    let is_changed = |c: &&CollectiveReport| c.kind == change.kind && c.axes == change.axes;
    let mut needs: IndexMap<(String, Vec<String>), Needs<'_>> = IndexMap::new();
    for (report, is_after) in [(after, true), (before, false)] {
        for collective in report.collectives.iter().filter(is_changed) {
            let key = match collective.serves.first() {
                Some(one) => (one.op.clone(), one.because.iter().map(|text| without_numbers(text)).collect()),
                None => (String::new(), Vec::new()),
            };
            let need = needs.entry((format!("{} {}", collective.ty, key.0), key.1)).or_default();
            let sum = if is_after { &mut need.after } else { &mut need.before };
            *sum = sum.saturating_add(collective.bytes_in_run());
            need.lists[usize::from(is_after)].push(collective);
        }
    }
    let mut different: Vec<Needs<'_>> =
        needs.into_values().filter(|need| need.before != need.after).collect();
    different.sort_by_key(|need| std::cmp::Reverse(need.before.abs_diff(need.after)));
    let files = file_names(&before.source, &after.source);
    let named = different.iter().take(NAMED).filter_map(|need| {
        let (how, is_after, collective) = need.example()?;
        // Lines are those of one of the two files.
        let file = files.map(|files| format!(" in {}", files[usize::from(is_after)])).unwrap_or_default();
        Some(format!("{how}{file}: {}", need_text(collective)))
    });
    let rest = different.len().saturating_sub(NAMED);
    named.chain((rest > 0).then(|| format!("and {rest} more"))).collect()
}

/// Names that tell two files apart: without folders, if that is enough. `None` if it is the same file.
fn file_names<'s>(before: &'s str, after: &'s str) -> Option<[&'s str; 2]> {
    let name = |path: &'s str| Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path);
    let names = [name(before), name(after)];
    (before != after).then(|| if names[0] == names[1] { [before, after] } else { names })
}

/// The operation that needs a collective, its position and the first reason.
fn need_text(collective: &CollectiveReport) -> String {
    let Some(one) = collective.serves.first() else {
        return format!("{} for an operation without a source location", collective.ty);
    };
    let line = one.place.line.map(|line| format!(" at line {line}"));
    let user = one.place.user.as_ref().or(one.place.name.as_ref()).map(|user| format!(" at {user}"));
    let place = user.or(line).unwrap_or_default();
    let because = one.because.first().map(|text| format!(": {text}")).unwrap_or_default();
    format!("{} for {}{place}{because}", collective.ty, one.op)
}
