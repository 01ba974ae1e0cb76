//! The check lines of a file.

use std::ops::Range;

use super::{Options, pattern::Pattern};

/// The kind of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Check,
    Next,
    Same,
    Not,
    Dag,
    Empty,
    Count(usize),
    Label,
    /// The end of the input, which ends the search of a final `-DAG` or `-NOT` directive.
    End,
}

/// The position of a directive in a line, and its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) kind: Kind,
    pub(crate) prefix: String,
    pub(crate) literal: bool,
    /// Byte range of the directive's name, without the colon.
    pub(crate) name: Range<usize>,
    /// Byte range of the text after the colon, trimmed.
    pub(crate) text: Range<usize>,
}

/// A parsed check line.
#[derive(Clone, Debug)]
pub(crate) struct Directive {
    pub(crate) kind: Kind,
    pub(crate) prefix: String,
    pub(crate) pattern: Pattern,
    /// The line number of the directive in the file, counted from 0.
    pub(crate) line: usize,
    /// Whether the text is literal: `[[` and `{{` do not begin markup.
    pub(crate) is_literal: bool,
    /// Whether the directive comes from a command-line option.
    pub(crate) implicit: bool,
}

impl Directive {
    /// The directive's usual name, such as `CHECK-NEXT`.
    pub(crate) fn title(&self) -> String {
        if self.implicit {
            return format!("`--implicit-check-not={}`", self.pattern.source);
        }
        let suffix = match self.kind {
            Kind::Check | Kind::End => String::new(),
            Kind::Next => "-NEXT".to_owned(),
            Kind::Same => "-SAME".to_owned(),
            Kind::Not => "-NOT".to_owned(),
            Kind::Dag => "-DAG".to_owned(),
            Kind::Empty => "-EMPTY".to_owned(),
            Kind::Count(count) => format!("-COUNT-{count}"),
            Kind::Label => "-LABEL".to_owned(),
        };
        format!("{}{suffix}: \"{}\"", self.prefix, self.pattern.source)
    }
}

/// Finds the first directive of a line, unless `RUN:` or `COM:` precedes the directive.
pub(crate) fn find(line: &str, prefixes: &[String]) -> Option<Found> {
    let comment = ["RUN:", "COM:"].iter().filter_map(|word| position(line, word)).min();
    let all = prefixes.iter().flat_map(|prefix| occurrences(line, prefix).map(move |at| (at, prefix)));
    let found = all.filter_map(|(at, prefix)| {
        let rest = line.get(at + prefix.len()..)?;
        let (name, _) = rest.split_once(':')?;
        let (suffix, literal) = match name.strip_suffix("{LITERAL}") {
            Some(suffix) => (suffix, true),
            None => (name, false),
        };
        let kind = match suffix {
            "" => Kind::Check,
            "-NEXT" => Kind::Next,
            "-SAME" => Kind::Same,
            "-NOT" => Kind::Not,
            "-DAG" => Kind::Dag,
            "-EMPTY" => Kind::Empty,
            "-LABEL" => Kind::Label,
            _ => Kind::Count(suffix.strip_prefix("-COUNT-")?.parse().ok()?),
        };
        let end = at + prefix.len() + name.len();
        let text = line.get(end + 1..)?;
        let start = end + 1 + (text.len() - text.trim_start().len());
        let length = text.trim().len();
        Some(Found { kind, prefix: prefix.clone(), literal, name: at..end, text: start..start + length })
    });
    found
        .min_by_key(|found| (found.name.start, usize::MAX - found.prefix.len()))
        .filter(|found| comment.is_none_or(|comment| found.name.start < comment))
}

/// The positions of `word` as a separate word in a line.
fn occurrences<'a>(line: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let in_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    line.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |&at| !line.get(..at).is_some_and(|before| before.ends_with(in_word)))
}

fn position(line: &str, word: &str) -> Option<usize> {
    occurrences(line, word).next()
}

/// The directives of a file, in order.
///
/// # Errors
/// The line, counted from 0, of an invalid directive, and the reason.
pub(super) fn read(checks: &str, options: &Options) -> Result<Vec<Directive>, (usize, String)> {
    let mut all = Vec::new();
    for text in &options.implicit_not {
        let pattern = Pattern::read(text, false, 0, options).map_err(|message| (0, message))?;
        let prefix = String::new();
        all.push(Directive { kind: Kind::Not, prefix, pattern, line: 0, is_literal: false, implicit: true });
    }
    let mut matched = false;
    for (number, line) in checks.lines().enumerate() {
        let Some(found) = find(line, &options.prefixes) else { continue };
        let source = line.get(found.text.clone()).unwrap_or_default();
        let fail = |message: String| Err((number, message));
        let pattern = match Pattern::read(source, found.literal, number, options) {
            Ok(pattern) => pattern,
            Err(message) => return fail(message),
        };
        let directive = Directive {
            kind: found.kind,
            prefix: found.prefix,
            pattern,
            line: number,
            is_literal: found.literal,
            implicit: false,
        };
        match directive.kind {
            Kind::Empty if !source.is_empty() => {
                return fail("an `-EMPTY:` directive cannot have a text".to_owned());
            }
            Kind::Empty => {}
            _ if source.is_empty() => return fail("the directive has no text".to_owned()),
            Kind::Count(0) => {
                return fail("the count must be at least 1; for a count of 0, use `-NOT:`".to_owned());
            }
            Kind::Label if directive.pattern.has_variables() => {
                return fail("a label cannot set or use variables".to_owned());
            }
            _ => {}
        }
        if matches!(directive.kind, Kind::Next | Kind::Same | Kind::Empty) && !matched {
            return fail("`-NEXT:`, `-SAME:` and `-EMPTY:` need an earlier `CHECK:`".to_owned());
        }
        matched |= !matches!(directive.kind, Kind::Not | Kind::Dag);
        all.push(directive);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str, prefixes: &[&str]) -> Option<(Kind, String)> {
        let prefixes: Vec<String> = prefixes.iter().map(|&p| p.to_owned()).collect();
        find(line, &prefixes).map(|found| (found.kind, line[found.text].to_owned()))
    }

    #[test]
    fn a_prefix_is_a_word() {
        assert_eq!(of("// CHECK-NEXT:  a b ", &["CHECK"]), Some((Kind::Next, "a b".to_owned())));
        assert_eq!(of("// PRECHECK: a", &["CHECK"]), None);
        assert_eq!(of("// CHECK-FOO: a CHECK: b", &["CHECK"]), Some((Kind::Check, "b".to_owned())));
        assert_eq!(of("// CHECK-A-NOT: a", &["CHECK", "CHECK-A"]), Some((Kind::Not, "a".to_owned())));
        assert_eq!(of("// RUN: CHECK: a", &["CHECK"]), None);
        assert_eq!(of("// CHECK: RUN: a", &["CHECK"]), Some((Kind::Check, "RUN: a".to_owned())));
        assert_eq!(
            of("// CHECK-COUNT-12{LITERAL}: [[", &["CHECK"]),
            Some((Kind::Count(12), "[[".to_owned()))
        );
    }
}
