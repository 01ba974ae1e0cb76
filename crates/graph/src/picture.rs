//! Pictures of placements.

use std::fmt::Write;
use std::ops::Range;

use crate::Placement;

/// Whether blocks are drawn in terminal colors.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ink {
    Plain,
    Colors,
}

impl Placement {
    /// Draws the placement as text. A tensor of rank one or two is drawn as a grid: element ranges of rows and columns at the edges,
    /// the devices of each block inside. Any other tensor is drawn as a table with one line per block.
    #[must_use]
    pub fn picture(&self) -> String {
        match self.shape.len() {
            1 => self.grid(None, 0, Ink::Plain),
            2 => self.grid(Some(0), 1, Ink::Plain),
            _ => self.table(Ink::Plain),
        }
    }

    /// Returns the text of [`picture`](Placement::picture), except that a tensor of higher rank with at most two sharded dimensions is
    /// drawn as a grid of these dimensions. With `use_color` each block has its own background (ANSI escapes, 256 colors), as in
    /// `jax.debug.visualize_array_sharding`.
    #[must_use]
    pub fn visualize(&self, use_color: bool) -> String {
        let ink = if use_color { Ink::Colors } else { Ink::Plain };
        let split: Vec<usize> = (0..self.shape.len()).filter(|&dim| self.blocks[dim] > 1).collect();
        match (self.shape.len(), split.as_slice()) {
            (1, _) => self.grid(None, 0, ink),
            (2, _) => self.grid(Some(0), 1, ink),
            (_, &[column]) => self.of_many(&split) + &self.grid(None, column, ink),
            (_, &[row, column]) => self.of_many(&split) + &self.grid(Some(row), column, ink),
            _ => self.table(ink),
        }
    }

    /// Returns a heading that names the one or two dimensions that the grid shows.
    fn of_many(&self, split: &[usize]) -> String {
        match split {
            [row, column] => {
                format!(
                    "dimensions {row} and {column} of {:?}; the other dimensions are unsharded\n",
                    self.shape
                )
            }
            dims => {
                format!("dimension {} of {:?}; the other dimensions are unsharded\n", dims[0], self.shape)
            }
        }
    }

    fn grid(&self, row: Option<usize>, column: usize, ink: Ink) -> String {
        let columns = self.blocks[column].max(1) as usize;
        let cells: Vec<String> = self.by_block().into_iter().map(|(_, devices)| list(&devices)).collect();
        let heads: Vec<String> = (0..columns).map(|c| self.range_text(column, c)).collect();
        let side = |r: usize| row.map_or(String::new(), |row| self.range_text(row, r));
        let sides: Vec<String> = cells.chunks(columns).enumerate().map(|(r, _)| side(r)).collect();
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
        for (r, cells) in cells.chunks(columns).enumerate() {
            if r > 0 {
                out += &rule('├', '┼', '┤');
            }
            write!(out, "{:>margin$}│", sides[r]).ok();
            for (c, cell) in cells.iter().enumerate() {
                // If the number of columns is a multiple of the number of colors, shifts the colors of each row, so that they differ
                // from those of the row above.
                let number =
                    if columns.is_multiple_of(PAPER.len()) { r * (columns + 1) + c } else { r * columns + c };
                write!(out, "{}│", painted(&format!("{cell:^width$}"), number, ink)).ok();
            }
            out.push('\n');
        }
        out + &rule('└', '┴', '┘')
    }

    fn table(&self, ink: Ink) -> String {
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
        for (number, (devices, ranges)) in rows.into_iter().enumerate() {
            writeln!(out, "{}  {ranges}", painted(&format!("{devices:width$}"), number, ink)).ok();
        }
        out
    }

    /// Returns the elements of block `block` along dimension `dim`.
    fn range_text(&self, dim: usize, block: usize) -> String {
        let (n, size) = (self.shape[dim], self.block_shape[dim]);
        let start = (block as i64).saturating_mul(size).min(n);
        text(&(start..start.saturating_add(size).min(n)))
    }
}

/// Returns a range as text; `-` if it contains only padding.
fn text(range: &Range<i64>) -> String {
    if range.is_empty() { "-".to_owned() } else { format!("{}..{}", range.start, range.end) }
}

fn list(devices: &[i64]) -> String {
    let ids: Vec<String> = devices.iter().map(i64::to_string).collect();
    ids.join(", ")
}

/// Background colors on which black text is readable, as indices of the 256 terminal colors; adjacent colors are dissimilar.
const PAPER: [u8; 16] = [153, 216, 151, 222, 182, 159, 210, 187, 147, 223, 115, 218, 117, 186, 174, 109];

/// Returns the text with the background color of block `number`, if pictures use colors.
fn painted(text: &str, number: usize, ink: Ink) -> String {
    match ink {
        Ink::Plain => text.to_owned(),
        Ink::Colors => format!("\u{1b}[48;5;{};38;5;16m{text}\u{1b}[0m", PAPER[number % PAPER.len()]),
    }
}
