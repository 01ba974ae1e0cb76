//! A plan for a terminal.

use std::fmt::Write as _;

use indexmap::IndexMap;
use shardc_passes::report::byte_size::bytes_text;

use super::report::{MemoryReport, PlanReport, TimeReport};
use crate::seconds_text::seconds_text;

/// The maximum number of rows of a list, unless all are requested.
const ROWS: usize = 10;

impl PlanReport {
    /// The plan as text. With `all`, lists are not shortened.
    #[must_use]
    pub fn to_text(&self, all: bool) -> String {
        let rows = if all { usize::MAX } else { ROWS };
        let mut out = String::new();
        let memory = if self.target.memory > 0 {
            format!(" with {}", bytes_text(self.target.memory))
        } else {
            String::new()
        };
        let _ =
            writeln!(out, "{} on {}: {} devices{memory}", self.source, self.target.name, self.target.devices);
        for axis in &self.mesh {
            let links = if axis.link.is_empty() {
                String::new()
            } else {
                format!(", {}, {:.1} GB/s for a device along the axis", axis.link, axis.bandwidth / 1e9)
            };
            let _ = writeln!(out, "  axis {:?}: {} devices{links}", axis.name, axis.size);
        }
        self.memory.write(&mut out, rows);
        self.write_communication(&mut out, rows);
        self.time.write(&mut out, rows);
        self.write_changes(&mut out);
        for note in &self.notes {
            let _ = writeln!(out, "note: {note}");
        }
        out
    }

    fn write_communication(&self, out: &mut String, rows: usize) {
        let (mut bytes, mut seconds, mut exposed) = (0u64, 0.0, 0.0);
        for row in &self.communication {
            bytes = bytes.saturating_add(row.bytes);
            seconds += row.seconds;
            exposed += row.exposed;
        }
        let _ = writeln!(
            out,
            "\ncommunication of a device: {} sent in {}, of which it waits {}",
            bytes_text(bytes),
            seconds_text(seconds),
            seconds_text(exposed)
        );
        for row in self.communication.iter().take(rows) {
            let _ = writeln!(
                out,
                "  {} along {}: {}, {} over {} in {}, waits {}",
                row.kind,
                row.axes.join(", "),
                if row.runs == 1 { "once".to_owned() } else { format!("{} times", row.runs) },
                bytes_text(row.bytes),
                row.link,
                seconds_text(row.seconds),
                seconds_text(row.exposed)
            );
        }
        more(out, self.communication.len(), rows);
    }

    fn write_changes(&self, out: &mut String) {
        let Some(tried) = self.tried else { return };
        if self.changes.is_empty() {
            let help = if self.memory.fits { "makes the program faster" } else { "saves memory" };
            let _ = writeln!(out, "\nchanges: none of the {tried} that were tried {help}");
            return;
        }
        let order = if self.memory.fits { "fastest first" } else { "those that save the most memory first" };
        let _ = writeln!(
            out,
            "\nchanges, {order}; each is measured alone, and effects do not add up; memory is the upper end of the estimate"
        );
        for (i, change) in self.changes.iter().enumerate() {
            let effect = effect_text(change.seconds, change.bytes);
            let _ = writeln!(out, "  {}. {}: {effect}\n     {}", i + 1, change.what, change.how);
        }
        if let Some(together) = &self.together {
            let numbers: Vec<String> = together.changes.iter().map(usize::to_string).collect();
            let fits = if together.fits { "it fits" } else { "it still does not fit" };
            let _ = writeln!(
                out,
                "  {} together: {}; {fits}: up to {}",
                numbers.join(", "),
                effect_text(together.seconds, together.bytes),
                bytes_text(together.high)
            );
        }
    }
}

/// Saved seconds and bytes in words: `1.2 ms slower, 3.0 GiB less memory`.
fn effect_text(seconds: f64, bytes: i64) -> String {
    let time = match seconds_text(seconds.abs()) {
        zero if zero == seconds_text(0.0) => "the same time".to_owned(),
        text => format!("{text} {}", if seconds > 0.0 { "faster" } else { "slower" }),
    };
    let amount = bytes_text(bytes.unsigned_abs());
    match bytes {
        0 => format!("{time}, the same memory"),
        1.. => format!("{time}, {amount} less memory"),
        _ => format!("{time}, {amount} more memory"),
    }
}

impl MemoryReport {
    /// One sentence about whether the program fits: `it fits: 12.0 GiB of 15.8 GiB`.
    #[must_use]
    pub fn fit_text(&self) -> String {
        match (self.limit, self.fits) {
            (0, _) => format!("the device has no limit; the program needs {}", bytes_text(self.high)),
            (limit, fits) => {
                let answer = if fits { "it fits" } else { "it does not fit" };
                let needs = bytes_text(self.high);
                format!("{answer}: the program needs up to {needs}, a device has {}", bytes_text(limit))
            }
        }
    }

    fn write(&self, out: &mut String, rows: usize) {
        let range = if self.low == self.high {
            String::new()
        } else {
            format!(" ({} to {})", bytes_text(self.low), bytes_text(self.high))
        };
        let most = bytes_text(self.high);
        let fits = match (self.limit, self.fits) {
            (0, _) => String::new(),
            (limit, true) => format!("; it fits: up to {most}, {} are free", bytes_text(limit - self.high)),
            (limit, false) => {
                format!("; it does not fit: up to {most}, {} too much", bytes_text(self.high - limit))
            }
        };
        let _ = writeln!(out, "\nmemory of a device: {} at the peak{range}{fits}", bytes_text(self.expected));
        for reason in &self.reasons {
            let _ = writeln!(out, "  uncertain: {reason}");
        }
        for class in &self.classes {
            let _ = writeln!(out, "  {:>10}  {}", bytes_text(class.bytes), class.class);
        }
        if self.host > 0 {
            let _ = writeln!(out, "  {:>10}  in host memory", bytes_text(self.host));
        }
        out.push_str("largest buffers at the peak, with the padding of their layout\n");
        for buffer in self.live.iter().take(rows) {
            let count = if buffer.count > 1 { format!("in all, {} x ", buffer.count) } else { String::new() };
            let place = buffer.place.user.as_ref().map(|user| format!(" at {user}")).unwrap_or_default();
            let _ = writeln!(
                out,
                "  {:>10}  {count}{} {} ({}){place}",
                bytes_text(buffer.bytes),
                buffer.name,
                buffer.ty,
                buffer.class
            );
        }
        more(out, self.live.len(), rows);
    }
}

impl TimeReport {
    fn write(&self, out: &mut String, rows: usize) {
        let _ = writeln!(
            out,
            "\ntime of one execution: {}, {:.1} % of peak arithmetic (HFU)",
            seconds_text(self.seconds),
            100.0 * self.hfu
        );
        let _ = writeln!(
            out,
            "  computes {}: {} limited by memory bandwidth, {} to start kernels",
            seconds_text(self.compute),
            seconds_text(self.memory_bound),
            seconds_text(self.launches)
        );
        let hidden = (self.communication - self.exposed).max(0.0);
        let _ = writeln!(
            out,
            "  communicates {}, of which {} overlap with computation",
            seconds_text(self.communication),
            seconds_text(hidden)
        );
        // Loops at the same place of the user's program, or without one, are one row.
        let mut alike: IndexMap<(Option<&String>, u64), (usize, f64)> = IndexMap::new();
        for of in &self.loops {
            let (count, seconds) = alike.entry((of.place.user.as_ref(), of.trips)).or_default();
            *count += 1;
            *seconds += of.seconds;
        }
        for ((place, trips), (count, seconds)) in alike.iter().take(rows) {
            let place = place.map(|user| format!(" at {user}")).unwrap_or_default();
            let loops = if *count == 1 { format!("a loop{place}") } else { format!("{count} loops{place}") };
            let _ = writeln!(out, "  {loops}: {} in all, {trips} iterations each", seconds_text(*seconds));
        }
        more(out, alike.len(), rows);
    }
}

/// Says how many rows are left out.
fn more(out: &mut String, len: usize, rows: usize) {
    if len > rows {
        let _ = writeln!(out, "  ... and {} more (--all shows them)", len - rows);
    }
}
