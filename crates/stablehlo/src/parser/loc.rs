//! Source locations.

use rustc_hash::FxHashSet;
use shardc_ir::{Diagnostic, Loc, LocId, PackedOption};

use super::Parser;
use crate::codes;
use crate::lexer::Res;

/// The maximum nesting of locations. Call stacks of real programs have a few dozen levels.
const MAX_LOC_DEPTH: u32 = 512;

impl<'a> Parser<'a> {
    /// Parses `loc(...)` if it comes next.
    pub(super) fn opt_loc(&mut self) -> Res<PackedOption<LocId>> {
        let pos = self.pos;
        if self.eat_word("loc") {
            if self.eat("(") {
                let loc = self.loc()?;
                self.expect(")")?;
                return Ok(loc.into());
            }
            self.cursor.pos = pos;
        }
        Ok(PackedOption::default())
    }

    fn u32_number(&mut self) -> Res<u32> {
        let span = self.token_span();
        let value = self.int()?;
        u32::try_from(value).map_err(|_| {
            Diagnostic::invalid(codes::SYNTAX, "a line or column number must be from 0 to 4294967295")
                .at(span)
                .into()
        })
    }

    /// Parses the content of `loc(...)`.
    fn loc(&mut self) -> Res<LocId> {
        self.nested(|p| {
            let loc = match p.peek() {
                b'#' => return p.loc_alias(),
                b'"' => p.file_or_name()?,
                _ if p.eat_word("unknown") => Loc::Unknown,
                _ if p.eat_word("callsite") => {
                    p.expect("(")?;
                    let callee = p.loc()?;
                    p.expect_word("at")?;
                    let caller = p.loc()?;
                    p.expect(")")?;
                    Loc::CallSite { callee, caller }
                }
                _ if p.eat_word("fused") => {
                    let metadata = if p.peek() == b'<' {
                        let start = p.pos + 1;
                        p.skip_brackets()?;
                        let text = p.slice(start, p.pos - 1);
                        Some(p.expand_text(text)?.into())
                    } else {
                        None
                    };
                    p.expect("[")?;
                    let mut children = Vec::new();
                    p.list("]", |p| {
                        children.push(p.loc()?);
                        Ok(())
                    })?;
                    match p.fused(metadata, children) {
                        Ok(loc) => loc,
                        Err(only) => return Ok(only),
                    }
                }
                _ => return Err(p.expected("a location")),
            };
            p.intern_loc(loc)
        })
    }

    /// Simplifies a fused location as MLIR does: drops unknown and duplicate locations, and flattens nested fused
    /// locations with the same metadata. Returns `Err` with the location if only one is left.
    fn fused(&self, metadata: Option<Box<str>>, given: Vec<LocId>) -> Result<Loc, LocId> {
        let mut seen: FxHashSet<LocId> = FxHashSet::default();
        let mut children = Vec::with_capacity(given.len());
        let mut unknown = None;
        for id in given {
            match self.module.locs.get(id) {
                Loc::Fused { metadata: other, children: inner } if *other == metadata => {
                    children.extend(inner.iter().copied().filter(|&id| seen.insert(id)));
                }
                Loc::Unknown => unknown = Some(id),
                _ => children.extend(seen.insert(id).then_some(id)),
            }
        }
        match (metadata, &children[..]) {
            (None, &[only]) => Err(only),
            (None, []) => Ok(Loc::Unknown),
            (metadata, []) => Ok(Loc::Fused { metadata, children: unknown.into_iter().collect() }),
            (metadata, _) => Ok(Loc::Fused { metadata, children }),
        }
    }

    /// Interns a location. Fails if it is nested too deeply for recursive users.
    pub(super) fn intern_loc(&mut self, loc: Loc) -> Res<LocId> {
        let depth_of = |id: &LocId| self.loc_depths.get(id.as_u32() as usize).copied().unwrap_or(0);
        let depth = 1 + match &loc {
            Loc::Unknown | Loc::File { .. } | Loc::Raw(_) => 0,
            Loc::Name { child, .. } => child.iter().map(depth_of).max().unwrap_or(0),
            Loc::CallSite { callee, caller } => depth_of(callee).max(depth_of(caller)),
            Loc::Fused { children, .. } => children.iter().map(depth_of).max().unwrap_or(0),
        };
        if depth > MAX_LOC_DEPTH {
            let span = self.token_span();
            let message = format!("locations are nested more than {MAX_LOC_DEPTH} levels deep");
            return Err(Diagnostic::unsupported(codes::NESTING, message).at(span).into());
        }
        let id = self.module.locs.intern(loc);
        if id.as_u32() as usize >= self.loc_depths.len() {
            self.loc_depths.push(depth);
        }
        Ok(id)
    }

    fn file_or_name(&mut self) -> Res<Loc> {
        let name: Box<str> = self.text_string()?.into();
        if self.eat(":") {
            let line = self.u32_number()?;
            self.expect(":")?;
            let col = self.u32_number()?;
            let to = if self.eat_word("to") { self.end_of_range(line, col)? } else { None };
            return Ok(Loc::File { file: name, line, col, to });
        }
        let child = if self.eat("(") {
            let child = self.loc()?;
            self.expect(")")?;
            Some(child)
        } else {
            None
        };
        Ok(Loc::Name { name, child })
    }

    /// Parses `:9` or `12:9` after `to`. Returns `None` if the range is a single position.
    fn end_of_range(&mut self, line: u32, col: u32) -> Res<Option<Box<str>>> {
        let end_line = if self.eat(":") {
            line
        } else {
            let end_line = self.u32_number()?;
            self.expect(":")?;
            end_line
        };
        let end_col = self.u32_number()?;
        Ok(match end_line == line {
            true if end_col == col => None,
            true => Some(format!("to :{end_col}").into()),
            false => Some(format!("to {end_line}:{end_col}").into()),
        })
    }

    fn loc_alias(&mut self) -> Res<LocId> {
        let span = self.token_span();
        let full = self.slice(span.start as usize, span.end as usize);
        self.cursor.pos = span.end as usize;
        let name = full.trim_start_matches('#');
        if let Some(&loc) = self.locs.get(name) {
            return Ok(loc);
        }
        let Some(&(at, end)) = self.attr_aliases.get(name) else {
            let message = format!("the location alias `{full}` is not defined");
            return Err(Diagnostic::invalid(codes::UNKNOWN_ALIAS, message).at(span).into());
        };
        let loc = if self.slice(at, end).starts_with("loc(") {
            self.elsewhere(at + "loc(".len(), Self::loc)?
        } else if self.alias_at(self.slice(at, end)).is_some() {
            self.elsewhere(at, Self::loc_alias)?
        } else {
            let text = self.slice(at, end);
            self.intern_loc(Loc::Raw(text.into()))?
        };
        self.locs.insert(name, loc);
        Ok(loc)
    }
}
