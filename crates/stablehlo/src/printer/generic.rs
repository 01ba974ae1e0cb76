//! The generic form of operations.

use std::borrow::Cow;

use shardc_ir::{Attr, OpId, OpKind, UnaryOp};

use super::attrs::{Entries, Entry, push_entries};
use super::names::{Numbering, Parent};
use super::properties::{Property, is_carried_property, written};
use super::{PrintForm, Printer};
use crate::literals::attrs::push_name;
use crate::literals::tokens::{push_list, push_string};
use crate::syntax::{SPELLING, row};

impl<'m> Printer<'m> {
    /// Returns the operation's name with its dialect. The name of a terminator depends on its parent.
    pub(super) fn full_name(&self, op: OpId, parent: Parent) -> &'m str {
        let module = self.module;
        match (&module.ops[op].kind, parent) {
            (OpKind::Return, Parent::Func) => match module.ops[op].attrs.get(SPELLING) {
                Some(Attr::Str(other)) => other,
                _ => "func.return",
            },
            (OpKind::Return, Parent::Sdy) => "sdy.return",
            _ => self.spelt_name(op),
        }
    }

    /// Returns the name under which the operation was parsed, if it is still valid.
    pub(super) fn spelt_name(&self, op: OpId) -> &'m str {
        let module = self.module;
        let data = &module.ops[op];
        let spelling = match data.attrs.get(SPELLING) {
            Some(Attr::Str(spelling)) => spelling,
            _ => return data.kind.name(),
        };
        let fits = match (&data.kind, &**spelling) {
            (OpKind::Constant(_), "sdy.constant" | "chlo.constant" | "arith.constant") => true,
            (OpKind::Unary(UnaryOp::Tan), "chlo.tan") => true,
            (OpKind::Unary(_) | OpKind::Binary(_), spelling) => spelling
                .strip_prefix("mhlo.")
                .is_some_and(|short| data.kind.name().strip_prefix("chlo.") == Some(short)),
            (OpKind::DotGeneral(spec), "stablehlo.dot") => {
                let rank = data.operands.first().map_or(0, |&lhs| self.module.rank(lhs)) as u32;
                spec.lhs_batch.is_empty()
                    && spec.lhs_contract[..] == [rank.saturating_sub(1)]
                    && spec.rhs_contract[..] == [0]
                    && spec.algorithm.is_none()
            }
            _ => false,
        };
        if fits { spelling } else { data.kind.name() }
    }

    /// Prints `"name"(operands) <{properties}> ({regions}) {attributes} : types`.
    pub(super) fn generic(&mut self, op: OpId, numbering: &Numbering, parent: Parent) {
        let module = self.module;
        let data = &module.ops[op];
        let name = self.full_name(op, parent).to_owned();
        push_string(&mut self.out, &name);
        self.push("(");
        self.values(&data.operands);
        self.push(")");
        let is_unit = |value: &Property| matches!(value, Property::Text(text) if text == "unit");
        let props = self.generic_props(op, &name);
        let apart = self.options.form != PrintForm::GenericAttributes;
        if apart && !props.is_empty() {
            self.push(" <{");
            let groups = &mut self.groups;
            push_list(&mut self.out, &props, |out, (name, value)| {
                push_name(out, name);
                if !is_unit(value) {
                    out.push_str(" = ");
                    value.push(out, groups);
                }
            });
            self.push("}>");
        }
        self.regions(op, numbering);
        let given;
        let mut entries = self.generic_attrs(op);
        if !apart {
            let (names, values): (Vec<_>, Vec<Property>) = props.into_iter().unzip();
            given = names;
            let text = |value: Property| if is_unit(&value) { String::new() } else { value.into_text() };
            entries.extend(given.iter().zip(values).map(|(name, value)| (&**name, Entry::Text(text(value)))));
        }
        if !entries.is_empty() {
            self.push(" ");
            push_entries(&mut self.out, &mut entries);
        }
        self.push(" : ");
        self.functional_type(op);
    }

    /// Returns the inherent attributes of an operation that is written with the name `name`.
    pub(super) fn generic_props(&self, op: OpId, name: &str) -> Vec<(Cow<'m, str>, Property)> {
        let kind = &self.module.ops[op].kind;
        let mut props = written(self.module, op);
        if name != kind.name() && *kind != OpKind::Return {
            props.retain(|(prop, _)| row(name).is_some_and(|row| row.attr(prop).is_some()));
        }
        props
    }

    /// Returns the attributes of an operation that are not inherent.
    pub(super) fn generic_attrs(&self, op: OpId) -> Entries<'m> {
        let kind = &self.module.ops[op].kind;
        let mut entries = self.discardable(op);
        entries.retain(|(name, _)| !is_carried_property(kind, name));
        entries
    }

    /// Prints ` ({...}, {...})` if there are regions.
    pub(super) fn regions(&mut self, op: OpId, numbering: &Numbering) {
        let module = self.module;
        for (i, &region) in module.ops[op].regions.iter().enumerate() {
            self.push(if i > 0 { ", " } else { " (" });
            let mut inner = numbering.clone();
            self.number_region(region, Some(op), &mut inner);
            self.region(region, &inner, Parent::of(module, op), true);
        }
        if !module.ops[op].regions.is_empty() {
            self.push(")");
        }
    }
}
