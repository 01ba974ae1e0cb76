//! A tokenizer of attribute texts, with error positions.

use std::fmt;

/// Why a text cannot be parsed, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// The byte offset at which parsing failed.
    pub at: usize,
    /// The error at that position.
    pub message: String,
    /// Whether the text is valid, but has a meaning that shardc does not support.
    pub unsupported: bool,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at character {}: {}", self.at + 1, self.message)
    }
}

impl std::error::Error for TextError {}

/// A position in a text.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    text: &'a str,
    pos: usize,
}

impl<'a> Cursor<'a> {
    /// Returns a cursor at the start of `text`.
    pub fn new(text: &'a str) -> Self {
        Cursor { text, pos: 0 }
    }

    /// Returns the position of the next token.
    pub fn at(&mut self) -> usize {
        self.skip_space();
        self.pos
    }

    /// Returns an error at the next token.
    pub fn error(&mut self, message: impl Into<String>) -> TextError {
        TextError { at: self.at(), message: message.into(), unsupported: false }
    }

    /// Returns the error `expected ..., found ...` at the next token.
    pub fn expected(&mut self, what: &str) -> TextError {
        let found = match self.rest().chars().next() {
            None => "the end".to_owned(),
            Some(c) if c.is_alphanumeric() || c == '_' => {
                let word: String =
                    self.rest().chars().take_while(|&c| c.is_alphanumeric() || c == '_').take(40).collect();
                format!("`{word}`")
            }
            Some(c) => format!("`{c}`"),
        };
        self.error(format!("expected {what}, found {found}"))
    }

    fn rest(&mut self) -> &'a str {
        self.skip_space();
        self.text.get(self.pos..).unwrap_or("")
    }

    fn skip_space(&mut self) {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.pos) {
                Some(b) if b.is_ascii_whitespace() => self.pos += 1,
                // XLA prints `/*index=5*/` in long tuples.
                Some(b'/') if bytes.get(self.pos + 1) == Some(&b'*') => {
                    let end = self.text.get(self.pos + 2..).and_then(|rest| rest.find("*/"));
                    match end {
                        Some(end) => self.pos += end + 4,
                        None => return,
                    }
                }
                _ => return,
            }
        }
    }

    /// Whether the next token is `token`.
    pub fn peek(&mut self, token: &str) -> bool {
        self.rest().starts_with(token)
    }

    /// Whether the next word is exactly `word`.
    pub fn peek_word(&mut self, word: &str) -> bool {
        self.rest()
            .strip_prefix(word)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    }

    /// Consumes `token` if it is next.
    pub fn eat(&mut self, token: &str) -> bool {
        let found = self.peek(token);
        if found {
            self.pos += token.len();
        }
        found
    }

    /// Consumes `word` if the next word is exactly that.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek_word(word);
        if found {
            self.pos += word.len();
        }
        found
    }

    /// Consumes `token`, or fails if it is not next.
    pub fn expect(&mut self, token: &str) -> Result<(), TextError> {
        if self.eat(token) { Ok(()) } else { Err(self.expected(&format!("`{token}`"))) }
    }

    /// Whether only whitespace is left.
    pub fn at_end(&mut self) -> bool {
        self.rest().is_empty()
    }

    /// Fails if anything but whitespace is left.
    pub fn expect_end(&mut self) -> Result<(), TextError> {
        if self.at_end() { Ok(()) } else { Err(self.expected("the end")) }
    }

    /// Parses a non-negative integer.
    pub fn int(&mut self, what: &str) -> Result<i64, TextError> {
        let rest = self.rest();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Err(self.expected(what));
        }
        match rest.get(..digits).and_then(|text| text.parse().ok()) {
            Some(value) => {
                self.pos += digits;
                Ok(value)
            }
            None => Err(self.error("this number is too large")),
        }
    }

    /// Parses integers separated by commas.
    pub fn ints(&mut self, what: &str) -> Result<Vec<i64>, TextError> {
        let mut out = vec![self.int(what)?];
        while self.eat(",") {
            out.push(self.int(what)?);
        }
        Ok(out)
    }

    /// Parses items separated by commas up to `close`, which is consumed.
    pub fn list(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<(), TextError>,
    ) -> Result<(), TextError> {
        if self.eat(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            if self.eat(close) {
                return Ok(());
            }
            if !self.eat(",") {
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
        }
    }

    /// Parses a quoted string: `"x"`, `'x'` or `\22x\22`.
    pub fn string(&mut self, what: &str) -> Result<&'a str, TextError> {
        // Some MLIR printers escape the quotes of nested texts, as `\22` or `\"`.
        let quote = ["\"", "'", "\\22", "\\\""].into_iter().find(|quote| self.peek(quote));
        let Some(quote) = quote else { return Err(self.expected(what)) };
        let start = self.pos + quote.len();
        match self.text.get(start..).and_then(|rest| rest.find(quote)) {
            Some(length) => {
                self.pos = start + length + quote.len();
                Ok(self.text.get(start..start + length).unwrap_or(""))
            }
            None => Err(self.error("this string is not terminated")),
        }
    }

    /// Parses an unquoted name, which may contain dots and dashes.
    pub fn name(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '-')))
            .unwrap_or(rest.len());
        let name = rest.get(..end).filter(|name| !name.is_empty())?;
        self.pos += end;
        Some(name)
    }

    /// Skips a `{...}` that may contain strings and nested braces.
    pub fn skip_braces(&mut self) -> Result<(), TextError> {
        let open = self.at();
        self.expect("{")?;
        let mut depth = 1usize;
        let mut quoted = false;
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.pos) {
            self.pos += 1;
            match byte {
                b'\\' if quoted => self.pos += 1,
                b'"' => quoted = !quoted,
                b'{' if !quoted => depth += 1,
                b'}' if !quoted => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
        Err(TextError { at: open, message: "this brace is never closed".to_owned(), unsupported: false })
    }
}
