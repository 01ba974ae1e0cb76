//! Diagnostics that comments of a text expect, in the syntax of MLIR's `-verify-diagnostics`: `// expected-error@+1
//! {{...}}`.

use std::ops::Range;

use shardc_ir::{Diagnostic, Severity, Span};

use crate::codes;

/// The parts of an expectation and a diagnostic that must agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Only the severity, on any line.
    Kind,
    /// Severity and line. The text is compared only if it begins with a code of shardc (`SH0102`): other texts are messages of other tools.
    #[default]
    Line,
    /// Severity, line and text.
    Text,
}

/// An expected diagnostic.
struct Expectation<'a> {
    severity: Severity,
    /// The line, from 1; `None` for `@unknown`.
    line: Option<usize>,
    text: &'a str,
    span: Span,
}

/// Compares the diagnostics of a program with those that the comments in its range of `text` expect.
///
/// Returns an error for each expected diagnostic that was not produced, and for each unexpected diagnostic. Expected notes and remarks are
/// ignored, because shardc's wording differs.
#[must_use]
pub fn check_expected(
    text: &str,
    range: Range<usize>,
    found: &[Diagnostic],
    strictness: Strictness,
) -> Vec<Diagnostic> {
    let lines = Lines::new(text);
    let mut errors = Vec::new();
    let mut expected = expectations(text, range, &lines, &mut errors);
    for diagnostic in found {
        let line = diagnostic.span.is_some().then(|| lines.of(diagnostic.span.start as usize));
        let fits = |e: &Expectation<'_>| {
            let same_line = strictness == Strictness::Kind || line.is_none() || e.line == line;
            e.severity == diagnostic.severity && same_line && says(diagnostic, e.text, strictness)
        };
        let unmet = expected.iter().position(|(e, met)| !met && fits(e));
        match unmet.or_else(|| expected.iter().position(|(e, _)| fits(e))) {
            Some(at) => {
                if let Some((_, met)) = expected.get_mut(at) {
                    *met = true;
                }
            }
            None => {
                let mut unexpected = diagnostic.clone();
                unexpected.message = format!("unexpected: {}", diagnostic.message);
                unexpected.severity = Severity::Error;
                errors.push(unexpected);
            }
        }
    }
    for (expectation, met) in expected {
        if !met {
            let what = match expectation.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            };
            let message = format!("expected {what} \"{}\" was not produced", expectation.text);
            errors.push(Diagnostic::invalid(codes::EXPECTED, message).at(expectation.span));
        }
    }
    errors
}

fn says(diagnostic: &Diagnostic, text: &str, strictness: Strictness) -> bool {
    let code = text
        .get(..6)
        .filter(|code| code.starts_with("SH") && code.bytes().skip(2).all(|b| b.is_ascii_digit()));
    match code {
        Some(code) => {
            let words = text.get(6..).unwrap_or("").trim_start_matches([':', ' ']);
            diagnostic.code == code && diagnostic.message.contains(words)
        }
        None => strictness != Strictness::Text || diagnostic.message.contains(text),
    }
}

/// The offsets at which lines start.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Lines {
        Lines(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// Returns the line of an offset, from 1.
    fn of(&self, offset: usize) -> usize {
        self.0.partition_point(|&start| start <= offset)
    }
}

/// Returns the expectations in a range, each with a flag for whether it is met (initially false). A malformed expectation is an error.
fn expectations<'a>(
    text: &'a str,
    range: Range<usize>,
    lines: &Lines,
    errors: &mut Vec<Diagnostic>,
) -> Vec<(Expectation<'a>, bool)> {
    const WORD: &str = "expected-";
    let mut out: Vec<(Expectation<'a>, bool)> = Vec::new();
    let mut at = range.start;
    while let Some(found) = text.get(at..range.end).and_then(|rest| rest.find(WORD)) {
        let start = at + found;
        at = start + WORD.len();
        let line_end = text.get(at..range.end).and_then(|rest| rest.find('\n')).map_or(range.end, |n| at + n);
        let line_start = text.get(..start).and_then(|before| before.rfind('\n')).map_or(0, |n| n + 1);
        if !text.get(line_start..start).is_some_and(|before| before.contains("//")) {
            continue;
        }
        let rest = text.get(at..line_end).unwrap_or("");
        let kinds = [("error", Some(Severity::Error)), ("warning", Some(Severity::Warning))];
        let kinds = kinds.into_iter().chain([("remark", None), ("note", None)]);
        let Some((severity, rest)) =
            kinds.into_iter().find_map(|(word, severity)| Some((severity, rest.strip_prefix(word)?)))
        else {
            continue;
        };
        let (is_pattern, rest) = rest.strip_prefix("-re").map_or((false, rest), |rest| (true, rest));
        let here = lines.of(start);
        let (place, rest) = rest.split_once("{{").unwrap_or((rest, ""));
        let body = rest.split_once("}}");
        let line = match place.trim() {
            "" => Some(Some(here)),
            "@above" => Some(above(text, lines, here)),
            "@below" => Some(below(text, lines, here)),
            "@unknown" => Some(None),
            place => place
                .strip_prefix('@')
                .and_then(|by| by.trim_start_matches('+').parse::<isize>().ok())
                .and_then(|by| here.checked_add_signed(by))
                .map(Some),
        };
        let span = Span::new(start, line_end);
        let (Some((body, _)), Some(line)) = (body, line) else {
            let message = "cannot parse this expected diagnostic";
            let error = Diagnostic::invalid(codes::EXPECTED, message).at(span);
            errors.push(error.hint("write it as `// expected-error@+1 {{text}}`"));
            continue;
        };
        if let Some(severity) = severity {
            // A pattern is for the message of another tool, so it is not compared.
            let text = if is_pattern { "" } else { body };
            out.push((Expectation { severity, line, text, span }, false));
        }
    }
    out
}

/// Whether a line contains more than comments and whitespace.
fn is_code(text: &str, lines: &Lines, line: usize) -> bool {
    let start = line.checked_sub(1).and_then(|at| lines.0.get(at)).copied().unwrap_or(text.len());
    let end = lines.0.get(line).copied().unwrap_or(text.len());
    let line = text.get(start..end).unwrap_or("").trim();
    !line.is_empty() && !line.starts_with("//")
}

/// Returns the nearest preceding line that contains more than comments.
fn above(text: &str, lines: &Lines, line: usize) -> Option<usize> {
    (1..line).rev().find(|&line| is_code(text, lines, line))
}

/// Returns the nearest following line that contains more than comments.
fn below(text: &str, lines: &Lines, line: usize) -> Option<usize> {
    (line + 1..=lines.0.len()).find(|&line| is_code(text, lines, line))
}
