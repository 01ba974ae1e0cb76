//! Regions, operations in generic form, and code shared by all operations.

use std::borrow::Cow;

use rustc_hash::FxHashSet;
use shardc_ir::discardable::SHARDING;
use shardc_ir::{
    Attr, AttrDict, Dense, Diagnostic, DimList, Func, KeptKind, LocId, OpId, OpKind, PackedOption, RegionId,
    Span, TypeId,
};
use smallvec::SmallVec;

use super::attrs::{Named, NamedList};
use super::canonical::tidy;
use super::names::{Def, ResultNames};
use super::repeated::Search;
use super::types::{SpannedTypes, TypeList};
use super::{Operand, Parser};
use crate::codes;
use crate::lexer::{Failure, Res};
use crate::syntax::kinds::{self, Given};
use crate::syntax::{AttrType, Row, SPELLING, SPELLINGS, Val, row};

/// A declared argument of a region.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArgDecl<'a> {
    pub(super) name: &'a str,
    pub(super) span: Span,
    pub(super) ty: TypeId,
    pub(super) loc: PackedOption<LocId>,
}

/// A parsed operation that is not created yet.
#[derive(Debug)]
pub(super) struct OpState<'a> {
    pub(super) kind: OpKind,
    pub(super) operands: SmallVec<[Operand; 4]>,
    pub(super) results: TypeList,
    pub(super) regions: SmallVec<[RegionId; 2]>,
    /// Discardable attributes.
    pub(super) attrs: NamedList<'a>,
    /// The operation's name in the text, if it is parsed as a different operation, as `stablehlo.dot` is as `stablehlo.dot_general`.
    pub(super) spelling: Option<&'static str>,
    /// The operation's location, if the text has it before the end of the operation.
    pub(super) loc: PackedOption<LocId>,
}

impl<'a> OpState<'a> {
    pub(super) fn new(kind: OpKind) -> Self {
        OpState {
            kind,
            operands: SmallVec::new(),
            results: TypeList::new(),
            regions: SmallVec::new(),
            attrs: NamedList::new(),
            spelling: None,
            loc: PackedOption::default(),
        }
    }
}

/// An attribute with axes, which is parsed once the operation's mesh is known: its name, its type, and the offset of the axes.
pub(super) type Deferred = SmallVec<[(&'static str, AttrType, usize); 1]>;

/// The inherent attributes of a custom call.
const CUSTOM_CALL_PROPS: &[&str] = &[
    "api_version",
    "backend_config",
    "called_computations",
    "custom_call_schedule",
    "has_side_effect",
    "operand_layouts",
    "output_operand_aliases",
    "result_layouts",
];

impl<'a> Parser<'a> {
    /// Parses `%name: type loc(...)`.
    pub(super) fn arg_decl(&mut self) -> Res<ArgDecl<'a>> {
        let start = self.peek_pos();
        let name = self.value_name()?;
        let span = self.span_from(start);
        self.expect(":")?;
        let ty = self.ty()?;
        let loc = self.opt_loc()?;
        Ok(ArgDecl { name, span, ty, loc })
    }

    /// Parses `{ ... }` with arguments that were declared before it, or with its own block label.
    pub(super) fn region(&mut self, args: &[ArgDecl<'a>], isolated: bool) -> Res<RegionId> {
        self.ws();
        let start = self.pos;
        self.expect("{")?;
        self.scoped(isolated, |p| {
            let region = p.module.add_region(&[]);
            p.add_args(region, args)?;
            if args.is_empty() && p.peek() == b'^' {
                let args = p.block_label()?;
                p.add_args(region, &args)?;
            }
            p.ops(region, start)?;
            Ok(region)
        })
    }

    /// Parses `^bb0(%arg0: type, ...):`.
    fn block_label(&mut self) -> Res<Vec<ArgDecl<'a>>> {
        let mut args = Vec::new();
        self.cursor.pos += 1;
        self.ident("a block name")?;
        if self.eat("(") {
            self.list(")", |p| {
                args.push(p.arg_decl()?);
                Ok(())
            })?;
        }
        self.expect(":")?;
        Ok(args)
    }

    /// Returns the arguments that a block label declares at the start of a function's body. [`Parser::region`] parses the text again.
    pub(super) fn peek_block_label(&mut self) -> Res<Vec<ArgDecl<'a>>> {
        self.ws();
        let start = self.pos;
        let args = match self.eat("{") && self.peek() == b'^' {
            true => self.block_label(),
            false => Ok(Vec::new()),
        };
        self.cursor.pos = start;
        args
    }

    fn add_args(&mut self, region: RegionId, args: &[ArgDecl<'a>]) -> Res<()> {
        for arg in args {
            let value = self.module.add_arg(region, arg.ty);
            self.define(arg.name, Def { first: value.into(), count: 1, span: arg.span })?;
        }
        if args.iter().any(|arg| arg.loc.is_some()) {
            self.module.regions[region].arg_locs = args.iter().map(|arg| arg.loc).collect();
        }
        Ok(())
    }

    fn ops(&mut self, region: RegionId, open: usize) -> Res<()> {
        let mut ops = Vec::new();
        while !self.eat("}") {
            if self.at_end() {
                return Err(Diagnostic::invalid(codes::SYNTAX, "this region is never closed")
                    .at(Span::new(open, open + 1))
                    .hint("a `}` is missing")
                    .into());
            }
            if self.never_closed(open) {
                break;
            }
            if self.byte(0) == b'^' {
                return Err(Failure::Keep(KeptKind::Branches, self.token_span()));
            }
            let start = self.pos;
            match self.op() {
                Ok(op) => ops.push(op),
                Err(failure @ Failure::Keep(..)) => return Err(failure),
                Err(failure) => {
                    self.report(failure);
                    if self.too_many_errors() {
                        return Err(Failure::Silent);
                    }
                    self.skip_op(start);
                }
            }
        }
        self.module.set_ops(region, ops);
        Ok(())
    }

    /// Parses one operation.
    fn op(&mut self) -> Res<OpId> {
        let mut names = ResultNames::new();
        let result = self.result_names(&mut names).and_then(|()| {
            let start = self.peek_pos();
            self.op_after_names(&names, start)
        });
        if result.is_err() {
            for &(name, count, span) in &names {
                // A name that is visible already keeps its definition.
                let _ = self.add_name(name, Def { first: None.into(), count, span });
            }
        }
        result
    }

    fn op_after_names(&mut self, names: &ResultNames<'a>, start: usize) -> Res<OpId> {
        let pattern = match self.copy_of_model(names, start)? {
            Search::Copied(op) => return Ok(op),
            Search::New(pattern) => Some(pattern),
            Search::Unknown => None,
        };
        let expanded = self.expanded;
        let generic = self.byte(0) == b'"';
        let name = if generic { self.raw_string()? } else { self.ident("an operation")? };
        let span = self.span_from(start);
        let owner = std::mem::replace(&mut self.owner, name);
        let state = match check_terminator(name, owner, span) {
            Ok(()) if generic => self.generic_op(name, span),
            Ok(()) => self.pretty_op(name, span),
            Err(error) => Err(error),
        };
        self.owner = owner;
        let mut state = state?;
        if owner == "func.func" && name != "return" && name != "func.return" && state.kind == OpKind::Return {
            // A function may end with the terminator of another dialect, whose name is recorded for printing.
            state.spelling = TERMINATORS.iter().copied().find(|&other| other == name);
        }
        let pattern = pattern.filter(|_| self.expanded == expanded);
        let pattern = pattern.and_then(|pattern| self.checked_pattern(pattern, &state.operands));
        let loc = self.opt_loc()?;
        let op = self.finish(state, names, span, loc)?;
        if let Some(pattern) = pattern {
            self.add_model(pattern, op, loc);
        }
        Ok(op)
    }

    pub(super) fn result_names(&mut self, names: &mut ResultNames<'a>) -> Res<()> {
        if self.peek() != b'%' {
            return Ok(());
        }
        loop {
            let start = self.peek_pos();
            let name = self.value_name()?;
            let span = self.span_from(start);
            let count = if self.eat(":") {
                let span = self.token_span();
                match u32::try_from(self.int()?) {
                    Ok(count @ 1..) => count,
                    _ => {
                        let message = "the number of results must be at least 1";
                        return Err(Diagnostic::invalid(codes::SYNTAX, message).at(span).into());
                    }
                }
            } else {
                1
            };
            names.push((name, count, span));
            if !self.eat(",") {
                break;
            }
        }
        if !self.eat("=") {
            return Err(self.expected("`=`"));
        }
        Ok(())
    }

    /// Creates the operation and defines its results.
    pub(super) fn finish(
        &mut self,
        state: OpState<'a>,
        names: &ResultNames<'a>,
        span: Span,
        loc: PackedOption<LocId>,
    ) -> Res<OpId> {
        let OpState { kind, operands, results, regions, attrs, spelling, loc: inner_loc } = state;
        if let Some(count) = kinds::operand_count(&kind)
            && count != operands.len()
        {
            let message =
                format!("{} takes {}, found {}", kind.name(), plural(count, "operand"), operands.len());
            return Err(Diagnostic::invalid(codes::COUNT, message).at(span).into());
        }
        let named: usize = names.iter().map(|&(_, count, _)| count as usize).sum();
        if named != 0 && named != results.len() {
            let message = format!(
                "this operation has {}, but {} named",
                plural(results.len(), "result"),
                if named == 1 { "1 is".to_owned() } else { format!("{named} are") },
            );
            let hint = match (names.first(), results.len()) {
                (Some((name, ..)), 1) => format!("write `%{name} =`"),
                (Some((name, ..)), 2..) => format!("write `%{name}:{} =`", results.len()),
                _ => "remove the names".to_owned(),
            };
            let at = names.first().map_or(span, |&(_, _, at)| at);
            return Err(Diagnostic::invalid(codes::COUNT, message).at(at).hint(hint).into());
        }
        let values: SmallVec<[_; 4]> = operands.iter().map(|o| o.value).collect();
        let (mut attrs, shardings) = self.split_sharding(&attrs, results.len())?;
        if let Some(spelling) = spelling {
            attrs.set(SPELLING, Attr::Str(spelling.into()));
        }
        let op = self.module.add_op(kind, &values, &results, &regions);
        self.module.ops[op].attrs = attrs;
        self.module.ops[op].span = span;
        self.module.ops[op].loc = if loc.is_some() { loc } else { inner_loc };
        for (i, sharding) in shardings.into_iter().enumerate() {
            let value = self.module.ops[op].results[i];
            self.module.shardings.set(value, Some(sharding));
        }
        self.define_results(op, names)?;
        Ok(op)
    }

    /// Defines the names of an operation's results.
    pub(super) fn define_results(&mut self, op: OpId, names: &ResultNames<'a>) -> Res<()> {
        let mut at = 0;
        for &(name, count, span) in names {
            let first = self.module.ops[op].results.get(at).copied().into();
            self.define(name, Def { first, count, span })?;
            at += count as usize;
        }
        Ok(())
    }

    /// Removes `sdy.sharding` of the results from discardable attributes.
    fn split_sharding(
        &mut self,
        attrs: &[Named<'a>],
        results: usize,
    ) -> Res<(AttrDict, Vec<shardc_ir::ShardingId>)> {
        let mut shardings = Vec::new();
        let mut dict = Vec::new();
        for named in attrs {
            if named.name == SHARDING && results > 0 {
                shardings = self.at_value(named, |p| {
                    if p.eat("#sdy.sharding_per_value<") {
                        let list = p.shardings()?;
                        p.expect(">")?;
                        Ok(list)
                    } else {
                        Err(p.expected("`#sdy.sharding_per_value<[...]>`, one sharding per result"))
                    }
                })?;
                if shardings.len() != results {
                    let message = format!(
                        "{} given for {}",
                        plural(shardings.len(), "sharding"),
                        plural(results, "result")
                    );
                    return Err(Diagnostic::invalid(codes::COUNT, message).at(named.name_span).into());
                }
            } else {
                dict.push((named.name.as_ref().into(), self.carried(named)?));
            }
        }
        Ok((dict.into_iter().collect(), shardings))
    }

    /// Removes `sdy.sharding` from the attributes of a function's argument or result.
    pub(super) fn split_value_sharding(
        &mut self,
        attrs: &[Named<'a>],
    ) -> Res<(AttrDict, Option<shardc_ir::ShardingId>)> {
        let mut sharding = None;
        let mut dict = Vec::new();
        for named in attrs {
            if named.name == SHARDING {
                sharding = Some(self.at_value(named, |p| {
                    p.expect("#sdy.sharding")?;
                    p.sharding()
                })?);
            } else {
                dict.push((named.name.as_ref().into(), self.carried(named)?));
            }
        }
        Ok((dict.into_iter().collect(), sharding))
    }

    /// Parses an operation in generic form, after its name.
    fn generic_op(&mut self, name: &'a str, span: Span) -> Res<OpState<'a>> {
        if matches!(name, "func.func" | "builtin.module" | "sdy.mesh") {
            return Err(Diagnostic::unsupported(
                codes::NOT_READ,
                format!("{name} is allowed only at the top level"),
            )
            .at(span)
            .into());
        }
        self.expect("(")?;
        let mut operands = SmallVec::new();
        self.list(")", |p| {
            operands.push(p.operand()?);
            Ok(())
        })?;
        if self.peek() == b'[' {
            return Err(Failure::Keep(KeptKind::Branches, span));
        }
        let mut props = NamedList::new();
        if self.eat("<") {
            self.dict(&mut props)?;
            self.expect(">")?;
        }
        let mut regions = SmallVec::new();
        if self.eat("(") {
            let isolated = matches!(
                name,
                "sdy.manual_computation" | "sdy.named_computation" | "stablehlo.async_start" | "chlo.scan"
            );
            self.list(")", |p| {
                regions.push(p.region(&[], isolated)?);
                Ok(())
            })?;
        }
        let mut attrs = NamedList::new();
        self.opt_dict(&mut attrs)?;
        self.expect(":")?;
        let (types, results) = self.functional_type()?;
        self.check_operands(name, span, &operands, &types)?;
        let mut state = OpState::new(OpKind::Return);
        state.operands = operands;
        state.results = results;
        state.regions = regions;
        state.attrs = attrs;
        self.generic_state(state, name, span, props)
    }

    /// Completes an operation whose inherent attributes may be in `props` or among the discardable attributes.
    pub(super) fn generic_state(
        &mut self,
        mut state: OpState<'a>,
        name: &str,
        span: Span,
        mut props: NamedList<'a>,
    ) -> Res<OpState<'a>> {
        let mut attrs = std::mem::take(&mut state.attrs);
        let mut given = Given::default();
        // A constant that is not a tensor is kept as text.
        let scalar = name == "arith.constant"
            && props.iter().chain(&attrs).any(|named| {
                named.name == "value"
                    && named.value.is_some_and(|(at, _)| !self.slice(at, at + 5).starts_with("dense"))
            });
        let known = row(name).filter(|_| !scalar);
        if let Some(row) = known {
            let mut deferred = Deferred::new();
            self.known_attrs(row, &mut props, &mut given, &mut deferred)?;
            self.known_attrs(row, &mut attrs, &mut given, &mut deferred)?;
            self.read_deferred(&mut given, &deferred)?;
        }
        if name == "stablehlo.custom_call" {
            take_custom_call_props(&mut attrs, &mut props);
        }
        let mut kind = self.kind(name, span, &mut given)?;
        if matches!(kind, OpKind::CustomCall(_) | OpKind::Opaque(_)) {
            self.keep_props(&mut kind, &props)?;
        } else if !props.is_empty() {
            // If a name is in both dictionaries, the discardable attribute has priority.
            let names: FxHashSet<Cow<'a, str>> = attrs.iter().map(|named| named.name.clone()).collect();
            attrs.extend(props.into_iter().filter(|named| !names.contains(&named.name)));
        }
        state.kind = kind;
        state.attrs = attrs;
        self.check_constant(&mut state, span)?;
        self.respell(&mut state, name);
        Ok(state)
    }

    /// Checks that a constant has the type of its result, or the storage type of a quantized result.
    pub(super) fn check_constant(&mut self, state: &mut OpState<'a>, span: Span) -> Res<()> {
        let (OpKind::Constant(dense), Some(written)) = (&mut state.kind, self.last_dense) else {
            return Ok(());
        };
        if state.results[..] == [written] {
            return Ok(());
        }
        let types = &self.module.types;
        let result = state.results.first().filter(|_| state.results.len() == 1);
        let quantized = result.and_then(|&result| types.as_quantized(result));
        if let (Some(quantized), Some(value)) = (quantized, types.as_tensor(written))
            && quantized.shape == value.shape
        {
            let storage = quantized.element.storage;
            if storage.and_then(|storage| storage.dtype()) == Some(value.dtype) {
                return Ok(());
            }
            if storage.is_none_or(|storage| storage.may_be(value.dtype)) {
                // The text must include the type of the elements, which cannot be inferred from the quantized type of the result.
                let mut text = String::new();
                crate::literals::dense::push(&mut text, &self.module, dense, Some(written));
                *dense = Dense::Raw(text.into());
                return Ok(());
            }
        }
        let message =
            format!("a constant of type {} must have a result of the same type", types.display(written));
        Err(Diagnostic::invalid(codes::TYPE_MISMATCH, message).at(span).into())
    }

    /// For an operation that is parsed as a different operation, records its name and completes its kind.
    pub(super) fn respell(&mut self, state: &mut OpState<'a>, name: &str) {
        state.spelling = SPELLINGS.iter().copied().find(|&spelling| spelling == name);
        if let ("stablehlo.dot", OpKind::DotGeneral(spec)) = (name, &mut state.kind) {
            let rank = state.operands.first().map_or(0, |lhs| self.module.rank(lhs.value));
            spec.lhs_contract = DimList::from_slice(&[(rank as u32).saturating_sub(1)]);
            spec.rhs_contract = DimList::from_slice(&[0]);
        }
    }

    /// Adds inherent attributes that no pass reads to `kind`, if this kind of operation preserves them.
    pub(super) fn keep_props(&mut self, kind: &mut OpKind, props: &[Named<'a>]) -> Res<()> {
        let carried = self.carry_all(props)?;
        let target = match kind {
            OpKind::CustomCall(spec) => &mut spec.props,
            OpKind::Opaque(spec) => &mut spec.props,
            _ => return Ok(()),
        };
        if target.is_empty() {
            *target = carried;
            return Ok(());
        }
        for (name, attr) in carried.iter() {
            target.set(name, attr.clone());
        }
        Ok(())
    }

    /// Removes the attributes that `row` lists from `named`, and parses their values.
    pub(super) fn known_attrs(
        &mut self,
        row: &'static Row,
        named: &mut NamedList<'a>,
        given: &mut Given,
        deferred: &mut Deferred,
    ) -> Res<()> {
        let mut at = 0;
        while at < named.len() {
            let Some((name, ty)) = row.attr(&named[at].name) else {
                at += 1;
                continue;
            };
            let entry = named.remove(at);
            if ty == AttrType::Unit && entry.value.is_none() {
                given.0.push((name, Val::Unit));
                continue;
            }
            match ty {
                AttrType::Raw => {
                    let Some((start, end)) = entry.value else { continue };
                    let text = self.slice(start, end);
                    let text = self.expand_text(text)?;
                    let dialect = text.starts_with("#stablehlo");
                    given.0.push((name, Val::Raw(if dialect { tidy(&text) } else { text }.into())));
                }
                AttrType::Axes | AttrType::AxesPerDim | AttrType::AllToAll | AttrType::ManualAxes => {
                    let start = self.at_value(&entry, |p| {
                        p.expect("#sdy<")?;
                        p.ident("an attribute name")?;
                        Ok(p.peek_pos())
                    })?;
                    deferred.push((name, ty, start));
                }
                _ => {
                    let value = self.at_value(&entry, |p| p.generic_value(ty))?;
                    given.0.push((name, value));
                }
            }
        }
        Ok(())
    }

    /// Parses the deferred axes. The shardings of the operation specify the mesh of the axes.
    pub(super) fn read_deferred(&mut self, given: &mut Given, deferred: &Deferred) -> Res<()> {
        if deferred.is_empty() {
            return Ok(());
        }
        let mut meshes: SmallVec<[shardc_ir::MeshId; 4]> = SmallVec::new();
        for (_, val) in &given.0 {
            let ids = match val {
                Val::Sharding(id) => std::slice::from_ref(id),
                Val::Shardings(ids) => ids,
                _ => continue,
            };
            meshes.extend(ids.iter().map(|&id| self.module.shardings.get(id).mesh));
        }
        for &(name, ty, start) in deferred {
            let value = self.elsewhere(start, |p| {
                if ty == AttrType::ManualAxes {
                    return p.manual_axes(&meshes);
                }
                let Some(&mesh) = meshes.first() else {
                    return Err(p.expected("a sharding that names the mesh of these axes"));
                };
                Ok(match ty {
                    AttrType::Axes => Val::Axes(p.axes(mesh)?, mesh),
                    AttrType::AxesPerDim => Val::AxesPerDim(p.axes_per_dim(mesh)?, mesh),
                    _ => Val::AllToAll(p.axis_moves(mesh)?, mesh),
                })
            })?;
            given.0.push((name, value));
        }
        Ok(())
    }

    /// Builds the kind of an operation. An error has the span of the operation's name.
    pub(super) fn kind(&mut self, name: &str, span: Span, given: &mut Given) -> Res<OpKind> {
        let kind = kinds::kind_of(&self.module, name, given).map_err(|problem| {
            Failure::from(Diagnostic::invalid(codes::ATTRIBUTE, format!("{name}: {problem}")).at(span))
        })?;
        let printable = |b: u8| b.is_ascii_graphic() && !matches!(b, b'"' | b'\\');
        if matches!(kind, OpKind::Opaque(_)) && (name.is_empty() || !name.bytes().all(printable)) {
            let message = format!("{name:?} cannot be the name of an operation");
            let hint = "a name is `dialect.operation`, with letters, digits, `_`, `$`, `.` and `-`";
            return Err(Diagnostic::invalid(codes::SYNTAX, message).at(span).hint(hint).into());
        }
        Ok(kind)
    }

    /// Checks that operands have their written types.
    pub(super) fn check_operands(
        &self,
        name: &str,
        span: Span,
        operands: &[Operand],
        types: &SpannedTypes,
    ) -> Res<()> {
        if operands.len() != types.len() {
            let message = format!(
                "{name} has {}, but {} given",
                plural(operands.len(), "operand"),
                if types.len() == 1 {
                    "1 operand type is".to_owned()
                } else {
                    format!("{} operand types are", types.len())
                }
            );
            return Err(Diagnostic::invalid(codes::COUNT, message).at(span).into());
        }
        for (&operand, &(ty, span)) in operands.iter().zip(types) {
            self.check_type(operand, ty, span)?;
        }
        Ok(())
    }

    /// Parses a function's body in generic form, whose block label declares the parameters.
    pub(super) fn generic_body(&mut self, func: &mut Func) -> Res<()> {
        self.expect("(")?;
        let open = self.peek_pos();
        if self.eat("{") && self.eat("}") {
            return self.expect(")");
        }
        self.cursor.pos = open;
        func.body = Some(self.region(&[], true)?);
        self.expect(")")
    }
}

/// Terminators of dialects other than `func`.
const TERMINATORS: &[&str] = &["stablehlo.return", "sdy.return"];

/// Checks that `return` and `func.return` do not end a region of a `stablehlo`, `chlo` or `sdy` operation. Other terminators are accepted
/// in any region, as in MLIR.
fn check_terminator(name: &str, owner: &str, span: Span) -> Res<()> {
    let wanted = match owner.split_once('.') {
        _ if !matches!(name, "return" | "func.return") => return Ok(()),
        Some(("stablehlo" | "chlo", _)) => "stablehlo.return",
        Some(("sdy", _)) => "sdy.return",
        _ => return Ok(()),
    };
    let message = format!("`{name}` cannot end a region of {owner}");
    Err(Diagnostic::invalid(codes::SYNTAX, message).at(span).hint(format!("write `{wanted}`")).into())
}

/// Moves the inherent attributes of a custom call from `attrs` to `props`.
pub(super) fn take_custom_call_props<'a>(attrs: &mut NamedList<'a>, props: &mut NamedList<'a>) {
    let mut at = 0;
    while at < attrs.len() {
        if CUSTOM_CALL_PROPS.contains(&attrs[at].name.as_ref()) {
            props.push(attrs.remove(at));
        } else {
            at += 1;
        }
    }
}

/// Formats a count: `1 operand`, `2 operands`.
pub(super) fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
