//! A cursor over the bytes of MLIR text: whitespace, comments, punctuation, names, numbers and strings.

use std::borrow::Cow;

use shardc_ir::{Diagnostic, KeptKind, Span};
use smallvec::SmallVec;

use crate::codes;

/// Why parsing stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error to report.
    Error(Box<Diagnostic>),
    /// A consequence of an error that was already reported.
    Silent,
    /// Not an error: the top-level item has to be kept as text because of the construct at the span.
    Keep(KeptKind, Span),
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Failure::Error(Box::new(diagnostic))
    }
}

/// The result of a parsing function.
pub(crate) type Res<T> = Result<T, Failure>;

/// A position in the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    /// The whole text.
    pub(crate) text: &'a str,
    /// Byte offset of the next byte to read.
    pub(crate) pos: usize,
}

/// Whether `b` may continue a bare identifier.
#[inline]
pub(crate) fn is_ident(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.')
}

/// Whether `b` may start a bare identifier.
#[inline]
pub(crate) fn is_ident_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_'
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Cursor { text, pos: 0 }
    }

    #[inline]
    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// Returns the byte at `ahead` bytes after the cursor; 0 after the end of the text.
    #[inline]
    pub(crate) fn byte(&self, ahead: usize) -> u8 {
        self.bytes().get(self.pos + ahead).copied().unwrap_or(0)
    }

    /// Returns the text between two offsets.
    #[inline]
    pub(crate) fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or("")
    }

    /// Skips whitespace and comments.
    #[inline]
    pub(crate) fn ws(&mut self) {
        loop {
            match self.byte(0) {
                b' ' | b'\n' | b'\t' | b'\r' => self.pos += 1,
                b'/' if self.byte(1) == b'/' => {
                    while self.pos < self.text.len() && self.byte(0) != b'\n' {
                        self.pos += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// Skips whitespace and returns the next byte, 0 at the end.
    #[inline]
    pub(crate) fn peek(&mut self) -> u8 {
        self.ws();
        self.byte(0)
    }

    /// Skips whitespace and returns whether the end is reached.
    #[inline]
    pub(crate) fn at_end(&mut self) -> bool {
        self.ws();
        self.pos >= self.text.len()
    }

    /// Skips whitespace, and `token` if it comes next.
    #[inline]
    pub(crate) fn eat(&mut self, token: &str) -> bool {
        self.ws();
        // Fast path: most tokens have one byte, and the first byte decides most comparisons.
        let (rest, token) = (&self.bytes()[self.pos..], token.as_bytes());
        let found = rest.first() == token.first() && (token.len() == 1 || rest.starts_with(token));
        if found {
            self.pos += token.len();
        }
        found
    }

    /// Skips punctuation that must come next.
    pub(crate) fn expect(&mut self, token: &str) -> Res<()> {
        if self.eat(token) { Ok(()) } else { Err(self.expected(&format!("`{token}`"))) }
    }

    /// Whether the bare word `word` comes next.
    pub(crate) fn at_word(&mut self, word: &str) -> bool {
        self.ws();
        self.bytes()[self.pos..].starts_with(word.as_bytes()) && !is_ident(self.byte(word.len()))
    }

    /// Skips the bare word `word` if it comes next.
    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.pos += word.len();
        }
        found
    }

    /// Skips the bare word `word`, which must come next.
    pub(crate) fn expect_word(&mut self, word: &str) -> Res<()> {
        if self.eat_word(word) { Ok(()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    /// Parses a bare identifier if one comes next.
    pub(crate) fn opt_ident(&mut self) -> Option<&'a str> {
        self.ws();
        if !is_ident_start(self.byte(0)) {
            return None;
        }
        let start = self.pos;
        while is_ident(self.byte(0)) {
            self.pos += 1;
        }
        Some(self.slice(start, self.pos))
    }

    /// Skips characters of an identifier.
    pub(crate) fn take_ident(&mut self) {
        while is_ident(self.byte(0)) {
            self.pos += 1;
        }
    }

    /// Parses a bare identifier; `what` names it in the error.
    pub(crate) fn ident(&mut self, what: &str) -> Res<&'a str> {
        self.opt_ident().ok_or_else(|| self.expected(what))
    }

    /// Parses a decimal or hexadecimal integer, which may be negative.
    pub(crate) fn int(&mut self) -> Res<i64> {
        self.ws();
        let start = self.pos;
        let negative = self.byte(0) == b'-';
        let mut at = self.pos + usize::from(negative);
        let bytes = self.bytes();
        let hex = bytes.get(at) == Some(&b'0')
            && matches!(bytes.get(at + 1), Some(b'x' | b'X'))
            && bytes.get(at + 2).is_some_and(u8::is_ascii_hexdigit);
        let digits = if hex { at + 2 } else { at };
        at = digits;
        while bytes.get(at).is_some_and(|b| if hex { b.is_ascii_hexdigit() } else { b.is_ascii_digit() }) {
            at += 1;
        }
        let text = self.slice(digits, at);
        if text.is_empty() {
            return Err(self.expected("an integer"));
        }
        let value = i128::from_str_radix(text, if hex { 16 } else { 10 }).unwrap_or(i128::MAX);
        let value = if negative { -value } else { value };
        self.pos = at;
        i64::try_from(value).map_err(|_| {
            Diagnostic::invalid(codes::SYNTAX, "this integer does not fit in 64 bits")
                .at(Span::new(start, at))
                .into()
        })
    }

    /// Parses a string literal and returns it still escaped, without its quotes.
    pub(crate) fn raw_string(&mut self) -> Res<&'a str> {
        self.ws();
        let start = self.pos;
        if self.byte(0) != b'"' {
            return Err(self.expected("a string"));
        }
        let bytes = self.bytes();
        let mut at = start + 1;
        loop {
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => at += 2,
                Some(b'\n') | None => {
                    return Err(Diagnostic::invalid(codes::SYNTAX, "this string has no closing quote")
                        .at(Span::new(start, start + 1))
                        .into());
                }
                Some(_) => at += 1,
            }
        }
        self.pos = at + 1;
        Ok(self.slice(start + 1, at))
    }

    /// Parses a string literal. Returns `None` if its bytes are not UTF-8.
    pub(crate) fn string(&mut self) -> Res<Option<Cow<'a, str>>> {
        Ok(unescape(self.raw_string()?))
    }

    /// Parses a string literal that must be UTF-8.
    pub(crate) fn text_string(&mut self) -> Res<Cow<'a, str>> {
        let start = self.pos;
        match self.string()? {
            Some(text) => Ok(text),
            None => Err(Diagnostic::invalid(codes::SYNTAX, "this string is not UTF-8")
                .at(Span::new(start, self.pos))
                .into()),
        }
    }

    /// Parses a symbol, `@name` or `@"any text"`, without the `@`.
    pub(crate) fn symbol(&mut self) -> Res<Cow<'a, str>> {
        self.ws();
        if self.byte(0) != b'@' {
            return Err(self.expected("a symbol name such as `@main`"));
        }
        self.pos += 1;
        if self.byte(0) == b'"' {
            return self.text_string();
        }
        let start = self.pos;
        while is_ident(self.byte(0)) || self.byte(0) == b'-' {
            self.pos += 1;
        }
        if start == self.pos {
            return Err(self.expected("a name after `@`"));
        }
        Ok(Cow::Borrowed(self.slice(start, self.pos)))
    }

    /// Parses a value name without `%` and without result number. The cursor is at the `%`.
    pub(crate) fn value_name(&mut self) -> Res<&'a str> {
        self.ws();
        if self.byte(0) != b'%' {
            return Err(self.expected("a value such as `%0`"));
        }
        self.pos += 1;
        let start = self.pos;
        if self.byte(0).is_ascii_digit() {
            while self.byte(0).is_ascii_digit() {
                self.pos += 1;
            }
        } else {
            while is_ident(self.byte(0)) || self.byte(0) == b'-' {
                self.pos += 1;
            }
        }
        if start == self.pos {
            return Err(self.expected("a name after `%`"));
        }
        Ok(self.slice(start, self.pos))
    }

    /// Returns the span of the next token, for diagnostics.
    pub(crate) fn token_span(&mut self) -> Span {
        self.ws();
        let start = self.pos;
        let bytes = self.bytes();
        let mut end = start;
        if bytes.get(end).is_some_and(|&b| is_ident(b) || matches!(b, b'%' | b'@' | b'#' | b'!' | b'^')) {
            end += 1;
            while bytes.get(end).is_some_and(|&b| is_ident(b)) {
                end += 1;
            }
        } else if end < bytes.len() {
            end += 1;
            while !self.text.is_char_boundary(end) {
                end += 1;
            }
        }
        Span::new(start, end)
    }

    /// Returns the error "expected `what`, found the next token".
    pub(crate) fn expected(&mut self, what: &str) -> Failure {
        let span = self.token_span();
        let found = match self.slice(span.start as usize, span.end as usize) {
            "" => "the end of the text".to_owned(),
            text => format!("`{text}`"),
        };
        Diagnostic::invalid(codes::SYNTAX, format!("expected {what}, found {found}")).at(span).into()
    }

    /// Skips from the bracket at the cursor to after the matching bracket.
    pub(crate) fn skip_brackets(&mut self) -> Res<()> {
        self.ws();
        let start = self.pos;
        let bytes = self.bytes();
        let mut open: SmallVec<[u8; 32]> = SmallVec::new();
        let mut at = start;
        loop {
            match bytes.get(at) {
                None => {
                    return Err(Diagnostic::invalid(codes::SYNTAX, "this bracket is never closed")
                        .at(Span::new(start, start + 1))
                        .into());
                }
                Some(b'"') => {
                    self.pos = at;
                    self.raw_string()?;
                    at = self.pos;
                    continue;
                }
                Some(b'/') if bytes.get(at + 1) == Some(&b'/') => {
                    let rest = bytes.get(at..).unwrap_or(&[]);
                    at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                    continue;
                }
                Some(b'<' | b'>') if bytes.get(at + 1) == Some(&b'=') => at += 1,
                Some(b'(') => open.push(b')'),
                Some(b'[') => open.push(b']'),
                Some(b'{') => open.push(b'}'),
                Some(b'<') => open.push(b'>'),
                Some(b'-') if bytes.get(at + 1) == Some(&b'>') => at += 1,
                Some(&b @ (b')' | b']' | b'}' | b'>')) => {
                    if open.pop() != Some(b) {
                        return Err(Diagnostic::invalid(
                            codes::SYNTAX,
                            "this closing bracket has no matching opening bracket",
                        )
                        .at(Span::new(at, at + 1))
                        .into());
                    }
                }
                Some(_) => {}
            }
            at += 1;
            if open.is_empty() {
                break;
            }
        }
        self.pos = at;
        Ok(())
    }
}

/// Replaces the escapes of a string literal. Returns `None` if the result is not UTF-8.
pub(crate) fn unescape(raw: &str) -> Option<Cow<'_, str>> {
    match unescape_bytes(raw)? {
        Cow::Borrowed(_) => Some(Cow::Borrowed(raw)),
        Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
    }
}

/// Replaces the escapes of a string literal, whose bytes may be anything. Returns `None` if an escape is not valid.
pub(crate) fn unescape_bytes(raw: &str) -> Option<Cow<'_, [u8]>> {
    if !raw.contains('\\') {
        return Some(Cow::Borrowed(raw.as_bytes()));
    }
    let mut out = Vec::with_capacity(raw.len());
    let mut bytes = raw.bytes();
    while let Some(b) = bytes.next() {
        if b != b'\\' {
            out.push(b);
            continue;
        }
        match bytes.next()? {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            c @ (b'\\' | b'"') => out.push(c),
            high => {
                let high = (high as char).to_digit(16)?;
                let low = (bytes.next()? as char).to_digit(16)?;
                out.push((high * 16 + low) as u8);
            }
        }
    }
    Some(Cow::Owned(out))
}

/// Appends `text` with the escapes that MLIR writes in string literals.
pub(crate) fn escape(out: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for b in text.bytes() {
        match b {
            b'\\' => out.push_str("\\\\"),
            b' '..=b'~' if b != b'"' => out.push(b as char),
            _ => {
                out.push('\\');
                out.push(HEX[usize::from(b >> 4)] as char);
                out.push(HEX[usize::from(b & 15)] as char);
            }
        }
    }
}
