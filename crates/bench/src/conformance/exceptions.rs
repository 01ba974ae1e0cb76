//! Lists of expected differences. Each line is `path: reason` or `path#2,5: reason`. The numbers are indices of programs in the file,
//! counted from 0, or names of functions; a `*` in the path matches any text. Blank lines and lines that start with `#` are ignored.

use std::{fs, path::Path};

use anyhow::{Context, Result};

/// One entry of a list of expected differences.
#[derive(Debug, PartialEq, Eq)]
struct Exception {
    path: String,
    /// The programs or functions of the file to which the entry applies; empty if it applies to the entire file.
    parts: Vec<String>,
    reason: String,
}

/// The list of expected differences of one part of the conformance tests.
#[derive(Debug, Default)]
pub(super) struct Exceptions(Vec<Exception>);

impl Exceptions {
    pub(super) fn read(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        Self::parse(&text).with_context(|| format!("reading {}", file.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let exception = |line: &str| {
            let (place, reason) = line
                .split_once(": ")
                .with_context(|| format!("the exception `{line}` has no reason, expected `path: reason`"))?;
            let (path, parts) = place.split_once('#').unwrap_or((place, ""));
            let parts = parts.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect();
            Ok(Exception { path: path.to_owned(), parts, reason: reason.to_owned() })
        };
        lines.map(exception).collect::<Result<_>>().map(Exceptions)
    }

    /// The index of the first entry that permits `part` of the file at `path` to differ.
    pub(super) fn find(&self, path: &str, part: &str) -> Option<usize> {
        let is_part = |e: &Exception| e.parts.is_empty() || e.parts.iter().any(|p| p == part);
        let fits = |e: &Exception| is_part(e) && fits(&e.path, path);
        self.0.iter().position(fits)
    }

    /// The indices of the entries for the file at `path`.
    pub(super) fn about(&self, path: &str) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().filter(move |(_, e)| fits(&e.path, path)).map(|(line, _)| line)
    }

    /// The path pattern of an entry, and its reason.
    pub(super) fn line(&self, line: usize) -> (&str, &str) {
        self.0.get(line).map_or(("", ""), |e| (&e.path, &e.reason))
    }
}

/// Whether `path` matches `pattern`, where `*` matches any text.
fn fits(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((start, rest)) => path.strip_prefix(start).is_some_and(|tail| {
            (0..=tail.len()).any(|at| tail.get(at..).is_some_and(|tail| fits(rest, tail)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exception_lines_are_parsed() -> Result<()> {
        let list = "# why\n\na/*.mlir#1,3,main.2: old\nb.mlir: new: both\n";
        let list = Exceptions::parse(list)?;
        let reason = |path, part| list.find(path, part).map(|line| list.line(line).1);
        assert_eq!(reason("a/x/y.mlir", "3"), Some("old"));
        assert_eq!(reason("a/x/y.mlir", "main.2"), Some("old"));
        assert_eq!(reason("a/x/y.mlir", "main"), None);
        assert_eq!(reason("b.mlir", "7"), Some("new: both"));
        assert_eq!(reason("b.mlir.bc", "0"), None);
        assert!(Exceptions::parse("a.mlir").is_err());
        Ok(())
    }
}
