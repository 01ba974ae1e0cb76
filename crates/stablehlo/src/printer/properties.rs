//! Inherent attributes as text.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use rustc_hash::FxHashMap;
use shardc_ir::{Module, OpId, OpKind, ReplicaGroups};

use crate::literals::attrs::push_attr;
use crate::syntax::kinds::attrs_of;
use crate::syntax::values::{Val, push_generic, push_groups};
use crate::syntax::{AttrType, row};

/// Returns the inherent attributes of an operation, as in `<{...}>` of the generic form: names and MLIR text of the values, sorted by name.
/// A unit attribute has the value `unit`.
#[must_use]
pub fn properties(module: &Module, op: OpId) -> Vec<(Cow<'_, str>, String)> {
    written(module, op).into_iter().map(|(name, value)| (name, value.into_text())).collect()
}

/// The value of an inherent attribute.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Property {
    Text(String),
    /// Replica groups with many ids. Often, many operations have the same groups.
    Groups(LongGroups),
}

#[derive(PartialEq, Eq)]
pub(crate) struct LongGroups(pub(crate) ReplicaGroups);

// The order of two groups does not affect the output: entries are sorted by name, and the names of an operation's entries are distinct.
impl PartialOrd for LongGroups {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LongGroups {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.ids().cmp(other.0.ids())
    }
}

impl Property {
    pub(super) fn into_text(self) -> String {
        match self {
            Property::Text(text) => text,
            Property::Groups(LongGroups(groups)) => {
                let mut text = String::new();
                push_groups(&mut text, &groups, 0);
                text
            }
        }
    }

    /// Appends the value. The text of groups that were already appended is copied from their range in `known`.
    pub(super) fn push(&self, out: &mut String, known: &mut FxHashMap<ReplicaGroups, Range<usize>>) {
        let groups = match self {
            Property::Text(text) => return out.push_str(text),
            Property::Groups(LongGroups(groups)) => groups,
        };
        let start = out.len();
        let Some(text) = known.get(groups) else {
            push_groups(out, groups, 0);
            known.insert(groups.clone(), start..out.len());
            return;
        };
        out.reserve(text.len());
        let mut part = String::with_capacity(PART);
        for from in text.clone().step_by(PART) {
            // The text is ASCII, so every byte is a character boundary.
            part.push_str(out.get(from..text.end.min(from + PART)).unwrap_or_default());
            out.push_str(&part);
            part.clear();
        }
    }
}

/// The size of the parts in which text is copied.
const PART: usize = 1 << 16;

/// The minimum number of ids of groups whose text is reused; smaller groups are formatted each time.
const LONG: usize = 256;

pub(super) fn written(module: &Module, op: OpId) -> Vec<(Cow<'_, str>, Property)> {
    let data = &module.ops[op];
    let row = row(data.kind.name());
    let result_type = data.results.first().map(|&r| module.values[r].ty);
    let mut props: Vec<(Cow<'_, str>, Property)> = attrs_of(module, &data.kind)
        .into_iter()
        .map(|(name, val)| {
            if let Val::Groups(groups, None) = &val
                && groups.num_ids() >= LONG
            {
                return (Cow::Borrowed(name), Property::Groups(LongGroups(groups.clone())));
            }
            let ty = row.and_then(|row| row.attr(name)).map_or(AttrType::Raw, |(_, ty)| ty);
            let mut text = String::new();
            push_generic(&mut text, module, ty, &val, result_type);
            (Cow::Borrowed(name), Property::Text(text))
        })
        .collect();
    let kept = match &data.kind {
        OpKind::CustomCall(spec) => Some(&spec.props),
        OpKind::Opaque(spec) => Some(&spec.props),
        _ => None,
    };
    let carried = data.attrs.iter().filter(|(name, _)| is_carried_property(&data.kind, name));
    for (name, attr) in carried {
        let mut text = String::new();
        push_attr(&mut text, attr);
        props.push((Cow::Borrowed(name), Property::Text(text)));
    }
    for (name, attr) in kept.into_iter().flat_map(shardc_ir::AttrDict::iter) {
        let mut text = String::new();
        push_attr(&mut text, attr);
        props.push((Cow::Borrowed(name), Property::Text(text)));
    }
    props.sort();
    props
}

/// Whether `name` is an inherent attribute of this kind of operation that no pass reads. Such attributes are stored among the discardable
/// attributes.
pub(super) fn is_carried_property(kind: &OpKind, name: &str) -> bool {
    matches!(kind, OpKind::Unary(op) if op.def().attr(name).is_some_and(|attr| attr.ty == AttrType::Carried))
}
