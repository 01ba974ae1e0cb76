//! The check lines of a test file, grouped by function.
//!
//! FileCheck splits its input at `-LABEL` lines. A *block* consists of a label line and the check lines up to the next label line. A block
//! checks one function. Check lines before the first label belong to the first block. [`Blocks::select`] blanks the check lines of other
//! blocks, so that one block is checked alone with unchanged line numbers.

use std::ops::Range;

use crate::filecheck::directive::{Kind, find};

/// Separates several programs in a file.
pub const MARK: &str = "// -----";

/// The check lines of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The line number of the label in the program, counted from 0.
    pub label: usize,
    /// The function that the label names, or the text of a label without a symbol.
    pub name: String,
    lines: Range<usize>,
}

/// A program's lines, and its blocks in order.
#[derive(Clone, Debug, Default)]
pub struct Blocks<'a> {
    lines: Vec<(&'a str, Option<Kind>)>,
    /// The blocks; empty if there is no label.
    pub blocks: Vec<Block>,
}

impl<'a> Blocks<'a> {
    /// Splits a program into blocks. Its check lines begin with one of the `prefixes`.
    #[must_use]
    pub fn new(program: &'a str, prefixes: &[String]) -> Self {
        let lines: Vec<_> =
            program.lines().map(|line| (line, find(line, prefixes).map(|found| found.kind))).collect();
        let labels = lines.iter().enumerate().filter(|(_, (_, kind))| *kind == Some(Kind::Label));
        let mut blocks: Vec<Block> = labels
            .map(|(i, (line, _))| Block { label: i, name: name(line), lines: i..lines.len() })
            .collect();
        for i in 1..blocks.len() {
            blocks[i - 1].lines.end = blocks[i].label;
        }
        if let Some(first) = blocks.first_mut() {
            first.lines.start = 0;
        }
        Blocks { lines, blocks }
    }

    /// Whether the program has any check lines.
    #[must_use]
    pub fn checks(&self) -> bool {
        self.lines.iter().any(|(_, kind)| kind.is_some())
    }

    /// Returns the program with only the check lines of `block`, if given, and the label lines with the numbers `labels`. All other lines
    /// are blank.
    #[must_use]
    pub fn select(&self, block: Option<&Block>, labels: &[usize]) -> String {
        let mut out = String::new();
        for (i, (line, kind)) in self.lines.iter().enumerate() {
            let wanted = match kind {
                None => false,
                Some(Kind::Label) => labels.contains(&i) || block.is_some_and(|b| b.label == i),
                Some(_) => block.is_some_and(|b| b.lines.contains(&i)),
            };
            out.push_str(if wanted { line } else { "" });
            out.push('\n');
        }
        out
    }
}

/// The symbol that a label names, or its text.
fn name(label: &str) -> String {
    let text = label.split_once("-LABEL").map_or(label, |(_, rest)| rest);
    let text = text.split_once(':').map_or(text, |(_, rest)| rest).trim();
    let symbol = |c: char| c.is_alphanumeric() || "_.$-".contains(c);
    match text.split_once('@').map(|(_, rest)| rest.split(|c| !symbol(c)).next().unwrap_or_default()) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "\
// CHECK: sdy.mesh
// CHECK-LABEL: func @a(
// CHECK-SAME:  %arg0
code // PRECHECK: no
// V1-NEXT: one
// CHECK-LABEL: func private
// CHECK-COUNT-2: add
// CHECK{LITERAL}: [[1]]
";

    fn of(prefixes: &[&str]) -> Vec<String> {
        prefixes.iter().map(|&p| p.to_owned()).collect()
    }

    #[test]
    fn a_label_begins_a_block() {
        let all = Blocks::new(PROGRAM, &of(&["CHECK", "V1"]));
        let blocks: Vec<_> = all.blocks.iter().map(|b| (b.label, &*b.name, b.lines.clone())).collect();
        assert_eq!(blocks, [(1, "a", 0..5), (5, "func private", 5..8)]);
        assert_eq!(all.lines.iter().filter(|(_, kind)| kind.is_some()).count(), 7);
        assert!(Blocks::new(PROGRAM, &of(&["V1"])).blocks.is_empty());
        assert!(Blocks::new(PROGRAM, &of(&["V1"])).checks());
        assert!(!Blocks::new(PROGRAM, &of(&["V2"])).checks());
    }

    #[test]
    fn a_block_is_checked_separately_on_its_lines() {
        let all = Blocks::new(PROGRAM, &of(&["CHECK"]));
        let second = all.select(all.blocks.get(1), &[1]);
        let kept: Vec<_> = second.lines().enumerate().filter(|(_, line)| !line.is_empty()).collect();
        let line = |i: usize| (i, PROGRAM.lines().nth(i).unwrap_or_default());
        assert_eq!(kept, [line(1), line(5), line(6), line(7)]);
        assert_eq!(all.select(None, &[5]).trim(), "// CHECK-LABEL: func private");
    }
}
