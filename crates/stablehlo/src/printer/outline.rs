//! The parts of the generic form, for the writer of bytecode: names and attributes of operations, functions and meshes.

use std::borrow::Cow;

use shardc_ir::{AttrDict, Func, MeshId, Module, OpId, OpKind, RegionId};

use super::attrs::Entry;
use super::properties::{LongGroups, Property};
use super::{PrintForm, PrintOptions, Printer};
use crate::literals::attrs::push_attr;
use crate::literals::sdy;

pub(crate) use super::module::Item;
pub(crate) use super::names::Parent;

/// The value of an attribute.
pub(crate) enum Value {
    /// Text in the generic form.
    Text(String),
    /// Lists of devices.
    Groups(shardc_ir::ReplicaGroups),
}

/// The names and values of attributes.
pub(crate) type Named<'m> = Vec<(Cow<'m, str>, Value)>;

/// The name and the attributes of an operation.
pub(crate) struct Parts<'m> {
    /// The name, with its dialect.
    pub(crate) name: &'m str,
    /// The inherent attributes. Those of a constant do not have its value.
    pub(crate) props: Named<'m>,
    /// The other attributes.
    pub(crate) attrs: Named<'m>,
}

/// A module, seen as operations in generic form.
pub(crate) struct Outline<'m> {
    printer: Printer<'m>,
}

impl<'m> Outline<'m> {
    pub(crate) fn new(module: &'m Module) -> Self {
        let form = PrintForm::Generic;
        Outline {
            printer: Printer::new(module, PrintOptions { form, locations: true, ..PrintOptions::default() }),
        }
    }

    /// Returns meshes, functions and items kept as text, in text order.
    pub(crate) fn items(&self) -> Vec<Item<'m>> {
        self.printer.items()
    }

    /// Returns the parts of an operation in a region of `parent`.
    pub(crate) fn op(&self, op: OpId, parent: Parent) -> Parts<'m> {
        let module = self.printer.module;
        let name = self.printer.full_name(op, parent);
        let constant = matches!(module.ops[op].kind, OpKind::Constant(_));
        let props = if constant { Vec::new() } else { self.printer.generic_props(op, name) };
        let props = props.into_iter().map(|(name, value)| (name, property(value))).collect();
        Parts { name, props, attrs: named(self.printer.generic_attrs(op)) }
    }

    /// Returns the attributes of a function, except its name, its type and its visibility.
    pub(crate) fn func(&self, func: &'m Func) -> Parts<'m> {
        let arguments = (0..func.params.len()).map(|i| self.printer.arg_entries(func, i)).collect();
        let results = (0..func.results.len()).map(|i| self.printer.res_entries(func, i)).collect();
        let lists = [("arg_attrs", arguments), ("res_attrs", results)];
        let props = lists.into_iter().filter_map(|(name, lists)| {
            Printer::attr_list_text(lists).map(|text| (Cow::Borrowed(name), Value::Text(text)))
        });
        Parts { name: "func.func", props: props.collect(), attrs: dict(&func.attrs) }
    }

    /// Returns the attributes of a mesh, except its name.
    pub(crate) fn mesh(&self, id: MeshId) -> Parts<'m> {
        let mesh = &self.printer.module.meshes[id];
        let mut text = String::from("#sdy.mesh");
        sdy::push_mesh(&mut text, mesh);
        let props = vec![(Cow::Borrowed("mesh"), Value::Text(text))];
        Parts { name: "sdy.mesh", props, attrs: dict(&mesh.attrs) }
    }

    /// Returns the locations of the arguments of a region that is not the body of a function.
    pub(crate) fn arg_locs(&self, region: RegionId) -> &'m [shardc_ir::PackedOption<shardc_ir::LocId>] {
        &self.printer.module.regions[region].arg_locs
    }
}

fn property(value: Property) -> Value {
    match value {
        Property::Text(text) => Value::Text(text),
        Property::Groups(LongGroups(groups)) => Value::Groups(groups),
    }
}

/// Returns the attributes of a dictionary.
pub(crate) fn dict(dict: &AttrDict) -> Named<'_> {
    named(dict.iter().map(|(name, attr)| (name, Entry::Attr(attr))).collect())
}

fn named<'m>(entries: super::attrs::Entries<'m>) -> Named<'m> {
    let value = |entry: Entry<'m>| match entry {
        Entry::Text(text) if text.is_empty() => "unit".to_owned(),
        Entry::Text(text) => text,
        Entry::Attr(attr) => {
            let mut text = String::new();
            push_attr(&mut text, attr);
            text
        }
    };
    entries.into_iter().map(|(name, entry)| (Cow::Borrowed(name), Value::Text(value(entry)))).collect()
}
