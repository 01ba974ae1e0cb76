//! Aliases, which may stand before or after the module, and resources.

use shardc_ir::{Dense, Diagnostic, OpKind, PackedOption, Span};

use super::Parser;
use crate::codes;
use crate::lexer::{Failure, Res, escape};

impl<'a> Parser<'a> {
    /// Finds the aliases, which stand at the starts of lines: `#loc3 = loc(...)`, `!t = tensor<...>`.
    pub(super) fn find_aliases(&mut self) -> Res<()> {
        let text = self.cursor.text;
        let mut line = self.pos;
        while line < text.len() {
            let blanks = text.as_bytes()[line..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
            line += blanks;
            if matches!(text.as_bytes().get(line), Some(b'#' | b'!')) {
                self.elsewhere(line, Self::alias)?;
            }
            line = match text.get(line..).and_then(|rest| rest.find('\n')) {
                Some(at) => line + at + 1,
                None => text.len(),
            };
        }
        // In the order of the text, in which MLIR writes children before parents: no deep recursion.
        let mut aliases: Vec<(usize, &str)> =
            self.attr_aliases.iter().map(|(name, &(at, _))| (at, *name)).collect();
        aliases.sort_unstable();
        for (at, name) in aliases {
            if self.slice(at, at + 4) == "loc(" && !self.locs.contains_key(name) {
                match self.elsewhere(at, Self::opt_loc).map(PackedOption::expand) {
                    Ok(Some(loc)) => drop(self.locs.insert(name, loc)),
                    Ok(None) => {}
                    Err(failure) => self.report(failure),
                }
                if self.too_many_errors() {
                    return Err(Failure::Silent);
                }
            }
        }
        Ok(())
    }

    fn alias(&mut self) -> Res<()> {
        let sigil = self.byte(0);
        self.cursor.pos += 1;
        let start = self.pos;
        self.cursor.take_ident();
        let name = self.slice(start, self.pos);
        if name.is_empty() || name.contains('.') || !self.eat("=") {
            return Ok(());
        }
        let at = self.peek_pos();
        self.skip_attr()?;
        let aliases = if sigil == b'#' { &mut self.attr_aliases } else { &mut self.type_aliases };
        aliases.entry(name).or_insert((at, self.cursor.pos));
        Ok(())
    }

    pub(super) fn skip_alias(&mut self) -> Res<()> {
        let sigil = self.byte(0);
        let span = self.token_span();
        self.cursor.pos += 1;
        let name = self.ident("the name of an alias")?;
        self.expect("=")?;
        let at = self.peek_pos();
        self.skip_attr()?;
        let end = self.pos;
        let (kind, aliases) = match sigil {
            b'#' => ("attribute", &mut self.attr_aliases),
            _ => ("type", &mut self.type_aliases),
        };
        let &mut (first, _) = aliases.entry(name).or_insert((at, end));
        if first != at {
            let message = format!("the {kind} alias `{}{name}` is defined twice", char::from(sigil));
            let error = Diagnostic::invalid(codes::REDEFINITION, message).at(span);
            return Err(error.note(Span::new(first, first + 1), "first defined here").into());
        }
        Ok(())
    }

    /// `{-# dialect_resources: { builtin: { key: "0x..." } } #-}`.
    pub(super) fn resources(&mut self) -> Res<()> {
        let start = self.pos;
        if self.module.resources.is_some() {
            let message = "there are two blocks of resources";
            return Err(Diagnostic::invalid(codes::REDEFINITION, message)
                .at(Span::new(start, start + 3))
                .into());
        }
        self.expect("{-#")?;
        while self.peek() != b'#' {
            let section = self.ident("`dialect_resources` or `external_resources`")?;
            self.expect(":")?;
            self.expect("{")?;
            self.list("}", |p| {
                p.resource_key()?;
                p.expect(":")?;
                p.expect("{")?;
                p.list("}", |p| {
                    let key = p.resource_key()?;
                    p.expect(":")?;
                    if section == "dialect_resources" {
                        p.resources.insert(key);
                    }
                    p.skip_attr()
                })
            })?;
            if !self.eat(",") {
                break;
            }
        }
        if !self.eat("#-}") {
            return Err(Diagnostic::invalid(codes::SYNTAX, "this block of resources is never closed")
                .at(Span::new(start, start + 3))
                .hint("it ends with `#-}`")
                .into());
        }
        self.module.resources = Some(self.slice(start, self.pos).into());
        Ok(())
    }

    /// A key, quoted or not, as it is written between quotes.
    fn resource_key(&mut self) -> Res<&'a str> {
        if self.peek() == b'"' { self.raw_string() } else { self.ident("the key of a resource") }
    }

    /// Demands that the resources that constants name are there, if any are.
    pub(super) fn check_resources(&mut self) {
        if self.module.resources.is_none() {
            return;
        }
        let mut errors = Vec::new();
        for op in self.module.ops.values() {
            let OpKind::Constant(Dense::Resource(key)) = &op.kind else { continue };
            let mut raw = String::new();
            escape(&mut raw, key);
            if !self.resources.contains(raw.as_str()) {
                let message = format!("the resource `{key}` is not defined");
                let error = Diagnostic::invalid(codes::CONSTANT, message).at(op.span);
                errors.push(
                    error.hint("it stands in `{-# dialect_resources: { builtin: { ... } } #-}`, at the end"),
                );
            }
        }
        self.errors.extend(errors);
    }
}
