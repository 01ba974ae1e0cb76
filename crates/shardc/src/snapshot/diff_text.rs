//! The differences between two snapshots, as text.

use std::fmt::{Display, Write as _};

use shardc_passes::report::byte_size::bytes_text;

use super::codes::words;
use super::diff::{Change, FACTOR, LEAST, SnapshotDiff, TensorChange, times};
use crate::plan::seconds_text;
use crate::spec_text::axes_text;

impl SnapshotDiff {
    /// The differences as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        if self.is_empty() {
            out.push_str("no differences\n");
            return out;
        }
        if let Some(mesh) = &self.mesh {
            let _ = writeln!(out, "mesh: {} -> {}", mesh.before, mesh.after);
        }
        if let Some(target) = &self.target {
            let [before, after] =
                [&target.before, &target.after].map(|name| if name.is_empty() { "none" } else { name });
            let _ = writeln!(
                out,
                "target: {before} -> {after}; use the same --target to compare memory and time"
            );
        }
        tensors(&mut out, "arguments", &self.arguments);
        tensors(&mut out, "results", &self.results);
        if !self.collectives.is_empty() {
            out.push_str("collectives, bytes that a device sends in one execution:\n");
        }
        for change in &self.collectives {
            let axes = axes_text(&change.axes);
            let counts = [counted("operations", &change.count), counted("executions", &change.runs)].concat();
            let _ = writeln!(out, "  {} along {axes}: {}{counts}", change.kind, bytes(&change.bytes));
            change.causes.iter().for_each(|cause| {
                let _ = writeln!(out, "      {cause}");
            });
        }
        if !self.collectives.is_empty() {
            let _ = writeln!(out, "  total: {}", bytes(&self.sent));
        }
        if !self.memory.is_empty() {
            out.push_str("estimated memory of a device:\n");
        }
        for change in &self.memory {
            let _ = writeln!(out, "  {}: {}", change.part, bytes(&change.bytes));
        }
        if !self.time.is_empty() {
            out.push_str("predicted time of one execution:\n");
        }
        for change in &self.time {
            let Change { before, after } = &change.nanoseconds;
            let [before, after] = [before, after].map(|&n| seconds_text(n as f64 / 1e9));
            let growth = growth(&change.nanoseconds);
            let _ = writeln!(out, "  {}: {before} -> {after}{growth}", change.part);
        }
        if !self.time.is_empty() && [&self.arguments, &self.results].iter().all(|list| list.is_empty()) {
            let cause = match self.collectives.is_empty() {
                true => {
                    "no argument, result or collective differs: operations between them are sharded differently"
                }
                false => "no argument or result differs: operations between them are sharded differently",
            };
            let _ = writeln!(out, "      {cause}");
        }
        if !self.warnings.is_empty() {
            out.push_str("warnings:\n");
        }
        for change in &self.warnings {
            let Change { before, after } = &change.count;
            let words = match words(&change.code) {
                "" => String::new(),
                words => format!(" {words}"),
            };
            let _ = writeln!(out, "  {}{words}: {before} -> {after}, {}", change.code, bytes(&change.bytes));
        }
        out
    }
}

fn tensors(out: &mut String, heading: &str, changes: &[TensorChange]) {
    if !changes.is_empty() {
        let _ = writeln!(out, "{heading}:");
    }
    for change in changes {
        let times = if change.count > 1 { format!(" (x{})", change.count) } else { String::new() };
        let text = match (&change.before, &change.after) {
            (Some(before), Some(after)) => format!("{before} -> {after}"),
            (None, Some(after)) => format!("new, {after}"),
            (Some(before), None) => format!("removed, {before}"),
            (None, None) => String::new(),
        };
        let _ = writeln!(out, "  {}{times}: {text}", change.name);
        change.causes.iter().for_each(|cause| {
            let _ = writeln!(out, "      {cause}");
        });
    }
}

fn counted(what: &str, change: &Change<impl Display + PartialEq>) -> String {
    match change.before == change.after {
        true => String::new(),
        false => format!(", {what} {} -> {}", change.before, change.after),
    }
}

/// Bytes before and after, with the growth, and with the difference if both have the same text.
fn bytes(change: &Change<u64>) -> String {
    let [before, after] = [change.before, change.after].map(bytes_text);
    if change.before == change.after || before != after {
        return format!("{before} -> {after}{}", growth(change));
    }
    let difference = bytes_text(change.before.abs_diff(change.after));
    let more = if change.after > change.before { "more" } else { "less" };
    format!("{before}, {difference} {more}{}", growth(change))
}

/// The growth in parentheses; nothing if it would read as zero, or if a few bytes grew to many, where a factor says nothing.
fn growth(change: &Change<u64>) -> String {
    const FEW: u64 = 1 << 10;
    let growth = change.growth();
    match (change.before, change.after) {
        (0, 0) => String::new(),
        (0, _) => " (new)".to_owned(),
        (_, 0) => " (gone)".to_owned(),
        (before, _) if growth >= FACTOR && before < FEW => String::new(),
        _ if growth.abs() < LEAST => String::new(),
        _ if growth >= FACTOR => format!(" ({})", times(growth)),
        _ => format!(" ({:+.1} %)", growth * 100.0),
    }
}
