//! Error recovery: the end of an invalid operation, and regions that are never closed.

use shardc_ir::{Diagnostic, Span};

use super::Parser;
use super::names::ResultNames;
use crate::codes;

impl<'a> Parser<'a> {
    /// Whether the next item cannot be in a region. In that case, the closing brace of the region that begins at `open` is missing, and the
    /// region is assumed to end here.
    pub(super) fn never_closed(&mut self, open: usize) -> bool {
        if !matches!(self.byte(0), b'f' | b's' | b'm') {
            return false;
        }
        let words = ["func.func", "sdy.mesh", "module"];
        let Some(found) = words.into_iter().find(|word| self.at_word(word)) else { return false };
        // Operations of other dialects may contain functions.
        if !["func.", "stablehlo.", "chlo.", "sdy."].iter().any(|dialect| self.owner.starts_with(dialect)) {
            return false;
        }
        if self.unclosed_at != Some(self.pos as u32) {
            let error = Diagnostic::invalid(codes::SYNTAX, format!("`{found}` cannot be inside a function"))
                .at(self.token_span())
                .note(Span::new(open, open + 1), "this region is still open")
                .hint("a `}` is missing above");
            self.report(error.into());
            self.unclosed_at = Some(self.pos as u32);
        }
        true
    }

    /// After an error, skips the operation that starts at `start`, at most up to the closing brace of its region.
    pub(super) fn skip_op(&mut self, start: usize) {
        self.cursor.pos = start;
        let (mut braces, mut others) = (0i32, 0i32);
        loop {
            match self.byte(0) {
                0 if self.pos >= self.cursor.text.len() => return,
                b'"' => {
                    if self.raw_string().is_err() {
                        self.cursor.pos += 1;
                    }
                    continue;
                }
                b'/' if self.byte(1) == b'/' => {
                    self.ws();
                    continue;
                }
                b'{' => braces += 1,
                b'(' | b'[' => others += 1,
                b')' | b']' => others -= 1,
                b'}' if braces <= 0 => return,
                b'}' => braces -= 1,
                b'\n' if braces <= 0 => {
                    let goes_on = ["reducer", "cond", "do"].iter().any(|word| self.at_word(word));
                    // A bracket that is still open at the next operation has no matching bracket.
                    if !goes_on && (others <= 0 || self.at_op()) {
                        return;
                    }
                    continue;
                }
                _ => {}
            }
            self.cursor.pos += 1;
        }
    }

    /// Whether the next line looks like an operation: `%0 = ...`, `return ...`, `stablehlo.add ...`.
    fn at_op(&mut self) -> bool {
        self.ws();
        let pos = self.pos;
        let looks = match self.byte(0) {
            b'%' => self.result_names(&mut ResultNames::new()).is_ok(),
            _ => self.opt_ident().is_some_and(|word| matches!(word, "return" | "call") || word.contains('.')),
        };
        self.cursor.pos = pos;
        looks
    }
}
