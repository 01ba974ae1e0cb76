//! An implementation of LLVM's FileCheck, for tests on machines without LLVM.
//!
//! The lines `// CHECK: TEXT` of a check file specify text that the input must contain, in order:
//!
//! | directive | requirement |
//! |---|---|
//! | `CHECK:` | the text, after the previous match |
//! | `CHECK-NEXT:` | the text, on the next line |
//! | `CHECK-SAME:` | the text, later on the same line |
//! | `CHECK-EMPTY:` | the next line is empty |
//! | `CHECK-COUNT-3:` | the text three times |
//! | `CHECK-DAG:` | the texts of adjacent directives in any order, without overlap |
//! | `CHECK-NOT:` | the text does not occur before the match of the next directive |
//! | `CHECK-LABEL:` | the text splits input and checks into blocks, which are checked separately |
//!
//! In the text, `{{...}}` is a regular expression, `[[NAME:...]]` sets a variable, `[[NAME]]` uses one, and `[[@LINE+1]]` and `[[#NAME+1]]`
//! are numbers. The text of `CHECK{LITERAL}:` has no markup. Consecutive spaces and tabs match as one space.
//!
//! An alternation matches its first matching alternative; in LLVM, it matches the longest. Other features of LLVM's FileCheck
//! (`--match-full-lines`, `-D`, ...) are rejected, not ignored.
//!
//! LLVM's FileCheck is the reference: if it is installed, a test compares both implementations. Two crates are not suitable: the directives
//! of `filecheck` differ from LLVM's, and `litcheck-filecheck` does not report the input position at which a directive failed, which
//! [`bless`] needs.

mod align;
pub mod bless;
mod check;
mod command;
pub(crate) mod directive;
mod pattern;
mod posix;

use std::fmt::Write as _;

use check::Checker;
pub use check::{Failure, Reason};
pub use command::{Command, run};
use directive::Directive;

/// Options of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The prefixes of directives.
    pub prefixes: Vec<String>,
    /// Patterns that may match only inside matches of directives.
    pub implicit_not: Vec<String>,
    /// Whether an empty input is permitted.
    pub allow_empty: bool,
    /// Whether the number of consecutive spaces and tabs is significant.
    pub strict_whitespace: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            prefixes: vec!["CHECK".to_owned()],
            implicit_not: Vec::new(),
            allow_empty: false,
            strict_whitespace: false,
        }
    }
}

/// Checks `input` against the directives in `checks`.
///
/// # Errors
/// A readable description of the failure; `name` is the name of the file of checks.
pub fn check(checks: &str, name: &str, input: &str, options: &Options) -> Result<(), String> {
    let directives = read(checks, name, input, options)?;
    let input = canonical(input, options);
    let failures = Checker::new(&input, &directives).check();
    if failures.is_empty() {
        return Ok(());
    }
    Err(failures.iter().map(|failure| shown(failure, &directives, checks, name, &input)).collect())
}

/// Parses the directives of a file, and rejects an unsuitable file or input.
fn read(checks: &str, name: &str, input: &str, options: &Options) -> Result<Vec<Directive>, String> {
    let directives = directive::read(checks, options)
        .map_err(|(line, message)| format!("{name}:{}: error: {message}\n", line + 1))?;
    for prefix in &options.prefixes {
        if !directives.iter().any(|directive| directive.prefix == *prefix) {
            return Err(format!("{name}: error: no check lines begin with `{prefix}:`\n"));
        }
    }
    if input.is_empty() && !options.allow_empty {
        return Err(format!("{name}: error: the input is empty (`--allow-empty` allows that)\n"));
    }
    Ok(directives)
}

/// The input with Unix line endings. Unless `options` sets strict whitespace, consecutive spaces and tabs become one space.
fn canonical(input: &str, options: &Options) -> String {
    let mut out = String::with_capacity(input.len());
    let mut chars = input.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            ' ' | '\t' if !options.strict_whitespace => {
                while chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
                out.push(' ');
            }
            c => out.push(c),
        }
    }
    out
}

/// Number of input lines shown around a failed directive.
const CONTEXT: usize = 5;

fn shown(failure: &Failure, directives: &[Directive], checks: &str, name: &str, input: &str) -> String {
    let mut out = String::new();
    let directive = directives.get(failure.directive);
    let line = directive.map_or(0, |directive| directive.line);
    let (what, at) = match &failure.reason {
        Reason::NotFound => ("is not in the input".to_owned(), failure.region.start),
        Reason::Undefined(variable) => (format!("uses {variable}, which has no value"), failure.region.start),
        Reason::TooFew { found } => {
            (format!("occurs only {found} times in this part of the input"), failure.region.start)
        }
        Reason::Elsewhere { at } => ("is in the input, but on another line".to_owned(), at.start),
        Reason::Excluded { at } => ("is in the input".to_owned(), at.start),
    };
    let title = directive.map_or_else(String::new, |directive| directive.title());
    let _ = writeln!(out, "{name}:{}: error: {title} {what}", line + 1);
    if let Some(text) = checks.lines().nth(line).filter(|_| directive.is_some_and(|d| !d.implicit)) {
        let _ = writeln!(out, "  {}", text.trim());
    }
    let names: Vec<&str> = directive.into_iter().flat_map(|directive| directive.pattern.names()).collect();
    for (variable, value) in failure.values.iter().filter(|(name, _)| names.contains(&&***name)) {
        let _ = writeln!(out, "  where {variable} is \"{value}\"");
    }
    let from = line_of(input, at);
    let started = line_of(input, failure.region.start);
    let _ = writeln!(out, "  searched from line {} of the input; around line {}:", started + 1, from + 1);
    for (number, text) in input.lines().enumerate().skip(from.saturating_sub(CONTEXT)).take(2 * CONTEXT + 1) {
        let mark = if number == from { ">" } else { " " };
        let _ = writeln!(out, "{mark} {:>5}  {text}", number + 1);
    }
    out
}

/// The line number, counted from 0, of the byte at offset `at`.
fn line_of(input: &str, at: usize) -> usize {
    input.bytes().take(at).filter(|&byte| byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(checks: &str, input: &str) -> bool {
        check(checks, "checks", input, &Options::default()).is_ok()
    }

    #[test]
    fn directives_are_in_order() {
        let input = "func @a\n  %0 = add\n  return\n";
        assert!(passes("// CHECK: func @a\n// CHECK-NEXT: add\n// CHECK: return", input));
        assert!(!passes("// CHECK: return\n// CHECK: add", input));
        assert!(!passes("// CHECK: func\n// CHECK-NEXT: return", input));
        assert!(passes("// CHECK: func\n// CHECK-SAME: @a", input));
        assert!(!passes("// CHECK: func\n// CHECK-SAME: add", input));
        assert!(passes("// CHECK:   %0   =\tadd", input), "blanks in a row are one");
    }

    #[test]
    fn excluded_text_is_searched_between_matches() {
        let input = "a\nb\nc\n";
        assert!(passes("// CHECK: a\n// CHECK-NOT: c\n// CHECK: b", input));
        assert!(!passes("// CHECK: a\n// CHECK-NOT: b\n// CHECK: c", input));
        assert!(!passes("// CHECK: a\n// CHECK-NOT: c", input), "up to the end");
        let options = Options { implicit_not: vec!["b".to_owned()], ..Options::default() };
        assert!(check("// CHECK: a\n// CHECK: b\n// CHECK: c", "f", input, &options).is_ok());
        assert!(check("// CHECK: a\n// CHECK: c", "f", input, &options).is_err());
    }

    #[test]
    fn dag_matches_are_unordered_and_do_not_overlap() {
        let input = "x 1\nx 2\nend\n";
        assert!(passes("// CHECK-DAG: x 2\n// CHECK-DAG: x 1\n// CHECK: end", input));
        assert!(passes("// CHECK-DAG: x\n// CHECK-DAG: x\n// CHECK: end", input));
        assert!(!passes("// CHECK-DAG: x\n// CHECK-DAG: x\n// CHECK-DAG: x", input));
        assert!(!passes("// CHECK-DAG: x 2\n// CHECK-NOT: 1\n// CHECK: zzz", input));
    }

    #[test]
    fn variables_hold_matched_text() {
        let input = "%0 = add %1\n%1 = neg %0\n%2 = mul %2\n";
        assert!(passes("// CHECK: %[[A:.*]] = add %[[B:.*]]\n// CHECK-NEXT: %[[B]] = neg %[[A]]", input));
        assert!(!passes("// CHECK: %[[A:.*]] = add\n// CHECK-NEXT: %[[A]] = neg", input));
        assert!(passes("// CHECK: [[A:%[0-9]+]] = mul [[A]]", input), "on the same line");
        assert!(!passes("// CHECK: [[A:%[0-9]+]] = add [[A]]{{$}}", input));
        assert!(!passes("// CHECK: [[NONE]]", input), "no value");
    }

    #[test]
    fn labels_divide_the_input() {
        let input = "func @a\nadd\nfunc @b\nmul\n";
        assert!(passes("// CHECK-LABEL: @a\n// CHECK: add\n// CHECK-LABEL: @b\n// CHECK: mul", input));
        let text = check(
            "// CHECK-LABEL: @a\n// CHECK: mul\n// CHECK-LABEL: @b\n// CHECK: add",
            "f",
            input,
            &Options::default(),
        );
        let text = text.expect_err("neither is in its block");
        assert!(text.contains("f:2: error") && text.contains("f:4: error"), "{text}");
    }

    #[test]
    fn counts_numbers_and_literals() {
        assert!(passes("// CHECK-COUNT-2: a\n// CHECK-NOT: a", "a\na\n"));
        assert!(!passes("// CHECK-COUNT-3: a", "a\na\n"));
        assert!(passes("// CHECK: at [[@LINE+1]]:\n// CHECK: [[#@LINE]]", "at 2: 2"));
        assert!(passes("// CHECK: n [[#N:]]\n// CHECK: n [[#N+1]]\n// CHECK: [[#]]", "n 7\nn 8\n9"));
        assert!(passes("// CHECK{LITERAL}: [[0, 1]] {{x}}", "[[0, 1]] {{x}}"));
        assert!(passes("// CHECK: a\n// CHECK-EMPTY:\n// CHECK-NEXT: b", "a\n\nb\n"));
        assert!(!passes("// CHECK: a\n// CHECK-EMPTY:", "a\nb\n"));
    }

    #[test]
    fn a_class_does_not_match_a_line_end() {
        assert!(!passes("// CHECK: a{{[^x]*}}b", "a\nb\n"));
        assert!(passes("// CHECK: a{{[]\\x]+}}b", "a]\\xb\n"));
        assert!(passes("// CHECK: {{^}}b{{$}}", "ab\nb\n"));
    }

    #[test]
    fn files_without_use_are_errors() {
        assert!(!passes("// CHEEK: a", "a"));
        assert!(!passes("// CHECK-NEXT: a", "a"));
        assert!(!passes("// CHECK-NOT: a", ""));
        assert!(!passes("// RUN: FileCheck %s # CHECK: a", "a"), "a RUN: line is no check");
        assert!(!passes("// CHECK-LABEL: [[A:x]]", "x"));
        assert!(!passes("// CHECK: {{a", "a"));
        assert!(!passes("// CHECK:", "a"));
    }
}
