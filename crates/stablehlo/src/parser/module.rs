//! The top level: module, functions, meshes and aliases.

use shardc_ir::{AttrDict, Diagnostic, Func, LocId, PackedOption, Region, Span, TypeId, Visibility};

use super::Parser;
use super::attrs::{Named, NamedList};
use super::region::{ArgDecl, plural};
use super::types::TypeList;
use crate::codes;
use crate::lexer::{Failure, Res, is_ident};

impl<'a> Parser<'a> {
    /// The whole text.
    pub(super) fn top_level(&mut self) -> Res<()> {
        self.find_aliases();
        loop {
            match self.peek() {
                b'#' | b'!' => self.skip_alias()?,
                b'{' if self.byte(1) == b'-' => self.resources()?,
                _ => break,
            }
        }
        if self.eat_word("module") || self.eat_word("builtin.module") {
            self.module_op()?;
        } else if self.eat("\"builtin.module\"") {
            self.generic_module()?;
        } else {
            self.items(None)?;
        }
        loop {
            match self.peek() {
                0 if self.at_end() => return Ok(()),
                b'#' | b'!' => self.skip_alias()?,
                b'{' if self.byte(1) == b'-' => self.resources()?,
                _ => return Err(self.expected("the end of the text after the module")),
            }
        }
    }

    /// Finds the aliases, which stand at the starts of lines: `#loc3 = loc(...)`, `!t = tensor<...>`.
    fn find_aliases(&mut self) {
        let text = self.cursor.text;
        let mut line = 0;
        while line < text.len() {
            if matches!(text.as_bytes()[line], b'#' | b'!') {
                let _ = self.elsewhere(line, |p| {
                    p.alias();
                    Ok(())
                });
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
            }
        }
    }

    fn alias(&mut self) -> Option<()> {
        let sigil = self.byte(0);
        self.cursor.pos += 1;
        let start = self.pos;
        while is_ident(self.byte(0)) {
            self.cursor.pos += 1;
        }
        let name = self.slice(start, self.pos);
        if name.is_empty() || !self.eat("=") {
            return None;
        }
        let at = self.peek_pos();
        self.skip_attr().ok()?;
        let aliases = if sigil == b'#' { &mut self.attr_aliases } else { &mut self.type_aliases };
        aliases.insert(name, (at, self.cursor.pos));
        Some(())
    }

    fn skip_alias(&mut self) -> Res<()> {
        self.cursor.pos += 1;
        self.ident("the name of an alias")?;
        self.expect("=")?;
        self.skip_attr()
    }

    /// `{-# ... #-}`.
    fn resources(&mut self) -> Res<()> {
        let start = self.pos;
        match self.cursor.text.get(start..).and_then(|rest| rest.find("#-}")) {
            Some(length) => {
                self.cursor.pos = start + length + "#-}".len();
                self.module.resources = Some(self.slice(start, self.pos).into());
                Ok(())
            }
            None => Err(Diagnostic::invalid(codes::SYNTAX, "this block of resources is never closed")
                .at(Span::new(start, start + 3))
                .hint("it ends with `#-}`")
                .into()),
        }
    }

    /// `@name attributes {...} { ... } loc(...)`; the keyword was read.
    fn module_op(&mut self) -> Res<()> {
        if self.peek() == b'@' {
            self.module.name = Some(self.symbol()?.into());
        }
        if self.eat_word("attributes") {
            let mut attrs = NamedList::new();
            self.dict(&mut attrs)?;
            self.module.attrs = self.carry_all(&attrs)?;
        }
        let open = self.peek_pos();
        self.expect("{")?;
        self.items(Some(open))?;
        self.module.loc = self.opt_loc()?;
        Ok(())
    }

    /// `() <{sym_name = "..."}> ({ ... }) {...} : () -> ()`; the name was read.
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

    /// Sets what these attributes of a `builtin.module` say.
    pub(super) fn module_from(&mut self, mut attrs: NamedList<'a>) -> Res<()> {
        if let Some(named) = take(&mut attrs, "sym_name") {
            self.module.name = Some(self.at_value(&named, |p| Ok(p.text_string()?.into()))?);
        }
        self.module.attrs = self.carry_all(&attrs)?;
        Ok(())
    }

    /// Functions and meshes, up to the brace that closes the one at `open`, or the end of the text.
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
            if open.is_none() && matches!(self.byte(0), b'#' | b'!') {
                self.skip_alias()?;
                continue;
            }
            if open.is_none() && self.byte(0) == b'{' {
                return Ok(());
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

    fn item(&mut self) -> Res<()> {
        if self.eat_word("func.func") || self.eat_word("func") {
            return self.func();
        }
        if self.eat("\"func.func\"") {
            return self.generic_func();
        }
        if self.eat_word("sdy.mesh") {
            let name = self.elsewhere(self.pos, |p| Ok(p.symbol()?.into_owned()))?;
            self.mesh_op()?;
            return self.place_mesh(&name);
        }
        if self.eat("\"sdy.mesh\"") {
            return self.generic_mesh();
        }
        let span = self.token_span();
        let text = self.slice(span.start as usize, span.end as usize).to_owned();
        if text == "module" || text == "builtin.module" {
            return Err(Diagnostic::unsupported(codes::NOT_READ, "modules in a module cannot be read")
                .at(span)
                .into());
        }
        Err(self.expected("`func.func` or `sdy.mesh`"))
    }

    fn place_mesh(&mut self, name: &str) -> Res<()> {
        let loc = self.opt_loc()?;
        if let Some(&mesh) = self.module.mesh_names.get(name) {
            let place = &mut self.module.mesh_places[mesh];
            place.funcs_above = self.module.funcs.len() as u32;
            place.loc = loc;
        }
        Ok(())
    }

    /// `() <{mesh = #sdy.mesh<...>, sym_name = "mesh"}> {...} : () -> ()`; the name was read.
    fn generic_mesh(&mut self) -> Res<()> {
        let start = self.pos;
        let attrs = self.generic_header()?;
        let span = Span::new(start, self.pos);
        let name = self.mesh_from(attrs, span)?;
        self.place_mesh(&name)
    }

    /// Adds the mesh that these attributes of an `sdy.mesh` describe; its name.
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

    /// `() <{...}> {...} : () -> ()`.
    fn generic_header(&mut self) -> Res<NamedList<'a>> {
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

    pub(super) fn new_func(&self, name: &str, span: Span) -> Func {
        Func {
            name: name.into(),
            visibility: Visibility::Default,
            body: None,
            params: Vec::new(),
            results: Vec::new(),
            arg_attrs: Vec::new(),
            res_attrs: Vec::new(),
            res_shardings: Vec::new(),
            arg_locs: Vec::new(),
            attrs: AttrDict::new(),
            span,
            loc: PackedOption::default(),
        }
    }

    fn add_func(&mut self, func: Func) -> Res<()> {
        if let Some(&old) = self.module.func_names.get(&func.name) {
            let old = self.module.funcs[old].span;
            let message = format!("the function @{} is defined twice", func.name);
            let error = Diagnostic::invalid(codes::REDEFINITION, message).at(func.span);
            return Err(error.note(old, "first defined here").into());
        }
        self.module.add_func(func);
        Ok(())
    }

    /// `public @name(...) -> (...) attributes {...} { ... } loc(...)`; the keyword was read.
    fn func(&mut self) -> Res<()> {
        let visibility = if self.eat_word("public") {
            Visibility::Public
        } else if self.eat_word("private") || self.eat_word("nested") {
            Visibility::Private
        } else {
            Visibility::Default
        };
        let start = self.peek_pos();
        let name = self.symbol()?;
        let span = self.span_from(start);
        let mut func = self.new_func(&name, span);
        func.visibility = visibility;
        let mut args: Vec<ArgDecl<'a>> = Vec::new();
        let mut shardings = Vec::new();
        let mut locs: Vec<PackedOption<LocId>> = Vec::new();
        self.expect("(")?;
        self.list(")", |p| {
            let named = p.peek() == b'%';
            let start = p.pos;
            let name = if named { p.value_name()? } else { "" };
            let arg_span = p.span_from(start);
            if named {
                p.expect(":")?;
            }
            let ty = p.ty()?;
            let mut attrs = NamedList::new();
            p.opt_dict(&mut attrs)?;
            let (attrs, sharding) = p.split_value_sharding(&attrs)?;
            let loc = p.opt_loc()?;
            func.params.push(ty);
            func.arg_attrs.push(attrs);
            shardings.push(sharding);
            locs.push(loc);
            if named {
                args.push(ArgDecl { name, span: arg_span, ty, loc: PackedOption::default() });
            }
            Ok(())
        })?;
        if locs.iter().any(|loc| loc.is_some()) {
            func.arg_locs = locs;
        }
        if self.eat("->") {
            if self.eat("(") {
                self.list(")", |p| {
                    let ty = p.ty()?;
                    let mut attrs = NamedList::new();
                    p.opt_dict(&mut attrs)?;
                    let (attrs, sharding) = p.split_value_sharding(&attrs)?;
                    push_result(&mut func, ty, attrs, sharding);
                    Ok(())
                })?;
            } else {
                let ty = self.ty()?;
                push_result(&mut func, ty, AttrDict::new(), None);
            }
        }
        if self.eat_word("attributes") {
            let mut attrs = NamedList::new();
            self.dict(&mut attrs)?;
            func.attrs = self.carry_all(&attrs)?;
        }
        if self.peek() == b'{' && self.byte(1) != b'-' {
            if args.len() != func.params.len() {
                let message = "the parameters of a function with a body need names";
                return Err(Diagnostic::invalid(codes::SYNTAX, message).at(span).into());
            }
            let region = self.region(&args, true)?;
            func.body = Some(region);
            self.set_arg_shardings(&func, &shardings);
        }
        func.loc = self.opt_loc()?;
        self.check_return(&func)?;
        self.add_func(func)
    }

    fn set_arg_shardings(&mut self, func: &Func, shardings: &[Option<shardc_ir::ShardingId>]) {
        let Some(body) = func.body else { return };
        let args: Vec<_> = self.module.regions[body].args.clone();
        for (arg, sharding) in args.into_iter().zip(shardings) {
            if sharding.is_some() {
                self.module.shardings.set(arg, *sharding);
            }
        }
    }

    /// Demands that a function returns what it says.
    fn check_return(&mut self, func: &Func) -> Res<()> {
        let Some(ret) = func.body.and_then(|body| self.module.terminator(body)) else { return Ok(()) };
        let op = &self.module.ops[ret];
        let types: Vec<TypeId> = op.operands.iter().map(|&v| self.module.values[v].ty).collect();
        if types.len() != func.results.len() {
            let message = format!(
                "@{} has {}, but {} returned",
                func.name,
                plural(func.results.len(), "result"),
                if types.len() == 1 {
                    "1 value is".to_owned()
                } else {
                    format!("{} values are", types.len())
                }
            );
            let error = Diagnostic::invalid(codes::COUNT, message).at(op.span);
            return Err(error.note(func.span, "declared here").into());
        }
        for (i, (&returned, &declared)) in types.iter().zip(&func.results).enumerate() {
            if returned != declared {
                let (returned, declared) =
                    (self.module.types.display(returned), self.module.types.display(declared));
                let message =
                    format!("result {i} of @{} is {declared}, but {returned} is returned", func.name);
                let error = Diagnostic::invalid(codes::TYPE_MISMATCH, message).at(op.span);
                return Err(error.note(func.span, "declared here").into());
            }
        }
        Ok(())
    }

    /// `() <{function_type = ..., sym_name = "main", ...}> ({ ... }) {...} : () -> ()`; the name was read.
    fn generic_func(&mut self) -> Res<()> {
        let start = self.pos;
        self.expect("(")?;
        self.expect(")")?;
        let mut attrs = NamedList::new();
        if self.eat("<") {
            self.dict(&mut attrs)?;
            self.expect(">")?;
        }
        let mut func = self.new_func("", Span::new(start, self.pos));
        self.generic_body(&mut func)?;
        self.opt_dict(&mut attrs)?;
        self.expect(":")?;
        self.functional_type()?;
        func.loc = self.opt_loc()?;
        self.func_from(func, attrs)
    }

    /// Adds a function that has its body and place, and whatever else these attributes of a `func.func` say.
    pub(super) fn func_from(&mut self, mut func: Func, mut attrs: NamedList<'a>) -> Res<()> {
        let Some(name) = take(&mut attrs, "sym_name") else {
            let message = "func.func needs the attribute `sym_name`";
            return Err(Diagnostic::invalid(codes::ATTRIBUTE, message).at(func.span).into());
        };
        func.span = name.value.map_or(name.name_span, |(start, end)| Span::new(start, end));
        func.name = self.at_value(&name, |p| Ok(p.text_string()?.into()))?;
        if let Some(ty) = take(&mut attrs, "function_type").or_else(|| take(&mut attrs, "type")) {
            let (params, results): (TypeList, TypeList) = self.at_value(&ty, |p| {
                let (params, results) = p.functional_type()?;
                Ok((params.iter().map(|&(ty, _)| ty).collect(), results))
            })?;
            func.params = params.to_vec();
            func.results = results.to_vec();
        }
        if let Some(visibility) = take(&mut attrs, "sym_visibility") {
            func.visibility =
                match self.at_value(&visibility, |p| Ok(p.text_string()?.into_owned()))?.as_str() {
                    "public" => Visibility::Public,
                    _ => Visibility::Private,
                };
        }
        let (params, results) = (func.params.len(), func.results.len());
        let (arg_attrs, shardings) = self.attr_list(&mut attrs, "arg_attrs", params)?;
        let (res_attrs, res_shardings) = self.attr_list(&mut attrs, "res_attrs", results)?;
        func.arg_attrs = arg_attrs;
        func.res_attrs = res_attrs;
        func.res_shardings = res_shardings.into_iter().map(PackedOption::from).collect();
        if let Some(body) = func.body {
            let region: &mut Region = &mut self.module.regions[body];
            func.arg_locs = std::mem::take(&mut region.arg_locs);
            let args = region.args.clone();
            let same = args.len() == func.params.len()
                && args.iter().zip(&func.params).all(|(&arg, &ty)| self.module.values[arg].ty == ty);
            if !same {
                let message = format!("the body of @{} does not take the function's parameters", func.name);
                return Err(Diagnostic::invalid(codes::TYPE_MISMATCH, message).at(func.span).into());
            }
            self.set_arg_shardings(&func, &shardings);
        }
        func.attrs = self.carry_all(&attrs)?;
        self.check_return(&func)?;
        self.add_func(func)
    }

    /// `arg_attrs = [{...}, {...}]`.
    fn attr_list(
        &mut self,
        attrs: &mut NamedList<'a>,
        name: &str,
        count: usize,
    ) -> Res<(Vec<AttrDict>, Vec<Option<shardc_ir::ShardingId>>)> {
        let Some(named) = take(attrs, name) else {
            return Ok((vec![AttrDict::new(); count], vec![None; count]));
        };
        let mut dicts = Vec::with_capacity(count);
        let mut shardings = Vec::with_capacity(count);
        self.at_value(&named, |p| {
            p.expect("[")?;
            p.list("]", |p| {
                let mut entries = NamedList::new();
                p.dict(&mut entries)?;
                let (dict, sharding) = p.split_value_sharding(&entries)?;
                dicts.push(dict);
                shardings.push(sharding);
                Ok(())
            })
        })?;
        if dicts.len() != count {
            let message = format!("`{name}` has {} for {count} values", plural(dicts.len(), "entry"));
            return Err(Diagnostic::invalid(codes::COUNT, message).at(named.name_span).into());
        }
        Ok((dicts, shardings))
    }
}

fn push_result(func: &mut Func, ty: TypeId, attrs: AttrDict, sharding: Option<shardc_ir::ShardingId>) {
    func.results.push(ty);
    func.res_attrs.push(attrs);
    func.res_shardings.push(sharding.into());
}

fn take<'a>(attrs: &mut NamedList<'a>, name: &str) -> Option<Named<'a>> {
    let at = attrs.iter().position(|named| named.name == name)?;
    Some(attrs.remove(at))
}
