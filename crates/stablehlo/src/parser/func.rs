//! Functions, in pretty and in generic form.

use shardc_ir::{
    AttrDict, Diagnostic, Func, KeptKind, LocId, Op, OpKind, PackedOption, Region, ShardingId, Span, TypeId,
    Visibility,
};

use super::Parser;
use super::attrs::NamedList;
use super::attrs::take;
use super::region::{ArgDecl, plural};
use super::types::TypeList;
use crate::codes;
use crate::lexer::{Failure, Res};
use crate::source_index::SymbolKind;
use crate::syntax::row;

impl<'a> Parser<'a> {
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
            arg_names: Vec::new(),
            arg_spans: Vec::new(),
            res_spans: Vec::new(),
            attrs: AttrDict::new(),
            span,
            loc: PackedOption::default(),
        }
    }

    fn add_func(&mut self, func: Func) -> Res<()> {
        self.define_symbol("function", &func.name, func.span)?;
        self.module.add_func(func);
        Ok(())
    }

    /// Parses `public @name(...) -> (...) attributes {...} { ... } loc(...)` after the keyword.
    pub(super) fn func(&mut self) -> Res<()> {
        let visibility = if self.eat_word("public") {
            Visibility::Public
        } else if self.eat_word("private") {
            Visibility::Private
        } else if self.eat_word("nested") {
            Visibility::Nested
        } else {
            Visibility::Default
        };
        let start = self.peek_pos();
        let name = self.symbol()?;
        let span = self.span_from(start);
        if let Some(index) = &mut self.index {
            index.define_symbol(SymbolKind::Function, &name, span);
        }
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
            func.arg_spans.push(arg_span);
            if named {
                args.push(ArgDecl { name, span: arg_span, ty, loc: PackedOption::default() });
            }
            Ok(())
        })?;
        name_args(&mut func, &args);
        if locs.iter().any(|loc| loc.is_some()) {
            func.arg_locs = locs;
        }
        if self.eat("->") {
            if self.eat("(") {
                self.list(")", |p| {
                    let start = p.peek_pos();
                    let ty = p.ty()?;
                    func.res_spans.push(p.span_from(start));
                    let mut attrs = NamedList::new();
                    p.opt_dict(&mut attrs)?;
                    let (attrs, sharding) = p.split_value_sharding(&attrs)?;
                    push_result(&mut func, ty, attrs, sharding);
                    Ok(())
                })?;
            } else {
                let start = self.peek_pos();
                let ty = self.ty()?;
                func.res_spans.push(self.span_from(start));
                push_result(&mut func, ty, AttrDict::new(), None);
            }
        }
        if self.eat_word("attributes") {
            let mut attrs = NamedList::new();
            self.dict(&mut attrs)?;
            func.attrs = self.carry_all(&attrs)?;
        }
        if self.peek() == b'{' && self.byte(1) != b'-' {
            let is_labelled = args.is_empty() && !func.params.is_empty();
            let labelled = if is_labelled { self.peek_block_label()? } else { Vec::new() };
            let declared = if is_labelled { &labelled } else { &args };
            if declared.len() != func.params.len() {
                let message = "the parameters of a function with a body need names";
                return Err(Diagnostic::invalid(codes::SYNTAX, message).at(span).into());
            }
            if let Some((arg, _)) = declared.iter().zip(&func.params).find(|(arg, ty)| arg.ty != **ty) {
                let message = format!(
                    "the type of the block argument %{} must match the parameter type of @{}",
                    arg.name, func.name
                );
                return Err(Diagnostic::invalid(codes::TYPE_MISMATCH, message).at(arg.span).into());
            }
            name_args(&mut func, &labelled);
            let owner = std::mem::replace(&mut self.owner, "func.func");
            let region = self.region(&args, true);
            self.owner = owner;
            func.body = Some(region?);
            self.set_arg_shardings(&func, &shardings);
        }
        func.loc = self.opt_loc()?;
        self.check_return(&func)?;
        self.add_func(func)
    }

    fn set_arg_shardings(&mut self, func: &Func, shardings: &[Option<ShardingId>]) {
        let Some(body) = func.body else { return };
        let args: Vec<_> = self.module.regions[body].args.clone();
        for (arg, sharding) in args.into_iter().zip(shardings) {
            if sharding.is_some() {
                self.module.shardings.set(arg, *sharding);
            }
        }
    }

    /// Checks that the returned types are those of the function's results.
    fn check_return(&mut self, func: &Func) -> Res<()> {
        let Some(body) = func.body else { return Ok(()) };
        let Some(ret) = self.module.terminator(body) else {
            // MLIR accepts an operation of an unregistered dialect as a terminator.
            let last = self.module.regions[body].ops.last().map(|&op| &self.module.ops[op]);
            let foreign = |op: &&Op| matches!(op.kind, OpKind::Opaque(_)) && row(op.kind.name()).is_none();
            return match last.filter(foreign) {
                Some(op) if op.results.is_empty() => Err(Failure::Keep(KeptKind::Foreign, op.span)),
                _ => Ok(()),
            };
        };
        let op = &self.module.ops[ret];
        let types: Vec<TypeId> = op.operands.iter().map(|&v| self.module.values[v].ty).collect();
        if types.len() != func.results.len() {
            // MLIR also accepts a `return` of another dialect as the terminator, whose types need not match the function.
            if self.slice(op.span.start as usize, op.span.end as usize).contains("stablehlo.return") {
                return Err(Failure::Keep(KeptKind::Foreign, op.span));
            }
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

    /// Parses `() <{function_type = ..., sym_name = "main", ...}> ({ ... }) {...} : () -> ()` after the name.
    pub(super) fn generic_func(&mut self) -> Res<()> {
        let start = self.pos;
        self.expect("(")?;
        self.expect(")")?;
        let mut attrs = NamedList::new();
        if self.eat("<") {
            self.dict(&mut attrs)?;
            self.expect(">")?;
        }
        let mut func = self.new_func("", Span::new(start, self.pos));
        let owner = std::mem::replace(&mut self.owner, "func.func");
        let body = self.generic_body(&mut func);
        self.owner = owner;
        body?;
        self.opt_dict(&mut attrs)?;
        self.expect(":")?;
        self.functional_type()?;
        func.loc = self.opt_loc()?;
        self.func_from(func, attrs)
    }

    /// Completes a function that has its body and location from the attributes of a `func.func`, and adds it.
    pub(super) fn func_from(&mut self, mut func: Func, mut attrs: NamedList<'a>) -> Res<()> {
        let Some(name) = take(&mut attrs, "sym_name") else {
            let message = "func.func needs the attribute `sym_name`";
            return Err(Diagnostic::invalid(codes::ATTRIBUTE, message).at(func.span).into());
        };
        func.span = name.value.map_or(name.name_span, |(start, end)| Span::new(start, end));
        func.name = self.at_value(&name, |p| Ok(p.text_string()?.into()))?;
        if let Some(index) = &mut self.index {
            index.define_symbol(SymbolKind::Function, &func.name, func.span);
        }
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
                    "nested" => Visibility::Nested,
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
                let message = format!("the block arguments of @{} do not match its parameters", func.name);
                return Err(Diagnostic::invalid(codes::TYPE_MISMATCH, message).at(func.span).into());
            }
            self.set_arg_shardings(&func, &shardings);
        }
        func.attrs = self.carry_all(&attrs)?;
        self.check_return(&func)?;
        self.add_func(func)
    }

    /// Parses `arg_attrs = [{...}, {...}]`.
    fn attr_list(
        &mut self,
        attrs: &mut NamedList<'a>,
        name: &str,
        count: usize,
    ) -> Res<(Vec<AttrDict>, Vec<Option<ShardingId>>)> {
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

/// Stores the names of a function's arguments, unless they are MLIR's default names.
fn name_args(func: &mut Func, args: &[ArgDecl<'_>]) {
    if args.iter().enumerate().any(|(i, arg)| arg.name != format!("arg{i}")) {
        func.arg_names = args.iter().map(|arg| arg.name.into()).collect();
    }
}

fn push_result(func: &mut Func, ty: TypeId, attrs: AttrDict, sharding: Option<ShardingId>) {
    func.results.push(ty);
    func.res_attrs.push(attrs);
    func.res_shardings.push(sharding.into());
}
