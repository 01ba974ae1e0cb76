//! Aliases, which may be defined before or after the module, and resources.

use memchr::memchr;
use rustc_hash::FxHashSet;
use shardc_ir::{Dense, Diagnostic, OpKind, PackedOption, Span};

use super::Parser;
use crate::codes;
use crate::lexer::{Failure, Res, escape, is_ident};

/// The number of bytes of a line below which memory for an operation is not reserved, so that empty lines take none.
const MIN_LINE: usize = 32;

impl<'a> Parser<'a> {
    /// Finds the aliases, which are defined at starts of lines: `#loc3 = loc(...)`, `!t = tensor<...>`.
    pub(super) fn find_aliases(&mut self) -> Res<()> {
        let bytes = self.cursor.text.as_bytes();
        let (mut line, mut lines) = (self.pos, 0);
        while line < bytes.len() {
            let rest = bytes.get(line..).unwrap_or(&[]);
            let blanks = rest.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
            line += blanks;
            if matches!(bytes.get(line), Some(b'#' | b'!')) {
                self.elsewhere(line, Self::alias)?;
            }
            lines += 1;
            line += memchr(b'\n', rest.get(blanks..).unwrap_or(&[])).map_or(bytes.len(), |at| at + 1);
        }
        self.reserve(lines);
        // Locations are parsed in text order. MLIR writes children before parents, so the recursion stays shallow.
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

    /// Reserves memory for a text with this number of lines: most lines are operations with one result.
    fn reserve(&mut self, lines: usize) {
        // A line may contain a short region, whose operations have no lines.
        let count = (lines + lines / 8).min(self.cursor.text.len() / MIN_LINE);
        self.module.ops.reserve(count);
        self.module.values.reserve(count);
        self.names.reserve(count);
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

    /// Returns an error for the first attribute alias that refers to itself, if there is one: `#a = [#b]`, `#b =
    /// [#a]`.
    ///
    /// The search runs at most once, and only after the nesting limit was exceeded, so it costs nothing for other texts.
    pub(super) fn circular_alias(&mut self) -> Option<Box<Diagnostic>> {
        if self.circular_alias.is_none() {
            self.circular_alias = Some(self.find_circular_alias());
        }
        self.circular_alias.clone().flatten()
    }

    fn find_circular_alias(&self) -> Option<Box<Diagnostic>> {
        let mut starts: Vec<(usize, &str)> =
            self.attr_aliases.iter().map(|(name, &(at, _))| (at, *name)).collect();
        starts.sort_unstable();
        let mut done: FxHashSet<&str> = FxHashSet::default();
        // The chain of followed aliases, each with the unvisited aliases in its value. The stack is explicit, because a text may define any
        // number of aliases.
        let mut path: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut on_path: FxHashSet<&str> = FxHashSet::default();
        for &(_, start) in &starts {
            let mut next = Some(start);
            loop {
                if let Some(name) = next.take().filter(|name| !done.contains(name)) {
                    if !on_path.insert(name) {
                        return Some(self.circle(path.iter().map(|&(name, _)| name), name));
                    }
                    path.push((name, self.named_by(name)));
                }
                let Some((name, rest)) = path.last_mut() else { break };
                next = rest.pop();
                if next.is_none() {
                    on_path.remove(name);
                    done.insert(name);
                    path.pop();
                }
            }
        }
        None
    }

    /// Returns the attribute aliases in the value of an alias.
    fn named_by(&self, alias: &str) -> Vec<&'a str> {
        let mut names = Vec::new();
        let Some(&(start, end)) = self.attr_aliases.get(alias) else { return names };
        let mut rest = self.slice(start, end);
        while let Some(at) = rest.find(['#', '"']) {
            rest = &rest[at..];
            let length = match self.alias_at(rest) {
                Some((name, length)) => {
                    names.extend(self.attr_aliases.contains_key(name).then_some(name));
                    length
                }
                None if rest.starts_with('"') => {
                    let mut is_escaped = true;
                    let end = rest.bytes().position(|b| {
                        let ends = b == b'"' && !is_escaped;
                        is_escaped = b == b'\\' && !is_escaped;
                        ends
                    });
                    end.map_or(rest.len(), |end| end + 1)
                }
                None => 1,
            };
            rest = &rest[length..];
        }
        names
    }

    /// Returns the error for a cycle: the value of the last alias in `path` names `alias` again.
    fn circle(&self, path: impl Iterator<Item = &'a str>, alias: &'a str) -> Box<Diagnostic> {
        let through: Vec<String> =
            path.skip_while(|&name| name != alias).skip(1).map(|name| format!("`#{name}`")).collect();
        let through = match through.as_slice() {
            [] => String::new(),
            [name] => format!(", through {name}"),
            [first, .., last] => format!(", through {first} to {last}"),
        };
        let message = format!("the attribute alias `#{alias}` refers to itself{through}");
        let at = self.attr_aliases.get(alias).map_or(0, |&(at, _)| at);
        let end = at
            + 1
            + self.slice(at + 1, self.cursor.text.len()).bytes().position(|b| !is_ident(b)).unwrap_or(0);
        Box::new(Diagnostic::invalid(codes::UNKNOWN_ALIAS, message).at(Span::new(at, end)))
    }

    /// Parses `{-# dialect_resources: { builtin: { key: "0x..." } } #-}`.
    pub(super) fn resources(&mut self) -> Res<()> {
        let start = self.pos;
        if self.module.resources.is_some() {
            let message = "expected one block of resources, found a second one";
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
                .hint("close the block with `#-}`")
                .into());
        }
        self.module.resources = Some(self.slice(start, self.pos).into());
        Ok(())
    }

    /// Parses a key, quoted or not. Returns it as written, without quotes.
    fn resource_key(&mut self) -> Res<&'a str> {
        if self.peek() == b'"' { self.raw_string() } else { self.ident("the key of a resource") }
    }

    /// Reports constants whose resources are missing, if the module has resources.
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
                errors.push(error.hint(
                    "define it in `{-# dialect_resources: { builtin: { ... } } #-}` at the end of the file",
                ));
            }
        }
        self.errors.extend(errors);
    }
}
