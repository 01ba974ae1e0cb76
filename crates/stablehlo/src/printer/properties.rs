//! Inherent attributes as text.

use std::borrow::Cow;

use shardc_ir::{Module, OpId, OpKind};

use crate::literals::attrs::push_attr;
use crate::syntax::kinds::attrs_of;
use crate::syntax::values::push_generic;
use crate::syntax::{AttrType, row};

/// The inherent attributes of an operation (what generic text puts into `<{...}>`): names and MLIR text of their
/// values, sorted by name. A unit attribute has the value `unit`.
#[must_use]
pub fn properties(module: &Module, op: OpId) -> Vec<(Cow<'_, str>, String)> {
    let data = &module.ops[op];
    let row = row(data.kind.name());
    let result_type = data.results.first().map(|&r| module.values[r].ty);
    let mut props: Vec<(Cow<'_, str>, String)> = attrs_of(module, &data.kind)
        .into_iter()
        .map(|(name, val)| {
            let ty = row.and_then(|row| row.attr(name)).map_or(AttrType::Raw, |(_, ty)| ty);
            let mut text = String::new();
            push_generic(&mut text, module, ty, &val, result_type);
            (Cow::Borrowed(name), text)
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
        props.push((Cow::Borrowed(name), text));
    }
    for (name, attr) in kept.into_iter().flat_map(shardc_ir::AttrDict::iter) {
        let mut text = String::new();
        push_attr(&mut text, attr);
        props.push((Cow::Borrowed(name), text));
    }
    props.sort();
    props
}

/// Whether `name` is an inherent attribute of operations of this kind that no pass reads, and that is therefore
/// carried among the discardable ones.
pub(super) fn is_carried_property(kind: &OpKind, name: &str) -> bool {
    matches!(kind, OpKind::Unary(op) if op.def().attr(name).is_some_and(|attr| attr.ty == AttrType::Carried))
}
