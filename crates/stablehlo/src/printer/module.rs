//! Modules, functions and regions.

use std::fmt::Write as _;

use shardc_ir::{AttrDict, Func, Kept, LocId, LocTable, MeshId, PackedOption, RegionId, TypeId};

use super::attrs::{Entries, Entry, push_entries};
use super::names::{Numbering, Parent};
use super::{PrintForm, Printer};
use crate::literals::attrs::push_dict;
use crate::literals::sdy;
use crate::literals::tokens::{push_string, push_symbol};

/// A top-level item.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item<'m> {
    Mesh(MeshId),
    Kept(&'m Kept),
    Func(&'m Func),
}

impl<'m> Printer<'m> {
    pub(super) fn loc(&mut self, loc: PackedOption<LocId>) {
        if !self.options.locations {
            return;
        }
        self.out.push(' ');
        let loc = loc.expand().unwrap_or(LocTable::unknown());
        self.locs.push_ref(&mut self.out, self.module, loc);
    }

    /// Meshes, functions and items kept as text, in text order.
    pub(super) fn items(&self) -> Vec<Item<'m>> {
        let module = self.module;
        let mut others: Vec<(u32, u32, Item<'m>)> = Vec::new();
        for &id in module.mesh_names.values() {
            let place = module.mesh_places[id];
            others.push((place.funcs_above, place.others_above, Item::Mesh(id)));
        }
        others.extend(module.kept.iter().map(|k| (k.funcs_above, k.others_above, Item::Kept(k))));
        others.sort_by_key(|&(funcs, place, _)| (funcs, place));
        let mut others = others.into_iter().peekable();
        let mut items = Vec::with_capacity(others.len() + module.funcs.len());
        for (id, func) in module.funcs.iter() {
            while let Some((.., other)) = others.next_if(|&(place, ..)| place <= id.as_u32()) {
                items.push(other);
            }
            items.push(Item::Func(func));
        }
        items.extend(others.map(|(.., other)| other));
        items
    }

    pub(super) fn module(&mut self) {
        let module = self.module;
        self.number_locs();
        self.loc_definitions(false);
        if self.options.form.is_generic() {
            self.number_all();
        }
        for outer in &module.enclosing {
            self.open_module(outer.name.as_deref(), &outer.attrs);
            outer.above.iter().for_each(|text| self.kept_text(text));
            self.newline();
        }
        self.open_module(module.name.as_deref(), &module.attrs);
        let items = self.items();
        if items.is_empty() && self.options.form.is_generic() {
            // MLIR prints a label for an empty block.
            self.indent -= 1;
            self.newline();
            self.push("^bb0:");
            self.indent += 1;
        }
        for item in items {
            match item {
                Item::Mesh(mesh) => self.mesh(mesh),
                Item::Kept(kept) => self.kept_text(&kept.text),
                Item::Func(func) => self.func(func),
            }
        }
        self.close_module(&module.attrs, module.loc);
        for outer in module.enclosing.iter().rev() {
            outer.below.iter().for_each(|text| self.kept_text(text));
            self.close_module(&outer.attrs, outer.loc);
        }
        self.push("\n");
        self.loc_definitions(true);
        if let Some(resources) = &module.resources {
            self.push("\n");
            self.push(resources);
            self.push("\n");
        }
    }

    fn open_module(&mut self, name: Option<&str>, attrs: &AttrDict) {
        if self.options.form.is_generic() {
            self.push("\"builtin.module\"() ");
            if let Some(name) = name {
                self.push("<{sym_name = ");
                push_string(&mut self.out, name);
                self.push("}> ");
            }
            self.push("({");
        } else {
            self.push("module ");
            if let Some(name) = name {
                push_symbol(&mut self.out, name);
                self.push(" ");
            }
            if !attrs.is_empty() {
                self.push("attributes ");
                push_dict(&mut self.out, attrs);
                self.push(" ");
            }
            self.push("{");
        }
        self.indent += 1;
    }

    fn close_module(&mut self, attrs: &AttrDict, loc: PackedOption<LocId>) {
        self.indent -= 1;
        self.newline();
        self.push("}");
        if self.options.form.is_generic() {
            self.push(")");
            if !attrs.is_empty() {
                self.push(" ");
                push_dict(&mut self.out, attrs);
            }
            self.push(" : () -> ()");
        }
        self.loc(loc);
    }

    fn kept_text(&mut self, text: &str) {
        for line in text.lines() {
            if line.is_empty() {
                self.push("\n");
            } else {
                self.newline();
                self.push(line);
            }
        }
    }

    fn mesh(&mut self, id: MeshId) {
        let module = self.module;
        let mesh = &module.meshes[id];
        self.newline();
        if self.options.form.is_generic() {
            self.push("\"sdy.mesh\"()");
            let start = self.out.len();
            self.push("mesh = #sdy.mesh");
            sdy::push_mesh(&mut self.out, mesh);
            self.push(", sym_name = ");
            push_string(&mut self.out, module.mesh_name(id));
            let props = self.out.split_off(start);
            self.properties(&props);
            self.attributes(&props, &mesh.attrs);
        } else {
            self.push("sdy.mesh ");
            push_symbol(&mut self.out, module.mesh_name(id));
            self.push(" = ");
            sdy::push_mesh(&mut self.out, mesh);
            if !mesh.attrs.is_empty() {
                self.push(" ");
                push_dict(&mut self.out, &mesh.attrs);
            }
        }
        if self.options.form.is_generic() {
            self.push(" : () -> ()");
        }
        self.loc(module.mesh_places[id].loc);
    }

    pub(super) fn arg_entries(&self, func: &'m Func, index: usize) -> Entries<'m> {
        let sharding = func.body.and_then(|body| {
            let arg = self.module.regions[body].args.get(index)?;
            self.module.shardings.of(*arg)
        });
        self.value_entries(func.arg_attrs.get(index), sharding)
    }

    pub(super) fn res_entries(&self, func: &'m Func, index: usize) -> Entries<'m> {
        let sharding = func.res_shardings.get(index).and_then(|s| s.expand());
        self.value_entries(func.res_attrs.get(index), sharding)
    }

    fn func(&mut self, func: &'m Func) {
        let module = self.module;
        let mut numbering = Numbering::default();
        if let Some(body) = func.body {
            self.number_region(body, None, &mut numbering);
        }
        self.newline();
        if self.options.form.is_generic() {
            self.generic_func(func, &numbering);
            return;
        }
        self.push("func.func ");
        if let Some(word) = func.visibility.word() {
            self.push(word);
            self.push(" ");
        }
        push_symbol(&mut self.out, &func.name);
        self.push("(");
        for (i, &ty) in func.params.iter().enumerate() {
            if i > 0 {
                self.push(", ");
            }
            if let Some(&arg) = func.body.and_then(|body| module.regions[body].args.get(i)) {
                self.value(arg);
                self.push(": ");
            }
            self.ty(ty);
            let mut entries = self.arg_entries(func, i);
            if !entries.is_empty() {
                self.push(" ");
                push_entries(&mut self.out, &mut entries);
            }
            if func.body.is_some() {
                self.arg_loc(func.arg_locs.get(i).copied().unwrap_or_default());
            }
        }
        self.push(")");
        self.func_results(func);
        if !func.attrs.is_empty() {
            self.push(" attributes ");
            push_dict(&mut self.out, &func.attrs);
        }
        if let Some(body) = func.body {
            self.push(" ");
            self.region(body, &numbering, Parent::Func, false);
        }
        self.loc(func.loc);
    }

    /// Prints the location of a region's argument. Names are written inline, other locations by their aliases.
    pub(super) fn arg_loc(&mut self, loc: PackedOption<LocId>) {
        if !self.options.locations {
            return;
        }
        self.out.push_str(" loc(");
        match loc.expand() {
            Some(loc) => self.locs.push_body(&mut self.out, self.module, loc),
            None => self.out.push_str("unknown"),
        }
        self.out.push(')');
    }

    fn func_results(&mut self, func: &'m Func) {
        let entries: Vec<Entries<'m>> = (0..func.results.len()).map(|i| self.res_entries(func, i)).collect();
        if func.results.is_empty() {
            return;
        }
        self.push(" -> ");
        let bare = func.results.len() == 1 && entries.iter().all(Vec::is_empty);
        if !bare {
            self.push("(");
        }
        for (i, (&ty, mut entries)) in func.results.iter().zip(entries).enumerate() {
            if i > 0 {
                self.push(", ");
            }
            self.ty(ty);
            if !entries.is_empty() {
                self.push(" ");
                push_entries(&mut self.out, &mut entries);
            }
        }
        if !bare {
            self.push(")");
        }
    }

    fn type_list(&mut self, types: &[TypeId]) {
        self.push("(");
        for (i, &ty) in types.iter().enumerate() {
            if i > 0 {
                self.push(", ");
            }
            self.ty(ty);
        }
        self.push(")");
    }

    pub(super) fn attr_list_text(lists: Vec<Entries<'m>>) -> Option<String> {
        if lists.iter().all(Vec::is_empty) {
            return None;
        }
        let mut text = String::from("[");
        for (i, mut entries) in lists.into_iter().enumerate() {
            if i > 0 {
                text.push_str(", ");
            }
            push_entries(&mut text, &mut entries);
        }
        text.push(']');
        Some(text)
    }

    /// Prints ` <{...}>`, unless properties are printed among the attributes.
    fn properties(&mut self, props: &str) {
        if self.options.form != PrintForm::GenericAttributes {
            let _ = write!(self.out, " <{{{props}}}>");
        }
    }

    /// Prints ` {...}`, with the properties if they are printed among the attributes.
    fn attributes(&mut self, props: &str, attrs: &AttrDict) {
        let mut text = String::new();
        if !attrs.is_empty() {
            let mut entries: Entries<'_> = attrs.iter().map(|(n, a)| (n, Entry::Attr(a))).collect();
            push_entries(&mut text, &mut entries);
        }
        if self.options.form == PrintForm::GenericAttributes {
            let attrs = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or("");
            let _ = write!(self.out, " {{{props}{}{attrs}}}", if attrs.is_empty() { "" } else { ", " });
        } else if !text.is_empty() {
            let _ = write!(self.out, " {text}");
        }
    }

    fn generic_func(&mut self, func: &'m Func, numbering: &Numbering) {
        self.push("\"func.func\"()");
        let start = self.out.len();
        let args = (0..func.params.len()).map(|i| self.arg_entries(func, i)).collect();
        if let Some(text) = Self::attr_list_text(args) {
            self.push("arg_attrs = ");
            self.push(&text);
            self.push(", ");
        }
        self.push("function_type = ");
        self.type_list(&func.params);
        self.push(" -> ");
        if let [ty] = func.results[..] {
            self.ty(ty)
        } else {
            self.type_list(&func.results)
        }
        let results = (0..func.results.len()).map(|i| self.res_entries(func, i)).collect();
        if let Some(text) = Self::attr_list_text(results) {
            self.push(", res_attrs = ");
            self.push(&text);
        }
        self.push(", sym_name = ");
        push_string(&mut self.out, &func.name);
        if let Some(word) = func.visibility.word() {
            let _ = write!(self.out, ", sym_visibility = \"{word}\"");
        }
        let props = self.out.split_off(start);
        self.properties(&props);
        self.push(" (");
        match func.body {
            Some(body) => self.region(body, numbering, Parent::Func, true),
            None => {
                self.push("{");
                self.newline();
                self.push("}");
            }
        }
        self.push(")");
        self.attributes(&props, &func.attrs);
        self.push(" : () -> ()");
        self.loc(func.loc);
    }

    /// Prints `{ ... }`. The region's values are already named, and `numbering` is the state after that. With `label`,
    /// a block label declares the arguments.
    pub(super) fn region(&mut self, region: RegionId, numbering: &Numbering, parent: Parent, label: bool) {
        let module = self.module;
        let data = &module.regions[region];
        self.push("{");
        if label && !data.args.is_empty() {
            self.newline();
            self.push("^bb0(");
            for (i, &arg) in data.args.iter().enumerate() {
                if i > 0 {
                    self.push(", ");
                }
                self.value(arg);
                self.push(": ");
                self.ty_of(arg);
                self.region_arg_loc(region, i);
            }
            self.push("):");
        }
        self.indent += 1;
        for &op in &data.ops {
            self.newline();
            self.op(op, numbering, parent);
        }
        self.indent -= 1;
        self.newline();
        self.push("}");
    }

    /// Prints the location of argument `index` of a region.
    pub(super) fn region_arg_loc(&mut self, region: RegionId, index: usize) {
        if !self.options.locations {
            return;
        }
        let module = self.module;
        let func = module.funcs.values().find(|func| func.body == Some(region));
        let locs = func.map_or(&module.regions[region].arg_locs, |func| &func.arg_locs);
        self.arg_loc(locs.get(index).copied().unwrap_or_default());
    }
}
