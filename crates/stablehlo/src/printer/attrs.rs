//! Attributes that are carried.

use std::fmt::Write as _;

use shardc_ir::{Attr, AttrDict, Module, OpId, OpKind, ShardingId, TensorSharding};

use super::{Printer, Shardings, sdy};
use crate::syntax::SPELLING;
use crate::syntax::values::{is_bare, push_list, push_string, push_symbol};

/// Appends an attribute.
pub(crate) fn push_attr(out: &mut String, attr: &Attr) {
    match attr {
        Attr::Unit => out.push_str("unit"),
        Attr::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Attr::Int(value, ty) if ty.is_empty() => {
            let _ = write!(out, "{value}");
        }
        Attr::Int(value, ty) => {
            let _ = write!(out, "{value} : {ty}");
        }
        Attr::Str(text) => push_string(out, text),
        Attr::Array(items) => {
            out.push('[');
            push_list(out, items, push_item);
            out.push(']');
        }
        Attr::Dict(dict) => push_dict(out, dict),
        Attr::Symbol(name) => push_symbol(out, name),
        Attr::Raw(text) => out.push_str(text),
    }
}

/// Appends an attribute in a list, where numbers of the types `i64` and `f64` stand without them.
fn push_item(out: &mut String, attr: &Attr) {
    match attr {
        Attr::Int(value, ty) if &**ty == "i64" => {
            let _ = write!(out, "{value}");
        }
        Attr::Raw(text) => {
            let number = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
            out.push_str(text.strip_suffix(" : f64").filter(|_| number).unwrap_or(text));
        }
        _ => push_attr(out, attr),
    }
}

/// Appends a name, quoted where it must be.
pub(super) fn push_name(out: &mut String, name: &str) {
    if is_bare(name) { out.push_str(name) } else { push_string(out, name) }
}

fn push_entry(out: &mut String, name: &str, attr: &Attr) {
    push_name(out, name);
    if *attr != Attr::Unit {
        out.push_str(" = ");
        push_attr(out, attr);
    }
}

/// Appends `{a = 1, b}`, sorted by name.
pub(crate) fn push_dict(out: &mut String, dict: &AttrDict) {
    let mut entries: Vec<_> = dict.iter().collect();
    entries.sort_by_key(|(name, _)| *name);
    out.push('{');
    push_list(out, entries, |out, (name, attr)| push_entry(out, name, attr));
    out.push('}');
}

/// An entry of a dictionary that is put together for printing.
pub(super) enum Entry<'a> {
    Attr(&'a Attr),
    Text(String),
}

/// Entries that are put together for printing.
pub(super) type Entries<'a> = Vec<(&'a str, Entry<'a>)>;

/// Appends `{a = 1, b}`, sorted by name; an entry with empty text is a unit attribute.
pub(super) fn push_entries(out: &mut String, entries: &mut Entries<'_>) {
    entries.sort_by_key(|(name, _)| *name);
    out.push('{');
    push_list(out, entries, |out, (name, entry)| match entry {
        Entry::Attr(attr) => push_entry(out, name, attr),
        Entry::Text(text) => {
            push_name(out, name);
            if !text.is_empty() {
                out.push_str(" = ");
                out.push_str(text);
            }
        }
    });
    out.push('}');
}

impl<'m> Printer<'m> {
    /// The text of `sdy.sharding` for an operation, if its results have shardings that are to be printed.
    pub(super) fn op_sharding(&self, op: OpId) -> Option<String> {
        let module = self.module;
        let op = &module.ops[op];
        if self.options.shardings != Shardings::All || op.results.is_empty() {
            return None;
        }
        let written_elsewhere = match &op.kind {
            OpKind::ShardingConstraint(_)
            | OpKind::Reshard(_)
            | OpKind::MeshCollective(_)
            | OpKind::ManualComputation(_) => true,
            OpKind::NamedComputation(spec) => spec.out_shardings.is_some(),
            _ => false,
        };
        if written_elsewhere {
            return None;
        }
        let mesh = op.results.iter().find_map(|&r| module.shardings.sharding_of(r))?.mesh;
        let mut text = String::from("#sdy.sharding_per_value<[");
        push_list(&mut text, &op.results, |text, &result| match module.shardings.sharding_of(result) {
            Some(sharding) => sdy::push(text, module, sharding),
            None => sdy::push(text, module, &TensorSharding::open(mesh, module.rank(result))),
        });
        text.push_str("]>");
        Some(text)
    }

    /// The discardable attributes of an operation, its sharding among them.
    pub(super) fn discardable(&self, op: OpId) -> Entries<'m> {
        let mut entries: Entries<'m> =
            self.module.ops[op].attrs.iter().map(|(name, attr)| (name, Entry::Attr(attr))).collect();
        entries.retain(|(name, _)| *name != SPELLING);
        if let Some(text) = self.op_sharding(op) {
            entries.retain(|(name, _)| *name != "sdy.sharding");
            entries.push(("sdy.sharding", Entry::Text(text)));
        }
        entries
    }

    /// The attributes of a function's argument or result, its sharding among them.
    pub(super) fn value_entries(
        &self,
        attrs: Option<&'m AttrDict>,
        sharding: Option<ShardingId>,
    ) -> Entries<'m> {
        let mut entries: Entries<'m> = attrs
            .into_iter()
            .flat_map(AttrDict::iter)
            .map(|(name, attr)| (name, Entry::Attr(attr)))
            .collect();
        if let Some(id) = sharding.filter(|_| self.options.shardings != Shardings::None) {
            entries.push(("sdy.sharding", Entry::Text(sharding_text(self.module, id))));
        }
        entries
    }
}

fn sharding_text(module: &Module, id: ShardingId) -> String {
    let mut text = String::from("#sdy.sharding");
    sdy::push_sharding(&mut text, module, id);
    text
}
