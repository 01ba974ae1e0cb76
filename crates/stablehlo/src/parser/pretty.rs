//! Pretty forms, parsed piece by piece from the syntax table, or by dedicated code.

use shardc_ir::{Attr, CustomCallSpec, DType, Diagnostic, KeptKind, OpKind, OpaqueSpec, Span, Type, TypeId};
use smallvec::SmallVec;

use super::attrs::NamedList;
use super::kept::is_upstream;
use super::region::{Deferred, OpState, take_custom_call_props};
use super::types::{SpannedTypes, TypeList};
use super::{Operand, Parser};
use crate::codes;
use crate::lexer::{Failure, Res};
use crate::source_index::SymbolKind;
use crate::syntax::kinds::Given;
use crate::syntax::table::{Own, Pretty};
use crate::syntax::{AttrType, Piece, Row, Val, row};

/// The parsed operands and types of an operation.
#[derive(Default)]
struct Signature {
    operands: SmallVec<[Operand; 4]>,
    results: TypeList,
}

impl<'a> Parser<'a> {
    /// Parses an operation in pretty form, after its name.
    pub(super) fn pretty_op(&mut self, name: &'a str, span: Span) -> Res<OpState<'a>> {
        let name = match name {
            "call" => "func.call",
            "return" => "func.return",
            other => other,
        };
        let key = if matches!(name, "func.return" | "sdy.return") { "stablehlo.return" } else { name };
        let Some(row) = row(key) else {
            return Err(match name {
                _ if name.starts_with("cf.") => Failure::Keep(KeptKind::Branches, span),
                _ if is_upstream(name) => Failure::Keep(KeptKind::Foreign, span),
                _ => self.unknown_op(name, span),
            });
        };
        let mut state = self.pretty_state(row, span)?;
        self.respell(&mut state, name);
        Ok(state)
    }

    fn pretty_state(&mut self, row: &'static Row, span: Span) -> Res<OpState<'a>> {
        let name = row.name;
        match row.pretty {
            Pretty::Pieces(pieces) => self.pieces(row, pieces, span),
            Pretty::Own(own) => match own {
                Own::Constant => self.constant(row, span),
                Own::Reduce => self.reduce(span),
                Own::While => self.while_op(span),
                Own::Call => self.call(span),
                Own::Return => self.return_op(span),
                Own::CustomCall => self.custom_call(span),
                Own::OptimizationBarrier => self.optimization_barrier(span),
                Own::ManualComputation => self.manual_computation(span),
                Own::NamedComputation => self.named_computation(row, span),
                Own::Scan => self.scan(row, span),
            },
            Pretty::None => Err(Diagnostic::invalid(codes::SYNTAX, format!("{name} has no pretty form"))
                .at(span)
                .hint(format!("write it as \"{name}\"(%0, ...) <{{...}}> : (type, ...) -> type"))
                .into()),
        }
    }

    fn literal(&mut self, text: &'static str) -> Res<()> {
        for token in tokens(text) {
            self.expect(token)?;
        }
        Ok(())
    }

    /// Parses a possibly empty list of operands separated by commas.
    pub(super) fn operands(&mut self, out: &mut SmallVec<[Operand; 4]>) -> Res<()> {
        while self.peek() == b'%' {
            out.push(self.operand()?);
            let pos = self.pos;
            if !self.eat(",") || self.peek() != b'%' {
                self.cursor.pos = pos;
                return Ok(());
            }
        }
        Ok(())
    }

    fn pieces(&mut self, row: &'static Row, pieces: &'static [Piece], span: Span) -> Res<OpState<'a>> {
        let mut signature = Signature::default();
        let mut given = Given::default();
        let mut deferred = Deferred::new();
        let mut attrs = NamedList::new();
        let mut regions = SmallVec::new();
        for &piece in pieces {
            match piece {
                Piece::L(" : ") => {
                    if !self.eat(":") {
                        return Err(self.no_type(signature.operands.first().copied()));
                    }
                }
                Piece::L(text) => self.literal(text)?,
                Piece::One => {
                    let operand = self.operand()?;
                    signature.operands.push(operand);
                }
                Piece::All => self.operands(&mut signature.operands)?,
                Piece::A(name) => self.piece_attr(row, name, &mut given, &mut deferred)?,
                Piece::Opt(text, name) => {
                    let pos = self.pos;
                    if tokens(text).all(|token| self.eat(token)) {
                        self.piece_attr(row, name, &mut given, &mut deferred)?;
                    } else {
                        self.cursor.pos = pos;
                    }
                }
                Piece::Unless(_, text, name) => {
                    let pos = self.pos;
                    if tokens(text).all(|token| self.eat(token)) {
                        self.piece_attr(row, name, &mut given, &mut deferred)?;
                    } else {
                        self.cursor.pos = pos;
                    }
                }
                Piece::Lead(name) => {
                    if crate::lexer::is_ident_start(self.peek()) {
                        self.piece_attr(row, name, &mut given, &mut deferred)?;
                    }
                }
                Piece::Regions => {
                    if self.eat("(") {
                        self.list(")", |p| {
                            regions.push(p.region(&[], false)?);
                            Ok(())
                        })?;
                    }
                }
                Piece::Dict => self.opt_dict(&mut attrs)?,
                Piece::Ranges => self.ranges(&mut given)?,
                Piece::DotDims => {
                    let mut spec = self.pretty_dot()?;
                    let precision = std::mem::take(&mut spec.precision);
                    if !precision.is_empty() {
                        given.0.push(("precision_config", Val::Precisions(precision)));
                    }
                    if let Some(algorithm) = spec.algorithm.take() {
                        given.0.push(("algorithm", Val::Raw(algorithm)));
                    }
                    given.0.push(("dot_dimension_numbers", Val::Dot(Box::new(spec))));
                }
                Piece::Window => self.pretty_window(&mut given.0)?,
                Piece::ExpMant => self.exponent_mantissa(&mut given)?,
                Piece::Same
                | Piece::Cast
                | Piece::Functional
                | Piece::Result
                | Piece::Operand
                | Piece::Operands
                | Piece::Select
                | Piece::Complex
                | Piece::Arrow
                | Piece::Tuple => self.types_piece(piece, row.name, span, &mut signature)?,
            }
        }
        self.read_deferred(&mut given, &deferred)?;
        self.known_attrs(row, &mut attrs, &mut given, &mut Deferred::new())?;
        let kind = self.kind(row.name, span, &mut given)?;
        let mut state = OpState::new(kind);
        state.operands = signature.operands;
        state.results = signature.results;
        state.regions = regions;
        state.attrs = attrs;
        Ok(state)
    }

    fn piece_attr(
        &mut self,
        row: &'static Row,
        name: &str,
        given: &mut Given,
        deferred: &mut Deferred,
    ) -> Res<()> {
        let Some((name, ty)) = row.attr(name) else { return Ok(()) };
        match ty {
            AttrType::Axes | AttrType::AxesPerDim | AttrType::AllToAll | AttrType::ManualAxes => {
                deferred.push((name, ty, self.peek_pos()));
                if !matches!(self.byte(0), b'[' | b'{') {
                    return Err(self.expected("a list of axes"));
                }
                self.skip_brackets()?;
            }
            _ => {
                let value = self.pretty_value(ty)?;
                given.0.push((name, value));
            }
        }
        Ok(())
    }

    fn ranges(&mut self, given: &mut Given) -> Res<()> {
        let (mut start, mut limit, mut stride) = (SmallVec::new(), SmallVec::new(), SmallVec::new());
        self.expect("[")?;
        self.list("]", |p| {
            start.push(p.int()?);
            p.expect(":")?;
            limit.push(p.int()?);
            stride.push(if p.eat(":") { p.int()? } else { 1 });
            Ok(())
        })?;
        given.0.push(("start_indices", Val::Ints(start)));
        given.0.push(("limit_indices", Val::Ints(limit)));
        given.0.push(("strides", Val::Ints(stride)));
        Ok(())
    }

    fn exponent_mantissa(&mut self, given: &mut Given) -> Res<()> {
        let span = self.token_span();
        let word = self.ident("a format such as `e8m7`")?;
        let parts = word.strip_prefix('e').and_then(|rest| rest.split_once('m'));
        let parts = parts.and_then(|(e, m)| Some((e.parse::<u32>().ok()?, m.parse::<u32>().ok()?)));
        let Some((exponent, mantissa)) = parts else {
            let message = format!("`{word}` is not a format such as `e8m7`");
            return Err(Diagnostic::invalid(codes::ATTRIBUTE, message).at(span).into());
        };
        given.0.push(("exponent_bits", Val::Int(i64::from(exponent))));
        given.0.push(("mantissa_bits", Val::Int(i64::from(mantissa))));
        Ok(())
    }

    fn functional_into(&mut self, name: &str, span: Span, signature: &mut Signature) -> Res<()> {
        let (types, results) = self.functional_type()?;
        self.check_operands(name, span, &signature.operands, &types)?;
        signature.results = results;
        Ok(())
    }

    fn types_piece(&mut self, piece: Piece, name: &str, span: Span, signature: &mut Signature) -> Res<()> {
        let functional = self.peek() == b'(';
        match piece {
            Piece::Same | Piece::Select | Piece::Complex | Piece::Tuple if functional => {
                self.functional_into(name, span, signature)
            }
            Piece::Functional => self.functional_into(name, span, signature),
            Piece::Cast => {
                let from = self.spanned_ty()?;
                self.check_operands(name, span, &signature.operands, &[from].into_iter().collect())?;
                self.expect_word("to")?;
                signature.results.push(self.ty()?);
                Ok(())
            }
            Piece::Same | Piece::Result | Piece::Operand => {
                let (ty, ty_span) = self.spanned_ty()?;
                for &operand in &signature.operands {
                    self.check_type(operand, ty, ty_span)?;
                }
                if piece != Piece::Operand {
                    signature.results.push(ty);
                }
                Ok(())
            }
            Piece::Select => {
                let predicate = self.spanned_ty()?;
                self.expect(",")?;
                let ty = self.spanned_ty()?;
                let types: SpannedTypes = [predicate, ty, ty].into_iter().collect();
                self.check_operands(name, span, &signature.operands, &types)?;
                signature.results.push(ty.0);
                Ok(())
            }
            Piece::Complex => {
                let (ty, ty_span) = self.spanned_ty()?;
                let part = self.real_type(ty, ty_span)?;
                for &operand in &signature.operands {
                    self.check_type(operand, part, ty_span)?;
                }
                signature.results.push(ty);
                Ok(())
            }
            Piece::Operands => {
                let types = self.type_list()?;
                self.check_operands(name, span, &signature.operands, &types)
            }
            Piece::Arrow => {
                let mut types = SpannedTypes::new();
                if self.eat("(") {
                    self.list(")", |p| {
                        types.push(p.spanned_ty()?);
                        Ok(())
                    })?;
                } else {
                    types.push(self.spanned_ty()?);
                    while self.eat(",") {
                        types.push(self.spanned_ty()?);
                    }
                }
                self.check_operands(name, span, &signature.operands, &types)?;
                self.expect("->")?;
                signature.results = self.result_types()?;
                Ok(())
            }
            _ => {
                let (ty, ty_span) = self.spanned_ty()?;
                let items: SpannedTypes = match self.module.types.get(ty) {
                    Type::Tuple(items) => items.iter().map(|&item| (item, ty_span)).collect(),
                    Type::Tensor(_) | Type::Quantized(_) | Type::Token | Type::Other(_) => {
                        return Err(Diagnostic::invalid(codes::TYPE, "expected a tuple type")
                            .at(ty_span)
                            .into());
                    }
                };
                self.check_operands(name, span, &signature.operands, &items)?;
                signature.results.push(ty);
                Ok(())
            }
        }
    }

    /// Returns the tensor type of the real and imaginary parts of a complex tensor.
    fn real_type(&mut self, ty: TypeId, span: Span) -> Res<TypeId> {
        let part = self.module.types.as_tensor(ty).and_then(|tensor| {
            let dtype = match tensor.dtype {
                DType::C64 => DType::F32,
                DType::C128 => DType::F64,
                _ => return None,
            };
            Some(shardc_ir::TensorType { dtype, ..tensor.clone() })
        });
        match part {
            Some(part) => Ok(self.module.types.intern(Type::Tensor(part))),
            None => {
                Err(Diagnostic::invalid(codes::TYPE, "expected a tensor of complex elements").at(span).into())
            }
        }
    }

    /// Parses `{a = 1} dense<0> : type`. If the type of the result differs from that of the value, the form is `()
    /// <{value = dense<0> : type}> {a = 1} : () -> type`.
    fn constant(&mut self, row: &'static Row, span: Span) -> Res<OpState<'a>> {
        let mut attrs = NamedList::new();
        if self.eat("(") {
            self.expect(")")?;
            if self.eat("<") {
                self.dict(&mut attrs)?;
                self.expect(">")?;
            }
            self.opt_dict(&mut attrs)?;
            let mut given = Given::default();
            self.known_attrs(row, &mut attrs, &mut given, &mut Deferred::new())?;
            let kind = self.kind(row.name, span, &mut given)?;
            self.expect(":")?;
            let (operands, results) = self.functional_type()?;
            self.check_operands(row.name, span, &[], &operands)?;
            let mut state = OpState::new(kind);
            state.attrs = attrs;
            state.results = results;
            self.check_constant(&mut state, span)?;
            return Ok(state);
        }
        self.opt_dict(&mut attrs)?;
        if row.name == "arith.constant"
            && !["dense", "sparse", "dense_resource"].iter().any(|w| self.at_word(w))
        {
            return self.scalar_constant(row, attrs);
        }
        let (dense, ty) = self.dense()?;
        let mut state = OpState::new(OpKind::Constant(dense));
        state.attrs = attrs;
        state.results.push(ty);
        Ok(state)
    }

    /// Parses a constant that is not a tensor. Its value is kept as text.
    fn scalar_constant(&mut self, row: &'static Row, attrs: NamedList<'a>) -> Res<OpState<'a>> {
        let start = self.peek_pos();
        self.skip_attr()?;
        let end = self.pos;
        let value = self.carried_text(start, end)?;
        let ty = match &value {
            Attr::Int(_, ty) => ty.clone(),
            Attr::Bool(_) => "i1".into(),
            Attr::Raw(text) => text.rsplit(" : ").next().unwrap_or_default().into(),
            _ => return Err(self.expected("a constant")),
        };
        let mut state = OpState::new(OpKind::Opaque(Box::new(OpaqueSpec {
            name: row.name.into(),
            props: [("value".into(), value)].into_iter().collect(),
        })));
        state.results.push(self.module.types.intern(Type::Other(ty)));
        state.attrs = attrs;
        Ok(state)
    }

    fn call(&mut self, span: Span) -> Res<OpState<'a>> {
        let start = self.peek_pos();
        let callee = self.symbol()?;
        self.index_symbol_use(SymbolKind::Function, &callee, start);
        let mut state = OpState::new(OpKind::Call { callee: callee.into() });
        self.expect("(")?;
        self.operands(&mut state.operands)?;
        self.expect(")")?;
        self.tail("func.call", span, state)
    }

    /// Parses `{attrs} : (T, U) -> V`, the end of a pretty form with the types of operands and results.
    pub(super) fn tail(&mut self, name: &str, span: Span, mut state: OpState<'a>) -> Res<OpState<'a>> {
        self.opt_dict(&mut state.attrs)?;
        if !self.eat(":") {
            return Err(self.no_type(None));
        }
        let (types, results) = self.functional_type()?;
        self.check_operands(name, span, &state.operands, &types)?;
        state.results = results;
        Ok(state)
    }

    fn custom_call(&mut self, span: Span) -> Res<OpState<'a>> {
        let target = self.symbol()?;
        let spec = CustomCallSpec { target: target.into(), ..CustomCallSpec::default() };
        let mut state = OpState::new(OpKind::CustomCall(Box::new(spec)));
        self.expect("(")?;
        self.operands(&mut state.operands)?;
        self.expect(")")?;
        let mut state = self.tail("stablehlo.custom_call", span, state)?;
        let mut props = NamedList::new();
        take_custom_call_props(&mut state.attrs, &mut props);
        self.keep_props(&mut state.kind, &props)?;
        Ok(state)
    }

    fn return_op(&mut self, span: Span) -> Res<OpState<'a>> {
        let mut state = OpState::new(OpKind::Return);
        self.opt_dict(&mut state.attrs)?;
        self.operands(&mut state.operands)?;
        self.opt_dict(&mut state.attrs)?;
        if state.operands.is_empty() {
            return Ok(state);
        }
        self.expect(":")?;
        let types = self.type_list()?;
        self.check_operands("return", span, &state.operands, &types)?;
        Ok(state)
    }

    pub(super) fn type_list(&mut self) -> Res<SpannedTypes> {
        let mut types = SpannedTypes::new();
        types.push(self.spanned_ty()?);
        while self.eat(",") {
            types.push(self.spanned_ty()?);
        }
        Ok(types)
    }

    fn optimization_barrier(&mut self, span: Span) -> Res<OpState<'a>> {
        let mut state = OpState::new(OpKind::OptimizationBarrier);
        self.opt_dict(&mut state.attrs)?;
        if self.eat("(") {
            self.expect(")")?;
            return Ok(state);
        }
        self.operands(&mut state.operands)?;
        if state.operands.is_empty() {
            return Ok(state);
        }
        self.expect(":")?;
        let types = self.type_list()?;
        self.check_operands("stablehlo.optimization_barrier", span, &state.operands, &types)?;
        state.results = types.iter().map(|&(ty, _)| ty).collect();
        Ok(state)
    }
}

/// Splits literal text into tokens: words, with a final `=` separated.
fn tokens(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split_whitespace()
        .flat_map(|token| match token.strip_suffix('=') {
            Some(word) if !word.is_empty() => [Some(word), Some("=")],
            _ => [Some(token), None],
        })
        .flatten()
}
