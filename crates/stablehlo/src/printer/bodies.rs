//! Pretty forms of operations whose regions have their own syntax.

use std::fmt::Write as _;

use shardc_ir::{Attr, OpId, OpKind, RegionId, Type};

use super::Printer;
use super::attrs::{Entries, Entry, push_entries};
use super::names::{Numbering, Parent};
use crate::literals::sdy;
use crate::literals::tokens::push_string;
use crate::syntax::kinds::attrs_of;
use crate::syntax::values::{push_generic, push_pretty};
use crate::syntax::{AttrType, Row};

impl<'m> Printer<'m> {
    pub(super) fn while_op(&mut self, op: OpId, numbering: &Numbering) {
        let module = self.module;
        let data = &module.ops[op];
        let &[cond, body] = &data.regions[..] else {
            self.push("stablehlo.while");
            return;
        };
        let mut in_cond = numbering.clone();
        self.number_region(cond, Some(op), &mut in_cond);
        let mut in_body = numbering.clone();
        self.number_region(body, Some(op), &mut in_body);
        self.push("stablehlo.while(");
        for (i, (&arg, &operand)) in module.regions[body].args.iter().zip(&data.operands).enumerate() {
            if i > 0 {
                self.push(", ");
            }
            self.value(arg);
            self.push(" = ");
            self.value(operand);
        }
        self.push(")");
        if !data.operands.is_empty() {
            self.push(" : ");
            self.types_of(&data.operands);
        }
        let mut entries = self.discardable(op);
        if !entries.is_empty() {
            self.push(" attributes ");
            push_entries(&mut self.out, &mut entries);
        }
        self.newline();
        self.push("cond ");
        self.region(cond, &in_cond, Parent::Other, false);
        self.push(" do ");
        self.region(body, &in_body, Parent::Other, false);
    }

    /// Returns the operation named in `applies op`, if that form can replace the whole region. MLIR prints it only for commutative
    /// operations.
    pub(super) fn applied(&self, op: OpId, region: RegionId) -> Option<&'static str> {
        let module = self.module;
        let region = &module.regions[region];
        let &[inner, ret] = &region.ops[..] else { return None };
        let (inner, ret) = (&module.ops[inner], &module.ops[ret]);
        let OpKind::Binary(binary) = inner.kind else { return None };
        let input = module.tensor(*module.ops[op].operands.first()?)?;
        let scalar = |value| match module.types.get(module.values[value].ty) {
            Type::Tensor(t) => t.shape.is_empty() && t.dtype == input.dtype && t.encoding.is_none(),
            Type::Quantized(_) | Type::Token | Type::Tuple(_) | Type::Other(_) => false,
        };
        let fits = binary.is_commutative()
            && inner.operands[..] == region.args[..]
            && ret.kind == OpKind::Return
            && ret.operands[..] == inner.results[..]
            && inner.operands.iter().chain(&inner.results).all(|&v| scalar(v));
        fits.then(|| binary.name())
    }

    pub(super) fn reduce(&mut self, op: OpId, numbering: &Numbering) {
        let module = self.module;
        let data = &module.ops[op];
        let pairs = data.operands.len() / 2;
        self.push("stablehlo.reduce");
        for i in 0..pairs {
            self.push(if i > 0 { ", (" } else { "(" });
            self.value(data.operands[i]);
            self.push(" init: ");
            self.value(data.operands[i + pairs]);
            self.push(")");
        }
        let region = data.regions.first().copied();
        let applied = region.and_then(|region| self.applied(op, region));
        if let Some(name) = applied {
            self.push(" applies ");
            self.push(name);
        }
        self.push(" across dimensions = ");
        if let OpKind::Reduce { dims } = &data.kind {
            crate::literals::tokens::push_ints(&mut self.out, dims);
        }
        self.dict(op, Entries::new());
        self.push(" : ");
        self.functional_type(op);
        let Some(region) = region.filter(|_| applied.is_none()) else { return };
        let mut inner = numbering.clone();
        self.number_region(region, Some(op), &mut inner);
        self.newline();
        self.push(" reducer");
        let args = &module.regions[region].args;
        for i in 0..pairs.min(args.len() / 2) {
            self.push("(");
            for (j, index) in [i, i + pairs].into_iter().enumerate() {
                if j > 0 {
                    self.push(", ");
                }
                if let Some(&arg) = args.get(index) {
                    self.value(arg);
                    self.push(": ");
                    self.ty_of(arg);
                    self.region_arg_loc(region, index);
                }
            }
            self.push(") ");
        }
        self.push(" ");
        self.region(region, &inner, Parent::Other, false);
    }

    /// Prints `%arg0: T, ...) {...}` of an operation of the sdy dialect.
    fn body_with_args(&mut self, op: OpId, numbering: &Numbering) {
        let module = self.module;
        let data = &module.ops[op];
        if let Some(&region) = data.regions.first() {
            let mut inner = numbering.clone();
            self.number_region(region, Some(op), &mut inner);
            for (i, &arg) in module.regions[region].args.iter().enumerate() {
                if i > 0 {
                    self.push(", ");
                }
                self.value(arg);
                self.push(": ");
                self.ty_of(arg);
                self.region_arg_loc(region, i);
            }
            self.push(") ");
            self.region(region, &inner, Parent::Sdy, false);
        }
    }

    pub(super) fn manual_computation(&mut self, op: OpId, numbering: &Numbering) {
        let module = self.module;
        let data = &module.ops[op];
        self.push("sdy.manual_computation(");
        self.values(&data.operands);
        self.push(")");
        let attrs = attrs_of(module, &data.kind);
        for (name, prefix) in [
            ("in_shardings", "#sdy.sharding_per_value<"),
            ("out_shardings", "#sdy.sharding_per_value<"),
            ("manual_axes", "#sdy<manual_axes"),
        ] {
            let _ = write!(self.out, " {name}=");
            if let Some((_, val)) = attrs.iter().find(|(n, _)| *n == name) {
                push_pretty(&mut self.out, module, AttrType::Raw, val);
            } else if let OpKind::Opaque(spec) = &data.kind
                && let Some(Attr::Raw(text)) = spec.props.get(name)
            {
                let inner = text.strip_prefix(prefix).and_then(|rest| rest.strip_suffix('>'));
                self.push(inner.unwrap_or(text));
            }
        }
        self.push(" (");
        self.body_with_args(op, numbering);
        self.dict(op, Entries::new());
        self.push(" : ");
        self.functional_type(op);
    }

    pub(super) fn named_computation(&mut self, op: OpId, numbering: &Numbering) {
        let module = self.module;
        let data = &module.ops[op];
        let OpKind::NamedComputation(spec) = &data.kind else { return };
        self.push("sdy.named_computation<");
        push_string(&mut self.out, &spec.name);
        self.push(">(");
        self.values(&data.operands);
        self.push(")");
        for (name, list) in [("in_shardings", &spec.in_shardings), ("out_shardings", &spec.out_shardings)] {
            if let Some(list) = list {
                let _ = write!(self.out, " {name}=");
                sdy::push_shardings(&mut self.out, module, list);
            }
        }
        self.push(" (");
        self.body_with_args(op, numbering);
        self.dict(op, Entries::new());
        self.push(" : ");
        self.functional_type(op);
    }

    pub(super) fn scan(&mut self, op: OpId, row: &'static Row, numbering: &Numbering) {
        let module = self.module;
        let data = &module.ops[op];
        let OpKind::Scan(spec) = &data.kind else { return };
        let (inputs, inits) = data.operands.split_at((spec.inputs as usize).min(data.operands.len()));
        self.push("chlo.scan(");
        self.values(inputs);
        self.push(") inits (");
        self.values(inits);
        let _ = write!(self.out, ") dimension={} ", spec.dim);
        let mut entries = self.discardable(op);
        for (name, val) in attrs_of(module, &data.kind) {
            if !matches!(name, "dimension" | "operandSegmentSizes" | "resultSegmentSizes") {
                let mut text = String::new();
                push_generic(
                    &mut text,
                    module,
                    row.attr(name).map_or(AttrType::Any, |(_, ty)| ty),
                    &val,
                    None,
                );
                entries.push((name, Entry::Text(text)));
            }
        }
        if !entries.is_empty() {
            self.push(" attributes ");
            push_entries(&mut self.out, &mut entries);
        }
        self.push(" ");
        if let Some(&region) = data.regions.first() {
            let mut inner = numbering.clone();
            self.number_region(region, Some(op), &mut inner);
            self.region(region, &inner, Parent::Other, true);
        }
        self.push(" : ");
        self.functional_type(op);
    }
}
