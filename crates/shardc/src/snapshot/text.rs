//! The text form of a snapshot: sections of indented rows. `parse` reads it.

use std::fmt::Write as _;

use shardc_passes::report::byte_size::bytes_text;
use shardc_target::{DeviceKind, usual};

use super::{Snapshot, TensorRow};
use crate::plan::seconds_text;
use crate::spec_text::axes_text;

/// The first word of a snapshot in text form.
pub(super) const MAGIC: &str = "shardc snapshot";

/// Explains the rows; `parse` skips lines that begin with `#`.
const LEGEND: &str = "\
# arguments, results: number, type, sharding of each dimension, name
# collectives: kind, mesh axes, operations, executions, bytes that a device sends in one execution of the program
# memory: estimated bytes of a device; time: predicted nanoseconds; warnings: code, number, bytes
";

impl Snapshot {
    /// The snapshot as text, which [`Snapshot::parse`] reads. The text depends only on the program and the options.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = format!("{MAGIC} {}\n{LEGEND}\nmesh:\n  {}\n", self.version, self.mesh);
        if !self.target.is_empty() {
            let _ = write!(out, "\ntarget:\n  {}\n", self.target);
        } else {
            let _ = write!(out, "\n# no target is given: planned for {}\n", usual(DeviceKind::Tpu).name);
        }
        let rows = |list: &[TensorRow]| -> Vec<Vec<String>> {
            list.iter()
                .map(|row| {
                    vec![format!("x{}", row.count), row.ty.clone(), row.sharding.clone(), row.name.clone()]
                })
                .collect()
        };
        section(&mut out, "arguments", &rows(&self.arguments));
        section(&mut out, "results", &rows(&self.results));
        let collectives = self.collectives.iter().map(|row| {
            let counts = [format!("x{}", row.count), row.runs.to_string(), number(row.bytes)];
            [row.kind.clone(), axes_text(&row.axes)].into_iter().chain(counts).collect()
        });
        section(&mut out, "collectives", &collectives.collect::<Vec<_>>());
        let memory = self.memory.iter().map(|row| vec![row.part.clone(), number(row.bytes)]);
        section(&mut out, "memory", &memory.collect::<Vec<_>>());
        let time = self.time.iter().map(|row| {
            let readable = seconds_text(row.nanoseconds as f64 / 1e9);
            vec![row.part.clone(), format!("{} ({readable})", row.nanoseconds)]
        });
        section(&mut out, "time", &time.collect::<Vec<_>>());
        let warnings = self
            .warnings
            .iter()
            .map(|row| vec![row.code.clone(), format!("x{}", row.count), number(row.bytes)]);
        section(&mut out, "warnings", &warnings.collect::<Vec<_>>());
        out
    }
}

/// A number of bytes, exact and readable.
fn number(bytes: u64) -> String {
    if bytes < 1024 { bytes.to_string() } else { format!("{bytes} ({})", bytes_text(bytes)) }
}

/// Writes a section in aligned columns, unless it is empty.
fn section(out: &mut String, name: &str, rows: &[Vec<String>]) {
    if rows.is_empty() {
        return;
    }
    let width = |c: usize| rows.iter().filter_map(|row| row.get(c)).map(|s| s.chars().count()).max();
    let widths: Vec<usize> = rows[0].iter().enumerate().map(|(c, _)| width(c).unwrap_or(0)).collect();
    let _ = write!(out, "\n{name}:\n");
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        let _ = writeln!(out, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}
