//! Attributes. A dictionary is first split into names and ranges. The operation then parses its inherent attributes, and the others become
//! [`Attr`] values.

use std::borrow::Cow;

use rustc_hash::FxHashSet;
use shardc_ir::{Attr, AttrDict, Diagnostic, Span};
use smallvec::SmallVec;

use super::canonical::number;
use super::{Parser, vhlo};
use crate::codes;
use crate::lexer::{Res, is_ident, is_ident_start};
use crate::source_index::SymbolKind;
use crate::syntax::AttrType;

/// The limit on the size of all expanded aliases in bytes, in addition to a multiple of the size of the text.
const MAX_EXPANDED: usize = 1 << 26;

/// The number of entries above which the names of a dictionary are hashed, to detect repeated names.
const FEW: usize = 24;

/// An entry of a dictionary: its name, and the start and end offsets of its value in the text (`None` for a unit attribute).
#[derive(Clone, Debug)]
pub(super) struct Named<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) name_span: Span,
    pub(super) value: Option<(usize, usize)>,
}

/// The entries of a dictionary.
pub(super) type NamedList<'a> = SmallVec<[Named<'a>; 2]>;

/// Returns the error for a repeated name in a dictionary.
pub(super) fn given_twice(name: &str) -> Diagnostic {
    Diagnostic::invalid(codes::REDEFINITION, format!("the attribute `{name}` is given twice"))
}

impl<'a> Parser<'a> {
    /// Parses `{a = 1, b}` if a brace comes next.
    pub(super) fn opt_dict(&mut self, out: &mut NamedList<'a>) -> Res<()> {
        if self.peek() == b'{' { self.dict(out) } else { Ok(()) }
    }

    /// Parses `{a = 1, b}`.
    pub(super) fn dict(&mut self, out: &mut NamedList<'a>) -> Res<()> {
        self.expect("{")?;
        // Names of small dictionaries are compared one by one; those of large ones are hashed.
        let mut names: FxHashSet<Cow<'a, str>> = FxHashSet::default();
        self.list("}", |p| {
            p.ws();
            let start = p.pos;
            let name = if p.byte(0) == b'"' {
                p.text_string()?
            } else {
                Cow::Borrowed(p.ident("the name of an attribute")?)
            };
            let name_span = Span::new(start, p.pos);
            let twice = if out.len() < FEW {
                out.iter().any(|other| other.name == name)
            } else {
                if names.is_empty() {
                    names.extend(out.iter().map(|other| other.name.clone()));
                }
                !names.insert(name.clone())
            };
            if twice {
                return Err(given_twice(&name).at(name_span).into());
            }
            let value = if p.eat("=") {
                p.ws();
                let start = p.pos;
                p.skip_attr()?;
                Some((start, p.pos))
            } else {
                None
            };
            out.push(Named { name, name_span, value });
            Ok(())
        })
    }

    /// Skips an attribute value.
    pub(super) fn skip_attr(&mut self) -> Res<()> {
        self.ws();
        match self.byte(0) {
            b'[' | b'{' => return self.skip_brackets(),
            b'"' => {
                self.raw_string()?;
            }
            b'@' => {
                self.symbol()?;
                while self.eat("::") {
                    self.symbol()?;
                }
                return Ok(());
            }
            b'(' => {
                self.skip_brackets()?;
                self.expect("->")?;
                return if self.peek() == b'(' { self.skip_brackets() } else { self.skip_attr() };
            }
            b'-' | b'0'..=b'9' => {
                self.cursor.pos += 1;
                loop {
                    match self.byte(0) {
                        b'+' | b'-' if matches!(self.slice(self.pos - 1, self.pos), "e" | "E") => {}
                        b'.' | b'_' => {}
                        b if b.is_ascii_alphanumeric() => {}
                        _ => break,
                    }
                    self.cursor.pos += 1;
                }
            }
            b'#' | b'!' => {
                self.cursor.pos += 1;
                self.skip_name_and_body()?;
            }
            b if is_ident_start(b) => self.skip_name_and_body()?,
            _ => return Err(self.expected("an attribute value")),
        }
        // A type may follow numbers, strings and `dense<...>`.
        let pos = self.pos;
        if self.eat(":") && self.byte(0) != b':' && self.at_type() {
            self.skip_attr()?;
        } else {
            self.cursor.pos = pos;
        }
        Ok(())
    }

    fn skip_name_and_body(&mut self) -> Res<()> {
        while is_ident(self.byte(0)) {
            self.cursor.pos += 1;
        }
        let distinct = self.byte(0) == b'[';
        if matches!(self.byte(0), b'<' | b'(' | b'[') {
            self.skip_brackets()?;
        }
        // `distinct[0]<...>`
        if distinct && self.byte(0) == b'<' { self.skip_brackets() } else { Ok(()) }
    }

    /// Runs `read` at the value of `named`. If the value is an alias, runs `read` at the value of the alias.
    pub(super) fn at_value<T>(
        &mut self,
        named: &Named<'a>,
        read: impl FnOnce(&mut Self) -> Res<T>,
    ) -> Res<T> {
        let Some((start, end)) = named.value else {
            let message = format!("the attribute `{}` needs a value", named.name);
            return Err(Diagnostic::invalid(codes::ATTRIBUTE, message).at(named.name_span).into());
        };
        let mut at = start;
        if let Some((alias, _)) = self.alias_at(self.slice(start, end)) {
            match self.attr_aliases.get(alias) {
                Some(&(target, _)) => at = target,
                None => return Err(self.unknown_alias(alias, start)),
            }
        }
        self.elsewhere(at, read)
    }

    fn unknown_alias(&self, alias: &str, start: usize) -> crate::lexer::Failure {
        Diagnostic::invalid(codes::UNKNOWN_ALIAS, format!("the attribute alias `#{alias}` is not defined"))
            .at(Span::new(start, start + alias.len() + 1))
            .into()
    }

    /// Returns the name of an alias (`#name` without dialect) at the start of `text`, and its length with the `#`.
    pub(super) fn alias_at(&self, text: &'a str) -> Option<(&'a str, usize)> {
        let rest = text.strip_prefix('#')?;
        let end = rest.bytes().position(|b| !is_ident(b)).unwrap_or(rest.len());
        let name = rest.get(..end)?;
        let body = rest.as_bytes().get(end) == Some(&b'<');
        (!name.is_empty() && !name.contains('.') && !body).then_some((name, end + 1))
    }

    /// Expands the aliases in `text`.
    pub(super) fn expand_text(&mut self, text: &str) -> Res<String> {
        let mut out = String::with_capacity(text.len());
        self.expand_into(&mut out, text, false)?;
        Ok(out)
    }

    /// Appends `text` with its aliases expanded. With `in_loc`, the text is inside `loc(...)`, where the alias of a
    /// location expands without its own `loc(...)`.
    fn expand_into(&mut self, out: &mut String, text: &str, in_loc: bool) -> Res<()> {
        let none = self.attr_aliases.is_empty() && self.type_aliases.is_empty();
        if none || !text.contains(['#', '!']) {
            out.push_str(text);
            return Ok(());
        }
        let bytes = text.as_bytes();
        let (mut at, mut copied) = (0, 0);
        // The number of open parentheses in a `loc(...)`.
        let mut loc_depth = u32::from(in_loc);
        while let Some(&b) = bytes.get(at) {
            match b {
                b'"' => {
                    at += 1;
                    while bytes.get(at).is_some_and(|&b| b != b'"') {
                        at += 1 + usize::from(bytes[at] == b'\\');
                    }
                }
                b'/' if bytes.get(at + 1) == Some(&b'/') => {
                    while bytes.get(at).is_some_and(|&b| b != b'\n') {
                        at += 1;
                    }
                    continue;
                }
                b'(' if loc_depth > 0 => loc_depth += 1,
                b')' if loc_depth > u32::from(in_loc) => loc_depth -= 1,
                b'#' | b'!' => {
                    let end = at + 1 + bytes[at + 1..].iter().take_while(|&&b| is_ident(b)).count();
                    let name = text.get(at + 1..end).unwrap_or("");
                    let aliases = if b == b'#' { &self.attr_aliases } else { &self.type_aliases };
                    if let Some(&(start, stop)) = aliases.get(name) {
                        out.push_str(text.get(copied..at).unwrap_or(""));
                        self.expand_alias(out, start, stop, loc_depth > 0)?;
                        copied = end;
                    }
                    at = end;
                    continue;
                }
                _ if is_ident_start(b) => {
                    let start = at;
                    while bytes.get(at).is_some_and(|&b| is_ident(b)) {
                        at += 1;
                    }
                    if loc_depth == 0 && text.get(start..=at) == Some("loc(") {
                        loc_depth = 1;
                        at += 1;
                    }
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        out.push_str(text.get(copied..).unwrap_or(""));
        Ok(())
    }

    fn expand_alias(&mut self, out: &mut String, start: usize, stop: usize, in_loc: bool) -> Res<()> {
        self.spend(stop - start)?;
        let value = self.slice(start, stop);
        let inner = value.strip_prefix("loc(").and_then(|rest| rest.strip_suffix(')')).filter(|_| in_loc);
        let in_loc = inner.is_some();
        self.nested(|p| p.expand_into(out, inner.unwrap_or(value), in_loc))
    }

    /// Limits the expanded size of aliases, which grows exponentially if each alias uses the next alias twice.
    fn spend(&mut self, bytes: usize) -> Res<()> {
        self.expanded = self.expanded.saturating_add(bytes);
        if self.expanded > MAX_EXPANDED.saturating_add(self.cursor.text.len().saturating_mul(64)) {
            let message = "cannot expand the aliases of this text because the result is too long";
            return Err(Diagnostic::unsupported(codes::NESTING, message).at(self.token_span()).into());
        }
        Ok(())
    }

    /// Returns the value of a dictionary entry as an [`Attr`].
    pub(super) fn carried(&mut self, named: &Named<'a>) -> Res<Attr> {
        match named.value {
            None => Ok(Attr::Unit),
            Some((start, end)) => self.carried_text(start, end),
        }
    }

    pub(super) fn carried_text(&mut self, start: usize, end: usize) -> Res<Attr> {
        // A skipped value may end with whitespace.
        let text = self.slice(start, end).trim_end();
        self.elsewhere(start, |p| p.attr(text, start + text.len()))
    }

    /// Parses the attribute `text`, which ends at `end`.
    fn attr(&mut self, text: &'a str, end: usize) -> Res<Attr> {
        let attr = match self.byte(0) {
            b'"' => match self.string()? {
                Some(value) => Attr::Str(value.into()),
                None => Attr::Raw(text.into()),
            },
            b'[' => {
                self.cursor.pos += 1;
                let mut items = Vec::new();
                self.list("]", |p| {
                    p.ws();
                    let start = p.pos;
                    p.skip_attr()?;
                    items.push(p.carried_text(start, p.pos)?);
                    Ok(())
                })?;
                Attr::Array(items)
            }
            b'{' => {
                let mut entries = NamedList::new();
                self.dict(&mut entries)?;
                Attr::Dict(self.carry_all(&entries)?)
            }
            b'@' => {
                let start = self.peek_pos();
                let name = self.symbol()?;
                self.index_symbol_use(SymbolKind::Function, &name, start);
                Attr::Symbol(name.into())
            }
            b'-' | b'0'..=b'9' => number(text).unwrap_or_else(|| Attr::Raw(text.into())),
            _ => match text {
                "true" => Attr::Bool(true),
                "false" => Attr::Bool(false),
                "unit" => Attr::Unit,
                _ if text.starts_with("#sdy.op_sharding_rule<") => Attr::Raw(self.sharding_rule()?.into()),
                _ if text.starts_with("#vhlo.") => {
                    let text = self.expand_text(text)?;
                    if let Some((at, message)) = vhlo::fault(&text) {
                        let start = self.pos + at.min(end - self.pos);
                        let span = Span::new(start, end);
                        return Err(Diagnostic::invalid(codes::ATTRIBUTE, message).at(span).into());
                    }
                    return Ok(Attr::Raw(text.into()));
                }
                _ if text.starts_with("#stablehlo.") => {
                    let start = self.pos;
                    self.check_dimension_numbers(text)?;
                    self.cursor.pos = start;
                    return Ok(Attr::Raw(match self.canonical(text, end) {
                        Some(text) => text.into(),
                        None => self.expand_text(text)?.into(),
                    }));
                }
                _ => {
                    // An alias is replaced by its value.
                    let alias =
                        self.alias_at(text).and_then(|(alias, _)| self.attr_aliases.get(alias).copied());
                    return match alias {
                        Some((start, end)) => {
                            self.spend(end - start)?;
                            self.carried_text(start, end)
                        }
                        None => Ok(Attr::Raw(match self.canonical(text, end) {
                            Some(text) => text.into(),
                            None => self.expand_text(text)?.into(),
                        })),
                    };
                }
            },
        };
        let whole = matches!(attr, Attr::Int(..) | Attr::Raw(_) | Attr::Bool(_) | Attr::Unit);
        if whole || self.pos == end { Ok(attr) } else { Ok(Attr::Raw(self.expand_text(text)?.into())) }
    }

    /// Checks dimension numbers also in discardable attributes, as MLIR does. The cursor is at their start.
    fn check_dimension_numbers(&mut self, text: &str) -> Res<()> {
        let ty = match text.split('<').next() {
            Some("#stablehlo.conv") => AttrType::Conv,
            Some("#stablehlo.dot") => AttrType::Dot,
            Some("#stablehlo.gather") => AttrType::Gather,
            Some("#stablehlo.scatter") => AttrType::Scatter,
            _ => return Ok(()),
        };
        self.generic_value(ty).map(|_| ())
    }

    /// Returns the values of dictionary entries as [`Attr`]s, in order.
    pub(super) fn carry_all(&mut self, entries: &[Named<'a>]) -> Res<AttrDict> {
        if entries.is_empty() {
            return Ok(AttrDict::new());
        }
        entries.iter().map(|named| Ok((named.name.as_ref().into(), self.carried(named)?))).collect()
    }
}

/// Removes an entry from a dictionary and returns it.
pub(super) fn take<'a>(attrs: &mut NamedList<'a>, name: &str) -> Option<Named<'a>> {
    let at = attrs.iter().position(|named| named.name == name)?;
    Some(attrs.remove(at))
}
