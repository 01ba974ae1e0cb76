//! Operations that do not come as text: decoded from bytecode, with attributes and types that stand in a text of
//! their own. What is made of them is what the same operations in generic form would give.

use std::borrow::Cow;
use std::ops::Range;

use shardc_ir::{
    Dense, Diagnostic, Enclosing, Kept, KeptKind, Loc, LocId, Module, OpId, OpKind, PackedOption, RegionId,
    Span, TypeId, ValueId,
};
use smallvec::SmallVec;

use super::attrs::{Named, NamedList, given_twice};
use super::region::{OpState, ResultNames};
use super::types::TypeList;
use super::{Operand, Parser};
use crate::lexer::{Failure, Res};

/// The name of an attribute and where its text stands; `None` for a unit attribute.
pub(crate) type Entry<'a> = (&'a str, Option<Range<usize>>);

/// Whether `text` is that of one attribute or type and of nothing else, as far as brackets and strings tell.
pub(crate) fn is_whole_attr(text: &str) -> bool {
    let mut parser = Parser::new(text);
    parser.skip_attr().is_ok() && parser.pos == text.len()
}

/// Checks the text of an operation in generic form that is to be kept: it has to be read as the one that it is.
pub(crate) fn check_kept(text: &str) -> Res<()> {
    let mut parser = Parser::new(text);
    parser.skip_whole_op()?;
    if parser.pos == text.len() { Ok(()) } else { Err(parser.expected("the end of the operation")) }
}

/// Attributes of one operation.
pub(crate) type Entries<'a> = Vec<Entry<'a>>;

/// An operation.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    /// Full name.
    pub(crate) name: &'a str,
    /// Inherent attributes.
    pub(crate) props: Entries<'a>,
    /// Other attributes; inherent ones may be among them.
    pub(crate) attrs: Entries<'a>,
    /// Operands.
    pub(crate) operands: SmallVec<[ValueId; 4]>,
    /// Types of the results.
    pub(crate) results: TypeList,
    /// Regions.
    pub(crate) regions: SmallVec<[RegionId; 2]>,
    /// Location.
    pub(crate) loc: Option<LocId>,
}

/// Makes a module from operations, from the inside out.
pub(crate) struct Maker<'a> {
    parser: Parser<'a>,
}

impl<'a> Maker<'a> {
    /// Attributes and types stand in `text`.
    pub(crate) fn new(text: &'a str) -> Self {
        Maker { parser: Parser::new(text) }
    }

    /// The module so far.
    pub(crate) fn module(&mut self) -> &mut Module {
        &mut self.parser.module
    }

    /// Interns a location.
    pub(crate) fn loc(&mut self, loc: Loc) -> Res<LocId> {
        self.parser.intern_loc(loc)
    }

    /// What stands at `range`.
    pub(crate) fn text(&self, range: Range<usize>) -> &'a str {
        self.parser.slice(range.start, range.end)
    }

    /// The type whose text starts at `at`.
    pub(crate) fn ty(&mut self, at: usize) -> Res<TypeId> {
        self.parser.elsewhere(at, Parser::ty)
    }

    /// What stands at `at` is a constant with these elements.
    pub(crate) fn constant(&mut self, at: usize, dense: Dense, ty: TypeId) {
        self.parser.decoded.insert(at, (dense, ty));
    }

    /// Makes an operation.
    pub(crate) fn op(&mut self, record: Record<'a>) -> Res<OpId> {
        let operand = |&value: &ValueId| Operand { value, span: Span::NONE };
        let mut state = OpState::new(OpKind::Return);
        state.operands = record.operands.iter().map(operand).collect();
        state.results = record.results;
        state.regions = record.regions;
        state.attrs = named(record.attrs);
        let state = self.parser.generic_state(state, record.name, Span::NONE, named(record.props))?;
        self.parser.finish(state, &ResultNames::new(), Span::NONE, record.loc.into())
    }

    /// Makes a function from a `func.func`.
    pub(crate) fn func(&mut self, record: Record<'a>) -> Res<()> {
        let mut func = self.parser.new_func("", Span::NONE);
        func.body = record.regions.first().copied();
        func.loc = record.loc.into();
        self.parser.func_from(func, merged(record)?)
    }

    /// Makes a mesh from an `sdy.mesh`.
    pub(crate) fn mesh(&mut self, record: Record<'a>) -> Res<String> {
        self.parser.mesh_from(merged(record)?, Span::NONE)
    }

    /// Says where in the module the mesh stands.
    pub(crate) fn place_mesh(&mut self, name: &str, loc: Option<LocId>, others_above: u32) {
        let module = &mut self.parser.module;
        if let Some(&mesh) = module.mesh_names.get(name) {
            let place = &mut module.mesh_places[mesh];
            place.funcs_above = module.funcs.len() as u32;
            place.others_above = others_above;
            place.loc = loc.into();
        }
    }

    /// Keeps an operation as text; `name` is the symbol that it defines.
    pub(crate) fn keep(
        &mut self,
        kind: KeptKind,
        name: Option<&str>,
        text: String,
        others_above: u32,
    ) -> Res<()> {
        if let Some(name) = name {
            self.parser.define_symbol("symbol", name, Span::NONE)?;
        }
        let module = &mut self.parser.module;
        module.kept.push(Kept {
            kind,
            name: name.map(Into::into),
            text: text.into(),
            funcs_above: module.funcs.len() as u32,
            others_above,
            span: Span::NONE,
        });
        Ok(())
    }

    /// Defines a symbol of the module so far.
    pub(crate) fn symbol(&mut self, name: &str) -> Res<()> {
        self.parser.define_symbol("symbol", name, Span::NONE)
    }

    /// Makes the module so far, in which nothing stands yet, one that is around the program.
    pub(crate) fn enclose(&mut self, above: Vec<Box<str>>, below: Vec<Box<str>>) {
        self.parser.symbols.clear();
        let module = &mut self.parser.module;
        let outer = Enclosing {
            name: module.name.take(),
            attrs: std::mem::take(&mut module.attrs),
            loc: std::mem::take(&mut module.loc),
            above,
            below,
        };
        module.enclosing.push(outer);
    }

    /// Sets what a `builtin.module` says about itself.
    pub(crate) fn describe(&mut self, record: Record<'a>) -> Res<()> {
        self.parser.module.loc = record.loc.into();
        self.parser.module_from(merged(record)?)
    }

    /// Sets the arguments' locations of a region.
    pub(crate) fn arg_locs(&mut self, region: RegionId, locs: Vec<PackedOption<LocId>>) {
        self.parser.module.regions[region].arg_locs = locs;
    }

    /// What was made.
    pub(crate) fn finish(self) -> Module {
        self.parser.module
    }
}

fn named<'a>(entries: Entries<'a>) -> NamedList<'a> {
    let entry = |(name, value): Entry<'a>| Named {
        name: Cow::Borrowed(name),
        name_span: Span::NONE,
        value: value.map(|range| (range.start, range.end)),
    };
    entries.into_iter().map(entry).collect()
}

/// Inherent and other attributes as one list, in which each name stands once.
fn merged<'a>(record: Record<'a>) -> Res<NamedList<'a>> {
    let twice = |entry: &&Entry<'a>| record.props.iter().any(|(name, _)| *name == entry.0);
    if let Some((name, _)) = record.attrs.iter().find(twice) {
        return Err(given_twice(name).into());
    }
    let mut list = named(record.props);
    list.extend(named(record.attrs));
    Ok(list)
}

/// The error behind a failure, without its place, which is in no text that anybody has seen.
pub(crate) fn without_place(failure: Failure) -> Option<Diagnostic> {
    let Failure::Said(diagnostic) = failure else { return None };
    let mut diagnostic = *diagnostic;
    diagnostic.span = Span::NONE;
    for (span, _) in &mut diagnostic.notes {
        *span = Span::NONE;
    }
    Some(diagnostic)
}
