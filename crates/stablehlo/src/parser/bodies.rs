//! Pretty forms of operations whose regions have their own syntax.

use shardc_ir::{BinaryOp, Diagnostic, OpKind, PackedOption, Span};
use smallvec::SmallVec;

use super::attrs::NamedList;
use super::region::{ArgDecl, Deferred, OpState, plural};
use super::{Operand, Parser};
use crate::codes;
use crate::lexer::Res;
use crate::syntax::kinds::Given;
use crate::syntax::{AttrType, Row, Val};

impl<'a> Parser<'a> {
    pub(super) fn while_op(&mut self, span: Span) -> Res<OpState<'a>> {
        let mut state = OpState::new(OpKind::While);
        let mut names: SmallVec<[(&'a str, Span); 8]> = SmallVec::new();
        self.expect("(")?;
        self.list(")", |p| {
            let start = p.peek_pos();
            let name = p.value_name()?;
            names.push((name, p.span_from(start)));
            p.expect("=")?;
            state.operands.push(p.operand()?);
            Ok(())
        })?;
        if !names.is_empty() {
            self.expect(":")?;
            let types = self.type_list()?;
            self.check_operands("stablehlo.while", span, &state.operands, &types)?;
            state.results = types.iter().map(|&(ty, _)| ty).collect();
        }
        if self.eat_word("attributes") {
            self.dict(&mut state.attrs)?;
        }
        let none = PackedOption::default();
        let args: Vec<ArgDecl<'a>> = names
            .iter()
            .zip(&state.results)
            .map(|(&(name, span), &ty)| ArgDecl { name, span, ty, loc: none })
            .collect();
        self.expect_word("cond")?;
        state.regions.push(self.region(&args, false)?);
        self.expect_word("do")?;
        state.regions.push(self.region(&args, false)?);
        Ok(state)
    }

    pub(super) fn reduce(&mut self, span: Span) -> Res<OpState<'a>> {
        let mut state = OpState::new(OpKind::OptimizationBarrier);
        let mut inits: SmallVec<[Operand; 4]> = SmallVec::new();
        loop {
            self.expect("(")?;
            state.operands.push(self.operand()?);
            self.expect_word("init")?;
            self.expect(":")?;
            inits.push(self.operand()?);
            self.expect(")")?;
            if !self.eat(",") {
                break;
            }
        }
        let inputs = state.operands.len();
        state.operands.extend(inits);
        let applied = if self.eat_word("applies") {
            let span = self.token_span();
            let name = self.ident("an operation")?;
            match BinaryOp::parse(name).filter(|op| op.is_commutative()) {
                Some(op) => Some(op),
                None => {
                    return Err(Diagnostic::invalid(
                        codes::SYNTAX,
                        format!("`{name}` cannot follow `applies`"),
                    )
                    .at(span)
                    .hint("use a commutative operation such as stablehlo.add, or write the region out")
                    .into());
                }
            }
        } else {
            None
        };
        self.expect_word("across")?;
        self.expect_word("dimensions")?;
        self.expect("=")?;
        let dims = self.int_list()?;
        let mut given = Given::default();
        given.0.push(("dimensions", Val::Ints(dims)));
        state.kind = self.kind("stablehlo.reduce", span, &mut given)?;
        let mut state = self.tail("stablehlo.reduce", span, state)?;
        if let Some(op) = applied {
            state.loc = self.opt_loc()?;
            let region = self.applied_region(&state, op, span)?;
            state.regions.push(region);
            return Ok(state);
        }
        self.expect_word("reducer")?;
        let (mut args, mut accumulators): (Vec<ArgDecl<'a>>, Vec<ArgDecl<'a>>) = (Vec::new(), Vec::new());
        while self.eat("(") {
            args.push(self.arg_decl()?);
            self.expect(",")?;
            accumulators.push(self.arg_decl()?);
            self.expect(")")?;
        }
        if args.len() != inputs {
            let message = format!(
                "the reducer has {} of arguments, but the operation has {}",
                plural(args.len(), "pair"),
                plural(inputs, "input")
            );
            return Err(Diagnostic::invalid(codes::COUNT, message).at(span).into());
        }
        args.extend(accumulators);
        state.regions.push(self.region(&args, false)?);
        Ok(state)
    }

    /// Creates the region that the short form `applies op` of a reduction stands for: it applies `op` to its two arguments.
    fn applied_region(&mut self, state: &OpState<'a>, op: BinaryOp, span: Span) -> Res<shardc_ir::RegionId> {
        let dtype =
            state.operands.first().and_then(|o| self.module.tensor(o.value)).map(|tensor| tensor.dtype);
        let Some(dtype) = dtype else {
            return Err(Diagnostic::invalid(codes::TYPE, "operands of stablehlo.reduce must be tensors")
                .at(span)
                .into());
        };
        let ty = self.module.types.tensor(&[], dtype);
        let region = self.module.add_region(&[ty, ty]);
        let args = self.module.regions[region].args.clone();
        let inner = self.module.add_op(OpKind::Binary(op), &args, &[ty], &[]);
        let results = self.module.ops[inner].results.clone();
        let ret = self.module.add_op(OpKind::Return, &results, &[], &[]);
        for op in [inner, ret] {
            self.module.ops[op].span = span;
            self.module.ops[op].loc = state.loc;
        }
        self.module.set_ops(region, vec![inner, ret]);
        if state.loc.is_some() {
            self.module.regions[region].arg_locs = vec![state.loc; 2];
        }
        Ok(region)
    }

    pub(super) fn manual_computation(&mut self, span: Span) -> Res<OpState<'a>> {
        let mut given = Given::default();
        let mut operands = SmallVec::new();
        self.expect("(")?;
        self.operands(&mut operands)?;
        self.expect(")")?;
        for name in ["in_shardings", "out_shardings"] {
            self.expect_word(name)?;
            self.expect("=")?;
            let list = self.shardings()?;
            given.0.push((name, Val::Shardings(list)));
        }
        self.expect_word("manual_axes")?;
        self.expect("=")?;
        let mut deferred = Deferred::new();
        deferred.push(("manual_axes", AttrType::ManualAxes, self.peek_pos()));
        self.skip_brackets()?;
        self.read_deferred(&mut given, &deferred)?;
        let mut args = Vec::new();
        self.expect("(")?;
        self.list(")", |p| {
            args.push(p.arg_decl()?);
            Ok(())
        })?;
        let kind = self.kind("sdy.manual_computation", span, &mut given)?;
        let region = self.region(&args, true)?;
        let mut state = OpState::new(kind);
        state.operands = operands;
        state.regions.push(region);
        self.tail("sdy.manual_computation", span, state)
    }

    /// Parses `<"name">(%0) in_shardings=[...] out_shardings=[...] (%arg0: T) {...} : (T) -> T`.
    pub(super) fn named_computation(&mut self, row: &'static Row, span: Span) -> Res<OpState<'a>> {
        let mut given = Given::default();
        let mut operands = SmallVec::new();
        self.expect("<")?;
        given.0.push(("name", Val::Str(self.text_string()?.into())));
        self.expect(">")?;
        self.expect("(")?;
        self.operands(&mut operands)?;
        self.expect(")")?;
        for name in ["in_shardings", "out_shardings"] {
            if self.eat_word(name) {
                self.expect("=")?;
                let list = self.shardings()?;
                given.0.push((name, Val::Shardings(list)));
            }
        }
        let mut args = Vec::new();
        self.expect("(")?;
        self.list(")", |p| {
            args.push(p.arg_decl()?);
            Ok(())
        })?;
        let kind = self.kind(row.name, span, &mut given)?;
        let region = self.region(&args, true)?;
        let mut state = OpState::new(kind);
        state.operands = operands;
        state.regions.push(region);
        self.tail(row.name, span, state)
    }

    /// Parses `(%0, ...) inits (%1, ...) dimension = 0 attributes {...} {^bb0(...): ...} : (T, U) -> (V, W)`.
    pub(super) fn scan(&mut self, row: &'static Row, span: Span) -> Res<OpState<'a>> {
        let mut given = Given::default();
        let mut operands = SmallVec::new();
        self.expect("(")?;
        self.operands(&mut operands)?;
        self.expect(")")?;
        let inputs = operands.len();
        self.expect_word("inits")?;
        self.expect("(")?;
        self.operands(&mut operands)?;
        self.expect(")")?;
        self.expect_word("dimension")?;
        self.expect("=")?;
        given.0.push(("dimension", Val::Int(self.int()?)));
        let mut attrs = NamedList::new();
        if self.eat_word("attributes") {
            self.dict(&mut attrs)?;
        }
        let region = self.region(&[], true)?;
        self.expect(":")?;
        let (types, results) = self.functional_type()?;
        self.check_operands(row.name, span, &operands, &types)?;
        let carries = operands.len() - inputs;
        let Some(outputs) = results.len().checked_sub(carries) else {
            let message = format!("{} has fewer results than loop-carried values", row.name);
            return Err(Diagnostic::invalid(codes::COUNT, message).at(span).into());
        };
        let sizes = |list: [usize; 2]| Val::Ints(list.iter().map(|&n| n as i64).collect());
        given.0.push(("operandSegmentSizes", sizes([inputs, carries])));
        given.0.push(("resultSegmentSizes", sizes([outputs, carries])));
        self.known_attrs(row, &mut attrs, &mut given, &mut Deferred::new())?;
        let mut state = OpState::new(self.kind(row.name, span, &mut given)?);
        state.operands = operands;
        state.results = results;
        state.regions.push(region);
        state.attrs = attrs;
        Ok(state)
    }
}
