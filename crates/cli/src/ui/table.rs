//! Tables for people: columns as wide as they need to be, numbers to the right.

pub(crate) use shardc::passes::units::bytes_text as bytes;

/// Rows of cells under headings; columns whose heading begins with `>` are right-aligned.
pub(crate) struct Table {
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(headings: &[&str]) -> Table {
        Table {
            right: headings.iter().map(|h| h.starts_with('>')).collect(),
            rows: vec![headings.iter().map(|h| h.trim_start_matches('>').to_owned()).collect()],
        }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = |c: usize| self.rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max();
        let widths: Vec<usize> = (0..self.right.len()).map(|c| width(c).unwrap_or(0)).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (c, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[c].saturating_sub(cell.chars().count()));
                let (before, after) = if self.right[c] { (pad.as_str(), "") } else { ("", pad.as_str()) };
                line.push_str(if c == 0 { "" } else { "  " });
                line.push_str(before);
                line.push_str(cell);
                line.push_str(after);
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
