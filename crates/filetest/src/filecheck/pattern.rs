//! Patterns of directives: text, regular expressions, variables.

use std::{collections::BTreeMap, fmt::Write as _, ops::Range};

use fancy_regex::Regex;

use super::{
    Options,
    posix::{literal, translated},
};

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Literal text.
    Text(String),
    /// `{{...}}`.
    Expression(String),
    /// `[[NAME:...]]`: a variable is set to the match.
    Set(String, String),
    /// `[[NAME]]`.
    Get(String),
    /// `[[#...]]`.
    Number(Number),
}

/// A numeric expression in a pattern: `[[#%x, NAME: OTHER + 1]]`, where each part is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Number {
    source: String,
    /// Whether the expression uses `@LINE`, the number of the directive's line.
    is_of_line: bool,
    format: Option<char>,
    set: Option<String>,
    /// The terms of the sum, each with its factor (1 or -1); empty if any number matches.
    terms: Vec<(i64, Term)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Value(i64),
    Variable(String),
}

/// Values of variables. The name of a numeric variable starts with `#`.
pub(super) type Values = BTreeMap<String, String>;

/// The pattern of a directive.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    /// The text of the directive.
    pub(crate) source: String,
    pub(super) pieces: Vec<Piece>,
}

/// The range of a match, and the variables that it sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) at: Range<usize>,
    pub(super) sets: Vec<(String, String)>,
}

impl Pattern {
    /// Parses the text of a directive on a line, counted from 0.
    ///
    /// # Errors
    /// The text is not a valid pattern.
    pub(super) fn read(text: &str, is_literal: bool, line: usize, options: &Options) -> Result<Self, String> {
        let text = super::canonical(text, options);
        let pieces = if is_literal { vec![Piece::Text(text.clone())] } else { pieces(&text, line)? };
        let pattern = Pattern { source: text, pieces };
        // Expressions are compiled here, so that an invalid expression is reported even if it is never used.
        for piece in &pattern.pieces {
            if let Piece::Expression(expression) | Piece::Set(_, expression) = piece {
                compiled(&translated(expression)?)?;
            }
        }
        Ok(pattern)
    }

    pub(super) fn has_variables(&self) -> bool {
        self.pieces.iter().any(|piece| !matches!(piece, Piece::Text(_) | Piece::Expression(_)))
    }

    /// The variables that the pattern sets or uses.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Set(name, _) | Piece::Get(name) => Some(&**name),
            _ => None,
        })
    }

    /// Finds the first match in `text`. The error is the name of a variable without a value.
    pub(super) fn find(&self, text: &str, values: &Values) -> Result<Option<Match>, String> {
        if let [Piece::Text(wanted)] = &*self.pieces {
            return Ok(text.find(&**wanted).map(|at| Match { at: at..at + wanted.len(), sets: Vec::new() }));
        }
        let (expression, sets) = self.expression(values)?;
        // Compile errors were reported when the pattern was parsed; a match that exceeds the engine's limits counts as no match.
        let Some(found) = compiled(&expression).ok().and_then(|regex| regex.captures(text).ok().flatten())
        else {
            return Ok(None);
        };
        let Some(whole) = found.get(0) else { return Ok(None) };
        let kept = sets
            .into_iter()
            .filter_map(|(group, name)| Some((name, found.name(&group)?.as_str().to_owned())));
        Ok(Some(Match { at: whole.start()..whole.end(), sets: kept.collect() }))
    }

    /// The expression in Rust's syntax, and the variables that its groups set.
    fn expression(&self, values: &Values) -> Result<(String, Vec<(String, String)>), String> {
        let mut out = "(?m)".to_owned();
        let mut sets: Vec<(String, String)> = Vec::new();
        for piece in &self.pieces {
            let group = format!("v{}", sets.len());
            match piece {
                Piece::Text(text) => text.chars().for_each(|c| literal(c, &mut out)),
                Piece::Expression(expression) => {
                    let _ = write!(out, "(?:{})", translated(expression).unwrap_or_default());
                }
                Piece::Set(name, expression) => {
                    let expression = translated(expression).unwrap_or_default();
                    let _ = write!(out, "(?P<{group}>{expression})");
                    sets.push((group, name.clone()));
                }
                Piece::Get(name) => match sets.iter().rev().find(|(_, set)| set == name) {
                    Some((group, _)) => {
                        let _ = write!(out, "(?P={group})");
                    }
                    None => {
                        let value = values.get(name).ok_or_else(|| name.clone())?;
                        value.chars().for_each(|c| literal(c, &mut out));
                    }
                },
                Piece::Number(number) => {
                    let digits = match number.value(values)? {
                        Some(value) => number.shown(value),
                        None => number.digits().to_owned(),
                    };
                    match &number.set {
                        None => out.push_str(&digits),
                        Some(name) => {
                            let _ = write!(out, "(?P<{group}>{digits})");
                            sets.push((group, format!("#{name}")));
                        }
                    }
                }
            }
        }
        Ok((out, sets))
    }
}

impl Number {
    /// Returns the value of the expression, or `None` if the expression matches any number. The error is the name of a variable without a
    /// value.
    fn value(&self, values: &Values) -> Result<Option<i64>, String> {
        let mut sum = None;
        for (factor, term) in &self.terms {
            let value = match term {
                Term::Value(value) => *value,
                Term::Variable(name) => {
                    let text = values.get(&format!("#{name}")).ok_or_else(|| name.clone())?;
                    let radix = if matches!(self.format, Some('x' | 'X')) { 16 } else { 10 };
                    i64::from_str_radix(text, radix).map_err(|_| name.clone())?
                }
            };
            sum = Some(factor.saturating_mul(value).saturating_add(sum.unwrap_or(0)));
        }
        Ok(sum)
    }

    fn shown(&self, value: i64) -> String {
        match self.format {
            Some('x') => format!("{value:x}"),
            Some('X') => format!("{value:X}"),
            _ => value.to_string(),
        }
    }

    fn digits(&self) -> &'static str {
        match self.format {
            Some('x') => "[0-9a-f]+",
            Some('X') => "[0-9A-F]+",
            Some('d') => "-?[0-9]+",
            _ => "[0-9]+",
        }
    }

    /// Returns markup that matches `text` on the line `line` (counted from 0): the unchanged expression, or an expression of `@LINE` with a
    /// new offset. Returns `None` if there is no such markup.
    pub(super) fn kept(&self, text: &str, line: usize, values: &Values) -> Option<String> {
        if self.is_of_line {
            let distance = text.parse::<i64>().ok()? - i64::try_from(line + 1).ok()?;
            return Some(match distance {
                0 => "[[#@LINE]]".to_owned(),
                _ => format!("[[#@LINE{distance:+}]]"),
            });
        }
        let pattern = Pattern { source: String::new(), pieces: vec![Piece::Number(self.clone())] };
        let found = pattern.find(text, values).ok().flatten()?;
        (found.at == (0..text.len())).then(|| format!("[[#{}]]", self.source))
    }

    fn read(text: &str, line: usize) -> Result<Self, String> {
        let wrong = || format!("`[[#{text}]]` is not a numeric expression");
        let mut number = Number { source: text.to_owned(), ..Number::default() };
        let mut rest = text.trim();
        if let Some(format) = rest.strip_prefix('%') {
            let (format, after) = format.split_once(',').unwrap_or((format, ""));
            number.format = format.trim().chars().last();
            if !matches!(number.format, Some('u' | 'd' | 'x' | 'X')) {
                return Err(wrong());
            }
            rest = after.trim();
        }
        if let Some((name, after)) = rest.split_once(':') {
            number.set = Some(name.trim().to_owned());
            rest = after.trim();
        }
        rest = rest.strip_prefix("==").unwrap_or(rest).trim();
        let mut factor = 1;
        while !rest.is_empty() {
            let end = rest.find(['+', '-']).unwrap_or(rest.len());
            let (term, after) = rest.split_at(end);
            let term = match term.trim() {
                "@LINE" => {
                    number.is_of_line = true;
                    Term::Value(i64::try_from(line + 1).unwrap_or(i64::MAX))
                }
                digits if digits.starts_with(|c: char| c.is_ascii_digit()) => {
                    Term::Value(digits.parse().map_err(|_| wrong())?)
                }
                name if is_name(name) => Term::Variable(name.to_owned()),
                _ => return Err(wrong()),
            };
            number.terms.push((factor, term));
            factor = if after.starts_with('-') { -1 } else { 1 };
            rest = after.get(1..).unwrap_or_default();
        }
        Ok(number)
    }
}

fn is_name(text: &str) -> bool {
    let rest = text.strip_prefix(['$', '@']).unwrap_or(text);
    let mut chars = rest.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn compiled(expression: &str) -> Result<Regex, String> {
    Regex::new(expression).map_err(|error| format!("the regular expression is invalid: {error}"))
}

fn pieces(text: &str, line: usize) -> Result<Vec<Piece>, String> {
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix("{{") {
            let (expression, after) = inside.split_once("}}").ok_or("a `{{` is not closed")?;
            out.push(Piece::Expression(expression.to_owned()));
            rest = after;
        } else if let Some(inside) = rest.strip_prefix("[[").filter(|inside| !inside.starts_with('[')) {
            let end = closing(inside).ok_or("a `[[` is not closed")?;
            let (block, after) = inside.split_at(end);
            out.push(substitution(block, line)?);
            rest = after.get(2..).unwrap_or_default();
        } else {
            // If three brackets are adjacent, the first one is literal text.
            let next =
                |mark| rest.char_indices().skip(1).map(|(at, _)| at).find(|&at| starts(rest, at, mark));
            let end = next("{{").into_iter().chain(next("[[")).min().unwrap_or(rest.len());
            let (plain, after) = rest.split_at(end);
            out.push(Piece::Text(plain.to_owned()));
            rest = after;
        }
    }
    Ok(out)
}

fn starts(text: &str, at: usize, mark: &str) -> bool {
    text.get(at..).is_some_and(|rest| rest.starts_with(mark))
}

/// The position of the closing `]]`, which follows any brackets in the expression.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b']' if depth == 0 => return text.get(at..).filter(|rest| rest.starts_with("]]")).map(|_| at),
            b'\\' => {
                bytes.next();
            }
            b'[' => depth += 1,
            b']' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Parses the contents of `[[...]]`.
fn substitution(block: &str, line: usize) -> Result<Piece, String> {
    if let Some(number) = block.strip_prefix('#') {
        return Number::read(number, line).map(Piece::Number);
    }
    if block.starts_with("@LINE") {
        return Number::read(block, line).map(Piece::Number);
    }
    let (name, expression) = match block.split_once(':') {
        Some((name, expression)) => (name, Some(expression)),
        None => (block, None),
    };
    if !is_name(name) {
        return Err(format!(
            "`[[{block}]]`: `{name}` is not a variable name; to match two brackets, write `{{{{\\[\\[}}}}`"
        ));
    }
    Ok(match expression {
        Some(expression) => Piece::Set(name.to_owned(), expression.to_owned()),
        None => Piece::Get(name.to_owned()),
    })
}
