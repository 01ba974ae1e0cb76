//! Source locations and their aliases (`#loc12 = loc(...)`), with the same numbers as in MLIR.
//!
//! MLIR visits locations in print order, the location of an operation before those of its regions, and sorts them by nesting depth.
//! Locations of region arguments are defined before the module, all others after it.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;
use shardc_ir::{Loc, LocId, LocTable, Module, OpId, PackedOption, RegionId};

use super::{PrintForm, Printer};
use crate::literals::tokens::push_string;

/// The locations that have an alias.
#[derive(Debug, Default)]
pub(super) struct LocAliases {
    numbers: FxHashMap<LocId, u32>,
    /// For each alias number, the location; `true` if its alias is defined after the module, `false` if before.
    order: Vec<(LocId, bool)>,
}

/// Collects locations in print order.
struct Visitor<'m> {
    module: &'m Module,
    seen: FxHashMap<LocId, bool>,
    order: Vec<LocId>,
}

fn children(loc: &Loc) -> Vec<LocId> {
    match loc {
        Loc::Unknown | Loc::File { .. } | Loc::Raw(_) => Vec::new(),
        Loc::Name { child, .. } => child.iter().copied().collect(),
        Loc::CallSite { callee, caller } => vec![*callee, *caller],
        Loc::Fused { children, .. } => children.clone(),
    }
}

impl Visitor<'_> {
    fn visit(&mut self, loc: PackedOption<LocId>, below: bool) {
        let mut stack = vec![loc.expand().unwrap_or(LocTable::unknown())];
        while let Some(loc) = stack.pop() {
            match self.seen.get_mut(&loc) {
                Some(old) if *old && !below => *old = false,
                Some(_) => continue,
                None => {
                    self.seen.insert(loc, below);
                    self.order.push(loc);
                }
            }
            stack.extend(children(self.module.locs.get(loc)).into_iter().rev());
        }
    }

    /// Visits the locations of arguments. Arguments without a location have the unknown location.
    fn visit_args(&mut self, locs: &[PackedOption<LocId>], count: usize, in_pairs: bool) {
        for i in 0..count {
            let at = if in_pairs { i / 2 + i % 2 * (count / 2) } else { i };
            self.visit(locs.get(at).copied().unwrap_or_default(), false);
        }
    }
}

impl LocAliases {
    fn finish(visitor: Visitor<'_>) -> LocAliases {
        let table = &visitor.module.locs;
        // Children are interned before their parents, so one pass in order computes all depths.
        let mut depths = vec![0u32; table.len()];
        for index in 0..table.len() {
            let children = children(table.get(LocId::from_u32(index as u32)));
            let deepest = children.iter().filter_map(|c| depths.get(c.as_u32() as usize)).max();
            depths[index] = deepest.map_or(0, |d| d + 1);
        }
        let mut order = visitor.order;
        order.sort_by_key(|loc| depths.get(loc.as_u32() as usize));
        let numbers = order.iter().enumerate().map(|(number, &loc)| (loc, number as u32)).collect();
        let order = order.into_iter().map(|loc| (loc, visitor.seen.get(&loc) == Some(&true))).collect();
        LocAliases { numbers, order }
    }

    /// Appends `loc(...)`, with the alias of the location if it has one.
    pub(super) fn push_ref(&self, out: &mut String, module: &Module, loc: LocId) {
        out.push_str("loc(");
        self.push_child(out, module, loc);
        out.push(')');
    }

    fn push_child(&self, out: &mut String, module: &Module, loc: LocId) {
        match self.numbers.get(&loc) {
            Some(0) => out.push_str("#loc"),
            Some(number) => {
                let _ = write!(out, "#loc{number}");
            }
            None => self.push_body(out, module, loc),
        }
    }

    /// Appends the content of `loc(...)`. Children are written by their aliases.
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

impl Printer<'_> {
    /// Assigns aliases to all locations that will be printed.
    pub(super) fn number_locs(&mut self) {
        if !self.options.locations {
            return;
        }
        let module = self.module;
        let mut visitor = Visitor { module, seen: FxHashMap::default(), order: Vec::new() };
        for outer in &module.enclosing {
            visitor.visit(outer.loc, true);
        }
        visitor.visit(module.loc, true);
        for item in self.items() {
            match item {
                super::module::Item::Mesh(mesh) => visitor.visit(module.mesh_places[mesh].loc, true),
                super::module::Item::Kept(_) => {}
                super::module::Item::Func(func) => {
                    visitor.visit(func.loc, true);
                    if func.body.is_some() {
                        visitor.visit_args(&func.arg_locs, func.params.len(), false);
                    }
                    if let Some(body) = func.body {
                        self.visit_ops(body, &mut visitor);
                    }
                }
            }
        }
        self.locs = LocAliases::finish(visitor);
    }

    fn visit_ops(&self, region: RegionId, visitor: &mut Visitor<'_>) {
        for &op in &self.module.regions[region].ops {
            visitor.visit(self.module.ops[op].loc, true);
            for region in self.printed_regions(op) {
                if self.prints_args(op) {
                    let data = &self.module.regions[region];
                    // The pretty form of a reducer lists its arguments in pairs of input and accumulator.
                    let pairs = self.options.form == PrintForm::Pretty
                        && matches!(self.module.ops[op].kind, shardc_ir::OpKind::Reduce { .. });
                    visitor.visit_args(&data.arg_locs, data.args.len(), pairs);
                }
                self.visit_ops(region, visitor);
            }
        }
    }

    /// Returns the regions that are printed in the operation's text.
    fn printed_regions(&self, op: OpId) -> Vec<RegionId> {
        let regions = &self.module.ops[op].regions;
        let short = self.options.form == PrintForm::Pretty
            && matches!(self.module.ops[op].kind, shardc_ir::OpKind::Reduce { .. })
            && regions.first().is_some_and(|&region| self.applied(op, region).is_some());
        if short { Vec::new() } else { regions.to_vec() }
    }

    fn prints_args(&self, op: OpId) -> bool {
        self.options.form.is_generic() || !matches!(self.module.ops[op].kind, shardc_ir::OpKind::While)
    }

    /// Prints the aliases that are defined before the module, or those defined after it.
    pub(super) fn loc_definitions(&mut self, below: bool) {
        for (number, &(loc, is_below)) in self.locs.order.iter().enumerate() {
            if is_below != below {
                continue;
            }
            self.out.push_str("#loc");
            if number > 0 {
                let _ = write!(self.out, "{number}");
            }
            self.out.push_str(" = loc(");
            self.locs.push_body(&mut self.out, self.module, loc);
            self.out.push_str(")\n");
        }
    }
}
