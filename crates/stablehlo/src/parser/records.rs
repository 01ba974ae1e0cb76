//! Builds operations that were decoded from bytecode, and whose attributes and types are ranges of a generated text. The result is the same
//! as if their generic form were parsed.

use std::borrow::Cow;
use std::ops::Range;

use shardc_ir::{
    Dense, Diagnostic, Enclosing, Kept, KeptKind, Loc, LocId, Module, OpId, OpKind, PackedOption, RegionId,
    Span, TypeId, ValueId,
};
use smallvec::SmallVec;

use super::attrs::{Named, NamedList, given_twice};
use super::names::ResultNames;
use super::region::OpState;
use super::types::TypeList;
use super::{Operand, Parser};
use crate::lexer::{Failure, Res};

/// The name of an attribute and the range of its text; `None` for a unit attribute.
pub(crate) type Entry<'a> = (&'a str, Option<Range<usize>>);

/// Whether `text` is exactly one attribute or type, judged by brackets and strings.
pub(crate) fn is_whole_attr(text: &str) -> bool {
    let mut parser = Parser::new(text);
    parser.skip_attr().is_ok() && parser.pos == text.len()
}

/// Checks that the generated text of an operation kept as text parses as exactly one operation.
pub(crate) fn check_kept(text: &str) -> Res<()> {
    let mut parser = Parser::new(text);
    parser.skip_whole_op()?;
    if parser.pos == text.len() { Ok(()) } else { Err(parser.expected("the end of the operation")) }
}

/// The attributes of one operation.
pub(crate) type Entries<'a> = Vec<Entry<'a>>;

/// A decoded operation.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    /// The full name.
    pub(crate) name: &'a str,
    /// Inherent attributes.
    pub(crate) props: Entries<'a>,
    /// Other attributes, which may include inherent attributes.
    pub(crate) attrs: Entries<'a>,
    /// Operands.
    pub(crate) operands: SmallVec<[ValueId; 4]>,
    /// The types of the results.
    pub(crate) results: TypeList,
    /// Regions.
    pub(crate) regions: SmallVec<[RegionId; 2]>,
    /// Location.
    pub(crate) loc: Option<LocId>,
}

/// Builds a module from operations, innermost first.
pub(crate) struct Maker<'a> {
    parser: Parser<'a>,
}

impl<'a> Maker<'a> {
    /// Creates a maker for operations whose attributes and types are ranges of `text`.
    pub(crate) fn new(text: &'a str) -> Self {
        Maker { parser: Parser::new(text) }
    }

    /// Returns the current module.
    pub(crate) fn module(&mut self) -> &mut Module {
        &mut self.parser.module
    }

    /// Interns a location.
    pub(crate) fn loc(&mut self, loc: Loc) -> Res<LocId> {
        self.parser.intern_loc(loc)
    }

    /// Returns the text in `range`.
    pub(crate) fn text(&self, range: Range<usize>) -> &'a str {
        self.parser.slice(range.start, range.end)
    }

    /// Parses the type whose text starts at `at`.
    pub(crate) fn ty(&mut self, at: usize) -> Res<TypeId> {
        self.parser.elsewhere(at, Parser::ty)
    }

    /// Registers the elements of the constant whose placeholder starts at `at`.
    pub(crate) fn constant(&mut self, at: usize, dense: Dense, ty: TypeId) {
        self.parser.decoded.insert(at, (dense, ty));
    }

    /// Builds an operation that is equal to `model` apart from its operands, which have the same types, and its location.
    pub(crate) fn copy(&mut self, model: OpId, operands: SmallVec<[ValueId; 3]>, loc: LocId) -> OpId {
        let op = self.parser.module.add_copy(model, operands);
        self.parser.module.ops[op].loc = loc.into();
        op
    }

    /// Builds an operation.
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

    /// Builds a function from a `func.func`.
    pub(crate) fn func(&mut self, record: Record<'a>) -> Res<()> {
        let mut func = self.parser.new_func("", Span::NONE);
        func.body = record.regions.first().copied();
        func.loc = record.loc.into();
        self.parser.func_from(func, merged(record)?)
    }

    /// Builds a mesh from an `sdy.mesh`.
    pub(crate) fn mesh(&mut self, record: Record<'a>) -> Res<String> {
        self.parser.mesh_from(merged(record)?, Span::NONE)
    }

    /// Records the position of the mesh in the module.
    pub(crate) fn place_mesh(&mut self, name: &str, loc: Option<LocId>, others_above: u32) {
        let module = &mut self.parser.module;
        if let Some(&mesh) = module.mesh_names.get(name) {
            let place = &mut module.mesh_places[mesh];
            place.funcs_above = module.funcs.len() as u32;
            place.others_above = others_above;
            place.loc = loc.into();
        }
    }

    /// Keeps an operation as text. `name` is the symbol that it defines.
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

    /// Defines a symbol in the current module.
    pub(crate) fn symbol(&mut self, name: &str) -> Res<()> {
        self.parser.define_symbol("symbol", name, Span::NONE)
    }

    /// Makes the current module, which is still empty, enclose the program's module. `above` and `below` are its
    /// items before and after the program's module, as text.
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

    /// Sets the name, attributes and location of the module from a `builtin.module`.
    pub(crate) fn describe(&mut self, record: Record<'a>) -> Res<()> {
        self.parser.module.loc = record.loc.into();
        self.parser.module_from(merged(record)?)
    }

    /// Sets the locations of a region's arguments.
    pub(crate) fn arg_locs(&mut self, region: RegionId, locs: Vec<PackedOption<LocId>>) {
        self.parser.module.regions[region].arg_locs = locs;
    }

    /// Returns the finished module.
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

/// Returns inherent and other attributes in one list, without repeated names.
fn merged<'a>(record: Record<'a>) -> Res<NamedList<'a>> {
    let twice = |entry: &&Entry<'a>| record.props.iter().any(|(name, _)| *name == entry.0);
    if let Some((name, _)) = record.attrs.iter().find(twice) {
        return Err(given_twice(name).into());
    }
    let mut list = named(record.props);
    list.extend(named(record.attrs));
    Ok(list)
}

/// Returns the diagnostic of a failure without its spans, which refer to a generated text that the user never sees.
pub(crate) fn without_place(failure: Failure) -> Option<Diagnostic> {
    let Failure::Error(diagnostic) = failure else { return None };
    let mut diagnostic = *diagnostic;
    diagnostic.span = Span::NONE;
    for (span, _) in &mut diagnostic.notes {
        *span = Span::NONE;
    }
    Some(diagnostic)
}
