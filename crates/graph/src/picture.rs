//! Draws which device holds which block.

use std::fmt::Write;
use std::ops::Range;

use crate::Placement;

impl Placement {
    /// A picture in text. Tensors of rank one and two are a grid, with the elements of each row and column at its
    /// edges and the devices that hold a block inside; others are a table with one line per block.
    #[must_use]
    pub fn picture(&self) -> String {
        match self.shape.len() {
            1 | 2 => self.grid(),
            _ => self.table(),
        }
    }

    fn grid(&self) -> String {
        let flat = self.shape.len() == 1;
        let columns = self.blocks.last().copied().unwrap_or(1).max(1) as usize;
        let cells: Vec<String> = self.by_block().into_iter().map(|(_, devices)| list(&devices)).collect();
        let heads: Vec<String> = (0..columns).map(|c| self.range_text(self.shape.len() - 1, c)).collect();
        let sides: Vec<String> = cells
            .chunks(columns)
            .enumerate()
            .map(|(r, _)| if flat { String::new() } else { self.range_text(0, r) })
            .collect();
        let width = cells.iter().chain(&heads).map(|t| t.chars().count()).max().unwrap_or(0) + 2;
        let margin = sides.iter().map(|t| t.chars().count()).max().unwrap_or(0);
        let rule = |left: char, middle: char, right: char| -> String {
            let bars = vec!["─".repeat(width); columns];
            format!("{:margin$}{left}{}{right}\n", "", bars.join(&middle.to_string()))
        };
        let mut out = format!("{:margin$}", "");
        for head in &heads {
            write!(out, " {head:^width$}").ok();
        }
        let mut out = out.trim_end().to_owned() + "\n" + &rule('┌', '┬', '┐');
        for (r, row) in cells.chunks(columns).enumerate() {
            if r > 0 {
                out += &rule('├', '┼', '┤');
            }
            write!(out, "{:>margin$}│", sides[r]).ok();
            for cell in row {
                write!(out, "{cell:^width$}│").ok();
            }
            out.push('\n');
        }
        out + &rule('└', '┴', '┘')
    }

    fn table(&self) -> String {
        let rows: Vec<(String, String)> = self
            .by_block()
            .into_iter()
            .map(|(held, devices)| {
                let ranges: Vec<String> = held.ranges.iter().map(text).collect();
                (list(&devices), format!("[{}]", ranges.join(", ")))
            })
            .collect();
        let width = rows.iter().map(|(d, _)| d.len()).max().unwrap_or(0).max("devices".len());
        let mut out = format!("{:width$}  elements\n", "devices");
        for (devices, ranges) in rows {
            writeln!(out, "{devices:width$}  {ranges}").ok();
        }
        out
    }

    /// The elements of block `block` along dimension `dim`.
    fn range_text(&self, dim: usize, block: usize) -> String {
        let (n, size) = (self.shape[dim], self.block_shape[dim]);
        let start = (block as i64).saturating_mul(size).min(n);
        text(&(start..start.saturating_add(size).min(n)))
    }
}

/// A range as people read it; `-` where there is nothing but padding.
fn text(range: &Range<i64>) -> String {
    if range.is_empty() { "-".to_owned() } else { format!("{}..{}", range.start, range.end) }
}

fn list(devices: &[i64]) -> String {
    let ids: Vec<String> = devices.iter().map(i64::to_string).collect();
    ids.join(", ")
}
