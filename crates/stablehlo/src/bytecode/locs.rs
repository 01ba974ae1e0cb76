//! Locations. They nest as deeply as a program's call stacks, so they are converted without recursion.

use std::ops::Range;

use shardc_ir::{Diagnostic, Loc, LocId};

use super::attr::{AttrRef, BAttr, BLoc, Store};
use super::text::{Pool, range_end};
use crate::codes;
use crate::lexer::Res;
use crate::parser::records::Maker;

/// The locations converted so far.
pub(super) struct Locs {
    made: Vec<State>,
    /// The attribute index of each fused location that has metadata, and the range of the metadata in the text; sorted by index.
    metadata: Vec<(AttrRef, Range<usize>)>,
}

#[derive(Clone, Copy)]
enum State {
    New,
    /// The conversion of the locations to which the location refers has begun and is not finished.
    Open,
    Made(LocId),
}

impl Locs {
    /// Creates an empty table, and writes the metadata of all fused locations into the text.
    pub(super) fn new(store: &Store<'_>, pool: &mut Pool<'_, '_>) -> Res<Self> {
        let mut metadata = Vec::new();
        for (at, attr) in (0..).zip(&store.attrs) {
            if let BAttr::Loc(BLoc::Fused { metadata: Some(data), .. }) = attr {
                metadata.push((AttrRef(at), pool.attr(*data)?));
            }
        }
        Ok(Locs { made: vec![State::New; store.attrs.len()], metadata })
    }

    /// Converts the location at an attribute's index.
    pub(super) fn get(&mut self, store: &Store<'_>, maker: &mut Maker<'_>, at: AttrRef) -> Res<LocId> {
        let mut stack = vec![at];
        loop {
            let Some(&top) = stack.last() else {
                return Err(Diagnostic::internal(codes::MALFORMED, "a location was not converted").into());
            };
            let state = self.made.get(top.0 as usize).copied().unwrap_or(State::New);
            if let State::Made(id) = state {
                stack.pop();
                if stack.is_empty() {
                    return Ok(id);
                }
                continue;
            }
            let BAttr::Loc(loc) = store.attr(top) else {
                return Err(malformed("expected a location, found another attribute"));
            };
            let depth = stack.len();
            for part in parts(loc) {
                match self.made.get(part.0 as usize) {
                    Some(State::Made(_)) => {}
                    Some(State::Open) => {
                        return Err(malformed("a location contains itself"));
                    }
                    // The part may already be on the stack as a part of another location; it is then converted and popped where it is
                    // reached first. All locations on the path to this location are open, so an open part is a cycle.
                    _ => stack.push(part),
                }
            }
            let made = if stack.len() == depth {
                let loc = self.convert(store, maker, top, loc)?;
                State::Made(maker.loc(loc)?)
            } else if matches!(state, State::Open) {
                // The location is open, but not all locations to which it refers are converted, so it refers to itself.
                return Err(malformed("a location contains itself"));
            } else {
                State::Open
            };
            if let Some(slot) = self.made.get_mut(top.0 as usize) {
                *slot = made;
            }
        }
    }

    fn made(&self, at: AttrRef) -> Option<LocId> {
        match self.made.get(at.0 as usize) {
            Some(State::Made(id)) => Some(*id),
            _ => None,
        }
    }

    /// Converts a location after the locations to which it refers.
    fn convert(&self, store: &Store<'_>, maker: &mut Maker<'_>, at: AttrRef, loc: &BLoc) -> Res<Loc> {
        let name = |at: AttrRef| match store.string(at) {
            Some(bytes) => Ok(Box::from(String::from_utf8_lossy(bytes))),
            None => Err(malformed("expected a string in a location, found another attribute")),
        };
        let number = |value: u64| {
            u32::try_from(value).map_err(|_| malformed(&format!("expected a line or column, found {value}")))
        };
        Ok(match loc {
            BLoc::Unknown => Loc::Unknown,
            BLoc::File { file, line, col, end } => Loc::File {
                file: name(*file)?,
                line: number(*line)?,
                col: number(*col)?,
                to: range_end((*line, *col), *end).map(Into::into),
            },
            BLoc::Name { name: text, child } => {
                let known = !matches!(store.attr(*child), BAttr::Loc(BLoc::Unknown));
                Loc::Name { name: name(*text)?, child: if known { self.made(*child) } else { None } }
            }
            BLoc::CallSite { callee, caller } => match (self.made(*callee), self.made(*caller)) {
                (Some(callee), Some(caller)) => Loc::CallSite { callee, caller },
                _ => Loc::Unknown,
            },
            BLoc::Fused { metadata, children } => Loc::Fused {
                metadata: match metadata {
                    Some(_) => {
                        // `new` collects metadata in the order of attributes, so the list is sorted.
                        let found = self.metadata.binary_search_by_key(&at, |(loc, _)| *loc).ok();
                        let range = found.and_then(|found| self.metadata.get(found));
                        range.map(|(_, range)| maker.text(range.clone()).into())
                    }
                    None => None,
                },
                children: children.iter().filter_map(|&child| self.made(child)).collect(),
            },
        })
    }
}

/// Returns the locations to which a location refers directly: callee and caller, named child, fused locations.
fn parts(loc: &BLoc) -> impl Iterator<Item = AttrRef> {
    let (first, second, list) = match loc {
        BLoc::Unknown | BLoc::File { .. } => (None, None, &[][..]),
        BLoc::Name { child, .. } => (Some(*child), None, &[][..]),
        BLoc::CallSite { callee, caller } => (Some(*callee), Some(*caller), &[][..]),
        BLoc::Fused { children, .. } => (None, None, &children[..]),
    };
    first.into_iter().chain(second).chain(list.iter().copied())
}

fn malformed(what: &str) -> crate::lexer::Failure {
    let message = format!("malformed bytecode: {what}");
    Diagnostic::invalid(codes::MALFORMED, message).into()
}
