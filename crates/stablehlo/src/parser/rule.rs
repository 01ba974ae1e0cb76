//! `#sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}, custom>`.
//!
//! The rule is stored as canonical text, and parsed again where a pass needs it.

use std::fmt::Write as _;

use shardc_ir::{Diagnostic, Span};

use super::Parser;
use crate::codes;
use crate::lexer::{Res, is_ident};

/// The kinds of factors, in the order in which they are written.
const KINDS: &[&str] = &["reduction", "need_replication", "permutation", "blocked_propagation"];

/// The number of factor names with one letter, `i` to `z`; then come `z_1`, `z_2`, ...
const LETTERS: u64 = (b'z' - b'i') as u64 + 1;

fn push_symbol(out: &mut String, factor: u64) {
    match u8::try_from(factor) {
        Ok(letter) if factor < LETTERS => out.push(char::from(b'i' + letter)),
        _ => {
            let _ = write!(out, "z_{}", factor - LETTERS + 1);
        }
    }
}

impl<'a> Parser<'a> {
    /// Parses the whole attribute and returns its canonical text.
    pub(super) fn sharding_rule(&mut self) -> Res<String> {
        self.expect("#sdy.op_sharding_rule")?;
        self.expect("<")?;
        let mut out = String::from("#sdy.op_sharding_rule<");
        self.rule_tensors(&mut out)?;
        self.expect("->")?;
        out.push_str("->");
        self.rule_tensors(&mut out)?;
        if self.eat("{") && !self.eat("}") {
            out.push_str(" {");
            let mut count = 0;
            self.list("}", |p| {
                if count > 0 {
                    out.push_str(", ");
                }
                p.rule_size(count, &mut out)?;
                count += 1;
                Ok(())
            })?;
            out.push('}');
        }
        for kind in KINDS {
            if !self.eat_word(kind) {
                continue;
            }
            self.expect("=")?;
            self.expect("{")?;
            let start = out.len();
            let _ = write!(out, " {kind}={{");
            let mut first = true;
            self.list("}", |p| {
                if !std::mem::take(&mut first) {
                    out.push_str(", ");
                }
                let word = p.rule_word()?;
                let factor = p.rule_symbol(word, &mut 0)?;
                push_symbol(&mut out, factor);
                Ok(())
            })?;
            if first {
                out.truncate(start);
            } else {
                out.push('}');
            }
        }
        if self.eat(",") {
            self.expect_word("custom")?;
            out.push_str(", custom");
        }
        self.expect(">")?;
        out.push('>');
        Ok(out)
    }

    /// Parses `([i, kj], [k])`.
    fn rule_tensors(&mut self, out: &mut String) -> Res<()> {
        self.expect("(")?;
        if self.peek() != b'[' {
            return Err(self.expected("the factors of a tensor, as in `[i, j]`"));
        }
        out.push('(');
        let mut first = true;
        self.list(")", |p| {
            out.push_str(if std::mem::take(&mut first) { "[" } else { ", [" });
            p.expect("[")?;
            let mut first = true;
            p.list("]", |p| {
                if !std::mem::take(&mut first) {
                    out.push_str(", ");
                }
                let word = p.rule_word()?;
                let mut at = 0;
                while at < word.1.len() {
                    let factor = p.rule_symbol(word, &mut at)?;
                    push_symbol(out, factor);
                }
                Ok(())
            })?;
            out.push(']');
            Ok(())
        })?;
        out.push(')');
        Ok(())
    }

    /// Parses the size of the next factor, such as `i=8`.
    fn rule_size(&mut self, wanted: u64, out: &mut String) -> Res<()> {
        let word = self.rule_word()?;
        let mut at = 0;
        let factor = self.rule_symbol(word, &mut at)?;
        if factor != wanted || at != word.1.len() {
            let mut symbol = String::new();
            push_symbol(&mut symbol, wanted);
            let message = format!("expected the size of factor `{symbol}`, found `{}`", word.1);
            return Err(Diagnostic::invalid(codes::ATTRIBUTE, message)
                .at(Span::new(word.0, word.0 + word.1.len()))
                .hint("the sizes of all factors are listed in order: {i=2, j=4, k=8}")
                .into());
        }
        self.expect("=")?;
        push_symbol(out, factor);
        let _ = write!(out, "={}", self.int()?);
        Ok(())
    }

    /// Parses a word of factor names, and also returns its start.
    fn rule_word(&mut self) -> Res<(usize, &'a str)> {
        let start = self.peek_pos();
        while is_ident(self.byte(0)) {
            self.cursor.pos += 1;
        }
        if self.pos == start {
            return Err(self.expected("factors such as `i` or `jk`"));
        }
        Ok((start, self.slice(start, self.pos)))
    }

    /// Parses the factor name at offset `at` in a word.
    fn rule_symbol(&mut self, (start, word): (usize, &'a str), at: &mut usize) -> Res<u64> {
        let rest = word.get(*at..).unwrap_or("");
        let bad = |message: &str| {
            let span = Span::new(start + *at, start + word.len());
            Diagnostic::invalid(codes::ATTRIBUTE, format!("`{rest}` {message}")).at(span)
        };
        if let Some(number) = rest.strip_prefix("z_") {
            let digits = number.bytes().take_while(u8::is_ascii_digit).count();
            let (number, _) = number.split_at(digits);
            if number.is_empty() || number.starts_with('0') {
                return Err(bad("needs a positive number after `z_`").into());
            }
            let Some(factor) = number.parse::<i64>().ok().and_then(|n| u64::try_from(n).ok()) else {
                return Err(bad("has a number that does not fit in 64 bits").into());
            };
            *at += "z_".len() + digits;
            return Ok(LETTERS - 1 + factor);
        }
        match rest.bytes().next() {
            Some(letter @ b'i'..=b'z') => {
                *at += 1;
                Ok(u64::from(letter - b'i'))
            }
            _ => {
                Err(bad("is not a factor: factors are named `i` to `z`, then `z_1`, `z_2` and so on").into())
            }
        }
    }
}
