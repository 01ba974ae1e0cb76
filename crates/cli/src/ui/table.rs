//! Text tables: columns are as wide as their contents, and numbers are right-aligned.

pub(crate) use shardc_passes::report::byte_size::bytes_text as bytes;

/// Rows under headings; a column is right-aligned if its heading begins with `>`.
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

/// The minimum width of a wrapped column.
const NARROWEST: usize = 16;

/// The indentation of what continues a line, beyond that of the line.
const CONTINUED: usize = 4;

/// The maximum width of a label, with the spaces around it.
const WIDEST_LABEL: usize = 20;

impl Table {
    /// Renders the table. If it is wider than `width`, the widest text column is wrapped.
    pub(crate) fn to_text(&self, width: Option<usize>) -> String {
        let natural = |c: usize| self.rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max();
        let mut widths: Vec<usize> = (0..self.right.len()).map(|c| natural(c).unwrap_or(0)).collect();
        let all: usize = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        let words = (0..widths.len()).filter(|&c| !self.right[c]).max_by_key(|&c| widths[c]);
        if let (Some(c), Some(over)) = (words, width.and_then(|width| all.checked_sub(width))) {
            widths[c] = widths[c].saturating_sub(over).max(NARROWEST.min(widths[c]));
        }
        let mut out = String::new();
        for row in &self.rows {
            let cells: Vec<Vec<String>> =
                row.iter().zip(&widths).map(|(cell, &width)| wrapped(cell, width)).collect();
            for i in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let mut line = String::new();
                for (c, lines) in cells.iter().enumerate() {
                    let cell = lines.get(i).map_or("", String::as_str);
                    let pad = " ".repeat(widths[c].saturating_sub(cell.chars().count()));
                    let (before, after) = if self.right[c] { (&*pad, "") } else { ("", &*pad) };
                    line.push_str(if c == 0 { "" } else { "  " });
                    line.push_str(before);
                    line.push_str(cell);
                    line.push_str(after);
                }
                out.push_str(line.trim_end());
                out.push('\n');
            }
        }
        out
    }
}

/// Wraps the lines of a text to `width` characters. If a line has a label, two or more spaces and a text, further lines begin below that
/// text. Otherwise they are indented by [`CONTINUED`] more than the line.
pub(super) fn fitted(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let begin = line.len() - line.trim_start_matches(' ').len();
        let head = line.char_indices().take(WIDEST_LABEL).last().map_or(0, |(at, _)| at);
        let label = line[..head].rfind("  ").map(|at| at + 2).filter(|&at| at > begin + 2);
        let (start, indent) = match label {
            Some(at) => (at, line[..at].chars().count()),
            None => (begin, begin + CONTINUED),
        };
        let narrow = width.saturating_sub(indent).max(NARROWEST);
        let columns = if line.chars().count() <= width { width } else { narrow };
        for (i, piece) in wrapped(&line[start..], columns).iter().enumerate() {
            let before = if i == 0 { line[..start].to_owned() } else { " ".repeat(indent) };
            out.extend([&before, piece.as_str(), "\n"]);
        }
    }
    out
}

/// Wraps text to lines of at most `width` characters, between words if possible; returns at least one line.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let count = |text: &str| text.chars().count();
    if count(text) <= width {
        return vec![text.to_owned()];
    }
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split(' ') {
        let letters: Vec<char> = word.chars().collect();
        for (i, piece) in letters.chunks(width.max(1)).enumerate() {
            let space = if i == 0 && !line.is_empty() { " " } else { "" };
            if !line.is_empty() && count(&line) + space.len() + piece.len() > width {
                lines.push(std::mem::take(&mut line));
            } else {
                line.push_str(space);
            }
            line.extend(piece);
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_continue_indented() {
        let text = "memory\n  peak: 8.0 MiB, 4.5 MiB more\n  results: 1 KiB\n";
        assert_eq!(fitted(text, 80), text);
        assert_eq!(
            fitted("  time   2 us: 3 times the bound\n", 24),
            "  time   2 us: 3 times\n         the bound\n"
        );
        assert_eq!(fitted(text, 22), "memory\n  peak: 8.0 MiB,\n      4.5 MiB more\n  results: 1 KiB\n");
    }

    #[test]
    fn tables_wrap_to_the_width() {
        let mut table = Table::new(&["rule", ">n", "what it warns of"]);
        table.row(vec!["unused".into(), "12".into(), "an axis of the mesh that shards nothing".into()]);
        let wide = "rule     n  what it warns of\nunused  12  an axis of the mesh that shards nothing\n";
        assert_eq!(table.to_text(None), wide);
        assert_eq!(table.to_text(Some(51)), wide);
        let narrow = "rule     n  what it warns of\nunused  12  an axis of the mesh\n            that shards nothing\n";
        assert_eq!(table.to_text(Some(32)), narrow);
        assert_eq!(wrapped("abcdef gh", 4), ["abcd", "ef", "gh"]);
    }
}
