//! Generic attributes.

use std::fmt::Write as _;

use shardc_ir::{Attr, AttrDict};

use super::tokens::{is_bare, push_list, push_string, push_symbol};

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

/// Appends an attribute in a list, where the types `i64` and `f64` of numbers are omitted.
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

/// Appends a name, quoted if necessary.
pub(crate) fn push_name(out: &mut String, name: &str) {
    if is_bare(name) { out.push_str(name) } else { push_string(out, name) }
}

pub(crate) fn push_entry(out: &mut String, name: &str, attr: &Attr) {
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
