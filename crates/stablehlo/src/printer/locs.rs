//! Source locations and their aliases.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;
use shardc_ir::{Loc, LocId, Module};

use crate::syntax::values::push_string;

/// The number of each location's alias.
#[derive(Debug, Default)]
pub(super) struct LocAliases {
    pub(super) numbers: FxHashMap<LocId, u32>,
}

impl LocAliases {
    pub(super) fn new(module: &Module) -> Self {
        let _ = module;
        LocAliases::default()
    }

    /// Appends `loc(...)` by its alias if it has one.
    pub(super) fn push_ref(&self, out: &mut String, module: &Module, loc: LocId) {
        out.push_str("loc(");
        self.push_child(out, module, loc);
        out.push(')');
    }

    fn push_child(&self, out: &mut String, module: &Module, loc: LocId) {
        match self.numbers.get(&loc) {
            Some(0) => out.push_str("#loc"),
            Some(number) => drop(write!(out, "#loc{number}")),
            None => self.push_body(out, module, loc),
        }
    }

    /// Appends what stands in `loc(...)`, its children by their aliases.
    pub(super) fn push_body(&self, out: &mut String, module: &Module, loc: LocId) {
        match module.locs.get(loc) {
            Loc::Unknown => out.push_str("unknown"),
            Loc::File { file, line, col, to } => {
                push_string(out, file);
                let _ = write!(out, ":{line}:{col}");
                if let Some(to) = to {
                    out.push(' ');
                    out.push_str(to);
                }
            }
            Loc::Name { name, child } => {
                push_string(out, name);
                if let Some(child) = child {
                    out.push('(');
                    self.push_child(out, module, *child);
                    out.push(')');
                }
            }
            Loc::CallSite { callee, caller } => {
                out.push_str("callsite(");
                self.push_child(out, module, *callee);
                out.push_str(" at ");
                self.push_child(out, module, *caller);
                out.push(')');
            }
            Loc::Fused { metadata, children } => {
                out.push_str("fused");
                if let Some(metadata) = metadata {
                    let _ = write!(out, "<{metadata}>");
                }
                out.push('[');
                for (i, &child) in children.iter().enumerate() {
                    if i > 0 {
                        out.push_str(", ");
                    }
                    self.push_child(out, module, child);
                }
                out.push(']');
            }
            Loc::Raw(text) => out.push_str(text),
        }
    }
}
