//! Texts that contain several programs, separated by lines of `// -----`.

use std::ops::Range;

use shardc_ir::{Diagnostic, Module};

use crate::parser::parse_range;

/// The line that separates programs.
const MARKER: &str = "// -----";

/// A program of a text.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// The range of the program in the text.
    pub range: Range<usize>,
    /// The program, or its errors. Spans are relative to the whole text.
    pub module: Result<Module, Vec<Diagnostic>>,
}

/// Returns the ranges of the programs of a text, which lines of `// -----` separate.
///
/// ```
/// let text = "module @a {}\n// -----\nmodule @b {}\n";
/// let parts: Vec<&str> = shardc_stablehlo::split(text).into_iter().map(|range| &text[range]).collect();
/// assert_eq!(parts, ["module @a {}\n", "\nmodule @b {}\n"]);
/// ```
#[must_use]
pub fn split(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let (mut start, mut line) = (0, 0);
    for piece in text.split_inclusive('\n') {
        let body = piece.trim_ascii();
        if body == MARKER {
            let marker = line + (piece.len() - piece.trim_ascii_start().len());
            ranges.push(start..marker);
            start = marker + MARKER.len();
        }
        line += piece.len();
    }
    ranges.push(start..text.len());
    ranges
}

/// Parses each program of a text. An error in one program does not affect the others.
#[must_use]
pub fn parse_split(text: &str) -> Vec<Chunk> {
    let read = |range: Range<usize>| Chunk { module: parse_range(text, range.clone()), range };
    split(text).into_iter().map(read).collect()
}
