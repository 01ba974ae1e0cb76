//! Discardable attributes.

use shardc_ir::discardable::SHARDING;
use shardc_ir::{Attr, AttrDict, Module, OpId, OpKind, ShardingId, TensorSharding};

use super::{Printer, Shardings};
use crate::literals::attrs::{push_entry, push_name};
use crate::literals::sdy;
use crate::literals::tokens::push_list;
use crate::syntax::SPELLING;

/// An entry of a dictionary to be printed.
pub(crate) enum Entry<'a> {
    Attr(&'a Attr),
    Text(String),
}

/// The entries of a dictionary to be printed.
pub(crate) type Entries<'a> = Vec<(&'a str, Entry<'a>)>;

/// Appends `{a = 1, b}`, sorted by name. An entry with empty text is a unit attribute.
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
    /// Returns the text of an operation's `sdy.sharding`, if its results have shardings and shardings are printed.
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

    /// Returns the discardable attributes of an operation, including its sharding.
    pub(super) fn discardable(&self, op: OpId) -> Entries<'m> {
        let mut entries: Entries<'m> =
            self.module.ops[op].attrs.iter().map(|(name, attr)| (name, Entry::Attr(attr))).collect();
        entries.retain(|(name, _)| *name != SPELLING);
        if let Some(text) = self.op_sharding(op) {
            entries.retain(|(name, _)| *name != SHARDING);
            entries.push((SHARDING, Entry::Text(text)));
        }
        entries
    }

    /// Returns the attributes of a function's argument or result, including its sharding.
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
            entries.push((SHARDING, Entry::Text(sharding_text(self.module, id))));
        }
        entries
    }
}

fn sharding_text(module: &Module, id: ShardingId) -> String {
    let mut text = String::from("#sdy.sharding");
    sdy::push_sharding(&mut text, module, id);
    text
}
