//! Operations: results, pretty forms, locations.

use std::fmt::Write as _;

use shardc_ir::{Attr, OpId, OpKind, Type, ValueId};

use super::attrs::{Entries, Entry, push_entries};
use super::names::{Name, Numbering, Parent};
use super::opaque::opaque_attrs;
use super::properties::is_carried_property;
use super::{PrintForm, Printer};
use crate::literals::attrs::push_attr;
use crate::literals::dense;
use crate::literals::tokens::{push_list, push_symbol};
use crate::syntax::kinds::attrs_of;
use crate::syntax::table::kept::IMPLIED;
use crate::syntax::table::{Own, Pretty};
use crate::syntax::values::{push_generic, push_pretty};
use crate::syntax::{AttrType, Attrs, Piece, Row, Val, row};

impl<'m> Printer<'m> {
    /// Prints one operation, without indentation and line break.
    pub(super) fn op(&mut self, op: OpId, numbering: &Numbering, parent: Parent) {
        self.results(op);
        let kind = &self.module.ops[op].kind;
        let row = match self.options.form {
            PrintForm::Generic | PrintForm::GenericAttributes => None,
            PrintForm::Pretty if self.hides_types(op) => None,
            PrintForm::Pretty => row(self.spelt_name(op)),
        };
        match row.map(|row| (row, row.pretty)) {
            None | Some((_, Pretty::None)) => self.generic(op, numbering, parent),
            Some((row, Pretty::Pieces(pieces))) => {
                let attrs = match kind {
                    OpKind::Opaque(spec) => {
                        opaque_attrs(row, spec).filter(|attrs| self.fits(op, pieces, attrs))
                    }
                    _ if row.name != kind.name() => {
                        let mut attrs = attrs_of(self.module, kind);
                        attrs.retain(|(name, _)| row.attr(name).is_some());
                        Some(attrs)
                    }
                    _ => Some(attrs_of(self.module, kind)),
                };
                match attrs {
                    Some(attrs) => self.pieces(op, row, pieces, &attrs, numbering),
                    None => self.generic(op, numbering, parent),
                }
            }
            Some((row, Pretty::Own(own))) => self.own(op, row, own, numbering, parent),
        }
        self.loc(self.module.ops[op].loc);
    }

    /// Whether the pretty form loses types. A loop's pretty form has only one type for each loop-carried value, but a dimension may be
    /// dynamic in the operand, argument or result, and static in the others.
    fn hides_types(&self, op: OpId) -> bool {
        let data = &self.module.ops[op];
        if !matches!(data.kind, OpKind::While) {
            return false;
        }
        let ty = |value: &ValueId| self.module.values[*value].ty;
        let carried = |values: &[ValueId]| values.iter().map(ty).eq(data.operands.iter().map(ty));
        !carried(&data.results)
            || data.regions.iter().any(|&region| !carried(&self.module.regions[region].args))
    }

    /// Prints `%0 = `, `%1:2 = `, `%values, %indices = `.
    fn results(&mut self, op: OpId) {
        let results = &self.module.ops[op].results;
        let Some(&first) = results.first() else { return };
        if let Name::Pack(number, _) = self.names[first] {
            let _ = write!(self.out, "%{number}:{}", results.len());
        } else {
            self.values(results);
        }
        self.push(" = ");
    }

    /// Prints ` {a = 1}` if there are discardable attributes, or entries in `more`.
    pub(super) fn dict(&mut self, op: OpId, more: Entries<'m>) {
        let mut entries = self.discardable(op);
        let kind = &self.module.ops[op].kind;
        entries.retain(|(name, entry)| {
            let default = matches!(entry, Entry::Attr(Attr::Raw(text)) if &**text == DEFAULT_ACCURACY);
            !(default && is_carried_property(kind, name))
        });
        entries.extend(more);
        if !entries.is_empty() {
            self.push(" ");
            push_entries(&mut self.out, &mut entries);
        }
    }

    fn pieces(
        &mut self,
        op: OpId,
        row: &'static Row,
        pieces: &[Piece],
        attrs: &Attrs,
        numbering: &Numbering,
    ) {
        let module = self.module;
        let data = &module.ops[op];
        let mut operands = data.operands.iter().copied();
        let mut printed: u64 = 0;
        let find = |name: &str| attrs.iter().position(|(n, _)| *n == name);
        let ty_of = |name: &str| row.attr(name).map_or(AttrType::Raw, |(_, ty)| ty);
        self.push(row.name);
        for &piece in pieces {
            match piece {
                Piece::L(text) => self.push(text),
                Piece::One => {
                    if let Some(value) = operands.next() {
                        self.value(value);
                    }
                }
                Piece::All => {
                    let rest: Vec<_> = operands.by_ref().collect();
                    self.values(&rest);
                }
                Piece::A(name) => {
                    if let Some(at) = find(name) {
                        printed |= 1 << at;
                        push_pretty(&mut self.out, module, ty_of(name), &attrs[at].1);
                    }
                }
                Piece::Opt(text, name) => {
                    if let Some(at) = find(name) {
                        printed |= 1 << at;
                        if !is_implied(row, name, &attrs[at].1) {
                            self.push(text);
                            push_pretty(&mut self.out, module, ty_of(name), &attrs[at].1);
                        }
                    }
                }
                Piece::Unless(default, text, name) => {
                    if let Some(at) = find(name) {
                        printed |= 1 << at;
                        if attrs[at].1 != Val::Bool(default) {
                            self.push(text);
                            push_pretty(&mut self.out, module, ty_of(name), &attrs[at].1);
                        }
                    }
                }
                Piece::Lead(name) => {
                    if let Some(at) = find(name) {
                        printed |= 1 << at;
                        push_pretty(&mut self.out, module, ty_of(name), &attrs[at].1);
                        self.push(" ");
                    }
                }
                Piece::Regions => self.regions(op, numbering),
                Piece::Dict => self.rest(op, row, attrs, printed),
                Piece::Ranges => {
                    printed = u64::MAX;
                    self.ranges(&data.kind);
                }
                Piece::DotDims => {
                    printed = u64::MAX;
                    self.dot(&data.kind);
                }
                Piece::Window => {
                    for name in
                        ["window_strides", "padding", "lhs_dilation", "rhs_dilation", "window_reversal"]
                    {
                        if let Some(at) = find(name) {
                            printed |= 1 << at;
                        }
                    }
                    self.window(&data.kind);
                }
                Piece::ExpMant => {
                    printed = u64::MAX;
                    if let OpKind::ReducePrecision { exponent_bits, mantissa_bits } = data.kind {
                        let _ = write!(self.out, "e{exponent_bits}m{mantissa_bits}");
                    }
                }
                Piece::Cast => {
                    self.types_of(&data.operands);
                    self.push(" to ");
                    self.types_of(&data.results);
                }
                Piece::Same => self.same_types(op),
                Piece::Functional => self.functional_type(op),
                Piece::Tuple if !self.is_tuple_of_operands(op) => self.functional_type(op),
                Piece::Result | Piece::Tuple => self.types_of(&data.results),
                Piece::Operand => self.types_of(data.operands.get(..1).unwrap_or(&[])),
                Piece::Operands => self.types_of(&data.operands),
                Piece::Select => self.select_types(op),
                Piece::Complex if self.is_complex_of_parts(op) => self.types_of(&data.results),
                Piece::Complex => self.functional_type(op),
                Piece::Arrow => {
                    self.types_of(&data.operands);
                    self.push(" -> ");
                    self.result_types(&data.results);
                }
            }
        }
    }

    /// Appends the attributes that the pretty form has not printed. Bit `i` of `printed` means that `attrs[i]` was printed.
    fn rest(&mut self, op: OpId, row: &'static Row, attrs: &Attrs, printed: u64) {
        let module = self.module;
        let mut more = Entries::new();
        for (at, (name, val)) in attrs.iter().enumerate() {
            if printed >> at & 1 == 0 && !is_implied(row, name, val) {
                let ty = row.attr(name).map_or(AttrType::Raw, |(_, ty)| ty);
                let mut text = String::new();
                push_generic(&mut text, module, ty, val, None);
                more.push((name, Entry::Text(text)));
            }
        }
        if let OpKind::Opaque(spec) = &module.ops[op].kind {
            let rest = spec.props.iter().filter(|(name, _)| row.attr(name).is_none());
            more.extend(rest.map(|(name, attr)| (name, Entry::Attr(attr))));
        }
        self.dict(op, more);
    }

    /// Appends the types of a select: those of its predicate and its result, if the branches have the type of the result.
    fn select_types(&mut self, op: OpId) {
        let data = &self.module.ops[op];
        let ty = |value: ValueId| self.module.values[value].ty;
        match (&data.operands[..], &data.results[..]) {
            (&[pred, on_true, on_false], &[result])
                if [on_true, on_false].iter().all(|&v| ty(v) == ty(result)) =>
            {
                self.types_of(&[pred, result]);
            }
            _ => self.functional_type(op),
        }
    }

    fn is_tuple_of_operands(&self, op: OpId) -> bool {
        let data = &self.module.ops[op];
        let ty = |value: &ValueId| self.module.values[*value].ty;
        match data.results.first().map(|result| self.module.types.get(ty(result))) {
            Some(Type::Tuple(items)) => data.operands.iter().map(ty).eq(items.iter().copied()),
            _ => false,
        }
    }

    fn same_types(&mut self, op: OpId) {
        let data = &self.module.ops[op];
        match &data.results[..] {
            &[result] => {
                let ty = self.module.values[result].ty;
                if data.operands.iter().all(|&v| self.module.values[v].ty == ty) {
                    self.ty(ty);
                } else {
                    self.functional_type(op);
                }
            }
            _ => self.functional_type(op),
        }
    }

    fn is_complex_of_parts(&self, op: OpId) -> bool {
        let data = &self.module.ops[op];
        let Some(result) = data.results.first().and_then(|&r| self.module.tensor(r)) else { return false };
        let part = match result.dtype {
            shardc_ir::DType::C64 => shardc_ir::DType::F32,
            shardc_ir::DType::C128 => shardc_ir::DType::F64,
            _ => return false,
        };
        data.operands.iter().all(|&v| {
            self.module
                .tensor(v)
                .is_some_and(|t| t.dtype == part && t.shape == result.shape && t.encoding == result.encoding)
        })
    }

    fn ranges(&mut self, kind: &OpKind) {
        let OpKind::Slice(spec) = kind else { return };
        self.push("[");
        push_list(&mut self.out, 0..spec.start.len(), |out, i| {
            let at = |list: &[i64]| list.get(i).copied().unwrap_or(1);
            let _ = write!(out, "{}:{}", at(&spec.start), at(&spec.limit));
            if at(&spec.stride) != 1 {
                let _ = write!(out, ":{}", at(&spec.stride));
            }
        });
        self.push("]");
    }

    fn dot(&mut self, kind: &OpKind) {
        let OpKind::DotGeneral(spec) = kind else { return };
        let pairs = |out: &mut String, name: &str, lhs: &[u32], rhs: &[u32]| {
            out.push_str(name);
            crate::literals::tokens::push_ints(out, lhs);
            out.push_str(" x ");
            crate::literals::tokens::push_ints(out, rhs);
        };
        if !spec.lhs_batch.is_empty() || !spec.rhs_batch.is_empty() {
            pairs(&mut self.out, "batching_dims = ", &spec.lhs_batch, &spec.rhs_batch);
            self.push(", ");
        }
        pairs(&mut self.out, "contracting_dims = ", &spec.lhs_contract, &spec.rhs_contract);
        if !spec.precision.is_empty() {
            self.push(", precision = ");
            crate::syntax::values::push_precisions(&mut self.out, &spec.precision);
        }
        if let Some(algorithm) = &spec.algorithm {
            self.push(", algorithm = ");
            self.push(algorithm.strip_prefix("#stablehlo.dot_algorithm").unwrap_or(algorithm));
        }
    }

    fn window(&mut self, kind: &OpKind) {
        let OpKind::Convolution(spec) = kind else { return };
        self.push("{");
        let mut first = true;
        let mut member = |out: &mut String, name: &str| {
            if !std::mem::take(&mut first) {
                out.push_str(", ");
            }
            out.push_str(name);
            out.push_str(" = ");
        };
        let out = &mut self.out;
        if !spec.strides.is_empty() {
            member(out, "stride");
            crate::literals::tokens::push_ints(out, &spec.strides);
        }
        if !spec.padding.is_empty() {
            member(out, "pad");
            out.push('[');
            push_list(out, &spec.padding, |out, (low, high)| push_pair(out, *low, *high));
            out.push(']');
        }
        for (name, list) in [("lhs_dilate", &spec.lhs_dilation), ("rhs_dilate", &spec.rhs_dilation)] {
            if !list.is_empty() {
                member(out, name);
                crate::literals::tokens::push_ints(out, list);
            }
        }
        if !spec.reversal.is_empty() {
            member(out, "reverse");
            crate::literals::tokens::push_ints(out, &spec.reversal);
        }
        out.push('}');
    }

    fn own(&mut self, op: OpId, row: &'static Row, own: Own, numbering: &Numbering, parent: Parent) {
        let module = self.module;
        let data = &module.ops[op];
        match own {
            Own::Constant if data.results.iter().any(|&r| self.is_quantized(r)) => {
                self.push(row.name);
                self.push("() <{value = ");
                if let OpKind::Constant(dense) = &data.kind {
                    let ty = data.results.first().map(|&r| module.values[r].ty);
                    dense::push(&mut self.out, module, dense, ty);
                }
                self.push("}>");
                self.dict(op, Entries::new());
                self.push(" : ");
                self.functional_type(op);
            }
            Own::Constant => {
                self.push(row.name);
                self.dict(op, Entries::new());
                self.push(" ");
                if let OpKind::Constant(dense) = &data.kind {
                    let ty = data.results.first().map(|&r| module.values[r].ty);
                    dense::push(&mut self.out, module, dense, ty);
                } else if let OpKind::Opaque(spec) = &data.kind
                    && let Some(value) = spec.props.get("value")
                {
                    push_attr(&mut self.out, value);
                }
            }
            Own::Call => {
                self.push(if parent == Parent::Func { "call " } else { "func.call " });
                if let OpKind::Call { callee } = &data.kind {
                    push_symbol(&mut self.out, callee);
                }
                self.call_tail(op, Entries::new());
            }
            Own::CustomCall => {
                self.push("stablehlo.custom_call ");
                let mut more = Entries::new();
                if let OpKind::CustomCall(spec) = &data.kind {
                    push_symbol(&mut self.out, &spec.target);
                    let written = spec.props.iter().filter(|(name, attr)| !is_call_default(name, attr));
                    more.extend(written.map(|(name, attr)| (name, Entry::Attr(attr))));
                }
                self.call_tail(op, more);
            }
            Own::Return => {
                let name = match self.full_name(op, parent) {
                    "func.return" => "return".to_owned(),
                    name => name.to_owned(),
                };
                self.push(&name);
                self.dict(op, Entries::new());
                if data.operands.is_empty() && parent == Parent::Other {
                    // MLIR prints a space before the (empty) operands.
                    self.push(" ");
                }
                if !data.operands.is_empty() {
                    self.push(" ");
                    self.values(&data.operands);
                    self.push(" : ");
                    self.types_of(&data.operands);
                }
            }
            Own::OptimizationBarrier => {
                self.push(row.name);
                self.dict(op, Entries::new());
                if data.operands.is_empty() {
                    self.push(" ()");
                } else {
                    self.push(" ");
                    self.values(&data.operands);
                    self.push(" : ");
                    self.types_of(&data.operands);
                }
            }
            // The pretty form lists pairs of input and initial value.
            Own::Reduce if !data.operands.len().is_multiple_of(2) => self.generic(op, numbering, parent),
            Own::Reduce => self.reduce(op, numbering),
            Own::While => self.while_op(op, numbering),
            Own::ManualComputation => self.manual_computation(op, numbering),
            Own::NamedComputation => self.named_computation(op, numbering),
            Own::Scan => self.scan(op, row, numbering),
        }
    }

    fn is_quantized(&self, value: ValueId) -> bool {
        self.module.types.as_quantized(self.module.values[value].ty).is_some()
    }

    fn call_tail(&mut self, op: OpId, more: Entries<'m>) {
        self.push("(");
        self.values(&self.module.ops[op].operands);
        self.push(")");
        self.dict(op, more);
        self.push(" : ");
        self.functional_type(op);
    }
}

/// The default of the attribute `result_accuracy`.
const DEFAULT_ACCURACY: &str = "#stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>";

/// Whether an inherent attribute has its default value, which the pretty form omits.
fn is_implied(row: &Row, name: &str, val: &Val) -> bool {
    match val {
        Val::Attr(Attr::Dict(dict)) => name == "composite_attributes" && dict.is_empty(),
        Val::Attr(Attr::Raw(text)) => IMPLIED.contains(&(name, &**text)),
        Val::Int(0) => row.name == "stablehlo.composite" && name == "version",
        _ => false,
    }
}

/// Whether an attribute of a custom call has its default value, which the pretty form omits.
fn is_call_default(name: &str, attr: &Attr) -> bool {
    match (name, attr) {
        ("has_side_effect", Attr::Bool(false)) => true,
        ("api_version", Attr::Int(1, _)) => true,
        ("called_computations" | "output_operand_aliases", Attr::Array(items)) => items.is_empty(),
        _ => false,
    }
}

fn push_pair(out: &mut String, low: i64, high: i64) {
    let _ = write!(out, "[{low}, {high}]");
}
