//! The parser: recursive descent over the bytes of the text, directly into a [`Module`].
//!
//! * [`module`]: the top level; [`func`]: functions; [`alias`]: aliases, which may be defined before or after the
//!   module; [`kept`]: code that is kept as text.
//! * [`region`]: regions, operations in generic form, results, and code shared by all operations.
//! * [`pretty`]: pretty forms, driven by [`syntax`](crate::syntax); [`bodies`]: pretty forms with regions.
//! * [`repeated`]: operations that repeat an earlier one, which are copied.
//! * [`records`]: operations that were decoded from bytecode.
//! * [`types`], [`quant`], [`attrs`], [`canonical`], [`values`], [`dense`], [`sdy`], [`rule`], [`loc`]: parts of the
//!   grammar.
//!
//! After an error in an operation, parsing continues after it ([`recovery`]). The names that it defines are *poisoned*: their uses cause no
//! further errors.

mod alias;
mod attrs;
mod bodies;
mod canonical;
pub(crate) mod dense;
mod func;
mod groups;
mod hints;
mod kept;
mod loc;
mod module;
mod names;
mod pretty;
mod quant;
pub(crate) mod records;
mod recovery;
mod region;
mod repeated;
mod rule;
mod sdy;
mod types;
mod values;
mod vhlo;

use std::ops::{Deref, DerefMut, Range};

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{Dense, Diagnostic, LocId, Module, Span, TypeId, ValueId};

use crate::codes;
use crate::foreign::not_a_program;
use crate::lexer::{Cursor, Failure, Res};
use crate::source_index::{IndexBuilder, SourceIndex, SymbolKind};
use names::{Def, Names};
use repeated::Models;

/// The maximum number of errors reported for a text.
const MAX_ERRORS: usize = 20;

/// The maximum nesting of regions, attributes, types and locations.
pub(crate) const MAX_DEPTH: u32 = 48;

/// An operand: a value and the span of its use.
#[derive(Clone, Copy, Debug)]
struct Operand {
    value: ValueId,
    span: Span,
}

/// The parser's state.
struct Parser<'a> {
    cursor: Cursor<'a>,
    module: Module,
    types: FxHashMap<&'a str, TypeId>,
    names: Names<'a>,
    /// The operations that later ones may repeat.
    models: Models,
    /// The start and end offsets in the text of the value of each `#alias`, by the alias's name.
    attr_aliases: FxHashMap<&'a str, (usize, usize)>,
    type_aliases: FxHashMap<&'a str, (usize, usize)>,
    /// Type aliases whose values are being parsed, outermost first.
    open_aliases: Vec<&'a str>,
    /// The error for an attribute alias that refers to itself; `None` before the search for one, `Some(None)` if the search found none.
    circular_alias: Option<Option<Box<Diagnostic>>>,
    locs: FxHashMap<&'a str, LocId>,
    /// The nesting depth of each interned location, by its ID.
    loc_depths: Vec<u32>,
    /// The type of the last parsed `dense` constant.
    last_dense: Option<TypeId>,
    /// The span of each symbol's definition in the module, by the symbol's name.
    symbols: FxHashMap<Box<str>, Span>,
    /// Names of meshes that were not found in the text after their first use.
    missing_meshes: FxHashSet<Box<str>>,
    /// The mesh definitions later in the text, by name: the offset, and whether the form is generic. `None` until a use of an undefined
    /// mesh requires the search.
    mesh_sites: Option<FxHashMap<Box<str>, (usize, bool)>>,
    /// Top-level items other than functions.
    places: Vec<kept::KeptPlace>,
    /// The expanded size of the aliases used so far, in bytes.
    expanded: usize,
    /// The keys of resources in `{-# ... #-}`.
    resources: FxHashSet<&'a str>,
    /// Constants decoded from bytecode, by the offset of their placeholder in the text.
    decoded: FxHashMap<usize, (Dense, TypeId)>,
    /// The operation whose region is being parsed: `func.func`, `stablehlo.while`, ...
    owner: &'a str,
    /// The offset of a misplaced item, such as a function, at which an unclosed region was reported. Enclosing regions do not report it.
    unclosed_at: Option<u32>,
    errors: Vec<Diagnostic>,
    depth: u32,
    /// Collects the positions of names, if they are requested.
    index: Option<IndexBuilder>,
}

impl<'a> Deref for Parser<'a> {
    type Target = Cursor<'a>;

    fn deref(&self) -> &Cursor<'a> {
        &self.cursor
    }
}

impl<'a> DerefMut for Parser<'a> {
    fn deref_mut(&mut self) -> &mut Cursor<'a> {
        &mut self.cursor
    }
}

/// Parses a module.
///
/// # Errors
/// The text does not follow the grammar, or names, types and counts do not match. Returns at least one error, and at
/// most 20.
pub fn parse(text: &str) -> Result<Module, Vec<Diagnostic>> {
    parse_range(text, 0..text.len())
}

/// Parses the module in a range of `text`. Spans are relative to the whole text.
pub(crate) fn parse_range(text: &str, range: Range<usize>) -> Result<Module, Vec<Diagnostic>> {
    parse_with(text, range, None).0
}

/// Parses a module like [`parse`], and returns the positions of all names, for editors. If the text has errors, the index contains the
/// names that were parsed.
pub fn parse_indexed(text: &str) -> (Result<Module, Vec<Diagnostic>>, SourceIndex) {
    let (module, index) = parse_with(text, 0..text.len(), Some(IndexBuilder::default()));
    (module, index.map(IndexBuilder::finish).unwrap_or_default())
}

fn parse_with(
    text: &str,
    range: Range<usize>,
    index: Option<IndexBuilder>,
) -> (Result<Module, Vec<Diagnostic>>, Option<IndexBuilder>) {
    if text.len() >= u32::MAX as usize {
        let error = Diagnostic::unsupported(codes::NOT_READ, "cannot read a text of 4 GiB or more");
        return (Err(vec![error]), index);
    }
    let mut parser = Parser::new(text.get(..range.end).unwrap_or(text));
    parser.index = index;
    parser.cursor.pos = range.start.min(parser.cursor.text.len());
    if parser.byte(0) == 0xEF
        && parser.cursor.text.get(parser.pos..).is_some_and(|t| t.starts_with('\u{FEFF}'))
    {
        // Skips the byte order mark.
        parser.cursor.pos += '\u{FEFF}'.len_utf8();
    }
    if let Err(failure) = parser.top_level() {
        parser.report(failure);
    }
    if parser.errors.is_empty() {
        parser.check_resources();
    }
    if !parser.errors.is_empty()
        && parser.module.func_names.is_empty()
        && let Some(error) = text.get(range).and_then(|text| not_a_program(text.as_bytes()))
    {
        return (Err(vec![error]), parser.index);
    }
    let module = if parser.errors.is_empty() { Ok(parser.module) } else { Err(parser.errors) };
    (module, parser.index)
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        Parser {
            cursor: Cursor::new(text),
            module: Module::new(),
            types: FxHashMap::default(),
            names: Names::default(),
            models: Models::default(),
            attr_aliases: FxHashMap::default(),
            type_aliases: FxHashMap::default(),
            open_aliases: Vec::new(),
            circular_alias: None,
            locs: FxHashMap::default(),
            // The initial element is the depth of the unknown location, which is always interned.
            loc_depths: vec![1],
            last_dense: None,
            symbols: FxHashMap::default(),
            missing_meshes: FxHashSet::default(),
            mesh_sites: None,
            places: Vec::new(),
            expanded: 0,
            resources: FxHashSet::default(),
            decoded: FxHashMap::default(),
            owner: "",
            unclosed_at: None,
            errors: Vec::new(),
            depth: 0,
            index: None,
        }
    }

    /// Defines a symbol of the module; its name must be unique.
    fn define_symbol(&mut self, what: &str, name: &str, span: Span) -> Res<()> {
        let Some(&old) = self.symbols.get(name) else {
            self.symbols.insert(name.into(), span);
            return Ok(());
        };
        let message = format!("the {what} @{name} is defined twice");
        Err(Diagnostic::invalid(codes::REDEFINITION, message).at(span).note(old, "first defined here").into())
    }

    fn report(&mut self, failure: Failure) {
        if let Failure::Error(diagnostic) = failure
            && !self.errors.contains(&diagnostic)
            && self.unclosed_at != Some(diagnostic.span.start)
        {
            self.errors.push(*diagnostic);
        }
    }

    fn too_many_errors(&self) -> bool {
        self.errors.len() >= MAX_ERRORS
    }

    /// Returns the span from `start` to the cursor.
    fn span_from(&self, start: usize) -> Span {
        Span::new(start, self.pos)
    }

    /// Runs `read` one nesting level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        if self.depth >= MAX_DEPTH {
            if let Some(error) = self.circular_alias() {
                return Err(Failure::Error(error));
            }
            let span = self.token_span();
            return Err(Diagnostic::unsupported(
                codes::NESTING,
                format!("regions, attributes or types are nested more than {MAX_DEPTH} levels deep"),
            )
            .at(span)
            .into());
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Runs `read` with the cursor at `at`, then restores the cursor.
    fn elsewhere<T>(&mut self, at: usize, read: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        let pos = std::mem::replace(&mut self.cursor.pos, at);
        let result = self.nested(read);
        self.cursor.pos = pos;
        result
    }

    /// Parses items separated by commas up to `close`, after the opening bracket.
    fn list(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Res<()>) -> Res<()> {
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

    fn define(&mut self, name: &'a str, def: Def) -> Res<()> {
        let Err(old) = self.add_name(name, def) else { return Ok(()) };
        Err(Diagnostic::invalid(codes::REDEFINITION, format!("`%{name}` is defined twice"))
            .at(def.span)
            .note(old.span, "first defined here")
            .hint("a value has only one definition; rename one of the two")
            .into())
    }

    /// Makes a name visible. Returns its definition if it is visible already.
    fn add_name(&mut self, name: &'a str, def: Def) -> Result<(), Def> {
        self.names.insert(name, def)?;
        if let Some(index) = &mut self.index {
            index.define(def.span, def.first.expand(), def.count);
        }
        Ok(())
    }

    /// Records the use of a symbol that ends at the cursor.
    fn index_symbol_use(&mut self, kind: SymbolKind, name: &str, start: usize) {
        let span = self.span_from(start);
        if let Some(index) = &mut self.index {
            index.use_symbol(kind, name, span);
        }
    }

    /// Runs `read` in the scope of a region, and then drops the names that it defined. A region that is isolated from
    /// above does not see outer names.
    fn scoped<T>(&mut self, isolated: bool, read: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        let hidden = (isolated && self.names.mark() > 0).then(|| std::mem::take(&mut self.names));
        let mark = self.names.mark();
        let result = self.nested(read);
        match hidden {
            Some(names) => self.names = names,
            None => self.names.forget(mark),
        }
        result
    }

    /// Parses the use of a value: `%0`, `%1#2`.
    fn operand(&mut self) -> Res<Operand> {
        let start = self.peek_pos();
        if self.byte(0) != b'%' {
            return Err(self.no_operand());
        }
        let name = self.value_name()?;
        let name_end = self.pos;
        let index = if self.byte(0) == b'#' {
            self.cursor.pos += 1;
            Some(self.int()?)
        } else {
            None
        };
        let span = Span::new(start, self.pos);
        let Some(def) = self.names.get(name) else {
            return Err(self.unknown_value(name, Span::new(start, name_end)));
        };
        if let Some(builder) = &mut self.index {
            let result = index.and_then(|at| u32::try_from(at).ok()).unwrap_or(0);
            builder.add_use(span, def.span, result);
        }
        let Some(first) = def.first.expand() else { return Err(Failure::Silent) };
        let at = match index {
            // In MLIR, a name without index is the first of several results.
            None => 0,
            Some(at) if (0..i64::from(def.count)).contains(&at) => at as u32,
            Some(at) => {
                let message = format!("`%{name}` has {} results, so `#{at}` does not exist", def.count);
                return Err(Diagnostic::invalid(codes::COUNT, message)
                    .at(span)
                    .note(def.span, "defined here")
                    .into());
            }
        };
        Ok(Operand { value: ValueId::from_u32(first.as_u32() + at), span })
    }

    /// Returns the span of the definition of `value`, for diagnostics.
    fn def_span(&self, value: ValueId) -> Option<Span> {
        self.names.iter().find_map(|(_, def)| {
            let first = def.first.expand()?.as_u32();
            (first..first + def.count).contains(&value.as_u32()).then_some(def.span)
        })
    }

    /// Checks that `operand` has its written type.
    fn check_type(&self, operand: Operand, ty: TypeId, span: Span) -> Res<()> {
        let actual = self.module.values[operand.value].ty;
        if actual == ty {
            return Ok(());
        }
        let name = self.slice(operand.span.start as usize, operand.span.end as usize);
        let hint = self.type_hint(actual, ty);
        let (actual, written) = (self.module.types.display(actual), self.module.types.display(ty));
        let mut error = Diagnostic::invalid(
            codes::TYPE_MISMATCH,
            format!("`{name}` has the type {actual}, but this operation uses it as {written}"),
        )
        .at(operand.span)
        .note(span, format!("written as {written} here"))
        .hint(hint);
        if let Some(def) = self.def_span(operand.value) {
            error = error.note(def, format!("defined as {actual} here"));
        }
        Err(error.into())
    }
}
