//! The top level: modules and their items.

use shardc_ir::suggest::nearest;
use shardc_ir::{Diagnostic, KeptKind, Module, Span};

use super::Parser;
use super::attrs::{NamedList, given_twice, take};
use super::kept::{KeptPlace, is_upstream};
use super::names::ResultNames;
use crate::codes;
use crate::lexer::{Failure, Res};
use crate::source_index::IndexBuilder;

impl<'a> Parser<'a> {
    /// Parses the whole text.
    pub(super) fn top_level(&mut self) -> Res<()> {
        self.find_aliases()?;
        self.between_items()?;
        let start = self.pos;
        if !self.at_module() {
            self.items(None)?;
            return self.enter_nested();
        }
        self.any_module()?;
        self.between_items()?;
        if self.at_end() || !self.errors.is_empty() {
            return Ok(());
        }
        // As in MLIR, if code follows a module, both become children of an implicit module.
        let more = self.expected("the end of the text after the module");
        let read = std::mem::replace(&mut self.module, Module::new());
        (self.module.types, self.module.locs, self.module.resources) =
            (read.types, read.locs, read.resources);
        self.symbols.clear();
        self.missing_meshes.clear();
        self.models.clear();
        self.mesh_sites = None;
        self.places.clear();
        self.index = self.index.take().map(|_| IndexBuilder::default());
        self.cursor.pos = start;
        let done = self.items(None).and_then(|()| self.enter_nested());
        if done.is_err() || !self.errors.is_empty() {
            self.errors.clear();
            let Failure::Error(error) = more else { return Err(more) };
            return Err(error.hint("is there an extra `}` above?").into());
        }
        Ok(())
    }

    /// Skips alias definitions and resources, which may be between top-level items.
    fn between_items(&mut self) -> Res<()> {
        loop {
            match self.peek() {
                b'#' | b'!' => self.skip_alias()?,
                b'{' if self.byte(1) == b'-' => self.resources()?,
                _ => return Ok(()),
            }
        }
    }

    /// Whether a module comes next.
    fn at_module(&mut self) -> bool {
        self.at_word("module")
            || self.at_word("builtin.module")
            || self.cursor.text.get(self.pos..).is_some_and(|rest| rest.starts_with("\"builtin.module\""))
    }

    /// Parses a module in pretty or generic form, and the nested module with the program, if there is one.
    pub(super) fn any_module(&mut self) -> Res<()> {
        if self.eat("\"builtin.module\"") {
            self.generic_module()?;
        } else {
            self.ident("a module")?;
            self.module_op()?;
        }
        self.enter_nested()
    }

    /// Parses `@name attributes {...} { ... } loc(...)` after the keyword.
    fn module_op(&mut self) -> Res<()> {
        if self.peek() == b'@' {
            self.module.name = Some(self.symbol()?.into());
        }
        if self.eat_word("attributes") {
            let mut attrs = NamedList::new();
            self.dict(&mut attrs)?;
            self.module_from(attrs)?;
        }
        let open = self.peek_pos();
        self.expect("{")?;
        self.items(Some(open))?;
        self.module.loc = self.opt_loc()?;
        Ok(())
    }

    /// Parses `() <{sym_name = "..."}> ({ ... }) {...} : () -> ()` after the name.
    fn generic_module(&mut self) -> Res<()> {
        self.expect("(")?;
        self.expect(")")?;
        let mut attrs = NamedList::new();
        if self.eat("<") {
            self.dict(&mut attrs)?;
            self.expect(">")?;
        }
        self.expect("(")?;
        let open = self.peek_pos();
        self.expect("{")?;
        if self.peek() == b'^' {
            self.cursor.pos += 1;
            self.ident("a block name")?;
            self.expect(":")?;
        }
        self.items(Some(open))?;
        self.expect(")")?;
        self.opt_dict(&mut attrs)?;
        self.expect(":")?;
        self.functional_type()?;
        self.module.loc = self.opt_loc()?;
        self.module_from(attrs)
    }

    /// Sets the module's name and attributes from those of a `builtin.module`.
    pub(super) fn module_from(&mut self, mut attrs: NamedList<'a>) -> Res<()> {
        if let Some(named) = take(&mut attrs, "sym_name") {
            if self.module.name.is_some() {
                return Err(given_twice("sym_name").at(named.name_span).into());
            }
            self.module.name = Some(self.at_value(&named, |p| Ok(p.text_string()?.into()))?);
        }
        self.module.attrs = self.carry_all(&attrs)?;
        Ok(())
    }

    /// Parses functions and meshes, up to the brace that matches the one at `open`, or to the end of the text.
    fn items(&mut self, open: Option<usize>) -> Res<()> {
        loop {
            if open.is_some() && self.eat("}") {
                return Ok(());
            }
            if self.at_end() {
                let Some(open) = open else { return Ok(()) };
                return Err(Diagnostic::invalid(codes::SYNTAX, "the module is never closed")
                    .at(Span::new(open, open + 1))
                    .hint("a `}` is missing")
                    .into());
            }
            if open.is_none() {
                self.between_items()?;
                if self.at_end() {
                    return Ok(());
                }
            }
            let start = self.pos;
            if let Err(failure) = self.item() {
                self.report(failure);
                if self.too_many_errors() {
                    return Err(Failure::Silent);
                }
                self.skip_op(start);
                if open.is_none() && self.byte(0) == b'}' {
                    return Err(Failure::Silent);
                }
            }
        }
    }

    /// Parses a function or mesh. Other items, and functions that shardc does not read, are kept as text.
    fn item(&mut self) -> Res<()> {
        let start = self.peek_pos();
        let errors = self.errors.len();
        match self.known_item(start) {
            Err(Failure::Keep(kind, span)) => {
                self.errors.truncate(errors);
                self.cursor.pos = start;
                self.keep(kind, span)
            }
            done => done,
        }
    }

    fn known_item(&mut self, start: usize) -> Res<()> {
        if self.eat_word("func.func") || self.eat_word("func") {
            let done = self.func();
            self.index_extent(start);
            return done;
        }
        if self.eat("\"func.func\"") {
            let done = self.generic_func();
            self.index_extent(start);
            return done;
        }
        if self.eat_word("sdy.mesh") {
            let name = self.elsewhere(self.pos, |p| Ok(p.symbol()?.into_owned()))?;
            self.mesh_op()?;
            return self.place_mesh(&name, start);
        }
        if self.eat("\"sdy.mesh\"") {
            let name = self.generic_mesh()?;
            return self.place_mesh(&name, start);
        }
        let span = self.token_span();
        if self.at_module() {
            return Err(Failure::Keep(KeptKind::Module, span));
        }
        if self.peek() == b'%' {
            self.result_names(&mut ResultNames::new())?;
        }
        let span = self.token_span();
        let word = self.slice(span.start as usize, span.end as usize);
        if self.peek() == b'"' || is_upstream(word) || crate::syntax::row(word).is_some() {
            return Err(Failure::Keep(KeptKind::Other, span));
        }
        let failure = self.expected("`func.func` or `sdy.mesh`");
        let Failure::Error(error) = failure else { return Err(failure) };
        Err(match nearest(word, ["func.func", "sdy.mesh", "module", "builtin.module"]) {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")).into(),
            None => Failure::Error(error),
        })
    }

    /// Records the position of the item that begins at `start` and ends at the cursor.
    fn index_extent(&mut self, start: usize) {
        // The cursor may be after white space.
        let end = start + self.slice(start, self.pos).trim_end().len();
        if let Some(index) = &mut self.index {
            index.set_extent(Span::new(start, end));
        }
    }

    fn place_mesh(&mut self, name: &str, start: usize) -> Res<()> {
        let loc = self.opt_loc()?;
        self.index_extent(start);
        let others_above = self.places.len() as u32;
        self.places.push(KeptPlace { start, end: self.pos, is_module: false });
        if let Some(&mesh) = self.module.mesh_names.get(name) {
            let place = &mut self.module.mesh_places[mesh];
            place.funcs_above = self.module.funcs.len() as u32;
            place.others_above = others_above;
            place.loc = loc;
        }
        Ok(())
    }

    /// Parses `() <{mesh = #sdy.mesh<...>, sym_name = "mesh"}> {...} : () -> ()` after the name.
    pub(super) fn generic_mesh(&mut self) -> Res<String> {
        let start = self.pos;
        let attrs = self.generic_header()?;
        let span = Span::new(start, self.pos);
        self.mesh_from(attrs, span)
    }

    /// Adds the mesh that the attributes of an `sdy.mesh` describe. Returns its name.
    pub(super) fn mesh_from(&mut self, mut attrs: NamedList<'a>, span: Span) -> Res<String> {
        let (Some(name), Some(mesh)) = (take(&mut attrs, "sym_name"), take(&mut attrs, "mesh")) else {
            let message = "sdy.mesh needs the attributes `sym_name` and `mesh`";
            return Err(Diagnostic::invalid(codes::ATTRIBUTE, message).at(span).into());
        };
        let name = self.at_value(&name, |p| Ok(p.text_string()?.into_owned()))?;
        let mut mesh = self.at_value(&mesh, |p| {
            p.expect("#sdy.mesh")?;
            p.mesh_body()
        })?;
        mesh.attrs = self.carry_all(&attrs)?;
        self.add_mesh(&name, mesh, span)?;
        Ok(name)
    }

    /// Parses `() <{...}> {...} : () -> ()`.
    pub(super) fn generic_header(&mut self) -> Res<NamedList<'a>> {
        self.expect("(")?;
        self.expect(")")?;
        let mut attrs = NamedList::new();
        if self.eat("<") {
            self.dict(&mut attrs)?;
            self.expect(">")?;
        }
        self.opt_dict(&mut attrs)?;
        self.expect(":")?;
        self.functional_type()?;
        Ok(attrs)
    }
}
