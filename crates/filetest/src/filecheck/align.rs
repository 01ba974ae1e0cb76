//! Adapts an old pattern to a new line, and keeps expressions and variables that still match.

use std::collections::BTreeMap;

use super::{
    Options,
    check::Failure,
    directive::Directive,
    pattern::{Pattern, Piece, Values},
};

/// The variables that hold names of SSA values in the output.
pub(super) struct Names<'a> {
    values: &'a Values,
    /// Maps the name of a value, such as `%0`, to its markup.
    written: BTreeMap<String, String>,
    /// The line number of the directive, counted from 0.
    line: usize,
}

impl<'a> Names<'a> {
    /// Collects the variables that directives of the block set before the failed directive.
    pub(super) fn new(directives: &[Directive], failure: &'a Failure) -> Self {
        let mut written = BTreeMap::new();
        for directive in directives.iter().take(failure.directive) {
            let mut before = "";
            for piece in &directive.pattern.pieces {
                if let (Piece::Set(name, _), Some(value)) = (piece, piece_value(piece, failure)) {
                    if before.ends_with('%') {
                        written.insert(format!("%{value}"), format!("%[[{name}]]"));
                    } else if value.starts_with('%') {
                        written.insert(value.to_owned(), format!("[[{name}]]"));
                    }
                }
                before = if let Piece::Text(text) = piece { text } else { "" };
            }
        }
        let line = directives.get(failure.directive).map_or(0, |directive| directive.line);
        Names { values: &failure.values, written, line }
    }

    /// Escapes text for use in a pattern, and replaces the names of SSA values by variables.
    pub(super) fn used_in(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            let (before, name) = rest.split_at(at);
            push(&mut out, before);
            let in_name = |c: char| c.is_alphanumeric() || "_$".contains(c);
            let end =
                name.get(1..).and_then(|name| name.find(|c| !in_name(c))).map_or(name.len(), |end| end + 1);
            let (name, after) = name.split_at(end);
            match self.written.get(name) {
                Some(markup) => push_markup(&mut out, markup),
                None => push(&mut out, name),
            }
            rest = after;
        }
        push(&mut out, rest);
        out
    }
}

fn piece_value<'a>(piece: &Piece, failure: &'a Failure) -> Option<&'a str> {
    let Piece::Set(name, _) = piece else { return None };
    failure.set.contains(name).then(|| failure.values.get(name).map(String::as_str)).flatten()
}

/// A token of the old pattern.
enum Old<'a> {
    Token(&'a str),
    Wild(&'a Piece),
}

/// Converts `line` to a pattern. The pattern covers as much of the line as `old` covered of the old line, and keeps expressions and
/// variables of `old` that still match.
pub(super) fn adapted(old: &Pattern, line: &str, names: &Names<'_>, options: &Options) -> String {
    let text = aligned(old, line, names);
    let matches = |text: &str| {
        Pattern::read(text, false, names.line, options)
            .is_ok_and(|pattern| matches!(pattern.find(line, names.values), Ok(Some(_))))
    };
    if !text.is_empty() && matches(&text) { text } else { names.used_in(&escaped(line)) }
}

fn aligned(old: &Pattern, line: &str, names: &Names<'_>) -> String {
    let mut olds = Vec::new();
    for piece in &old.pieces {
        match piece {
            Piece::Text(text) => olds.extend(tokens(text).into_iter().map(Old::Token)),
            piece => olds.push(Old::Wild(piece)),
        }
    }
    let news = tokens(line);
    let anchors = anchors(&olds, &news);
    let mut out = String::new();
    let (mut i, mut j) = (0, 0);
    for (at, &(o, n)) in anchors.iter().chain([&(olds.len(), news.len())]).enumerate() {
        let gap = olds.get(i..o).unwrap_or_default();
        let text = news.get(j..n).unwrap_or_default().concat();
        // Text at both ends that the old pattern did not cover remains uncovered.
        let uncovered = gap.is_empty() && (at == 0 || at == anchors.len()) && !anchors.is_empty();
        if !uncovered {
            fill(gap, &text, names, &mut out);
        }
        if let Some(token) = news.get(n) {
            push(&mut out, &escaped(token));
        }
        (i, j) = (o + 1, n + 1);
    }
    out.trim().to_owned()
}

/// Writes the pattern for `text`, which replaces the old tokens in `gap`.
fn fill(gap: &[Old<'_>], text: &str, names: &Names<'_>, out: &mut String) {
    if let [Old::Wild(piece)] = gap
        && let Some(markup) = kept(piece, text, names)
    {
        return push_markup(out, &markup);
    }
    // If the old tokens set a variable, the new value of the variable may be a value name in the new text.
    let mut sets = gap.iter().filter_map(|old| match old {
        Old::Wild(piece @ Piece::Set(..)) => Some(*piece),
        _ => None,
    });
    let mut set = sets.next();
    let mut rest = text;
    while let (Some(piece), Some(at)) = (set, rest.find('%')) {
        let (before, name) = rest.split_at(at);
        let in_name = |c: char| c.is_alphanumeric() || "_$".contains(c);
        let end = name.get(1..).and_then(|name| name.find(|c| !in_name(c))).map_or(name.len(), |end| end + 1);
        let (name, after) = name.split_at(end);
        push(out, &names.used_in(&escaped(before)));
        match kept(piece, name, names) {
            Some(markup) => {
                push_markup(out, &markup);
                set = sets.next();
            }
            None => push(out, &names.used_in(&escaped(name))),
        }
        rest = after;
    }
    push(out, &names.used_in(&escaped(rest)));
}

/// Returns the markup of an expression or variable of the old pattern, if it matches all of `text`.
fn kept(piece: &Piece, text: &str, names: &Names<'_>) -> Option<String> {
    let (markup, expression) = match piece {
        Piece::Text(_) => return None,
        Piece::Number(number) => return number.kept(text, names.line, names.values),
        Piece::Get(name) => {
            return (names.values.get(name)? == text).then(|| format!("[[{name}]]"));
        }
        Piece::Expression(expression) => (format!("{{{{{expression}}}}}"), expression),
        Piece::Set(name, expression) => (format!("[[{name}:{expression}]]"), expression),
    };
    let pattern =
        Pattern { source: String::new(), pieces: vec![Piece::Expression(format!("^({expression})$"))] };
    let found = pattern.find(text, names.values).ok().flatten()?;
    (found.at == (0..text.len())).then_some(markup)
}

/// The common subsequence of both token lists with the largest weight, as pairs of indices. On a tie, prefers pairs that align new text
/// with an expression or variable of the old pattern.
fn anchors(olds: &[Old<'_>], news: &[&str]) -> Vec<(usize, usize)> {
    let width = news.len() + 1;
    let mut best = vec![0i64; (olds.len() + 1) * width];
    let at = |best: &[i64], i: usize, j: usize| best.get(i * width + j).copied().unwrap_or(0);
    let pair = |i: usize, j: usize| match (olds.get(i), news.get(j)) {
        (Some(Old::Token(old)), Some(new)) if old == new => Some(weight(new)),
        _ => None,
    };
    let is_wild = |i: usize| matches!(olds.get(i), Some(Old::Wild(_)) | None);
    let left_out = |i: usize| if i == 0 || is_wild(i) || is_wild(i - 1) { 0 } else { -1 };
    for i in (0..olds.len()).rev() {
        for j in (0..news.len()).rev() {
            let apart = at(&best, i + 1, j).max(at(&best, i, j + 1) + left_out(i));
            let together = pair(i, j).map_or(i64::MIN, |weight| weight + at(&best, i + 1, j + 1));
            best[i * width + j] = apart.max(together);
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut anchors = Vec::new();
    while i < olds.len() && j < news.len() {
        let here = at(&best, i, j);
        if pair(i, j).is_some_and(|weight| weight + at(&best, i + 1, j + 1) == here) {
            anchors.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if at(&best, i + 1, j) == here {
            i += 1;
        } else {
            j += 1;
        }
    }
    anchors
}

/// The weight of a token in the alignment: words weigh more than punctuation.
fn weight(token: &str) -> i64 {
    match token.chars().next() {
        Some(c) if c.is_alphanumeric() || c == '_' => 6000,
        Some(' ') => 1000,
        _ => 2000,
    }
}

/// Splits `text` into words, and single characters between them.
fn tokens(text: &str) -> Vec<&str> {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end =
            if in_word(first) { rest.find(|c| !in_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (token, after) = rest.split_at(end);
        out.push(token);
        rest = after;
    }
    out
}

/// A pattern that matches only `text`.
pub(super) fn escaped(text: &str) -> String {
    text.replace("{{", r"{{\{\{}}").replace("[[", r"{{\[\[}}")
}

/// Appends escaped text. Two brackets that become adjacent are escaped, because they would begin markup.
fn push(out: &mut String, text: &str) {
    for mark in ['[', '{'] {
        if out.ends_with(mark) && text.starts_with(mark) && !text.starts_with("{{") {
            out.pop();
            out.push_str(&format!("{{{{\\{mark}\\{mark}}}}}"));
            out.push_str(text.get(1..).unwrap_or_default());
            return;
        }
    }
    if out.ends_with('{') && text.starts_with("{{") {
        return push_markup(out, text);
    }
    out.push_str(text);
}

/// Appends markup. A bracket directly before it is escaped, so that it does not become part of the markup.
fn push_markup(out: &mut String, markup: &str) {
    for mark in ['[', '{'] {
        if out.ends_with(mark) && markup.starts_with(mark) {
            out.pop();
            out.push_str(&format!("{{{{\\{mark}}}}}"));
        }
    }
    out.push_str(markup);
}
